// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that work element by element, and those that only change shapes.
#include "dialects/onnx/OnnxVerify.h"
#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::onnx;

/// Results broadcast exactly: each extent comes from some operand.
static LogicalResult verifyBroadcast(Operation *op, ValueRange operands,
                                     Value result) {
  SmallVector<int64_t> shape;
  for (Value operand : operands) {
    SmallVector<int64_t> next;
    if (!OpTrait::util::getBroadcastedShape(shape, shapeOf(operand), next))
      return withMaker(op->emitOpError()
                           << "shape of " << operand.getType()
                           << " does not broadcast with the other operands",
                       operand);
    shape = next;
  }
  if (shapeOf(result) != ArrayRef<int64_t>(shape))
    return typeError(op, "result", result,
                     RankedTensorType::get(shape, elementOf(result)));
  return success();
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

static bool isComparison(BinaryKind kind) {
  return kind == BinaryKind::Equal || kind == BinaryKind::Less ||
         kind == BinaryKind::LessOrEqual;
}

LogicalResult BinaryOp::verify() {
  if (failed(verifyBroadcast(*this, getOperands(), getY()))) // C1
    return failure();
  if (elementOf(getA()) != elementOf(getB())) // C2
    return withMaker(emitOpError() << "operands are of " << elementOf(getA())
                                   << " and " << elementOf(getB()),
                     getB());
  Type expected = isComparison(getKind()) ? IntegerType::get(getContext(), 1)
                                          : elementOf(getA());
  return expectType(*this, "result", getY(), shapeOf(getY()), expected); // C3
}

LogicalResult WhereOp::verify() {
  if (failed(verifyBroadcast(*this, getOperands(), getY()))) // C1
    return failure();
  if (!elementOf(getCondition()).isInteger(1) ||
      elementOf(getA()) != elementOf(getB()) ||
      elementOf(getA()) != elementOf(getY())) // C2
    return emitOpError("needs an i1 condition and one type of elements, found ")
           << getOperandTypes() << " -> " << getY().getType();
  return success();
}

LogicalResult ReduceOp::verify() {
  SmallVector<int64_t> shape;
  ArrayRef<int64_t> x = shapeOf(getX()), axes = getAxes();
  bool ordered =
      !axes.empty() && axes.front() >= 0 && axes.back() < int64_t(x.size());
  for (size_t i = 1; i < axes.size(); ++i)
    ordered &= axes[i - 1] < axes[i];
  if (!ordered) // C1
    return withMaker(emitOpError()
                         << "axes [" << axes
                         << "] are not increasing inside rank " << x.size(),
                     getX());
  for (auto [d, extent] : llvm::enumerate(x)) {
    if (!llvm::is_contained(axes, int64_t(d)))
      shape.push_back(extent);
    else if (getKeepdims())
      shape.push_back(1);
  }
  return expectType(*this, "result", getY(), shape, elementOf(getX())); // C2
}

LogicalResult RunningSumOp::verify() {
  const int64_t rank = int64_t(shapeOf(getX()).size());
  const int64_t axis = getAxis();
  if (axis < 0 || axis >= rank) // C1
    return withMaker(emitOpError()
                         << "axis " << axis << " is outside rank " << rank,
                     getX());
  Type element = elementOf(getX());
  if (!element.isF32() && !element.isSignlessInteger(32) &&
      !element.isSignlessInteger(64)) // C2
    return withMaker(emitOpError() << "sums f32, i32 or i64, not " << element,
                     getX());
  return success();
}

LogicalResult BitCastOp::verify() {
  Type from = elementOf(getX()), to = elementOf(getY());
  if (from.isF32() ? to.isInteger(32) : from.isInteger(32) && to.isF32()) // C1
    return success();
  return withMaker(emitOpError() << "takes bits of f32 for those of an integer "
                                    "of 32, or the other way, not of "
                                 << from << " for " << to,
                   getX());
}

LogicalResult TopKOp::verify() {
  SmallVector<int64_t> shape(shapeOf(getX()));
  SmallVector<int64_t> found(shapeOf(getIndices()));
  if (!isa<FloatType>(elementOf(getX()))) // C1
    return withMaker(emitOpError() << "orders floats, not " << getX().getType(),
                     getX());
  if (shape.empty() || found.empty() || found.back() < 1 ||
      found.back() > shape.back()) // C2
    return withMaker(emitOpError() << "cannot find " << getIndices().getType()
                                   << " in " << getX().getType(),
                     getX());
  shape.back() = found.back();
  Builder builder(getContext());
  if (failed(expectType(*this, "indices", getIndices(), shape,
                        builder.getI64Type())))
    return failure();
  return expectType(*this, "values", getValues(), shape, elementOf(getX()));
}

//===----------------------------------------------------------------------===//
// Shape only
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  auto from = cast<RankedTensorType>(getX().getType());
  auto to = cast<RankedTensorType>(getY().getType());
  if (from.getElementType() != to.getElementType() ||
      from.getNumElements() != to.getNumElements()) // C1
    return withMaker(
        emitOpError() << "cannot give " << from << " the type " << to, getX());
  return success();
}

LogicalResult ExpandOp::verify() {
  if (elementOf(getX()) != elementOf(getY()) ||
      !broadcastsTo(getX(), shapeOf(getY()))) // C1
    return withMaker(emitOpError()
                         << getX().getType() << " does not broadcast to "
                         << getY().getType(),
                     getX());
  return success();
}

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), perm = getPerm();
  SmallVector<int64_t> sorted(perm), shape;
  llvm::sort(sorted);
  bool permutes = perm.size() == x.size();
  for (size_t d = 0; permutes && d < x.size(); ++d)
    permutes = sorted[d] == int64_t(d);
  if (!permutes) // C1
    return withMaker(emitOpError() << "[" << perm << "] does not permute "
                                   << x.size() << " dimensions",
                     getX());
  for (int64_t d : perm)
    shape.push_back(x[d]);
  return expectType(*this, "result", getY(), shape, elementOf(getX())); // C2
}

LogicalResult SliceOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), y = shapeOf(getY());
  if (getStarts().size() != x.size() || getSteps().size() != x.size() ||
      y.size() != x.size() || llvm::is_contained(getSteps(), 0)) // C1
    return emitOpError() << "needs " << x.size()
                         << " starts, non-zero steps and result dimensions";
  for (auto [d, extent] : llvm::enumerate(y)) {
    int64_t first = getStarts()[d], last = first + (extent - 1) * getSteps()[d];
    if (extent > 0 &&
        (std::min(first, last) < 0 || std::max(first, last) >= x[d])) // C2
      return withMaker(emitOpError()
                           << "takes elements " << first << " to " << last
                           << " of " << x[d] << " along dimension " << d,
                       getX());
  }
  return expectType(*this, "result", getY(), y, elementOf(getX()));
}

LogicalResult ConcatOp::verify() {
  if (getParts().empty())
    return emitOpError("needs at least one operand");
  SmallVector<int64_t> shape(shapeOf(getParts().front()));
  int64_t axis = getAxis();
  if (axis < 0 || axis >= int64_t(shape.size())) // C1
    return emitOpError() << "axis " << axis << " is outside rank "
                         << shape.size();
  shape[axis] = 0;
  for (Value part : getParts()) {
    SmallVector<int64_t> rest(shapeOf(part));
    if (rest.size() != shape.size()) // C1
      return withMaker(emitOpError() << "joins rank " << shape.size()
                                     << " and rank " << rest.size(),
                       part);
    int64_t extent = std::exchange(rest[axis], shape[axis]);
    if (rest != shape) // C2
      return withMaker(emitOpError() << part.getType() << " does not fit "
                                     << getParts().front().getType()
                                     << " along axis " << axis,
                       part);
    shape[axis] += extent;
  }
  return expectType(*this, "result", getY(), shape,
                    elementOf(getParts().front())); // C2
}
