// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Command lines of the tools of the runtime. Flags are Abseil's, defined with
// ABSL_FLAG beside what uses them; --help is written from their registry.
// Abseil's own ParseCommandLine ends a program with exit code 1, where ours say
// 2, and knows neither dashes in names nor flags that are given several times.
#ifndef TOOLS_FLAGS_COMMANDLINE_H
#define TOOLS_FLAGS_COMMANDLINE_H

#include "absl/strings/string_view.h"
#include "tools/flags/HelpText.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace wsec::tools {

/// What is wrong with the command line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An error of a command whose exit code 1 is an answer: exit code 2.
struct Trouble : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Type of a flag that may be given several times, in the order of the line.
struct Words {
  std::vector<std::string> values;
};
bool AbslParseFlag(absl::string_view text, Words *words, std::string *error);
std::string AbslUnparseFlag(const Words &words);

struct Tool {
  const char *name;
  const char *usage; ///< of --help, before the flags
  /// A dash in a flag's name is an underscore in ABSL_FLAG. Help of a flag that
  /// takes a value begins with what the value is, and two spaces: "NAME=FILE
  /// an input".
  std::vector<FlagGroup> groups;
  const char *exitCodes; ///< of --help, after the flags
  /// Takes the words that are no flags; returns the exit code.
  int (*run)(const std::vector<std::string> &words);
};

/// Sets the flags, runs the tool and says what went wrong. Exit codes: 0 done,
/// 1 an error, 2 wrong usage.
int runTool(const Tool &tool, int argc, char **argv);

} // namespace wsec::tools

#endif // TOOLS_FLAGS_COMMANDLINE_H
