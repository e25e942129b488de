// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that read or write elements at computed positions. Most of those
// in a transformer build masks and positions out of constants.
#include "compiler/simplify/Arithmetic.h"
#include "compiler/simplify/Node.h"
#include <algorithm>
#include <cmath>

using namespace wsec::simplify;
using llvm::ArrayRef;

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

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

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
    node.outputs[0] = *view;
    return true;
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
  node.outputs[0] = Fact::ofTensor(std::move(gathered));
  return true;
}

/// Counts negative indices from the end; -1 for one that is outside.
static int64_t indexInto(int64_t extent, int64_t index) {
  index += index < 0 ? extent : 0;
  return index < extent ? std::max<int64_t>(index, -1) : -1;
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
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
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
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

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
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
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
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
}

static bool scatterElements(Node &node) {
  return scatterAlong(node, node.stringAttr("reduction"));
}

/// ScatterElements before it had reductions.
static bool scatter(Node &node) { return scatterAlong(node, "none"); }

//===----------------------------------------------------------------------===//
// Sequences and triangles
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
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
}

static bool range(Node &node) {
  std::vector<Tensor> bounds;
  for (size_t i = 0; i < 3; ++i) {
    std::optional<Tensor> bound = node.input(i).load();
    if (!bound || bound->size() != 1)
      return node.fail("bounds have to be known at compile time");
    bounds.push_back(std::move(*bound));
  }
  return isFloat(bounds[0].type()) ? rangeOf<double>(node, bounds)
                                   : rangeOf<int64_t>(node, bounds);
}

static bool isOne(Node &node, const Tensor &tensor, llvm::StringRef what) {
  return tensor.size() == 1 ||
         node.fail(what + " has " + llvm::Twine(tensor.size()) +
                   " elements, expected 1");
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
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
}

static bool cumSum(Node &node) {
  const Fact &x = node.input(0);
  node.outputs[0] = Fact{x.type, x.shape, std::nullopt};
  auto tensors = node.loadAll(node.outputs[0]);
  if (!tensors)
    return true;
  if (!isOne(node, (*tensors)[1], "axis"))
    return false;
  int64_t axis = (*tensors)[1].asInt(0);
  axis += axis < 0 ? x.rank() : 0;
  if (axis < 0 || axis >= x.rank())
    return node.fail("axis outside the rank");
  bool exclusive = node.intAttr("exclusive");
  bool reverse = node.intAttr("reverse");
  const Tensor &data = tensors->front();
  Tensor result(x.type, x.shape);
  int64_t inner = numElements(behind(x.shape, axis + 1));
  int64_t extent = x.shape[axis];
  auto fill = [&](auto zero) {
    for (int64_t line = 0; extent && line < data.size() / extent; ++line) {
      int64_t base = line / inner * extent * inner + line % inner;
      auto sum = zero;
      for (int64_t i = 0; i < extent; ++i) {
        int64_t at = base + (reverse ? extent - 1 - i : i) * inner;
        auto next = plus(sum, data.get<decltype(zero)>(at));
        result.put(at, exclusive ? sum : next);
        sum = next;
      }
    }
  };
  isFloat(x.type) ? fill(0.0) : fill(int64_t(0));
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
}

static bool cumProd(Node &node) {
  if (!node.oneInt(1, "axis"))
    return false;
  node.outputs[0] = Fact{node.input(0).type, node.input(0).shape, std::nullopt};
  return true;
}

static bool argExtreme(Node &node) {
  const Fact &x = node.input(0);
  std::optional<int64_t> axis = node.axisAttr(x.rank());
  if (!axis)
    return false;
  Fact result{ElementType::Int64, x.shape, std::nullopt};
  if (node.intAttr("keepdims"))
    result.shape[*axis] = 1;
  else
    result.shape.erase(result.shape.begin() + *axis);
  node.outputs[0] = result;
  return true;
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

/// The number of results depends on the values, so they have to be known.
static bool nonZero(Node &node) {
  std::optional<Tensor> x = node.input(0).load();
  if (!x)
    return node.fail("the number of results depends on the model's inputs");
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
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
}

llvm::ArrayRef<NamedRule> wsec::simplify::indexRules() {
  static const NamedRule rules[] = {
      {"Gather", gather, "axis"},
      {"GatherElements", gatherElements, "axis"},
      {"GatherND", gatherND, "batch_dims"},
      {"ScatterND", scatterND, "reduction"},
      {"ScatterElements", scatterElements, "axis reduction"},
      {"Scatter", scatter, "axis"},
      {"Range", range},
      {"Trilu", trilu, "upper"},
      {"CumSum", cumSum, "exclusive reverse"},
      {"CumProd", cumProd, "exclusive reverse"},
      {"ArgMax", argExtreme, "axis keepdims select_last_index"},
      {"ArgMin", argExtreme, "axis keepdims select_last_index"},
      {"TopK", topK, "axis largest sorted"},
      {"NonZero", nonZero},
  };
  return rules;
}
