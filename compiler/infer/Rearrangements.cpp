// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Other order, repetition, parts. Of a constant the view changes where it can,
// so weights of any size fold without being read.
#include "compiler/infer/Operators.h"
#include "compiler/infer/States.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <utility>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static bool transpose(Node &node) {
  const Fact &x = node.input(0);
  Shape reversed;
  for (int64_t d = x.rank(); d-- > 0;)
    reversed.push_back(d);
  Shape perm = node.intsAttr("perm").value_or(reversed);
  Shape sorted = perm;
  llvm::sort(sorted);
  if (!std::equal(sorted.begin(), sorted.end(), reversed.rbegin(),
                  reversed.rend()))
    return node.fail("perm is no permutation of " + llvm::Twine(x.rank()) +
                     " dimensions");
  node.outputs[0] =
      reindexed(x, [&](const StridedView &view) -> std::optional<StridedView> {
        return view.transposed(perm);
      });
  return true;
}

static bool expand(Node &node) {
  std::optional<Shape> stated = node.ints(1, "shape");
  if (!stated)
    return false;
  const Fact &x = node.input(0);
  std::optional<Shape> to = broadcastShapes(x.shape, *stated);
  if (!to)
    return node.fail("cannot expand " + printShape(x.shape) + " to " +
                     printShape(*stated));
  if (!node.allows(*to))
    return false;
  node.outputs[0] =
      reindexed(x, [&](const StridedView &view) -> std::optional<StridedView> {
        return view.expanded(*to);
      });
  return true;
}

static Fact sliceFact(const Fact &x, size_t dim, int64_t start, int64_t size,
                      int64_t step) {
  return reindexed(x, [&](const StridedView &view) {
    return view.sliced(dim, start, size, step);
  });
}

namespace {
/// The operands of a Slice, one entry per sliced axis.
struct SliceBounds {
  Shape starts, ends, axes, steps;
};
} // namespace

static std::optional<SliceBounds> sliceBounds(Node &node) {
  std::optional<Shape> starts = node.ints(1, "starts");
  std::optional<Shape> ends = node.ints(2, "ends");
  if (!starts || !ends)
    return std::nullopt;
  std::optional<Shape> axes = Shape(), steps = Shape(starts->size(), 1);
  for (size_t i = 0; i < starts->size(); ++i)
    axes->push_back(i);
  if (node.has(3) || node.hasAttr("axes"))
    axes = node.ints(3, "axes");
  if (node.has(4))
    steps = node.ints(4, "steps");
  if (!axes || !steps)
    return std::nullopt;
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      steps->size() != starts->size())
    return node.fail("starts, ends, axes and steps differ in length");
  return SliceBounds{*starts, *ends, *axes, *steps};
}

std::optional<Box> wsec::infer::sliceBox(Node &node) {
  std::optional<SliceBounds> bounds = sliceBounds(node);
  if (!bounds)
    return std::nullopt;
  const Shape &x = node.input(0).shape;
  int64_t rank = x.size();
  Box box{Shape(rank, 0), x, Shape(rank, 1)};
  llvm::SmallVector<bool> isSliced(rank, false);
  for (auto [start, end, stated, step] :
       llvm::zip(bounds->starts, bounds->ends, bounds->axes, bounds->steps)) {
    int64_t axis = stated < 0 ? stated + rank : stated;
    if (axis < 0 || axis >= rank)
      return node.fail("axis " + llvm::Twine(stated) + " is outside rank " +
                       llvm::Twine(rank));
    if (std::exchange(isSliced[axis], true))
      return node.fail("axis " + llvm::Twine(axis) + " is sliced twice");
    if (step == 0)
      return node.fail("the step along axis " + llvm::Twine(axis) + " is 0");
    // Forwards bounds lie in [0, extent], backwards in [-1, extent - 1]; the
    // "-1" of a backward end can only be said by a very negative number.
    int64_t extent = x[axis], low = step > 0 ? 0 : -1;
    auto clamp = [&](int64_t bound) {
      return std::clamp<int64_t>(bound < 0 ? bound + extent : bound, low,
                                 std::max(low, extent + low));
    };
    int64_t from = clamp(start), to = clamp(end);
    int64_t distance = step > 0 ? to - from : from - to;
    // Unsigned: the most negative step has no positive counterpart.
    uint64_t stride = step > 0 ? step : -uint64_t(step);
    int64_t size = distance <= 0 ? 0 : (distance + stride - 1) / stride;
    box.starts[axis] = size == 0 ? 0 : from;
    box.extents[axis] = size;
    // A step that is never taken may lead anywhere.
    box.steps[axis] = size > 1 ? step : 1;
  }
  return box;
}

static bool slice(Node &node) {
  std::optional<Box> box = sliceBox(node);
  if (!box)
    return false;
  Fact result = node.input(0);
  for (int64_t d = 0; d < result.rank(); ++d)
    result =
        sliceFact(result, d, box->starts[d], box->extents[d], box->steps[d]);
  return node.setOutput(result);
}

/// Sizes are an input from opset 13 on; without any, parts are equal, and
/// from opset 18 on the last may be smaller.
static bool split(Node &node) {
  const Fact &x = node.input(0);
  std::optional<int64_t> axis = node.axisAttr(x.rank());
  if (!axis)
    return false;
  int64_t extent = x.shape[*axis], parts = node.outputs.size();
  if (node.intAttr("num_outputs", parts) != parts)
    return node.fail("num_outputs is " +
                     llvm::Twine(node.intAttr("num_outputs", parts)) +
                     ", there are " + llvm::Twine(parts) + " outputs");
  Shape sizes;
  if (node.has(1)) {
    std::optional<Shape> stated = node.ints(1, "split");
    if (!stated)
      return false;
    sizes = *stated;
  } else if (std::optional<Shape> stated = node.intsAttr("split")) {
    sizes = *stated;
  } else {
    int64_t each = (extent + parts - 1) / parts;
    for (int64_t left = extent; int64_t(sizes.size()) < parts; left -= each)
      sizes.push_back(std::clamp<int64_t>(left, 0, each));
  }
  int64_t total = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > extent)
      return node.fail("a part of " + llvm::Twine(size) + ", the axis has " +
                       llvm::Twine(extent));
    total += size;
  }
  if (int64_t(sizes.size()) != parts || total != extent)
    return node.fail("parts of " + llvm::Twine(total) + " in " +
                     llvm::Twine(sizes.size()) + " outputs, the axis has " +
                     llvm::Twine(extent));
  int64_t start = 0;
  for (auto [output, size] : llvm::zip(node.outputs, sizes)) {
    output = sliceFact(x, *axis, start, size, 1);
    start += size;
  }
  return true;
}

static bool concat(Node &node) {
  Fact result{node.input(0).type, node.input(0).shape, std::nullopt};
  std::optional<int64_t> axis = node.axisAttr(result.rank());
  if (!axis)
    return false;
  result.shape[*axis] = 0;
  for (size_t i = 0; i < node.numInputs(); ++i) {
    Shape part = node.input(i).shape;
    if (part.size() != result.shape.size())
      return node.fail("parts differ in rank");
    result.shape[*axis] += part[*axis];
    part[*axis] = result.shape[*axis];
    if (part != result.shape)
      return node.fail("parts differ outside the axis");
  }
  node.outputs[0] = result;
  if (node.numInputs() == 1) {
    return node.setOutput(node.input(0));
  }
  auto tensors = node.loadAll(result);
  if (!tensors)
    return true;
  Tensor joined(result.type, result.shape);
  int64_t inner = numElements(ArrayRef(result.shape).drop_front(*axis + 1));
  int64_t row = inner * result.shape[*axis], start = 0;
  for (const Tensor &part : *tensors) {
    int64_t width = inner * part.shape()[*axis];
    for (int64_t i = 0; i < part.size(); ++i)
      joined.set(i / width * row + start + i % width, part, i);
    start += width;
  }
  return node.setOutput(Fact::ofTensor(std::move(joined)));
}

/// Repeating is expanding new dimensions and merging them with the old ones.
static bool tile(Node &node) {
  std::optional<Shape> repeats = node.ints(1, "repeats");
  const Fact &x = node.input(0);
  if (!repeats)
    return false;
  if (int64_t(repeats->size()) != x.rank())
    return node.fail("repeats do not match the rank");
  Shape paired, repeated, merged;
  for (auto [extent, count] : llvm::zip(x.shape, *repeats)) {
    paired.append({1, extent});
    repeated.append({count, extent});
    merged.push_back(0);
    if (count < 0 || llvm::MulOverflow(count, extent, merged.back()))
      return node.fail("repeats are negative or too large");
  }
  if (!node.allows(merged))
    return false;
  Fact wide =
      reindexed(reshapeFact(x, paired),
                [&](const StridedView &view) -> std::optional<StridedView> {
                  return view.expanded(repeated);
                });
  return node.setOutput(reshapeFact(wide, merged));
}

/// Shape only, unless everything is small: constant padding of constants.
static bool pad(Node &node) {
  const Fact &x = node.input(0);
  std::optional<Shape> stated = node.ints(1, "pads");
  if (!stated)
    return false;
  Shape axes;
  for (int64_t d = 0; d < x.rank(); ++d)
    axes.push_back(d);
  if (node.has(3)) {
    std::optional<Shape> some = node.ints(3, "axes");
    if (!some)
      return false;
    axes = *some;
  }
  if (stated->size() != 2 * axes.size())
    return node.fail("pads do not match the axes");
  Fact result{x.type, x.shape, std::nullopt};
  Shape before(x.rank(), 0);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    int64_t d = axis < 0 ? axis + x.rank() : axis;
    if (d < 0 || d >= x.rank())
      return node.fail("axis outside the rank");
    before[d] = (*stated)[i];
    int64_t &extent = result.shape[d], after = (*stated)[i + axes.size()];
    if (llvm::AddOverflow(extent, before[d], extent) ||
        llvm::AddOverflow(extent, after, extent))
      return node.fail("pads are too large");
  }
  if (!node.allows(result.shape))
    return false;
  node.outputs[0] = result;
  bool plain = node.stringAttr("mode") == "constant" &&
               llvm::all_of(*stated, [](int64_t p) { return p >= 0; });
  auto tensors = plain ? node.loadAll(result) : std::nullopt;
  if (!tensors)
    return true;
  Tensor padded(result.type, result.shape);
  if (node.statesAttr("value"))
    for (int64_t i = 0; i < padded.size(); ++i)
      padded.setFloat(i, node.floatAttr("value"));
  if (node.has(2)) {
    const Tensor &fill = (*tensors)[2];
    if (fill.size() != 1)
      return node.fail("pads with " + llvm::Twine(fill.size()) + " values");
    for (int64_t i = 0; i < padded.size(); ++i)
      padded.set(i, fill, 0);
  }
  Shape strides = rowMajorStrides(result.shape);
  int64_t offset = 0, next = 0;
  for (auto [stride, skip] : llvm::zip(strides, before))
    offset += stride * skip;
  forEachPosition(x.shape, offset, strides, [&](int64_t position) {
    padded.set(position, (*tensors)[0], next++);
  });
  return node.setOutput(Fact::ofTensor(std::move(padded)));
}

/// Cut or padded on both sides of some axes.
static bool centerCropPad(Node &node) {
  const Fact &x = node.input(0);
  Shape axes, shape = x.shape;
  for (int64_t d = 0; d < x.rank(); ++d)
    axes.push_back(d);
  axes = node.intsAttr("axes").value_or(axes);
  std::optional<Shape> stated = node.ints(1, "shape");
  if (!stated)
    return false;
  if (stated->size() != axes.size())
    return node.fail(llvm::Twine(stated->size()) + " extents for " +
                     llvm::Twine(axes.size()) + " axes");
  for (auto [axis, extent] : llvm::zip(axes, *stated)) {
    if (axis < -x.rank() || axis >= x.rank())
      return node.fail("axis " + llvm::Twine(axis) + " is outside rank " +
                       llvm::Twine(x.rank()));
    shape[axis + (axis < 0 ? x.rank() : 0)] = extent;
  }
  return node.setOutput(unknown(x.type, shape));
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

static bool transpose(Legalization &n) {
  Shape reversed;
  for (int64_t d = n.resultType().getRank(); d-- > 0;)
    reversed.push_back(d);
  Shape perm = n.node().intsAttr("perm").value_or(reversed);
  if (llvm::is_sorted(perm))
    return n.replace(n.input(0));
  return n.replace(n.transpose(n.input(0), perm));
}

static bool expand(Legalization &n) {
  return n.replace(n.expand(n.input(0), n.resultType().getShape()));
}

/// Repeats are new dimensions, expanded and merged with the old ones.
static bool tile(Legalization &n) {
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
  Value wide = n.expand(n.reshape(x, paired), repeated);
  return n.replace(n.reshape(wide, n.resultType().getShape()));
}

static bool slice(Legalization &n) {
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

static bool split(Legalization &n) {
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

static bool concat(Legalization &n) {
  std::optional<int64_t> axis = n.node().axisAttr(n.resultType().getRank());
  if (!axis)
    return false;
  if (n.op().getInputs().size() == 2 && isGrowingState(n.input(0))) {
    Value present = appendToState(n, n.input(0), n.input(1), *axis);
    return present && n.replace(present);
  }
  SmallVector<Value> parts;
  for (Value part : n.op().getInputs())
    if (numElements(shapeOf(part)) > 0)
      parts.push_back(part);
  return n.replace(n.concat(parts, *axis));
}

/// Elements start, start + step, ... of one axis.
static Value along(Legalization &n, Value x, int64_t axis, int64_t start,
                   int64_t size, int64_t step) {
  Box box{Shape(shapeOf(x).size(), 0), Shape(shapeOf(x)),
          Shape(shapeOf(x).size(), 1)};
  box.starts[axis] = start;
  box.extents[axis] = size;
  box.steps[axis] = step;
  return n.slice(x, box);
}

/// One axis with `before` and `after` more elements, or fewer.
static Value padAxis(Legalization &n, Value x, int64_t axis, int64_t before,
                     int64_t after, StringRef mode, Value fill) {
  int64_t cut = std::max<int64_t>(-before, 0);
  int64_t left = shapeOf(x)[axis] - cut - std::max<int64_t>(-after, 0);
  if (left != shapeOf(x)[axis])
    x = along(n, x, axis, cut, left, 1);
  auto edge = [&](int64_t count, bool front) -> Value {
    Shape shape(shapeOf(x));
    shape[axis] = count;
    if (mode == "edge")
      return n.expand(along(n, x, axis, front ? 0 : left - 1, 1, 1), shape);
    if (mode == "reflect")
      return along(n, x, axis, front ? count : left - 2, count, -1);
    if (mode == "wrap")
      return along(n, x, axis, front ? left - count : 0, count, 1);
    return n.expand(fill, shape);
  };
  SmallVector<Value> parts = {x};
  if (before > 0)
    parts.insert(parts.begin(), edge(before, true));
  if (after > 0)
    parts.push_back(edge(after, false));
  return n.concat(parts, axis);
}

static bool pad(Legalization &n) {
  Value x = n.input(0);
  int64_t rank = shapeOf(x).size();
  Shape axes, pads = *n.node().ints(1, "pads");
  for (int64_t d = 0; d < rank; ++d)
    axes.push_back(d);
  if (n.has(3))
    axes = *n.node().ints(3, "axes");
  StringRef mode = n.node().stringAttr("mode");
  Value fill = n.has(2) ? n.reshape(n.input(2), Shape(rank, 1))
                        : n.scalarLike(x, n.node().floatAttr("value"));
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

static bool centerCropPad(Legalization &n) {
  Value x = n.input(0);
  Value zero = n.reshape(n.scalarLike(x, 0), Shape(shapeOf(x).size(), 1));
  for (auto [axis, extent] : llvm::enumerate(n.resultType().getShape())) {
    const int64_t more = extent - shapeOf(x)[axis];
    if (more != 0)
      x = padAxis(n, x, axis, more / 2, more - more / 2, "constant", zero);
  }
  return n.replace(x);
}

llvm::ArrayRef<Operator> wsec::infer::rearrangementsOperators() {
  static const Operator operators[] = {
      {"Transpose", transpose, transpose, "perm"},
      {"Expand", expand, expand},
      {"Slice", slice, slice, "starts ends axes"},
      {"Split", split, split, "axis split num_outputs"},
      {"Concat", concat, concat, "axis"},
      {"Tile", tile, tile},
      {"CenterCropPad", centerCropPad, centerCropPad, "axes"},
      {"Pad", pad, pad, "mode=constant|edge|reflect|wrap pads value"},
  };
  return operators;
}
