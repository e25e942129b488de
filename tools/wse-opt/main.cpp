// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wse-opt: runs passes over IR of any level, for tests and for looking inside.
#include "compiler/HostLimits.h"
#include "compiler/InputText.h"
#include "compiler/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tools/flags/Version.h"
#include "tools/map/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

/// --help would list the options of LLVM's targets and optimizers, which the
/// shared library brings along, before anything of ours. They are there when
/// main starts; MLIR's and ours come later.
static void hideOptionsOfLLVM() {
  for (auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (llvm::is_contained(option->Categories, &llvm::cl::getGeneralCategory()))
      option->setHiddenFlag(llvm::cl::Hidden);
}

int main(int argc, char **argv) {
  wsec::reportHostLimits("wse-opt");
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "wse-opt " << wsec::tools::versionText() << "\n";
  });
  hideOptionsOfLLVM();
  mlir::DialectRegistry registry;
  wsec::registerDialects(registry);
  wsec::registerPasses();
  wsec::map::registerMapPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "wsec pass driver\n", registry);
  if (input != "-")
    if (auto text = wsec::readIR(input); !text) {
      llvm::errs() << "error: " << llvm::toString(text.takeError()) << "\n";
      return EXIT_FAILURE;
    }
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}
