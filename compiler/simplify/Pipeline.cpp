// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phase: onnx as imported -> onnx of named operators.
#include "compiler/simplify/Passes.h"
#include "dialects/onnx/Onnx.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

void wsec::simplify::buildSimplifyPipeline(
    mlir::OpPassManager &pm, const SimplifyPipelineOptions &options) {
  PromoteToF32Options promotion;
  promotion.allowF64AsF32 = options.allowF64AsF32;
  pm.addPass(createInferAndFold());
  pm.addPass(createPromoteToF32(promotion));
  pm.addPass(createLegalizeNodes());
  // Exporters repeat subexpressions that patterns expect to be one value.
  pm.addPass(createCommonSubexpressions());
  pm.addPass(createFuseNorms());
  // Transposes around projections have to be out of attention's way, and
  // attention leaves some that cancel.
  pm.addPass(createFuseMatMul());
  pm.addPass(createFuseRotary());
  pm.addPass(createFuseAttention());
  pm.addPass(createLegalizeProducts());
  pm.addPass(createFuseMatMul());
  pm.addPass(createCommonSubexpressions());
  pm.addPass(createVerifySimplified());
}

void wsec::simplify::registerSimplifyPipeline() {
  registerSimplifyPasses();
  mlir::PassPipelineRegistration<SimplifyPipelineOptions>(
      "wsec-simplify", "Brings a model to the operators that have kernels.",
      buildSimplifyPipeline);
}
