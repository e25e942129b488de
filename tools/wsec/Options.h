// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_OPTIONS_H
#define TOOLS_WSEC_OPTIONS_H

namespace wsec {

struct CompileOptions;

/// Reads the command line. Wrong usage is explained on standard error; then
/// false. `--help` and `--version` print and end the process.
bool parseOptions(int argc, char **argv, CompileOptions &options);

} // namespace wsec

#endif // TOOLS_WSEC_OPTIONS_H
