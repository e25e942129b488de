// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What was looked up or found: gradients belong to where it was.
#include "compiler/differentiate/Differentiable.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;
using onnx::BinaryKind;
using onnx::ReduceKind;

static void gather(onnx::GatherOp op, Value dy, Backward &n) {
  n.addRows(op.getTable(), op.getIds(), dy);
}

/// Of the values: each goes where its index says, all others are 0.
static void topK(onnx::TopKOp op, Value dy, Backward &n) {
  Shape shape(shapeOf(op.getX())), found(shapeOf(op.getIndices()));
  const int64_t axis = int64_t(shape.size());
  Tensor numbers(ElementType::Int64, {shape.back()});
  for (int64_t i = 0; i < numbers.size(); ++i)
    numbers.setInt(i, i);
  found.push_back(1);
  Value isHere =
      n.binary(BinaryKind::Equal, n.reshape(op.getIndices(), found),
               materialize(n.builder(), n.loc(), std::move(numbers)));
  Value spread = n.binary(BinaryKind::Mul, n.reshape(dy, found),
                          n.cast(isHere, n.builder().getF32Type()));
  n.add(op.getX(), n.reduced(ReduceKind::Sum, spread, axis - 1));
}

void wsec::differentiate::attachLookup(MLIRContext &context) {
  attach<onnx::GatherOp, gather>(context);
  attach<onnx::TopKOp, topK>(context);
}
