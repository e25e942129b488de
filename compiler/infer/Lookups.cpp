// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements read or written at computed places. Most of those in a transformer
// build masks and positions out of constants; the rest see Places.h.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Places.h"
#include "compiler/infer/States.h"

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> front(const Shape &shape, int64_t count) {
  return ArrayRef(shape).take_front(count);
}

static ArrayRef<int64_t> behind(const Shape &shape, int64_t count) {
  return ArrayRef(shape).drop_front(count);
}

static Shape joined(std::initializer_list<ArrayRef<int64_t>> parts) {
  Shape result;
  for (ArrayRef<int64_t> part : parts)
    result.append(part.begin(), part.end());
  return result;
}

/// Indices first, first + step, ... are a slice: no element of the table is
/// read. Equal indices have step 0.
static std::optional<Fact> gatherAsView(const Fact &table, int64_t axis,
                                        ArrayRef<int64_t> indices,
                                        const Shape &result) {
  if (!table.constant || indices.empty())
    return std::nullopt;
  int64_t step = indices.size() > 1 ? indices[1] - indices[0] : 1;
  for (size_t i = 1; i < indices.size(); ++i)
    if (indices[i] - indices[i - 1] != step)
      return std::nullopt;
  auto sliced =
      table.constant->view.sliced(axis, indices.front(), indices.size(), step);
  if (!sliced)
    return std::nullopt;
  auto shaped = sliced->reshaped(result);
  if (!shaped)
    return std::nullopt;
  return Fact{table.type, result, Constant{table.constant->storage, *shaped}};
}

static bool gather(Node &node) {
  const Fact &table = node.input(0), &ids = node.input(1);
  std::optional<int64_t> axis = node.axisAttr(table.rank());
  if (!axis)
    return false;
  if (table.shape[*axis] == 0 && numElements(ids.shape) > 0)
    return node.fail("picks from an axis of no elements");
  Fact result{table.type,
              joined({front(table.shape, *axis), ids.shape,
                      behind(table.shape, *axis + 1)}),
              std::nullopt};
  node.outputs[0] = result;
  if (!ids.constant)
    return true;
  std::optional<Shape> indices = node.ints(1, "indices");
  if (!indices)
    return true;
  int64_t extent = table.shape[*axis];
  for (int64_t &index : *indices) {
    if (index < -extent || index >= extent)
      return node.fail("index " + llvm::Twine(index) + " is outside extent " +
                       llvm::Twine(extent));
    index += index < 0 ? extent : 0;
  }
  if (auto view = gatherAsView(table, *axis, *indices, result.shape)) {
    return node.setOutput(*view);
  }
  auto tensors = node.loadAll(result);
  if (!tensors)
    return true;
  Tensor gathered(result.type, result.shape);
  int64_t inner = numElements(behind(table.shape, *axis + 1));
  int64_t count = indices->size();
  for (int64_t i = 0; i < gathered.size(); ++i) {
    int64_t outer = i / inner / count, index = (*indices)[i / inner % count];
    gathered.set(i, tensors->front(),
                 (outer * extent + index) * inner + i % inner);
  }
  return node.setOutput(Fact::ofTensor(std::move(gathered)));
}

/// Whether there is at most one index for each element of the data, `axis`
/// aside.
static bool indicesFit(Node &node, const Fact &data, const Fact &ids,
                       int64_t axis) {
  if (data.rank() != ids.rank())
    return node.fail("indices differ in rank from the data");
  for (int64_t d = 0; d < data.rank(); ++d)
    if (d != axis && ids.shape[d] > data.shape[d])
      return node.fail("indices " + printShape(ids.shape) +
                       " reach beyond the data " + printShape(data.shape));
  return true;
}

/// Calls `visit(position in the data, number of the index)` for indices that
/// replace the one along `axis`.
static bool forEachIndex(Node &node, const Shape &data, const Tensor &indices,
                         int64_t axis,
                         llvm::function_ref<void(int64_t, int64_t)> visit) {
  Shape strides = rowMajorStrides(data);
  int64_t stride = strides[axis], next = 0;
  strides[axis] = 0;
  bool inside = true;
  forEachPosition(indices.shape(), 0, strides, [&](int64_t position) {
    int64_t index = indexInto(data[axis], indices.asInt(next));
    inside &= index >= 0;
    if (inside)
      visit(position + index * stride, next);
    ++next;
  });
  return inside || node.fail("an index is outside the data");
}

static bool isUniform(const Tensor &tensor) {
  for (int64_t i = 1; i < tensor.size(); ++i)
    if (tensor.asFloat(i) != tensor.asFloat(0))
      return false;
  return tensor.size() > 0;
}

static bool gatherElements(Node &node) {
  const Fact &x = node.input(0), &ids = node.input(1);
  std::optional<int64_t> axis = node.axisAttr(x.rank());
  if (!axis || !indicesFit(node, x, ids, *axis))
    return false;
  node.outputs[0] = Fact{x.type, ids.shape, std::nullopt};
  auto tensors = node.loadAll(node.outputs[0]);
  if (!tensors) {
    // Wherever indices point, they find the one number that there is.
    if (std::optional<Tensor> data = x.load(); data && isUniform(*data)) {
      Fact one = Fact::ofTensor(
          data->reshaped({data->size()})
              .viewed(*StridedView::whole({data->size()}).sliced(0, 0, 1, 1)));
      one.constant->view =
          one.constant->view.expanded({numElements(ids.shape)});
      one.shape = {numElements(ids.shape)};
      node.outputs[0] = reshapeFact(one, ids.shape);
    }
    return true;
  }
  Tensor result(x.type, ids.shape);
  if (!forEachIndex(node, x.shape, (*tensors)[1], *axis,
                    [&](int64_t position, int64_t number) {
                      result.set(number, (*tensors)[0], position);
                    }))
    return false;
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

/// Whether the last dimension of the indices is a tuple that fits
/// behind the `batch` dimensions which indices and data share.
static bool tuplesFit(Node &node, const Fact &data, const Fact &ids,
                      int64_t batch) {
  if (ids.rank() == 0 || batch < 0 || batch >= ids.rank() ||
      batch + ids.shape.back() > data.rank())
    return node.fail("indices are too long for rank " +
                     llvm::Twine(data.rank()));
  if (front(ids.shape, batch) != front(data.shape, batch))
    return node.fail("indices " + printShape(ids.shape) + " and data " +
                     printShape(data.shape) + " differ in their first " +
                     llvm::Twine(batch) + " dimensions, the batch");
  return true;
}

/// Calls `visit(position of the block in the data, number of the tuple)`.
static bool forEachTuple(Node &node, const Shape &data, const Tensor &indices,
                         int64_t batch,
                         llvm::function_ref<void(int64_t, int64_t)> visit) {
  const int64_t width = indices.shape().back();
  const Shape strides = rowMajorStrides(data);
  const int64_t tuples = numElements(ArrayRef(indices.shape()).drop_back());
  const int64_t batches = numElements(front(data, batch));
  const int64_t batchSize = numElements(behind(data, batch));
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t position = t / (tuples / batches) * batchSize;
    for (int64_t i = 0; i < width; ++i) {
      int64_t index = indexInto(data[batch + i], indices.asInt(t * width + i));
      if (index < 0)
        return node.fail("an index is outside the data");
      position += index * strides[batch + i];
    }
    visit(position, t);
  }
  return true;
}

static bool gatherND(Node &node) {
  const Fact &x = node.input(0), &ids = node.input(1);
  int64_t batch = node.intAttr("batch_dims");
  if (!tuplesFit(node, x, ids, batch))
    return false;
  int64_t width = ids.shape.back();
  node.outputs[0] = Fact{x.type,
                         joined({front(ids.shape, ids.rank() - 1),
                                 behind(x.shape, batch + width)}),
                         std::nullopt};
  auto tensors = node.loadAll(node.outputs[0]);
  if (!tensors)
    return true;
  Tensor result(x.type, node.outputs[0].shape);
  int64_t block = numElements(behind(x.shape, batch + width));
  if (!forEachTuple(node, x.shape, (*tensors)[1], batch,
                    [&](int64_t from, int64_t tuple) {
                      for (int64_t i = 0; i < block; ++i)
                        result.set(tuple * block + i, (*tensors)[0], from + i);
                    }))
    return false;
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

static bool updatesFit(Node &node, const Shape &expected) {
  const Fact &updates = node.input(2);
  if (updates.shape != expected)
    return node.fail("updates have shape " + printShape(updates.shape) +
                     ", expected " + printShape(expected));
  return true;
}

static bool scatterND(Node &node) {
  const Fact &x = node.input(0), &ids = node.input(1);
  if (!tuplesFit(node, x, ids, /*batch=*/0))
    return false;
  int64_t width = ids.shape.back();
  if (!updatesFit(node, joined({front(ids.shape, ids.rank() - 1),
                                behind(x.shape, width)})))
    return false;
  node.outputs[0] = Fact{x.type, x.shape, std::nullopt};
  if (node.stringAttr("reduction") != "none")
    return true;
  auto tensors = node.loadAll(node.outputs[0]);
  if (!tensors)
    return true;
  Tensor result = (*tensors)[0];
  int64_t block = numElements(behind(x.shape, width));
  if (!forEachTuple(node, x.shape, (*tensors)[1], /*batch=*/0,
                    [&](int64_t to, int64_t tuple) {
                      for (int64_t i = 0; i < block; ++i)
                        result.set(to + i, (*tensors)[2], tuple * block + i);
                    }))
    return false;
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

static bool scatterAlong(Node &node, llvm::StringRef reduction) {
  const Fact &x = node.input(0), &ids = node.input(1);
  std::optional<int64_t> axis = node.axisAttr(x.rank());
  if (!axis || !indicesFit(node, x, ids, *axis) || !updatesFit(node, ids.shape))
    return false;
  node.outputs[0] = Fact{x.type, x.shape, std::nullopt};
  if (reduction != "none")
    return true;
  auto tensors = node.loadAll(node.outputs[0]);
  if (!tensors)
    return true;
  Tensor result = (*tensors)[0];
  if (!forEachIndex(node, x.shape, (*tensors)[1], *axis,
                    [&](int64_t position, int64_t number) {
                      result.set(position, (*tensors)[2], number);
                    }))
    return false;
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

static bool scatterElements(Node &node) {
  return scatterAlong(node, node.stringAttr("reduction"));
}

/// ScatterElements before it had reductions.
static bool scatter(Node &node) { return scatterAlong(node, "none"); }

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

static bool gatherElements(Legalization &n) {
  Value x = n.input(0);
  std::optional<int64_t> axis = n.node().axisAttr(shapeOf(x).size());
  return axis && n.replace(elementsAt(n, x, n.input(1), *axis));
}

/// Numbers of the rows of `shape`, whose last `width` dimensions behind `batch`
/// the tuples of indices replace.
static Value tuplePlaces(Legalization &n, ArrayRef<int64_t> shape,
                         Value indices, int64_t batch) {
  const int64_t width = shapeOf(indices).back();
  Shape rows(shape.take_front(batch + width));
  const Shape strides = rowMajorStrides(rows);
  const int64_t all = numElements(rows);
  Value ids = asI32(n, indices), places;
  Shape tuples(shapeOf(ids).drop_back());
  for (int64_t i = 0; i < width; ++i) {
    Value part = n.reshape(n.sliceLast(ids, i, 1), tuples);
    part = steps(n, part, shape[batch + i], strides[batch + i], all);
    places = places ? n.add(places, part) : part;
  }
  for (int64_t d = 0; d < batch; ++d)
    if (shape[d] > 1)
      places = n.add(places, countAlong(n, ElementType::Int32, tuples.size(), d,
                                        shape[d], strides[d]));
  return places;
}

static bool gatherTuples(Legalization &n) {
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

static StringRef reductionOf(Legalization &n) {
  return n.op().getOpType() == "Scatter" ? "none" // has no other
                                         : n.node().stringAttr("reduction");
}

/// Which reduction takes the updates of one place.
static BinaryKind updateKind(StringRef reduction) {
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
static Value foldUpdates(Legalization &n, BinaryKind kind, Value updates) {
  while (shapeOf(updates)[1] > 1) {
    const int64_t count = shapeOf(updates)[1], half = count / 2;
    auto part = [&](int64_t start, int64_t size) {
      return sliceAlong(n, updates, 1, start, size);
    };
    Value folded = n.binary(kind, part(0, half), part(half, half));
    updates = count % 2 ? n.concat({folded, part(2 * half, 1)}, 1) : folded;
  }
  return updates;
}

/// Whether what is scattered takes the place of what was there.
static bool replaces(Legalization &n) { return reductionOf(n) == "none"; }

/// `rows` [R,W], of which the `updates` [U,W] go to `places` [U].
static bool scatterRows(Legalization &n, Value rows, Value places,
                        Value updates) {
  const int64_t count = shapeOf(rows)[0], width = shapeOf(rows)[1];
  const int64_t many = shapeOf(updates)[0];
  const bool isReplaced = replaces(n);
  const int64_t each = isReplaced ? 1 : width;
  if (many * each > mostComparisons / count)
    return n.fail(Twine(many) + " updates of " + Twine(count) +
                  " rows are too many for each to be held against each");
  // The store resolves the places, and refuses those outside.
  Value numbers =
      n.reshape(countAlong(n, ElementType::Int32, 1, 0, count, 1), {count, 1});
  places = n.reshape(rowsAt(n, numbers, places), {1, many});
  Value isHere = n.equal(places, numbers);
  if (isReplaced) {
    // The last update of a row stands behind all rows of the table.
    Value last =
        n.where(isHere, countAlong(n, ElementType::Int32, 2, 1, many, 1),
                n.scalarLike(numbers, -1));
    last = n.reshape(n.reduced(ReduceKind::Max, last, 1), {count, 1});
    Value none = n.less(last, 0.0);
    Value from = n.where(none, numbers, n.add(last, double(count)));
    return n.replace(n.reshape(
        rowsAt(n, n.concat({rows, updates}, 0), n.reshape(from, {count})),
        n.resultType().getShape()));
  }
  const BinaryKind kind = updateKind(reductionOf(n));
  const bool isSum = kind == BinaryKind::Add,
             isProduct = kind == BinaryKind::Mul;
  // Of minimum and maximum the row itself changes nothing.
  Value neutral = isSum || isProduct ? n.scalarLike(rows, isProduct)
                                     : n.reshape(rows, {count, 1, width});
  Value all = n.where(n.reshape(isHere, {count, many, 1}),
                      n.reshape(updates, {1, many, width}), neutral);
  Value folded =
      isSum ? n.reduced(ReduceKind::Sum, all, 1) : foldUpdates(n, kind, all);
  return n.replace(
      n.reshape(n.binary(kind, rows, n.reshape(folded, {count, width})),
                n.resultType().getShape()));
}

/// `x` whose part that begins at `corner` and has the shape of `updates` takes
/// these.
static Value boxWritten(Legalization &n, Value x, Value updates,
                        ArrayRef<int64_t> corner, size_t axis = 0) {
  while (axis < corner.size() && shapeOf(x)[axis] == shapeOf(updates)[axis])
    ++axis;
  if (axis == corner.size())
    return replaces(n) ? updates
                       : n.binary(updateKind(reductionOf(n)), x, updates);
  Value part = sliceAlong(n, x, axis, corner[axis], shapeOf(updates)[axis]);
  part = boxWritten(n, part, updates, corner, axis + 1);
  return runWritten(n, x, part, axis, corner[axis]);
}

static bool scatterElements(Legalization &n) {
  Value x = n.input(0), indices = n.input(1);
  std::optional<int64_t> axis = n.node().axisAttr(shapeOf(x).size());
  if (!axis)
    return false;
  if (isStaticCache(x) && replaces(n)) {
    Value present = scatterToState(n, x, indices, n.input(2), *axis);
    return present && n.replace(present);
  }
  Shape others(shapeOf(x));
  others[*axis] = shapeOf(indices)[*axis];
  if (ArrayRef<int64_t>(others) == shapeOf(indices))
    if (auto first = firstOfRun(n.node().input(1), *axis, shapeOf(x)[*axis])) {
      Shape corner(*axis, 0);
      corner.push_back(*first);
      return n.replace(boxWritten(n, x, n.input(2), corner));
    }
  const int64_t many = numElements(shapeOf(indices));
  Value places = elementPlaces(n, shapeOf(x), indices, *axis);
  return scatterRows(n, n.reshape(x, {numElements(shapeOf(x)), 1}),
                     n.reshape(places, {many}),
                     n.reshape(n.input(2), {many, 1}));
}

static bool scatterND(Legalization &n) {
  Value x = n.input(0), indices = n.input(1);
  const int64_t width = shapeOf(indices).back();
  const int64_t rows = numElements(shapeOf(x).take_front(width));
  const int64_t columns = numElements(shapeOf(x).drop_front(width));
  if (isStaticCache(x) && replaces(n) && width == 1 &&
      shapeOf(indices).size() == 2) {
    Value present = scatterToState(n, x, indices, n.input(2), 0);
    return present && n.replace(present);
  }
  if (auto corner = cornerOfBox(n.node().input(1), shapeOf(x)))
    return n.replace(boxWritten(n, x, n.input(2), *corner));
  const int64_t many = numElements(shapeOf(indices).drop_back());
  Value places = n.reshape(tuplePlaces(n, shapeOf(x), indices, 0), {many});
  return scatterRows(n, n.reshape(x, {rows, columns}), places,
                     n.reshape(n.input(2), {many, columns}));
}

/// Along any axis: it becomes the rows of a table, all others one row each.
static Value gatherRows(Legalization &n, Value table, Value ids, int64_t axis) {
  Shape shape(shapeOf(table)), front, back, result(shapeOf(ids));
  front.push_back(axis);
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (d != axis)
      front.push_back(d);
  if (axis != 0)
    table = n.transpose(table, front);
  int64_t rows = shape[axis], columns = numElements(shape) / rows;
  Shape flat(shapeOf(ids));
  flat.push_back(columns);
  Value picked = onnx::GatherOp::create(
      n.builder(), n.loc(), withShape(table, flat),
      n.reshape(table, {rows, columns}), ids, n.nameAttr());
  // What was picked stands first; the axes before `axis` go there again.
  int64_t picks = result.size();
  for (size_t d = 1; d < front.size(); ++d)
    result.push_back(shape[front[d]]);
  picked = n.reshape(picked, result);
  if (axis == 0)
    return picked;
  for (int64_t d = 0; d < axis; ++d)
    back.push_back(picks + d);
  for (int64_t d = 0; d < picks; ++d)
    back.push_back(d);
  for (int64_t d = picks + axis; d < int64_t(result.size()); ++d)
    back.push_back(d);
  return llvm::is_sorted(back) ? picked : n.transpose(picked, back);
}

/// Equally spaced ones are a slice.
Value wsec::infer::elementsOf(Legalization &n, Value x, int64_t axis,
                              ArrayRef<int64_t> places) {
  const Shape shape(shapeOf(x));
  const int64_t step = places.size() > 1 ? places[1] - places[0] : 1;
  bool isEven = step != 0;
  for (size_t i = 1; i < places.size(); ++i)
    isEven &= places[i] - places[i - 1] == step;
  if (!isEven)
    return gatherRows(n, x, n.materialize(Tensor::ofInts(places)), axis);
  Box box{Shape(shape.size(), 0), shape, Shape(shape.size(), 1)};
  box.starts[axis] = places.front();
  box.extents[axis] = places.size();
  box.steps[axis] = step;
  return box.extents == shape && step == 1 ? x : n.slice(x, box);
}

/// Rows of a table, or, with constant indices, elements at known places.
static bool gather(Legalization &n) {
  Value table = n.input(0), ids = n.input(1);
  const int64_t rank = shapeOf(table).size();
  std::optional<int64_t> axis = n.node().axisAttr(rank);
  if (!axis)
    return false;
  if ((rank == 2 && *axis == 0 && isConstant(table)) || !isConstant(ids))
    return n.replace(gatherRows(n, table, ids, *axis));
  std::optional<Shape> places = n.node().ints(1, "indices");
  if (!places)
    return false;
  for (int64_t &place : *places)
    place += place < 0 ? shapeOf(table)[*axis] : 0;
  if (places->empty())
    return n.fail("picks no element");
  return n.replace(n.reshape(elementsOf(n, table, *axis, *places),
                             n.resultType().getShape()));
}

/// Step from one index of dimension `d` to the next, when the positions in
/// `at` (one per element of a tensor of `shape`) are linear in all indices.
static std::optional<Shape> linearSteps(const Shape &shape,
                                        ArrayRef<int64_t> at) {
  Shape dense = rowMajorStrides(shape), steps(shape.size(), 0);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1)
      steps[d] = at[dense[d]] - at[0];
  size_t next = 0;
  bool linear = true;
  forEachPosition(shape, at[0], steps,
                  [&](int64_t position) { linear &= position == at[next++]; });
  return linear ? std::optional(steps) : std::nullopt;
}

/// Exporters index masks with all combinations of constant positions; what
/// comes out is the tensor itself, repeated along new dimensions.
static bool gatherND(Legalization &n) {
  Value x = n.input(0);
  std::optional<Tensor> indices = n.node().input(1).load();
  Shape from(shapeOf(x)), to(n.resultType().getShape());
  if (!indices || n.node().intAttr("batch_dims") != 0 || to.empty() ||
      numElements(to) == 0 || indices->shape().back() != int64_t(from.size()))
    return gatherTuples(n);
  Shape strides = rowMajorStrides(from);
  std::vector<int64_t> at(numElements(to), 0);
  for (size_t i = 0; i < at.size(); ++i)
    for (size_t d = 0; d < from.size(); ++d) {
      int64_t index = indices->asInt(i * from.size() + d);
      at[i] += (index < 0 ? index + from[d] : index) * strides[d];
    }
  std::optional<Shape> steps = linearSteps(to, at);
  if (!steps)
    return gatherTuples(n);
  Shape once = to;
  for (size_t d = 0; d < to.size(); ++d)
    if ((*steps)[d] == 0)
      once[d] = 1;
  StridedView view = StridedView::strided(once, at[0], *steps);
  if (numElements(once) != numElements(from) || !view.isContiguous())
    return gatherTuples(n);
  return n.replace(n.expand(n.reshape(x, once), to));
}

llvm::ArrayRef<Operator> wsec::infer::lookupsOperators() {
  static const Operator operators[] = {
      {"Gather", gather, gather, "axis"},
      {"GatherElements", gatherElements, gatherElements, "axis"},
      {"GatherND", gatherND, gatherND, "batch_dims"},
      {"ScatterND", scatterND, scatterND, "reduction=none|add|mul|max|min"},
      {"ScatterElements", scatterElements, scatterElements,
       "axis reduction=none|add|mul|max|min"},
      {"Scatter", scatter, scatterElements, "axis"},
  };
  return operators;
}
