// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/values/OperatorBuilder.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::values;

Box wsec::values::wholeBox(Value x) {
  return {Shape(shapeOf(x).size(), 0), Shape(shapeOf(x)),
          Shape(shapeOf(x).size(), 1)};
}

Value OperatorBuilder::cast(Value x, Type element) {
  if (typeOf(x).getElementType() == element)
    return x;
  return onnx::CastOp::create(build, loc(), typeOf(x).clone(element), x,
                              nameAttr());
}

Value OperatorBuilder::transpose(Value x, ArrayRef<int64_t> perm) {
  Shape shape;
  for (int64_t dim : perm)
    shape.push_back(shapeOf(x)[dim]);
  return onnx::TransposeOp::create(build, loc(), withShape(x, shape), x, perm,
                                   nameAttr());
}

Value OperatorBuilder::slice(Value x, const Box &box) {
  return onnx::SliceOp::create(build, loc(), withShape(x, box.extents), x,
                               box.starts, box.steps, nameAttr());
}

Value OperatorBuilder::sliceLast(Value x, int64_t start, int64_t size) {
  Box box = wholeBox(x);
  box.starts.back() = start;
  box.extents.back() = size;
  return slice(x, box);
}

Value OperatorBuilder::concat(ValueRange all, int64_t axis) {
  SmallVector<Value> parts = llvm::to_vector(llvm::make_filter_range(
      all, [&](Value part) { return shapeOf(part)[axis] != 0; }));
  if (parts.empty())
    return all.front();
  if (parts.size() == 1)
    return parts.front();
  Shape shape(shapeOf(parts.front()));
  shape[axis] = 0;
  for (Value part : parts)
    shape[axis] += shapeOf(part)[axis];
  return onnx::ConcatOp::create(build, loc(), withShape(parts.front(), shape),
                                parts, axis, nameAttr());
}

Value OperatorBuilder::matmul(Value x, Value weight, Value bias) {
  Shape shape(shapeOf(x));
  shape.back() = shapeOf(weight)[1];
  return onnx::MatMulOp::create(build, loc(), withShape(x, shape), x, weight,
                                bias, nameAttr());
}

Value OperatorBuilder::expand(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  return onnx::ExpandOp::create(build, loc(), withShape(x, shape), x,
                                nameAttr());
}

Value OperatorBuilder::where(Value condition, Value a, Value b) {
  Shape shape = *broadcastShapes(
      *broadcastShapes(shapeOf(condition), shapeOf(a)), shapeOf(b));
  return onnx::WhereOp::create(build, loc(), withShape(a, shape), condition, a,
                               b, nameAttr());
}

Value OperatorBuilder::keptReduced(Value x, onnx::ReduceKind kind,
                                   ArrayRef<int64_t> axes) {
  if (axes.empty())
    return x;
  Shape shape(shapeOf(x));
  for (int64_t axis : axes)
    shape[axis] = 1;
  return onnx::ReduceOp::create(build, loc(), withShape(x, shape), kind, x,
                                axes, true, nameAttr());
}

Value OperatorBuilder::reduced(onnx::ReduceKind kind, Value x, int64_t axis) {
  Shape shape(shapeOf(x));
  shape.erase(shape.begin() + axis);
  return onnx::ReduceOp::create(build, loc(), withShape(x, shape), kind, x,
                                axis, false, nameAttr());
}

Value OperatorBuilder::softmax(Value x) {
  return onnx::SoftmaxOp::create(build, loc(), x.getType(), x, nameAttr());
}
