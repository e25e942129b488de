// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/differentiate/CrossEntropy.h"
#include "compiler/differentiate/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace wsec::differentiate {
#define GEN_PASS_DEF_LEGALIZELOSSES
#include "compiler/differentiate/Passes.h.inc"
} // namespace wsec::differentiate

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;

namespace {
struct LegalizeLossesPass
    : wsec::differentiate::impl::LegalizeLossesBase<LegalizeLossesPass> {
  using LegalizeLossesBase::LegalizeLossesBase;

  void runOnOperation() override {
    getOperation().walk([&](onnx::CrossEntropyOp op) {
      FoldingBuilder builder(OpBuilder(op), op.getLoc(), op.getNodeAttr());
      op.getLoss().replaceAllUsesWith(composeLoss(op, builder, mostLogits));
      op.erase();
    });
  }
};
} // namespace
