// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wse-lsp-server: editors ask it about .mlir files of every level (types,
// definitions, errors as you type).
#include "compiler/HostLimits.h"
#include "compiler/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/flags/LlvmCommandLine.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

namespace cl = llvm::cl;

/// MLIR's server has its flags while it runs only: they are read here before,
/// with those of its --help-hidden, and forgotten again.
static std::optional<int> readFlags(int argc, char **argv) {
  cl::opt<std::string> log{"log", cl::value_desc("error|info|verbose"),
                           cl::desc("What is written to standard error")};
  cl::opt<bool> pretty{"pretty", cl::desc("Indent the JSON of answers")};
  cl::opt<bool> litTest{"lit-test",
                        cl::desc("For tests: --input-style=delimited --pretty "
                                 "--log=verbose")};
  cl::opt<std::string> inputStyle{
      "input-style", cl::value_desc("standard|delimited"),
      cl::desc("How JSON comes in: as editors write it, or between lines of "
               "// -----")};
  const wsec::tools::LlvmTool tool = {
      "wse-lsp-server",
      "usage: wse-lsp-server [flags]\n\nAnswers editors about .mlir files of "
      "every level, over standard input and output.\n",
      {{"flags",
        {"log", "pretty", "input-style", "lit-test", "help", "version"}}},
      "Exit code: 0 done; 1 an editor that does not keep to the protocol; 2 "
      "wrong usage.\n"};
  const std::optional<int> code = wsec::tools::readFlags(tool, argc, argv);
  cl::ResetAllOptionOccurrences();
  for (cl::Option *option : std::initializer_list<cl::Option *>{
           &log, &pretty, &litTest, &inputStyle})
    option->removeArgument();
  return code;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  wsec::reportHostLimits("wse-lsp-server");
  if (const std::optional<int> code = readFlags(argc, argv))
    return *code;
  mlir::DialectRegistry registry;
  wsec::registerDialects(registry);
  return llvm::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
