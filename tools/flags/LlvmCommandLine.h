// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Command lines of the tools of the compiler, whose flags are LLVM's, read and
// explained as those of the runtime's tools are.
#ifndef TOOLS_FLAGS_LLVMCOMMANDLINE_H
#define TOOLS_FLAGS_LLVMCOMMANDLINE_H

#include "tools/flags/HelpText.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace wsec::tools {

struct LlvmTool {
  const char *name;
  std::string usage; ///< of --help, before the flags
  /// The flags of --help; none: all that are not hidden, as LLVM writes them.
  std::vector<FlagGroup> groups;
  const char *exitCodes; ///< of --help, after the flags
};

/// Says what is wrong with a command line; the exit code.
int usageError(llvm::StringRef tool, const std::string &what);

/// Sets the flags that are registered. The exit code where there is nothing
/// more to do: help or the version was printed, or usage is wrong.
std::optional<int> readFlags(const LlvmTool &tool, int argc, char **argv);

} // namespace wsec::tools

#endif // TOOLS_FLAGS_LLVMCOMMANDLINE_H
