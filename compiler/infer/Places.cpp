// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/Places.h"
#include "compiler/values/ViewTracing.h"

using namespace wsec::infer;

int64_t wsec::infer::indexInto(int64_t extent, int64_t index) {
  index += index < 0 ? extent : 0;
  return index < extent ? std::max<int64_t>(index, -1) : -1;
}

std::optional<int64_t> wsec::infer::firstOfRun(const Fact &indices,
                                               int64_t axis, int64_t extent) {
  std::optional<Tensor> known = indices.load();
  if (!known || known->size() == 0)
    return std::nullopt;
  const int64_t first = indexInto(extent, known->asInt(0));
  const int64_t count = indices.shape[axis];
  const int64_t step = rowMajorStrides(indices.shape)[axis];
  if (first < 0 || first > extent - count)
    return std::nullopt;
  for (int64_t i = 0; i < known->size(); ++i)
    if (indexInto(extent, known->asInt(i)) != first + i / step % count)
      return std::nullopt;
  return first;
}

std::optional<Shape> wsec::infer::cornerOfBox(const Fact &indices,
                                              ArrayRef<int64_t> shape) {
  const int64_t width = indices.shape.back();
  std::optional<Tensor> known = indices.load();
  if (!known || known->size() == 0 ||
      int64_t(indices.shape.size()) != width + 1)
    return std::nullopt;
  const Shape strides = rowMajorStrides(indices.shape);
  Shape corner;
  for (int64_t d = 0; d < width; ++d) {
    corner.push_back(indexInto(shape[d], known->asInt(d)));
    if (corner[d] < 0 || corner[d] > shape[d] - indices.shape[d])
      return std::nullopt;
    for (int64_t i = d; i < known->size(); i += width)
      if (indexInto(shape[d], known->asInt(i)) !=
          corner[d] + i / strides[d] % indices.shape[d])
        return std::nullopt;
  }
  return corner;
}

Value wsec::infer::sliceAlong(Legalization &n, Value x, int64_t axis,
                              int64_t start, int64_t extent) {
  Box box = wholeBox(x);
  box.starts[axis] = start;
  box.extents[axis] = extent;
  return n.slice(x, box);
}

Value wsec::infer::runWritten(Legalization &n, Value x, Value updates,
                              int64_t axis, int64_t first) {
  SmallVector<Value> parts;
  if (first > 0)
    parts.push_back(sliceAlong(n, x, axis, 0, first));
  parts.push_back(updates);
  const int64_t extent = shapeOf(x)[axis];
  if (const int64_t end = first + shapeOf(updates)[axis]; end < extent)
    parts.push_back(sliceAlong(n, x, axis, end, extent - end));
  return parts.size() == 1 ? updates : n.concat(parts, axis);
}

bool wsec::infer::canCount(Legalization &n, int64_t extent) {
  constexpr int64_t most = int64_t(1) << 24;
  return extent <= most || n.fail("counts " + Twine(extent) +
                                  " places along an axis in f32, which tells " +
                                  Twine(most) + " apart");
}

Value wsec::infer::countAlong(Legalization &n, ElementType type, int64_t rank,
                              int64_t axis, int64_t extent, int64_t step) {
  Shape shape(rank, 1);
  shape[axis] = extent;
  Tensor numbers(type, shape);
  for (int64_t i = 0; i < extent; ++i)
    isFloat(type) ? numbers.setFloat(i, i * step) : numbers.setInt(i, i * step);
  return n.materialize(std::move(numbers));
}

Extremes wsec::infer::extremes(Legalization &n, Value x, int64_t axis,
                               int64_t count, bool smallest) {
  // The axis and the last one change places, and do so again.
  auto exchanged = [&](Value value) {
    const int64_t last = int64_t(shapeOf(value).size()) - 1;
    auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, last + 1));
    std::swap(permutation[axis], permutation[last]);
    return axis == last ? value : n.transpose(value, permutation);
  };
  const Type element = typeOf(x).getElementType();
  x = exchanged(n.cast(x, n.builder().getF32Type()));
  Shape shape(shapeOf(x));
  shape.back() = count;
  auto found = onnx::TopKOp::create(
      n.builder(), n.loc(),
      RankedTensorType::get(shape, n.builder().getI64Type()),
      withShape(x, shape), x, smallest, n.nameAttr());
  return {exchanged(found.getIndices()),
          n.cast(exchanged(found.getValues()), element)};
}

Value wsec::infer::rowsAt(Legalization &n, Value table, Value places) {
  Shape shape(shapeOf(places));
  shape.push_back(shapeOf(table)[1]);
  return onnx::GatherOp::create(n.builder(), n.loc(), withShape(table, shape),
                                table, places, n.nameAttr());
}

Value wsec::infer::steps(Legalization &n, Value indices, int64_t extent,
                         int64_t step, int64_t outside) {
  if (arePlacesOfLargest(indices, extent))
    return step == 1 ? indices : n.mul(indices, double(step));
  Value negative = n.less(indices, 0.0);
  Value index = n.where(negative, n.add(indices, double(extent)), indices);
  Value tooSmall = n.less(index, 0.0);
  Value fits = n.less(index, double(extent));
  Value isInside = n.logicalAnd(fits, n.logicalNot(tooSmall));
  Value scaled = step == 1 ? index : n.mul(index, double(step));
  return n.where(isInside, scaled, n.scalarLike(scaled, double(outside)));
}

Value wsec::infer::asI32(Legalization &n, Value indices) {
  return n.cast(indices, n.builder().getI32Type());
}

Value wsec::infer::elementPlaces(Legalization &n, ArrayRef<int64_t> shape,
                                 Value indices, int64_t axis) {
  Shape strides = rowMajorStrides(Shape(shape)), extents(shapeOf(indices));
  Value places = steps(n, asI32(n, indices), shape[axis], strides[axis],
                       numElements(shape));
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (d != axis && extents[d] > 1)
      places = n.add(places, countAlong(n, ElementType::Int32, shape.size(), d,
                                        extents[d], strides[d]));
  return places;
}

Value wsec::infer::elementsAt(Legalization &n, Value x, Value indices,
                              int64_t axis) {
  Shape shape(shapeOf(x)), result(shapeOf(indices));
  Value table = n.reshape(x, {numElements(shape), 1});
  return n.reshape(rowsAt(n, table, elementPlaces(n, shape, indices, axis)),
                   result);
}
