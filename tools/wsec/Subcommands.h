// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What wsec does besides compiling: models and estimates. No MLIR here.
#ifndef TOOLS_WSEC_SUBCOMMANDS_H
#define TOOLS_WSEC_SUBCOMMANDS_H

#include <optional>

namespace wsec::tools {

/// For the --help of wsec.
extern const char *const subcommandsText;

/// Runs the subcommand that the first word names, and returns the exit code;
/// nothing where the word is none, or a file of that name exists.
std::optional<int> runSubcommand(int argc, char **argv);

} // namespace wsec::tools

#endif // TOOLS_WSEC_SUBCOMMANDS_H
