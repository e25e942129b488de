// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes that move elements or look them up.
#include "compiler/simplify/Naming.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

static bool reshape(Naming &n) {
  return n.replace(n.reshape(n.input(0), n.resultType().getShape()));
}

static bool transpose(Naming &n) {
  Shape reversed;
  for (int64_t d = n.resultType().getRank(); d-- > 0;)
    reversed.push_back(d);
  Shape perm = n.node().intsAttr("perm").value_or(reversed);
  if (llvm::is_sorted(perm))
    return n.replace(n.input(0));
  return n.replace(n.transpose(n.input(0), perm));
}

static Value expandTo(Naming &n, Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  return onnx::ExpandOp::create(n.builder(), n.loc(), withShape(x, shape), x,
                                n.nameAttr());
}

static bool expand(Naming &n) {
  return n.replace(expandTo(n, n.input(0), n.resultType().getShape()));
}

/// Repeats are new dimensions, expanded and merged with the old ones.
static bool tile(Naming &n) {
  Value x = n.input(0);
  Shape paired, repeated;
  for (auto [extent, total] :
       llvm::zip(shapeOf(x), n.resultType().getShape())) {
    if (extent == 0)
      return n.fail("a tensor without elements");
    paired.append({1, extent});
    repeated.append({total / extent, extent});
  }
  if (x.getType() == n.resultType())
    return n.replace(x);
  Value wide = expandTo(n, n.reshape(x, paired), repeated);
  return n.replace(n.reshape(wide, n.resultType().getShape()));
}

static bool slice(Naming &n) {
  std::optional<Box> box = sliceBox(n.node());
  if (!box)
    return false;
  bool inOrder = llvm::all_of(llvm::zip(box->extents, box->steps), [](auto d) {
    return std::get<0>(d) == 1 || std::get<1>(d) == 1;
  });
  if (n.input(0).getType() == n.resultType() && inOrder)
    return n.replace(n.input(0));
  return n.replace(n.slice(n.input(0), *box));
}

static bool split(Naming &n) {
  Value x = n.input(0);
  int64_t rank = shapeOf(x).size();
  std::optional<int64_t> axis = n.node().axisAttr(rank);
  if (!axis)
    return false;
  Box box{Shape(rank, 0), Shape(), Shape(rank, 1)};
  SmallVector<Value> parts;
  for (Value result : n.op().getResults()) {
    box.extents = Shape(shapeOf(result));
    parts.push_back(result.use_empty() ? Value() : n.slice(x, box));
    box.starts[*axis] += box.extents[*axis];
  }
  return n.replace(parts);
}

static bool concat(Naming &n) {
  std::optional<int64_t> axis = n.node().axisAttr(n.resultType().getRank());
  if (!axis)
    return false;
  SmallVector<Value> parts;
  for (Value part : n.op().getInputs())
    if (numElements(shapeOf(part)) > 0)
      parts.push_back(part);
  return n.replace(n.concat(parts, *axis));
}

//===----------------------------------------------------------------------===//
// Looking up
//===----------------------------------------------------------------------===//

/// Along any axis: it becomes the rows of a table, all others one row each.
static Value gatherRows(Naming &n, Value table, Value ids, int64_t axis) {
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

/// Rows of a table, or, with constant equally spaced indices, a slice.
static bool gather(Naming &n) {
  Value table = n.input(0), ids = n.input(1);
  int64_t rank = shapeOf(table).size();
  std::optional<int64_t> axis = n.node().axisAttr(rank);
  if (!axis)
    return false;
  if ((rank == 2 && *axis == 0 && isConstant(table)) || !isConstant(ids))
    return n.replace(gatherRows(n, table, ids, *axis));
  std::optional<Shape> stated = n.node().ints(1, "indices");
  if (!stated)
    return false;
  Shape indices = *stated;
  int64_t extent = shapeOf(table)[*axis];
  for (int64_t &index : indices)
    index += index < 0 ? extent : 0;
  int64_t step = indices.size() > 1 ? indices[1] - indices[0] : 1;
  for (size_t i = 1; i < indices.size(); ++i)
    if (indices[i] - indices[i - 1] != step)
      step = 0;
  if (indices.empty())
    return n.fail("picks no element");
  if (step == 0)
    return n.replace(gatherRows(n, table, ids, *axis));
  Box box{Shape(rank, 0), Shape(shapeOf(table)), Shape(rank, 1)};
  box.starts[*axis] = indices.front();
  box.extents[*axis] = indices.size();
  box.steps[*axis] = step;
  Value part = box.extents == Shape(shapeOf(table)) && step == 1
                   ? table
                   : n.slice(table, box);
  return n.replace(n.reshape(part, n.resultType().getShape()));
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
static bool gatherND(Naming &n) {
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
  return n.replace(expandTo(n, n.reshape(x, once), to));
}

//===----------------------------------------------------------------------===//
// Triangles and edges
//===----------------------------------------------------------------------===//

/// What is outside of the triangle becomes 0, whatever it was.
static bool trilu(Naming &n) {
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
      n.builder(), n.loc(), x.getType(),
      materialize(n.builder(), n.loc(), std::move(keep)), x,
      scalarLike(n.builder(), n.loc(), x, 0), n.nameAttr())));
}

/// Elements start, start + step, ... of one axis.
static Value along(Naming &n, Value x, int64_t axis, int64_t start,
                   int64_t size, int64_t step) {
  Box box{Shape(shapeOf(x).size(), 0), Shape(shapeOf(x)),
          Shape(shapeOf(x).size(), 1)};
  box.starts[axis] = start;
  box.extents[axis] = size;
  box.steps[axis] = step;
  return n.slice(x, box);
}

/// One axis with `before` and `after` more elements, or fewer.
static Value padAxis(Naming &n, Value x, int64_t axis, int64_t before,
                     int64_t after, StringRef mode, Value fill) {
  int64_t cut = std::max<int64_t>(-before, 0);
  int64_t left = shapeOf(x)[axis] - cut - std::max<int64_t>(-after, 0);
  if (left != shapeOf(x)[axis])
    x = along(n, x, axis, cut, left, 1);
  auto edge = [&](int64_t count, bool front) -> Value {
    Shape shape(shapeOf(x));
    shape[axis] = count;
    if (mode == "edge")
      return expandTo(n, along(n, x, axis, front ? 0 : left - 1, 1, 1), shape);
    if (mode == "reflect")
      return along(n, x, axis, front ? count : left - 2, count, -1);
    if (mode == "wrap")
      return along(n, x, axis, front ? left - count : 0, count, 1);
    return expandTo(n, fill, shape);
  };
  SmallVector<Value> parts = {x};
  if (before > 0)
    parts.insert(parts.begin(), edge(before, true));
  if (after > 0)
    parts.push_back(edge(after, false));
  return n.concat(parts, axis);
}

static bool pad(Naming &n) {
  Value x = n.input(0);
  int64_t rank = shapeOf(x).size();
  Shape axes, pads = *n.node().ints(1, "pads");
  for (int64_t d = 0; d < rank; ++d)
    axes.push_back(d);
  if (n.has(3))
    axes = *n.node().ints(3, "axes");
  StringRef mode = n.node().stringAttr("mode");
  if (mode != "constant" && mode != "edge" && mode != "reflect" &&
      mode != "wrap")
    return n.fail("pads in mode '" + mode + "'");
  Value fill = n.has(2) ? n.reshape(n.input(2), Shape(rank, 1))
                        : scalarLike(n.builder(), n.loc(), x, 0);
  for (auto [i, stated] : llvm::enumerate(axes)) {
    int64_t axis = stated + (stated < 0 ? rank : 0);
    int64_t before = pads[i], after = pads[i + axes.size()];
    int64_t extent = shapeOf(x)[axis] + std::min<int64_t>(before, 0) +
                     std::min<int64_t>(after, 0);
    int64_t most = mode == "reflect" ? extent - 1 : extent;
    if (extent < 1 || ((mode == "reflect" || mode == "wrap") &&
                       std::max(before, after) > most))
      return n.fail("pads more than there is to repeat");
    x = padAxis(n, x, axis, before, after, mode, fill);
  }
  return n.replace(x);
}

ArrayRef<NamedNamingRule> wsec::simplify::shapeNaming() {
  static const NamedNamingRule rules[] = {
      {"Reshape", reshape},     {"Flatten", reshape},
      {"Squeeze", reshape},     {"Unsqueeze", reshape},
      {"Transpose", transpose}, {"Expand", expand},
      {"Tile", tile},           {"Slice", slice},
      {"Split", split},         {"Concat", concat},
      {"Gather", gather},       {"GatherND", gatherND},
      {"Trilu", trilu},         {"Pad", pad},
  };
  return rules;
}
