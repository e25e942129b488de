// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/values/ViewTracing.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::values;

/// One step backwards: the operand, and what the operation does to its view.
static Value layoutOperand(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<onnx::ReshapeOp, onnx::TransposeOp>(
          [](auto layout) { return layout.getX(); })
      .Default(Value());
}

static std::optional<StridedView> throughSlice(onnx::SliceOp op,
                                               const StridedView &view) {
  std::optional<StridedView> result = view;
  for (size_t d = 0; result && d < view.rank(); ++d)
    result = result->sliced(d, op.getStarts()[d], shapeOf(op.getY())[d],
                            op.getSteps()[d]);
  return result;
}

bool wsec::values::isShapeOnly(Operation *op) {
  if (auto keep = dyn_cast_or_null<onnx::KeepOp>(op))
    return !keep.getOnWafer();
  return op &&
         isa<onnx::ReshapeOp, onnx::ExpandOp, onnx::TransposeOp, onnx::SliceOp>(
             op);
}

std::optional<StridedView>
wsec::values::throughShapeOp(Operation *op, const StridedView &operand) {
  if (auto transpose = dyn_cast<onnx::TransposeOp>(op))
    return operand.transposed(transpose.getPerm());
  if (auto slice = dyn_cast<onnx::SliceOp>(op))
    return throughSlice(slice, operand);
  if (isa<onnx::ExpandOp>(op))
    return operand.expanded(shapeOf(op->getResult(0)));
  return operand.reshaped(shapeOf(op->getResult(0)));
}

/// The operand and the factor of a multiplication or division by one number
/// that changes no shape.
static std::optional<std::pair<Value, double>> scaling(onnx::BinaryOp op) {
  if (op.getKind() == onnx::BinaryKind::Mul)
    for (auto [x, c] :
         {std::pair(op.getA(), op.getB()), std::pair(op.getB(), op.getA())})
      if (auto factor = uniformValue(c); factor && x.getType() == op.getType())
        return std::pair(Value(x), *factor);
  if (op.getKind() == onnx::BinaryKind::Div)
    if (auto divisor = uniformValue(op.getB());
        divisor && op.getA().getType() == op.getType())
      return std::pair(Value(op.getA()), 1 / *divisor);
  return std::nullopt;
}

/// How far a trace goes.
enum class Through { Layout, Scales, Repeats };

/// The operand that a chain goes on with, or null at its root.
static Value operandOnChain(Operation *op, Through through) {
  if (Value operand = layoutOperand(op))
    return operand;
  if (through == Through::Layout)
    return nullptr;
  if (auto expand = dyn_cast<onnx::ExpandOp>(op))
    return through == Through::Repeats ? expand.getX() : Value();
  if (auto slice = dyn_cast<onnx::SliceOp>(op))
    return slice.getX();
  auto product = dyn_cast<onnx::BinaryOp>(op);
  auto factor = product ? scaling(product) : std::nullopt;
  return factor ? factor->first : Value();
}

/// Down to the root, then back over the operations. Where one breaks the
/// view, its result is the root of what follows.
static TracedView trace(Value value, Through through) {
  SmallVector<Operation *> chain;
  while (Operation *op = value.getDefiningOp()) {
    Value operand = operandOnChain(op, through);
    if (!operand)
      break;
    chain.push_back(op);
    value = operand;
  }
  TracedView traced{value, StridedView::whole(shapeOf(value))};
  for (Operation *op : llvm::reverse(chain)) {
    if (auto product = dyn_cast<onnx::BinaryOp>(op)) {
      traced.scale *= scaling(product)->second;
      continue;
    }
    if (auto view = throughShapeOp(op, traced.view))
      traced.view = *view;
    else
      traced = {op->getResult(0),
                StridedView::whole(shapeOf(op->getResult(0)))};
  }
  return traced;
}

TracedView wsec::values::traceLayout(Value value) {
  return trace(value, Through::Layout);
}
TracedView wsec::values::traceScaledLayout(Value value) {
  return trace(value, Through::Scales);
}
TracedView wsec::values::traceRepeated(Value value) {
  return trace(value, Through::Repeats);
}

bool wsec::values::arePlacesOfLargest(Value ids, int64_t extent) {
  while (Operation *op = ids.getDefiningOp()) {
    if (auto largest = dyn_cast<onnx::TopKOp>(op))
      return shapeOf(largest.getX()).back() <= extent;
    if (!isShapeOnly(op) && !isa<onnx::CastOp>(op))
      return false;
    ids = op->getOperand(0);
  }
  return false;
}
