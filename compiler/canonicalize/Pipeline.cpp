// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phase: onnx of named operators -> onnx of those that have kernels, one
// form for each thing that exporters write in many.
#include "compiler/canonicalize/Passes.h"
#include "dialects/onnx/Onnx.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

void wsec::canonicalize::buildCanonicalizePipeline(mlir::OpPassManager &pm,
                                                   int64_t rows,
                                                   ExpandExpertsOptions experts,
                                                   HoldStatesOptions states) {
  // Exporters repeat subexpressions that patterns expect to be one value.
  pm.addPass(createCommonSubexpressions());
  pm.addPass(createHoldStates(states));
  // Its steps end here, before patterns look at each of them.
  pm.addPass(createFuseSubstitutions());
  pm.addPass(createFuseNorms());
  // The angles of one token are a vector, with which one of the two products of
  // a rotary embedding would move out of the layout of heads without the other.
  pm.addPass(createFuseRotary());
  // Transposes around projections and norms of heads have to be out of the way
  // of attention and of other rotary embeddings, and attention leaves some that
  // cancel.
  pm.addPass(createFuseMatMul());
  pm.addPass(createFuseRotary());
  pm.addPass(createFuseAttention());
  // Scores of attentions that were recognized are nobody's any more.
  pm.addPass(createCommonSubexpressions());
  pm.addPass(createFuseExperts());
  pm.addPass(createExpandExperts(experts));
  pm.addPass(createLegalizeProducts());
  pm.addPass(createFollowLength({rows}));
  buildCleanUpPipeline(pm);
}

void wsec::canonicalize::buildCleanUpPipeline(mlir::OpPassManager &pm) {
  pm.addPass(createFuseMatMul());
  pm.addPass(createCommonSubexpressions());
  pm.addPass(createVerifyCanonical());
}

bool wsec::canonicalize::haveExpertsOfTheirOwn(Operation *module) {
  auto hasRows = [](onnx::ExpertsOp op) {
    return cast<RankedTensorType>(op.getX().getType()).getDimSize(0) > 1
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  return module->walk(hasRows).wasInterrupted();
}
