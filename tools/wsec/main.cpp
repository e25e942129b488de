// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wsec: compiles a model to a program for the wafer; subcommands write models
// and estimate what a cluster would do.
#include "compiler/Pipeline.h"
#include "tools/wsec/Options.h"
#include "tools/wsec/Subcommands.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>

/// --help and --version end in LLVM, where what is left for a full device is
/// written as streams are destroyed, and an internal error there.
static void finishOutput() {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return;
  std::fprintf(stderr, "wsec: error: cannot write to standard output: %s\n",
               llvm::outs().error().message().c_str());
  llvm::outs().clear_error();
  std::_Exit(1);
}

int main(int argc, char **argv) {
#ifdef SIGXFSZ
  // A file that grows beyond its limit is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
#endif
  if (const std::optional<int> code = wsec::tools::runSubcommand(argc, argv))
    return *code;
  llvm::InitLLVM init(argc, argv);
  llvm::outs(); // is there before, and so destroyed behind
  std::atexit(finishOutput);
  wsec::CompileOptions options;
  if (!wsec::parseOptions(argc, argv, options))
    return 2;
  return llvm::succeeded(wsec::compile(options)) ? 0 : 1;
}
