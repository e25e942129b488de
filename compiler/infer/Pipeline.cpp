// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phase: onnx as imported -> onnx of named operators of known shape.
#include "compiler/infer/Passes.h"
#include "dialects/onnx/Onnx.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

void wsec::infer::buildInferPipeline(mlir::OpPassManager &pm,
                                     const InferPipelineOptions &options) {
  PromoteToF32Options promotion;
  promotion.allowF64AsF32 = options.allowF64AsF32;
  pm.addPass(createInferAndFold());
  pm.addPass(createPromoteToF32(promotion));
  LegalizeNodesOptions legalization;
  legalization.expandWeights = options.expandWeights;
  pm.addPass(createLegalizeNodes(legalization));
}
