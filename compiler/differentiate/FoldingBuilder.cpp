// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/differentiate/FoldingBuilder.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;
using onnx::BinaryKind;

/// What an operand repeats, if it need not.
static Value unrepeated(Value x) {
  if (auto expand = x.getDefiningOp<onnx::ExpandOp>())
    return expand.getX();
  return x;
}

Value FoldingBuilder::binary(BinaryKind kind, Value a, Value b) {
  const Shape shape = *broadcastShapes(shapeOf(a), shapeOf(b));
  std::optional<double> first = uniformValue(a), second = uniformValue(b);
  if (kind == BinaryKind::Mul && first && second)
    return filled(shape, *first * *second);
  if (kind == BinaryKind::Mul)
    for (auto [one, x] : {std::pair(first, b), std::pair(second, a)})
      if (one == 1.0 && Shape(shapeOf(x)) == shape)
        return x;
  auto fits = [&](Value x, Value y) {
    return broadcastShapes(shapeOf(x), shapeOf(y)) == shape;
  };
  auto shrink = [&](Value &x, std::optional<double> number, Value other) {
    Value less = number && typeOf(x).getRank() > 0 ? scalarLike(x, *number)
                                                   : unrepeated(x);
    if (fits(less, other))
      x = less;
  };
  shrink(a, first, b);
  shrink(b, second, a);
  return OperatorBuilder::binary(kind, a, b);
}

/// Another view of a constant; null if `x` is none.
Value FoldingBuilder::viewed(
    Value x, llvm::function_ref<std::optional<StridedView>(const StridedView &)>
                 change) {
  std::optional<Fact> fact = factOf(x);
  if (!fact || !fact->constant)
    return nullptr;
  return values::materialize(build, loc(), reindexed(*fact, change),
                             nodeName(x.getDefiningOp()));
}

Value FoldingBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  Value view = viewed(x, [&](auto &of) { return of.reshaped(shape); });
  return view ? view : OperatorBuilder::reshape(x, shape);
}

Value FoldingBuilder::transpose(Value x, ArrayRef<int64_t> perm) {
  Value view =
      viewed(x, [&](auto &of) { return std::optional(of.transposed(perm)); });
  return view ? view : OperatorBuilder::transpose(x, perm);
}

Value FoldingBuilder::expand(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  Value view =
      viewed(x, [&](auto &of) { return std::optional(of.expanded(shape)); });
  return view ? view : OperatorBuilder::expand(x, shape);
}

Value FoldingBuilder::sliceLast(Value x, int64_t start, int64_t size) {
  const size_t last = shapeOf(x).size() - 1;
  Value view =
      viewed(x, [&](auto &of) { return of.sliced(last, start, size, 1); });
  return view ? view : OperatorBuilder::sliceLast(x, start, size);
}

Value FoldingBuilder::swapped(Value x) {
  Shape perm;
  for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
    perm.push_back(d);
  std::swap(perm[perm.size() - 2], perm.back());
  return transpose(x, perm);
}

Value FoldingBuilder::asRows(Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return reshape(x,
                 {ShapedType::getNumElements(shape.drop_back()), shape.back()});
}

Value FoldingBuilder::filled(ArrayRef<int64_t> shape, double number) {
  Tensor scalar = Tensor::scalar(ElementType::Float32, number);
  return expand(materialize(std::move(scalar)), shape);
}

Value FoldingBuilder::padded(Value x, int64_t axis, int64_t start,
                             int64_t extent) {
  auto zeros = [&](int64_t count) {
    Shape shape(shapeOf(x));
    shape[axis] = count;
    return filled(shape);
  };
  SmallVector<Value> parts;
  const int64_t behind = extent - start - shapeOf(x)[axis];
  if (start > 0)
    parts.push_back(zeros(start));
  parts.push_back(x);
  if (behind > 0)
    parts.push_back(zeros(behind));
  return concat(parts, axis);
}

Value FoldingBuilder::spread(Value x, int64_t axis, int64_t first, int64_t step,
                             int64_t extent) {
  const Shape shape(shapeOf(x));
  const int64_t taken = shape[axis];
  if (step < 0 && taken > 1) {
    Box mirror = wholeBox(x);
    mirror.starts[axis] = taken - 1;
    mirror.steps[axis] = -1;
    x = slice(x, mirror);
    first += (taken - 1) * step;
  }
  const int64_t apart = taken > 1 ? std::abs(step) : 1;
  if (apart > 1) {
    Shape split(shape);
    split.insert(split.begin() + axis + 1, 1);
    x = padded(reshape(x, split), axis + 1, 0, apart);
    Shape joined(shape);
    joined[axis] *= apart;
    x = reshape(x, joined);
    // No zeros behind the last.
    Box box = wholeBox(x);
    box.extents[axis] = (taken - 1) * apart + 1;
    x = slice(x, box);
  }
  return padded(x, axis, first, extent);
}

Value FoldingBuilder::sumTo(Value x, ArrayRef<int64_t> shape) {
  const Shape from(shapeOf(x));
  const size_t more = from.size() - shape.size();
  Shape axes, kept(from);
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1 && (d < more || shape[d - more] == 1)) {
      axes.push_back(d);
      kept[d] = 1;
    }
  if (std::optional<double> number = uniformValue(x))
    return filled(shape, *number * double(numElements(from)) /
                             double(numElements(kept)));
  // Features first, then tokens: as one axis, if all are summed.
  if (!axes.empty() && axes.back() + 1 == int64_t(from.size())) {
    x = keptReduced(x, onnx::ReduceKind::Sum, axes.back());
    axes.pop_back();
  }
  if (numElements(ArrayRef(kept).drop_back(!kept.empty())) == 1 &&
      !axes.empty())
    x = keptReduced(asRows(x), onnx::ReduceKind::Sum, 0);
  else
    x = keptReduced(x, onnx::ReduceKind::Sum, axes);
  return reshape(x, shape);
}
