// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What moves, repeats or joins elements: the same the other way round; and what
// combines them along axes.
#include "compiler/differentiate/Differentiable.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;

static void reshape(onnx::ReshapeOp op, Value dy, Backward &n) {
  n.add(op.getX(), n.reshape(dy, shapeOf(op.getX())));
}

static void expand(onnx::ExpandOp op, Value dy, Backward &n) {
  n.add(op.getX(), dy);
}

static void transpose(onnx::TransposeOp op, Value dy, Backward &n) {
  Shape back(op.getPerm().size());
  for (auto [to, from] : llvm::enumerate(op.getPerm()))
    back[from] = to;
  n.add(op.getX(), n.transpose(dy, back));
}

static void slice(onnx::SliceOp op, Value dy, Backward &n) {
  ArrayRef<int64_t> shape = shapeOf(op.getX());
  for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis)
    dy = n.spread(dy, axis, op.getStarts()[axis], op.getSteps()[axis],
                  shape[axis]);
  n.add(op.getX(), dy);
}

static void sliceHeads(onnx::SliceHeadsOp op, Value dy, Backward &n) {
  ArrayRef<int64_t> shape = shapeOf(op.getX());
  const int64_t heads = op.getNumHeads();
  Value byHead =
      n.reshape(dy, {shape[0], shape[1], heads, shapeOf(dy).back() / heads});
  Value whole = n.padded(byHead, 3, op.getStart(), shape[2] / heads);
  n.add(op.getX(), n.reshape(whole, shape));
}

static void concat(onnx::ConcatOp op, Value dy, Backward &n) {
  int64_t start = 0;
  for (Value part : op.getParts()) {
    Box box = wholeBox(dy);
    box.starts[op.getAxis()] = start;
    box.extents[op.getAxis()] = shapeOf(part)[op.getAxis()];
    start += box.extents[op.getAxis()];
    if (n.wants(part))
      n.add(part, n.slice(dy, box));
  }
}

static void reduce(onnx::ReduceOp op, Value dyValue, Backward &n) {
  Shape kept(shapeOf(op.getX()));
  double count = 1;
  for (int64_t axis : op.getAxes())
    count *= double(std::exchange(kept[axis], 1));
  Term dy{n, n.reshape(dyValue, kept)}, x{n, op.getX()};
  if (op.getKind() == onnx::ReduceKind::Mean)
    dy = dy * (1 / count);
  if (op.getKind() == onnx::ReduceKind::Max) { // equal ones share
    Term most{n, n.reshape(op.getY(), kept)};
    Term isMost{n, n.cast((x == most).value, typeOf(x.value).getElementType())};
    Term shared{
        n, n.keptReduced(isMost.value, onnx::ReduceKind::Sum, op.getAxes())};
    dy = isMost * (dy / shared);
  }
  n.add(op.getX(), dy.value);
}

/// Each sum has the elements before it, so an element is in those behind it.
static void runningSum(onnx::RunningSumOp op, Value dy, Backward &n) {
  n.add(op.getX(), onnx::RunningSumOp::create(
                       n.builder(), n.loc(), dy.getType(), dy, op.getAxis(),
                       op.getExclusive(), !op.getReverse(), n.nameAttr()));
}

void wsec::differentiate::attachMovement(MLIRContext &context) {
  attach<onnx::ReshapeOp, reshape>(context);
  attach<onnx::ExpandOp, expand>(context);
  attach<onnx::TransposeOp, transpose>(context);
  attach<onnx::SliceOp, slice>(context);
  attach<onnx::SliceHeadsOp, sliceHeads>(context);
  attach<onnx::ConcatOp, concat>(context);
  attach<onnx::ReduceOp, reduce>(context);
  attach<onnx::RunningSumOp, runningSum>(context);
}
