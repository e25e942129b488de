// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_BINDINGS_H
#define TOOLS_WSEC_BINDINGS_H

#include "compiler/import/BoundInput.h"

#include <optional>
#include <string>
#include <utility>

namespace wsec::tools {

/// What `--bind NAME=...` says: a number, a list of numbers as `[1,-1]`, or a
/// file that ends in .npy. What is wrong with it is written to `problem`.
std::optional<BoundInput> readBinding(const std::string &name,
                                      const std::string &value,
                                      std::string &problem);

/// What `--dim NAME=1..128` says, a dimension that each call chooses: from 1
/// on, the first below the second; nothing where it says something else.
std::optional<std::pair<int64_t, int64_t>> readRange(const std::string &value);

} // namespace wsec::tools

#endif // TOOLS_WSEC_BINDINGS_H
