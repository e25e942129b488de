// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_OPTIONS_H
#define TOOLS_WSEC_OPTIONS_H

#include <optional>

namespace wsec {

struct CompileOptions;

/// Reads the command line. The exit code where there is nothing to compile:
/// help or the version was printed, or usage is wrong, which was said.
std::optional<int> parseOptions(int argc, char **argv, CompileOptions &options);

} // namespace wsec

#endif // TOOLS_WSEC_OPTIONS_H
