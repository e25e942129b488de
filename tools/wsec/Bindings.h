// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_BINDINGS_H
#define TOOLS_WSEC_BINDINGS_H

#include "compiler/import/BoundInput.h"

#include <optional>

namespace wsec::tools {

/// What `--bind NAME=...` says: a number, a list of numbers as `[1,-1]`, or a
/// file that ends in .npy. What is wrong with it is written to `problem`.
std::optional<BoundInput> readBinding(const std::string &name,
                                      const std::string &value,
                                      std::string &problem);

} // namespace wsec::tools

#endif // TOOLS_WSEC_BINDINGS_H
