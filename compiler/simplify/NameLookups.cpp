// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes that read or write elements at places that are computed. Places are
// numbers of rows of a table, made on the PEs from the indices; the store looks
// the rows up. A place outside of the table ends the run, so an index that is
// outside of its own dimension becomes one.
#include "compiler/simplify/Naming.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;
using onnx::BinaryKind;
using onnx::ReduceKind;
using onnx::UnaryKind;

// Every place is held against every update.
static constexpr int64_t mostComparisons = int64_t(1) << 24;

static Value castTo(Naming &n, Value x, Type element) {
  if (typeOf(x).getElementType() == element)
    return x;
  return onnx::CastOp::create(n.builder(), n.loc(), typeOf(x).clone(element), x,
                              n.nameAttr());
}

static Value where(Naming &n, Value condition, Value a, Value b) {
  Shape shape = *broadcastShapes(
      *broadcastShapes(shapeOf(condition), shapeOf(a)), shapeOf(b));
  return onnx::WhereOp::create(n.builder(), n.loc(), withShape(a, shape),
                               condition, a, b, n.nameAttr());
}

static Value reduce(Naming &n, ReduceKind kind, Value x, int64_t axis) {
  Shape shape(shapeOf(x));
  shape.erase(shape.begin() + axis);
  return onnx::ReduceOp::create(n.builder(), n.loc(), withShape(x, shape), kind,
                                x, axis, false, n.nameAttr());
}

/// 0, step, 2 * step, ... along one axis of `rank`.
static Value countAlong(Naming &n, ElementType type, int64_t rank, int64_t axis,
                        int64_t extent, int64_t step) {
  Shape shape(rank, 1);
  shape[axis] = extent;
  Tensor numbers(type, shape);
  for (int64_t i = 0; i < extent; ++i)
    isFloat(type) ? numbers.setFloat(i, i * step) : numbers.setInt(i, i * step);
  return materialize(n.builder(), n.loc(), std::move(numbers));
}

static Value rowsAt(Naming &n, Value table, Value places) {
  Shape shape(shapeOf(places));
  shape.push_back(shapeOf(table)[1]);
  return onnx::GatherOp::create(n.builder(), n.loc(), withShape(table, shape),
                                table, places, n.nameAttr());
}

/// step * index, of indices that may count from the end of `extent`; `outside`
/// for those that are beyond it.
static Value steps(Naming &n, Value indices, int64_t extent, int64_t step,
                   int64_t outside) {
  Value negative = n.binary(BinaryKind::Less, indices, 0.0);
  Value index = where(
      n, negative, n.binary(BinaryKind::Add, indices, double(extent)), indices);
  Value tooSmall = n.binary(BinaryKind::Less, index, 0.0);
  Value fits = n.binary(BinaryKind::Less, index, double(extent));
  Value isInside =
      n.binary(BinaryKind::And, fits, n.unary(UnaryKind::Not, tooSmall));
  Value scaled =
      step == 1 ? index : n.binary(BinaryKind::Mul, index, double(step));
  return where(n, isInside, scaled,
               scalarLike(n.builder(), n.loc(), scaled, double(outside)));
}

static Value asI32(Naming &n, Value indices) {
  return castTo(n, indices, n.builder().getI32Type());
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Numbers of the elements of a tensor of `shape` that `indices`, for one axis,
/// ask for.
static Value elementPlaces(Naming &n, ArrayRef<int64_t> shape, Value indices,
                           int64_t axis) {
  Shape strides = rowMajorStrides(Shape(shape)), extents(shapeOf(indices));
  Value places = steps(n, asI32(n, indices), shape[axis], strides[axis],
                       numElements(shape));
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (d != axis && extents[d] > 1)
      places = n.binary(BinaryKind::Add, places,
                        countAlong(n, ElementType::Int32, shape.size(), d,
                                   extents[d], strides[d]));
  return places;
}

/// Elements of `x` that `indices` ask for along one axis.
static Value elementsAt(Naming &n, Value x, Value indices, int64_t axis) {
  Shape shape(shapeOf(x)), result(shapeOf(indices));
  Value table = n.reshape(x, {numElements(shape), 1});
  return n.reshape(rowsAt(n, table, elementPlaces(n, shape, indices, axis)),
                   result);
}

static bool gatherElements(Naming &n) {
  Value x = n.input(0);
  std::optional<int64_t> axis = n.node().axisAttr(shapeOf(x).size());
  return axis && n.replace(elementsAt(n, x, n.input(1), *axis));
}

/// Numbers of the rows of `shape`, whose last `width` dimensions behind `batch`
/// the tuples of indices replace.
static Value tuplePlaces(Naming &n, ArrayRef<int64_t> shape, Value indices,
                         int64_t batch) {
  const int64_t width = shapeOf(indices).back();
  Shape rows(shape.take_front(batch + width));
  const Shape strides = rowMajorStrides(rows);
  const int64_t all = numElements(rows);
  Value ids = asI32(n, indices), places;
  Shape tuples(shapeOf(ids).drop_back());
  for (int64_t i = 0; i < width; ++i) {
    Value part = n.reshape(n.sliceLast(ids, i, 1), tuples);
    part = steps(n, part, shape[batch + i], strides[batch + i], all);
    places = places ? n.binary(BinaryKind::Add, places, part) : part;
  }
  for (int64_t d = 0; d < batch; ++d)
    if (shape[d] > 1)
      places = n.binary(BinaryKind::Add, places,
                        countAlong(n, ElementType::Int32, tuples.size(), d,
                                   shape[d], strides[d]));
  return places;
}

bool wsec::simplify::gatherTuples(Naming &n) {
  Value x = n.input(0), indices = n.input(1);
  const int64_t batch = n.node().intAttr("batch_dims");
  if (shapeOf(indices).back() == 0)
    return n.fail("its indices are empty");
  Value places = tuplePlaces(n, shapeOf(x), indices, batch);
  const int64_t rows =
      numElements(shapeOf(x).take_front(batch + shapeOf(indices).back()));
  Value table = n.reshape(x, {rows, numElements(shapeOf(x)) / rows});
  return n.replace(
      n.reshape(rowsAt(n, table, places), n.resultType().getShape()));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Which reduction takes the updates of one place; nothing for the last one.
static std::optional<BinaryKind> updateKind(StringRef reduction) {
  if (reduction == "add")
    return BinaryKind::Add;
  if (reduction == "mul")
    return BinaryKind::Mul;
  if (reduction == "max")
    return BinaryKind::Max;
  return BinaryKind::Min;
}

/// All updates of each row into one: halves of them, element by element, until
/// one is left.
static Value foldUpdates(Naming &n, BinaryKind kind, Value updates) {
  while (shapeOf(updates)[1] > 1) {
    const int64_t count = shapeOf(updates)[1], half = count / 2;
    auto part = [&](int64_t start, int64_t size) {
      Box box{Shape(3, 0), Shape(shapeOf(updates)), Shape(3, 1)};
      box.starts[1] = start;
      box.extents[1] = size;
      return n.slice(updates, box);
    };
    Value folded = n.binary(kind, part(0, half), part(half, half));
    updates = count % 2 ? n.concat({folded, part(2 * half, 1)}, 1) : folded;
  }
  return updates;
}

/// `rows` [R,W], of which the `updates` [U,W] go to `places` [U].
static bool scatterRows(Naming &n, Value rows, Value places, Value updates) {
  const int64_t count = shapeOf(rows)[0], width = shapeOf(rows)[1];
  const int64_t many = shapeOf(updates)[0];
  StringRef reduction = n.op().getOpType() == "Scatter"
                            ? "none" // has no other
                            : n.node().stringAttr("reduction");
  const int64_t each = reduction == "none" ? 1 : width;
  if (many * each > mostComparisons / count)
    return n.fail(Twine(many) + " updates of " + Twine(count) +
                  " rows are too many for each to be held against each");
  // The store resolves the places, and refuses those outside.
  Value numbers =
      n.reshape(countAlong(n, ElementType::Int32, 1, 0, count, 1), {count, 1});
  places = n.reshape(rowsAt(n, numbers, places), {1, many});
  Value isHere = n.binary(BinaryKind::Equal, places, numbers);
  if (reduction == "none") {
    // The last update of a row stands behind all rows of the table.
    Value last =
        where(n, isHere, countAlong(n, ElementType::Int32, 2, 1, many, 1),
              scalarLike(n.builder(), n.loc(), numbers, -1));
    last = n.reshape(reduce(n, ReduceKind::Max, last, 1), {count, 1});
    Value none = n.binary(BinaryKind::Less, last, 0.0);
    Value from =
        where(n, none, numbers, n.binary(BinaryKind::Add, last, double(count)));
    return n.replace(n.reshape(
        rowsAt(n, n.concat({rows, updates}, 0), n.reshape(from, {count})),
        n.resultType().getShape()));
  }
  const BinaryKind kind = *updateKind(reduction);
  const bool isSum = kind == BinaryKind::Add,
             isProduct = kind == BinaryKind::Mul;
  // Of minimum and maximum the row itself changes nothing.
  Value neutral = isSum || isProduct
                      ? scalarLike(n.builder(), n.loc(), rows, isProduct)
                      : n.reshape(rows, {count, 1, width});
  Value all = where(n, n.reshape(isHere, {count, many, 1}),
                    n.reshape(updates, {1, many, width}), neutral);
  Value folded =
      isSum ? reduce(n, ReduceKind::Sum, all, 1) : foldUpdates(n, kind, all);
  return n.replace(
      n.reshape(n.binary(kind, rows, n.reshape(folded, {count, width})),
                n.resultType().getShape()));
}

static bool scatterElements(Naming &n) {
  Value x = n.input(0), indices = n.input(1);
  std::optional<int64_t> axis = n.node().axisAttr(shapeOf(x).size());
  if (!axis)
    return false;
  const int64_t many = numElements(shapeOf(indices));
  Value places = elementPlaces(n, shapeOf(x), indices, *axis);
  return scatterRows(n, n.reshape(x, {numElements(shapeOf(x)), 1}),
                     n.reshape(places, {many}),
                     n.reshape(n.input(2), {many, 1}));
}

static bool scatterND(Naming &n) {
  Value x = n.input(0), indices = n.input(1);
  const int64_t width = shapeOf(indices).back();
  const int64_t rows = numElements(shapeOf(x).take_front(width));
  const int64_t columns = numElements(shapeOf(x).drop_front(width));
  const int64_t many = numElements(shapeOf(indices).drop_back());
  Value places = n.reshape(tuplePlaces(n, shapeOf(x), indices, 0), {many});
  return scatterRows(n, n.reshape(x, {rows, columns}), places,
                     n.reshape(n.input(2), {many, columns}));
}

//===----------------------------------------------------------------------===//
// By comparing with all numbers
//===----------------------------------------------------------------------===//

static bool oneHot(Naming &n) {
  Value indices = n.input(0), values = n.input(2);
  const int64_t rank = n.resultType().getRank();
  std::optional<int64_t> axis = n.node().axisAttr(rank);
  if (!axis)
    return false;
  const int64_t depth = n.resultType().getShape()[*axis];
  Value index = asI32(n, indices);
  index = where(n, n.binary(BinaryKind::Less, index, 0.0),
                n.binary(BinaryKind::Add, index, double(depth)), index);
  Shape shape(shapeOf(indices));
  shape.insert(shape.begin() + *axis, 1);
  Value isHere =
      n.binary(BinaryKind::Equal, n.reshape(index, shape),
               countAlong(n, ElementType::Int32, rank, *axis, depth, 1));
  Value off = n.reshape(n.sliceLast(values, 0, 1), Shape(rank, 1));
  Value on = n.reshape(n.sliceLast(values, 1, 1), Shape(rank, 1));
  return n.replace(where(n, isHere, on, off));
}

/// The place of an element is the number of those before it: larger ones, and
/// equal ones with a lower index. NaN is larger than any number.
static bool topK(Naming &n) {
  Value x = n.input(0);
  const int64_t rank = shapeOf(x).size();
  std::optional<int64_t> axis = n.node().axisAttr(rank);
  if (!axis)
    return false;
  const int64_t extent = shapeOf(x)[*axis];
  const int64_t count = n.resultType().getShape()[*axis];
  const int64_t all = numElements(shapeOf(x));
  if (extent > mostComparisons / all)
    return n.fail("orders " + Twine(all) +
                  " elements, too many for each to be held against each");
  const bool largest = n.node().intAttr("largest");
  Shape mine(shapeOf(x)), others(shapeOf(x));
  mine.insert(mine.begin() + *axis + 1, 1);
  others.insert(others.begin() + *axis, 1);
  Value own = n.reshape(x, mine), other = n.reshape(x, others);
  Value isMore = largest ? n.binary(BinaryKind::Less, own, other)
                         : n.binary(BinaryKind::Less, other, own);
  Value isEqual = n.binary(BinaryKind::Equal, own, other);
  if (isa<FloatType>(typeOf(x).getElementType())) {
    auto isNaN = [&](Value value) {
      return n.unary(UnaryKind::Not, n.binary(BinaryKind::Equal, value, value));
    };
    Value both = n.binary(BinaryKind::And, isNaN(own), isNaN(other));
    isEqual = n.binary(BinaryKind::Or, isEqual, both);
    Value larger = largest ? other : own, smaller = largest ? own : other;
    Value only = n.binary(BinaryKind::And, isNaN(larger),
                          n.unary(UnaryKind::Not, isNaN(smaller)));
    isMore = n.binary(BinaryKind::Or, isMore, only);
  }
  Value numbers = countAlong(n, ElementType::Int32, rank + 1, *axis, extent, 1);
  Value otherNumbers =
      countAlong(n, ElementType::Int32, rank + 1, *axis + 1, extent, 1);
  Value isBefore =
      n.binary(BinaryKind::Or, isMore,
               n.binary(BinaryKind::And, isEqual,
                        n.binary(BinaryKind::Less, otherNumbers, numbers)));
  Value place =
      reduce(n, ReduceKind::Sum, castTo(n, isBefore, n.builder().getI32Type()),
             *axis + 1);
  // Which element has place p, for the first `count` places.
  Value isAt =
      n.binary(BinaryKind::Equal, n.reshape(place, others),
               countAlong(n, ElementType::Int32, rank + 1, *axis, count, 1));
  Value index = where(n, isAt, otherNumbers,
                      scalarLike(n.builder(), n.loc(), otherNumbers, -1));
  index = reduce(n, ReduceKind::Max, index, *axis + 1);
  Value values = elementsAt(n, x, index, *axis);
  SmallVector<Value> results = {values};
  if (n.op().getNumResults() > 1)
    results.push_back(castTo(n, index, n.resultType(1).getElementType()));
  return n.replace(results);
}

ArrayRef<NamedNamingRule> wsec::simplify::lookupNaming() {
  static const NamedNamingRule rules[] = {
      {"GatherElements", gatherElements},
      {"ScatterElements", scatterElements},
      {"Scatter", scatterElements},
      {"ScatterND", scatterND},
      {"OneHot", oneHot},
      {"TopK", topK},
  };
  return rules;
}
