// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/simplify/ViewTracing.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;

/// One step backwards: the operand, and what the operation does to its view.
static Value layoutOperand(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<onnx::ReshapeOp, onnx::TransposeOp>(
          [](auto layout) { return layout.getX(); })
      .Default(Value());
}

static std::optional<StridedView> throughLayout(Operation *op,
                                                const StridedView &view) {
  if (auto reshape = dyn_cast<onnx::ReshapeOp>(op))
    return view.reshaped(shapeOf(reshape.getY()));
  return view.transposed(cast<onnx::TransposeOp>(op).getPerm());
}

static std::optional<StridedView> throughSlice(onnx::SliceOp op,
                                               const StridedView &view) {
  std::optional<StridedView> result = view;
  for (size_t d = 0; result && d < view.rank(); ++d)
    result = result->sliced(d, op.getStarts()[d], shapeOf(op.getY())[d],
                            op.getSteps()[d]);
  return result;
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

static TracedView trace(Value value, bool scaled) {
  TracedView here{value, StridedView::whole(shapeOf(value))};
  Operation *op = value.getDefiningOp();
  if (!op)
    return here;
  if (Value operand = layoutOperand(op)) {
    TracedView traced = trace(operand, scaled);
    auto view = throughLayout(op, traced.view);
    return view ? TracedView{traced.root, *view, traced.scale} : here;
  }
  if (!scaled)
    return here;
  if (auto slice = dyn_cast<onnx::SliceOp>(op)) {
    TracedView traced = trace(slice.getX(), scaled);
    auto view = throughSlice(slice, traced.view);
    return view ? TracedView{traced.root, *view, traced.scale} : here;
  }
  if (auto product = dyn_cast<onnx::BinaryOp>(op))
    if (auto factor = scaling(product)) {
      TracedView traced = trace(factor->first, scaled);
      return {traced.root, traced.view, traced.scale * factor->second};
    }
  return here;
}

TracedView wsec::simplify::traceLayout(Value value) {
  return trace(value, /*scaled=*/false);
}
TracedView wsec::simplify::traceScaledLayout(Value value) {
  return trace(value, /*scaled=*/true);
}
