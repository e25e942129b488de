// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wsec: compiles a model to a program for the wafer; subcommands write models
// and estimate what a cluster would do.
#include "compiler/HostLimits.h"
#include "compiler/Pipeline.h"
#include "tools/flags/ProgressLine.h"
#include "tools/wsec/Options.h"
#include "tools/wsec/Subcommands.h"
#include "llvm/Support/InitLLVM.h"
#include <csignal>

int main(int argc, char **argv) {
#ifdef SIGXFSZ
  // A file that grows beyond its limit is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
#endif
  if (const std::optional<int> code = wsec::tools::runSubcommand(argc, argv))
    return *code;
  llvm::InitLLVM init(argc, argv);
  wsec::reportHostLimits("wsec");
  wsec::CompileOptions options;
  if (const std::optional<int> code = wsec::parseOptions(argc, argv, options))
    return *code;
  wsec::tools::ProgressLine progress(!options.quiet);
  options.progress = progress.teller();
  return llvm::succeeded(wsec::compile(options)) ? 0 : 1;
}
