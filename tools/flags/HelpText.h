// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_FLAGS_HELPTEXT_H
#define TOOLS_FLAGS_HELPTEXT_H

#include <string>
#include <vector>

namespace wsec::tools {

/// Flags under a heading of --help.
struct FlagGroup {
  const char *heading;
  std::vector<std::string> flags;
};

/// Adds a flag's line of --help, and further ones where it takes more than 80
/// columns:
///   --input NAME=FILE      an input, from .npy or ONNX's .pb
void addFlag(std::string &text, const std::string &flag,
             const std::string &help);

} // namespace wsec::tools

#endif // TOOLS_FLAGS_HELPTEXT_H
