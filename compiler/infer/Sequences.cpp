// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements that are counted or ordered: ranges, triangles, ones at places, the
// largest.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Places.h"
#include "compiler/values/Arithmetic.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// Numbers from start towards limit, which is left out; nothing if they are
/// uncountable.
static std::optional<uint64_t> rangeCount(double start, double limit,
                                          double delta) {
  double count = std::ceil((limit - start) / delta);
  if (!(count < 0x1p63))
    return std::nullopt;
  return std::max(count, 0.0);
}

/// Unsigned distances: those between int64s need not be int64s.
static std::optional<uint64_t> rangeCount(int64_t start, int64_t limit,
                                          int64_t delta) {
  if (delta > 0 ? limit <= start : limit >= start)
    return 0;
  uint64_t distance = uint64_t(limit) - uint64_t(start), step = delta;
  if (delta < 0) {
    distance = -distance;
    step = -step;
  }
  return (distance - 1) / step + 1;
}

template <typename T>
static bool rangeOf(Node &node, const std::vector<Tensor> &bounds) {
  T start = bounds[0].get<T>(0), limit = bounds[1].get<T>(0),
    delta = bounds[2].get<T>(0);
  if (delta == 0)
    return node.fail("delta is 0");
  ElementType type = bounds[0].type();
  std::optional<uint64_t> count = rangeCount(start, limit, delta);
  if (!count || *count > uint64_t(maxFoldedBytes / storedBytes(type)))
    return node.fail("the range has more than " + llvm::Twine(maxFoldedBytes) +
                     " bytes");
  Tensor result(type, {int64_t(*count)});
  for (int64_t i = 0; i < result.size(); ++i)
    result.put(i, plus(start, times(T(i), delta)));
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

static bool range(Node &node) {
  std::vector<Tensor> bounds;
  for (size_t i = 0; i < 3; ++i) {
    std::optional<Tensor> bound = node.input(i).load();
    if (!bound || bound->size() != 1)
      return node.failUnknown(i, "a bound");
    bounds.push_back(std::move(*bound));
  }
  return isFloat(bounds[0].type()) ? rangeOf<double>(node, bounds)
                                   : rangeOf<int64_t>(node, bounds);
}

/// a - b cos(2 pi i / n) + c cos(4 pi i / n), as signals are weighted.
static bool cosines(Node &node, double a, double b, double c) {
  std::optional<int64_t> size = node.oneInt(0, "size");
  std::optional<ElementType> type =
      elementTypeOfOnnx(node.intAttr("output_datatype"));
  if (!size)
    return false;
  if (!type || *size < 0 || *size > maxFoldedBytes / storedBytes(*type))
    return node.fail("a window of " + llvm::Twine(*size) +
                     " elements, expected a type of numbers and at most " +
                     llvm::Twine(maxFoldedBytes) + " bytes");
  Tensor window(ElementType::Float32, {*size});
  const int64_t period = *size - (node.intAttr("periodic") ? 0 : 1);
  for (int64_t i = 0; i < *size; ++i) {
    const double turn =
        2 * std::acos(-1) * double(i) / double(std::max<int64_t>(period, 1));
    window.setFloat(i, a - b * std::cos(turn) + c * std::cos(2 * turn));
  }
  return node.setOutput(Fact::ofTensor(window.cast(*type)));
}

static bool hann(Node &node) { return cosines(node, 0.5, 0.5, 0); }
static bool hamming(Node &node) {
  return cosines(node, 25.0 / 46, 21.0 / 46, 0);
}
static bool blackman(Node &node) { return cosines(node, 0.42, 0.5, 0.08); }

static bool reverseSequence(Node &node) {
  const Fact &x = node.input(0);
  const int64_t batch = node.intAttr("batch_axis");
  if (x.rank() < 2 || batch < 0 || batch > 1 ||
      node.intAttr("time_axis") != 1 - batch)
    return node.fail("batch along axis " + llvm::Twine(batch) +
                     " and time along axis " +
                     llvm::Twine(node.intAttr("time_axis")) + " of " +
                     printShape(x.shape) + ", expected 0 and 1, or 1 and 0");
  if (!node.hasShape(1, "lengths", {x.shape[batch]}))
    return false;
  return node.setOutput(unknown(x.type, x.shape));
}

static bool trilu(Node &node) {
  const Fact &x = node.input(0);
  if (x.rank() < 2)
    return node.fail("needs a tensor of rank 2 or more");
  std::optional<int64_t> stated =
      node.has(1) ? node.oneInt(1, "k") : std::optional<int64_t>(0);
  if (!stated)
    return false;
  node.outputs[0] = Fact{x.type, x.shape, std::nullopt};
  auto tensors = node.loadAll(node.outputs[0]);
  if (!tensors)
    return true;
  int64_t diagonal = *stated;
  bool upper = node.intAttr("upper");
  Tensor zero(x.type, {1}), &result = tensors->front();
  int64_t columns = x.shape.back(), rows = x.shape[x.rank() - 2];
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t row = i / columns % rows, column = i % columns;
    bool keep = upper ? column - row >= diagonal : column - row <= diagonal;
    if (!keep)
      result.set(i, zero, 0);
  }
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

/// The number of results depends on the values, so they have to be known.
static bool nonZero(Node &node) {
  std::optional<Tensor> x = node.input(0).load();
  if (!x)
    return node.failUnknown(0, "what is not zero");
  Shape found;
  for (int64_t i = 0; i < x->size(); ++i)
    if (x->asBool(i))
      found.push_back(i);
  int64_t rank = x->shape().size(), count = found.size();
  Shape strides = rowMajorStrides(x->shape());
  Tensor result(ElementType::Int64, {rank, count});
  for (int64_t d = 0; d < rank; ++d)
    for (int64_t i = 0; i < count; ++i)
      result.setInt(d * count + i, found[i] / strides[d] % x->shape()[d]);
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

static bool oneHot(Node &node) {
  const Fact &indices = node.input(0), &values = node.input(2);
  std::optional<Tensor> depth = node.input(1).load();
  std::optional<int64_t> axis = node.axisAttr(indices.rank() + 1);
  if (!axis)
    return false;
  if (!depth || depth->size() != 1)
    return node.failUnknown(1, "depth");
  if (values.shape != Shape{2})
    return node.fail("its values have shape " + printShape(values.shape) +
                     ", expected 2");
  Shape shape = indices.shape;
  shape.insert(shape.begin() + *axis, depth->asInt(0));
  const std::optional<Tensor> places = indices.load(), both = values.load();
  if (!places || !both || numElements(shape) > maxFoldedBytes / 8)
    return node.setOutput(unknown(values.type, shape));
  // Exporters say so which axis repeats.
  const int64_t inner = rowMajorStrides(shape)[*axis], count = shape[*axis];
  Tensor result(values.type, shape);
  for (int64_t i = 0; i < result.size(); ++i) {
    const int64_t at = places->asInt(i / (inner * count) * inner + i % inner);
    const int64_t here = i / inner % count;
    result.set(i, *both, at == here || at + count == here);
  }
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

/// Ones on a diagonal.
static bool eyeLike(Node &node) {
  const Fact &x = node.input(0);
  std::optional<ElementType> type = x.type;
  if (int64_t stated = node.intAttr("dtype", 0))
    type = elementTypeOfOnnx(stated);
  if (!type || x.rank() != 2)
    return node.fail("of " + printShape(x.shape) + ", expected a matrix");
  if (unknown(*type, x.shape).bytes() > maxFoldedBytes)
    return node.fail("a constant of shape " + printShape(x.shape) +
                     " has more than " + Twine(maxFoldedBytes) + " bytes");
  Tensor result(*type, x.shape);
  const int64_t diagonal = node.intAttr("k");
  for (int64_t i = 0; i < result.size(); ++i) {
    const bool one = i % x.shape[1] - i / x.shape[1] == diagonal;
    isFloat(*type) ? result.setFloat(i, one) : result.setInt(i, one);
  }
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

static bool topK(Node &node) {
  const Fact &x = node.input(0);
  std::optional<int64_t> axis = node.axisAttr(x.rank());
  std::optional<int64_t> count = node.oneInt(1, "k");
  if (!axis || !count)
    return false;
  if (*count > x.shape[*axis])
    return node.fail("takes " + llvm::Twine(*count) + " of " +
                     llvm::Twine(x.shape[*axis]) + " elements");
  Shape shape = x.shape;
  shape[*axis] = *count;
  node.outputs[0] = Fact{x.type, shape, std::nullopt};
  if (node.outputs.size() > 1)
    node.outputs[1] = Fact{ElementType::Int64, shape, std::nullopt};
  return true;
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

static bool oneHot(Legalization &n) {
  Value indices = n.input(0), values = n.input(2);
  const int64_t rank = n.resultType().getRank();
  std::optional<int64_t> axis = n.node().axisAttr(rank);
  if (!axis)
    return false;
  const int64_t depth = n.resultType().getShape()[*axis];
  Value index = asI32(n, indices);
  index = n.where(n.less(index, 0.0), n.add(index, double(depth)), index);
  Shape shape(shapeOf(indices));
  shape.insert(shape.begin() + *axis, 1);
  Value isHere =
      n.equal(n.reshape(index, shape),
              countAlong(n, ElementType::Int32, rank, *axis, depth, 1));
  Value off = n.reshape(n.sliceLast(values, 0, 1), Shape(rank, 1));
  Value on = n.reshape(n.sliceLast(values, 1, 1), Shape(rank, 1));
  return n.replace(n.where(isHere, on, off));
}

/// What is outside of the triangle becomes 0, whatever it was.
static bool trilu(Legalization &n) {
  Value x = n.input(0);
  std::optional<int64_t> diagonal =
      n.has(1) ? n.node().oneInt(1, "k") : std::optional<int64_t>(0);
  if (!diagonal)
    return false;
  ArrayRef<int64_t> matrix = shapeOf(x).take_back(2);
  bool upper = n.node().intAttr("upper");
  Tensor keep(ElementType::Bool, matrix);
  for (int64_t i = 0; i < keep.size(); ++i) {
    int64_t above = i % matrix[1] - i / matrix[1];
    keep.setInt(i, upper ? above >= *diagonal : above <= *diagonal);
  }
  return n.replace(Value(onnx::WhereOp::create(
      n.builder(), n.loc(), x.getType(), n.materialize(std::move(keep)), x,
      n.scalarLike(x, 0), n.nameAttr())));
}

/// Of integers, the place of an element is the number of those before it:
/// larger ones, and equal ones with a lower index.
static bool topK(Legalization &n) {
  Value x = n.input(0);
  const int64_t rank = shapeOf(x).size();
  std::optional<int64_t> axis = n.node().axisAttr(rank);
  if (!axis)
    return false;
  const int64_t extent = shapeOf(x)[*axis];
  const int64_t count = n.resultType().getShape()[*axis];
  if (count > 0 && isa<FloatType>(typeOf(x).getElementType())) {
    Extremes found = extremes(n, x, *axis, count, !n.node().intAttr("largest"));
    SmallVector<Value> results = {found.values};
    if (n.op().getNumResults() > 1)
      results.push_back(n.cast(found.places, n.resultType(1).getElementType()));
    return n.replace(results);
  }
  const int64_t all = numElements(shapeOf(x));
  if (extent > mostComparisons / all)
    return n.fail("orders " + Twine(all) +
                  " elements, too many for each to be held against each");
  const bool largest = n.node().intAttr("largest");
  Shape mine(shapeOf(x)), others(shapeOf(x));
  mine.insert(mine.begin() + *axis + 1, 1);
  others.insert(others.begin() + *axis, 1);
  Value own = n.reshape(x, mine), other = n.reshape(x, others);
  Value isMore = largest ? n.less(own, other) : n.less(other, own);
  Value isEqual = n.equal(own, other);
  Value numbers = countAlong(n, ElementType::Int32, rank + 1, *axis, extent, 1);
  Value otherNumbers =
      countAlong(n, ElementType::Int32, rank + 1, *axis + 1, extent, 1);
  Value isBefore =
      n.logicalOr(isMore, n.logicalAnd(isEqual, n.less(otherNumbers, numbers)));
  Value place = n.reduced(
      ReduceKind::Sum, n.cast(isBefore, n.builder().getI32Type()), *axis + 1);
  // Which element has place p, for the first `count` places.
  Value isAt =
      n.equal(n.reshape(place, others),
              countAlong(n, ElementType::Int32, rank + 1, *axis, count, 1));
  Value index = n.where(isAt, otherNumbers, n.scalarLike(otherNumbers, -1));
  index = n.reduced(ReduceKind::Max, index, *axis + 1);
  Value values = elementsAt(n, x, index, *axis);
  SmallVector<Value> results = {values};
  if (n.op().getNumResults() > 1)
    results.push_back(n.cast(index, n.resultType(1).getElementType()));
  return n.replace(results);
}

/// The first elements of each sequence, so many as its length, from the last
/// one on; a length beyond the sequence ends the run.
static bool reverseSequence(Legalization &n) {
  Shape perm(shapeOf(n.input(0)).size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[0], perm[n.node().intAttr("batch_axis")]);
  Value x = n.transpose(n.input(0), perm);
  const Shape shape(shapeOf(x));
  const int64_t batch = shape[0], steps = shape[1];
  Value time = countAlong(n, ElementType::Int32, 2, 1, steps, 1);
  Value length = n.reshape(asI32(n, n.input(1)), {batch, 1});
  Value back = n.sub(n.sub(length, 1.0), time);
  Value at = n.where(n.less(time, length), back, time);
  Value place =
      n.add(at, countAlong(n, ElementType::Int32, 2, 0, batch, steps));
  place = n.where(n.less(at, double(steps)), place,
                  n.scalarLike(place, double(batch * steps)));
  Value rows = rowsAt(
      n, n.reshape(x, {batch * steps, numElements(shape) / batch / steps}),
      place);
  return n.replace(n.transpose(n.reshape(rows, shape), perm));
}

llvm::ArrayRef<Operator> wsec::infer::sequencesOperators() {
  static const Operator operators[] = {
      {"Range", range, nullptr},
      {"HannWindow", hann, nullptr, "output_datatype periodic"},
      {"HammingWindow", hamming, nullptr, "output_datatype periodic"},
      {"BlackmanWindow", blackman, nullptr, "output_datatype periodic"},
      {"ReverseSequence", reverseSequence, reverseSequence,
       "batch_axis time_axis"},
      {"NonZero", nonZero, nullptr},
      {"EyeLike", eyeLike, nullptr, "dtype k"},
      {"OneHot", oneHot, oneHot, "axis"},
      {"Trilu", trilu, trilu, "upper"},
      {"TopK", topK, topK, "axis k largest sorted"},
  };
  return operators;
}
