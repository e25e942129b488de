// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wse-opt: runs passes over IR of any level, for tests and for looking inside.
#include "compiler/HostLimits.h"
#include "compiler/InputText.h"
#include "compiler/Registration.h"
#include "mlir/Debug/Counter.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tools/flags/LlvmCommandLine.h"
#include "tools/map/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

/// --help would list the options of LLVM's targets and optimizers, which the
/// shared library brings along. They are there when main starts; MLIR's and
/// ours come later.
static void hideOptionsOfLLVM() {
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (llvm::is_contained(option->Categories, &cl::getGeneralCategory()))
      option->setHiddenFlag(cl::Hidden);
}

static void registerMLIROptions(mlir::DialectRegistry &registry) {
  mlir::MlirOptMainConfig::registerCLOptions(registry);
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  mlir::tracing::DebugCounter::registerCLOptions();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  wsec::reportHostLimits("wse-opt");
  hideOptionsOfLLVM();
  mlir::DialectRegistry registry;
  wsec::registerDialects(registry);
  wsec::registerPasses();
  wsec::map::registerMapPasses();
  registerMLIROptions(registry);
  cl::opt<std::string> input{cl::Positional, cl::init("-")};
  cl::opt<std::string> output{"o", cl::desc("Write the IR to FILE"),
                              cl::value_desc("FILE"), cl::init("-")};
  const wsec::tools::LlvmTool tool = {
      "wse-opt",
      "usage: wse-opt [FILE.mlir] [flags]\n\nRuns passes, in the order of the "
      "command line, over IR of any level.\n",
      {},
      "Exit code: 0 done; 1 the IR is at fault; 2 wrong usage.\n"};
  if (const auto code = wsec::tools::readFlags(tool, argc, argv))
    return *code;
  if (input != "-")
    if (auto text = wsec::readIR(input); !text) {
      llvm::errs() << "error: " << llvm::toString(text.takeError()) << "\n";
      return EXIT_FAILURE;
    }
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}
