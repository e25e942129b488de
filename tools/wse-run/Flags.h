// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_RUN_FLAGS_H
#define TOOLS_WSE_RUN_FLAGS_H

#include "runtime/host/Compare.h"
#include "runtime/host/Session.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace wsec::run {

/// What is wrong with the command line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// NAME=FILE on the command line.
using NamedFiles = std::vector<std::pair<std::string, std::string>>;

struct Flags {
  std::string program;
  NamedFiles inputs, outputs, references;
  std::vector<std::string> inputArchives;
  std::string outputArchive;
  std::string testData;
  std::string report;
  std::string trace, metric, until;
  std::vector<std::string> counters, breaks, peeks;
  runtime::Tolerance tolerance;
  runtime::Engine engine = runtime::Engine::Burst;
  unsigned threads = 0;
  unsigned repeat = 1;
  bool quiet = false;
  bool help = false;
  bool version = false;
};

/// Throws UsageError.
Flags parseFlags(int argc, char **argv);

extern const char *const helpText;

} // namespace wsec::run

#endif // TOOLS_WSE_RUN_FLAGS_H
