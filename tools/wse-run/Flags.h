// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_RUN_FLAGS_H
#define TOOLS_WSE_RUN_FLAGS_H

#include "runtime/host/Compare.h"
#include "runtime/host/Sampling.h"
#include "runtime/host/Session.h"
#include "runtime/swarmx/MpiLink.h"
#include "tools/flags/CommandLine.h"

#include <string>
#include <utility>
#include <vector>

namespace wsec::run {

using tools::UsageError;

/// NAME=FILE on the command line.
using NamedFiles = std::vector<std::pair<std::string, std::string>>;

struct Flags {
  std::string program;
  NamedFiles inputs, outputs, references;
  std::vector<std::string> inputArchives;
  std::string outputArchive;
  std::string testData;
  std::string entry, loadState, saveState;
  runtime::NamedValues arguments;
  std::string report, parameters;
  std::string gradients;                     ///< a folder
  std::vector<std::string> writtenGradients; ///< globs
  std::string trace, metric, until;
  std::vector<std::string> counters, breaks, peeks, weightFolders;
  runtime::Tolerance tolerance;
  runtime::Engine engine = runtime::Engine::Burst;
  unsigned threads = 0;
  unsigned repeat = 1;
  unsigned samples = 0;   ///< 0: no --samples
  unsigned systems = 0;   ///< 0: neither --num-systems nor mpirun
  runtime::MpiLaunch mpi; ///< if mpirun has started this process
  bool quiet = false;
  /// --generate: the prompt's file and the tokens', with the rest.
  bool generate = false;
  std::string prompt, tokens;
  uint64_t mostTokens = 0; ///< 0: no --max-new-tokens
  std::vector<int64_t> endTokens;
  runtime::Sampling sampling;
};

/// As the command line says, whose other words are given. Throws UsageError.
Flags givenFlags(const std::vector<std::string> &words);

// Parts of --help.
extern const char *const usageText, *const exitCodesText;
extern const std::vector<tools::FlagGroup> flagGroups;

} // namespace wsec::run

#endif // TOOLS_WSE_RUN_FLAGS_H
