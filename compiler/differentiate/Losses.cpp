// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Losses that are an operator.
#include "compiler/differentiate/CrossEntropy.h"
#include "compiler/differentiate/Differentiable.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;

static void crossEntropy(onnx::CrossEntropyOp op, Value dy, Backward &n) {
  if (op.getWeights() && n.wants(op.getWeights()))
    return n.refuse("has no gradient of the weights of classes; --freeze "
                    "leaves parameters as they are");
  if (std::optional<Head> head = Head::of(op, n.mostLogits))
    return addTiledGradients(*head, dy, n);
  n.add(op.getLogits(), gradientOfLogits(op, dy, n));
}

void wsec::differentiate::attachLosses(MLIRContext &context) {
  attach<onnx::CrossEntropyOp, crossEntropy>(context);
}
