// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wse-lsp-server: editors ask it about .mlir files of every level (types,
// definitions, errors as you type).
#include "compiler/HostLimits.h"
#include "compiler/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/flags/Version.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  wsec::reportHostLimits("wse-lsp-server");
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "wse-lsp-server " << wsec::tools::versionText() << "\n";
  });
  mlir::DialectRegistry registry;
  wsec::registerDialects(registry);
  return llvm::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
