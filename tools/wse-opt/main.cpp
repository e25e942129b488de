// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wse-opt: runs passes over IR of any level, for tests and for looking inside.
#include "compiler/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  wsec::registerDialects(registry);
  wsec::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "wsec pass driver\n", registry));
}
