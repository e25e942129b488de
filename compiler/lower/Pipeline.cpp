// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/lower/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "dialects/pe/Pe.h"

using namespace wsec;

namespace wsec::lower {
#define GEN_PASS_REGISTRATION
#include "compiler/lower/Passes.h.inc"
} // namespace wsec::lower

void lower::buildLowerPipeline(mlir::OpPassManager &manager) {
  manager.addPass(lower::createConvertWseToPePass());
}

void lower::registerLowerPipeline() {
  registerLowerPasses();
  mlir::PassPipelineRegistration<>(
      "wsec-lower", "Writes the code of the PEs: scheduled wse -> pe.",
      buildLowerPipeline);
}
