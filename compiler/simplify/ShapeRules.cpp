// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that only re-index: of a constant they change the view, so weights
// of any size fold without being read.
#include "compiler/simplify/Node.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <utility>

using namespace wsec::simplify;
using llvm::ArrayRef;

/// `fact` seen through `view`, a view of the fact's own shape as if dense.
/// `change` makes both: from the dense shape, and from the constant's view.
template <typename Change>
static Fact reindexed(const Fact &fact, Change change) {
  Fact result{fact.type, change(StridedView::whole(fact.shape))->shape(),
              std::nullopt};
  if (!fact.constant)
    return result;
  if (std::optional<StridedView> view = change(fact.constant->view)) {
    result.constant = Constant{fact.constant->storage, *view};
    return result;
  }
  // The view has no single stride where one is needed: copy it first.
  if (std::optional<Tensor> tensor = fact.load()) {
    Fact copy = Fact::ofTensor(std::move(*tensor));
    result.constant =
        Constant{copy.constant->storage, *change(copy.constant->view)};
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Shapes as values
//===----------------------------------------------------------------------===//

static bool shape(Node &node) {
  int64_t rank = node.input(0).rank();
  auto clamp = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank);
  };
  int64_t start = clamp(node.intAttr("start"));
  int64_t end = clamp(node.intAttr("end", rank));
  ArrayRef<int64_t> extents = node.input(0).shape;
  node.outputs[0] = Fact::ofTensor(
      Tensor::ofInts(extents.slice(start, std::max<int64_t>(end - start, 0))));
  return true;
}

static bool size(Node &node) {
  Tensor count(ElementType::Int64, {});
  count.setInt(0, numElements(node.input(0).shape));
  node.outputs[0] = Fact::ofTensor(std::move(count));
  return true;
}

static bool constantOfShape(Node &node) {
  std::optional<Shape> shape = node.ints(0, "shape");
  if (!shape || !node.allows(*shape))
    return false;
  Tensor value = node.tensorAttr("value").value_or(
      Tensor::scalar(ElementType::Float32, 0));
  Fact fact = Fact::ofTensor(value.reshaped({}));
  node.outputs[0] = reindexed(
      fact, [&](const StridedView &view) -> std::optional<StridedView> {
        return view.expanded(*shape);
      });
  return true;
}

static bool constant(Node &node) {
  if (std::optional<Tensor> tensor = node.tensorAttr("value"))
    node.outputs[0] = Fact::ofTensor(std::move(*tensor));
  else if (node.hasAttr("value_int")) {
    Tensor scalar(ElementType::Int64, {});
    scalar.setInt(0, node.intAttr("value_int", 0));
    node.outputs[0] = Fact::ofTensor(std::move(scalar));
  } else if (node.hasAttr("value_float"))
    node.outputs[0] = Fact::ofTensor(
        Tensor::scalar(ElementType::Float32, node.floatAttr("value_float", 0)));
  else if (std::optional<Shape> ints = node.intsAttr("value_ints"))
    node.outputs[0] = Fact::ofTensor(Tensor::ofInts(*ints));
  else
    return node.fail("Constant without a tensor value");
  return true;
}

//===----------------------------------------------------------------------===//
// Same elements, same order
//===----------------------------------------------------------------------===//

static bool setReshaped(Node &node, ArrayRef<int64_t> to) {
  const Fact &x = node.input(0);
  if (numElements(to) != numElements(x.shape))
    return node.fail("cannot reshape " + printShape(x.shape) + " to " +
                     printShape(to));
  node.outputs[0] = reshapeFact(x, to);
  return true;
}

static bool reshape(Node &node) {
  std::optional<Shape> to = node.ints(1, "shape");
  if (!to)
    return false;
  const Fact &x = node.input(0);
  int64_t open = -1;
  for (auto [d, extent] : llvm::enumerate(*to)) {
    if (extent == 0 && !node.intAttr("allowzero")) {
      if (int64_t(d) >= x.rank())
        return node.fail("shape copies dimension " + llvm::Twine(d) +
                         " of a tensor of rank " + llvm::Twine(x.rank()));
      extent = x.shape[d];
    }
    if (extent == -1) {
      if (open >= 0)
        return node.fail("shape leaves two dimensions open");
      open = d;
      extent = 1;
    }
  }
  if (!node.allows(*to))
    return false;
  if (open >= 0) {
    int64_t known = numElements(*to);
    (*to)[open] = known == 0 ? 0 : numElements(x.shape) / known;
  }
  return setReshaped(node, *to);
}

static bool flatten(Node &node) {
  const Shape &x = node.input(0).shape;
  int64_t rank = x.size(), axis = node.intAttr("axis");
  if (axis < 0)
    axis += rank;
  if (axis < 0 || axis > rank)
    return node.fail("axis is outside rank " + llvm::Twine(rank));
  return setReshaped(node, {numElements(ArrayRef(x).take_front(axis)),
                            numElements(ArrayRef(x).drop_front(axis))});
}

static bool squeeze(Node &node) {
  const Shape &x = node.input(0).shape;
  std::optional<Shape> axes = node.axes(1, x.size());
  if (!axes)
    return false;
  bool all = !node.has(1) && !node.hasAttr("axes");
  Shape to;
  for (auto [d, extent] : llvm::enumerate(x)) {
    bool named = llvm::is_contained(*axes, int64_t(d));
    if (named && extent != 1)
      return node.fail("cannot squeeze dimension " + llvm::Twine(d) +
                       " of extent " + llvm::Twine(extent));
    if (!named && !(all && extent == 1))
      to.push_back(extent);
  }
  return setReshaped(node, to);
}

static bool unsqueeze(Node &node) {
  const Shape &x = node.input(0).shape;
  std::optional<Shape> stated =
      node.has(1) ? node.ints(1, "axes") : node.intsAttr("axes");
  if (!stated)
    return node.fail("axes are missing");
  std::optional<Shape> axes = node.axes(1, x.size() + stated->size());
  if (!axes)
    return false;
  if (axes->size() != stated->size())
    return node.fail("an axis is stated twice");
  Shape to;
  auto next = x.begin();
  for (size_t d = 0; d < x.size() + axes->size(); ++d)
    to.push_back(llvm::is_contained(*axes, int64_t(d)) ? 1 : *next++);
  return setReshaped(node, to);
}

//===----------------------------------------------------------------------===//
// Other order, repetition, parts
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
  if (node.has(3))
    axes = node.ints(3, "axes");
  if (node.has(4))
    steps = node.ints(4, "steps");
  if (!axes || !steps)
    return std::nullopt;
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      steps->size() != starts->size()) {
    node.fail("starts, ends, axes and steps differ in length");
    return std::nullopt;
  }
  return SliceBounds{*starts, *ends, *axes, *steps};
}

std::optional<Box> wsec::simplify::sliceBox(Node &node) {
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
    if (axis < 0 || axis >= rank) {
      node.fail("axis " + llvm::Twine(stated) + " is outside rank " +
                llvm::Twine(rank));
      return std::nullopt;
    }
    if (std::exchange(isSliced[axis], true)) {
      node.fail("axis " + llvm::Twine(axis) + " is sliced twice");
      return std::nullopt;
    }
    if (step == 0) {
      node.fail("the step along axis " + llvm::Twine(axis) + " is 0");
      return std::nullopt;
    }
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
  node.outputs[0] = result;
  return true;
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
    node.outputs[0] = node.input(0);
    return true;
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
  node.outputs[0] = Fact::ofTensor(std::move(joined));
  return true;
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
  node.outputs[0] = reshapeFact(wide, merged);
  return true;
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
  node.outputs[0] = Fact::ofTensor(std::move(padded));
  return true;
}

llvm::ArrayRef<NamedRule> wsec::simplify::shapeRules() {
  static const NamedRule rules[] = {
      {"Shape", shape, "start end"},
      {"Size", size},
      {"Constant", constant, "value value_int value_float value_ints"},
      {"ConstantOfShape", constantOfShape, "value"},
      {"Reshape", reshape, "allowzero"},
      {"Flatten", flatten, "axis"},
      {"Squeeze", squeeze, "axes"},
      {"Unsqueeze", unsqueeze, "axes"},
      {"Transpose", transpose, "perm"},
      {"Expand", expand},
      {"Slice", slice},
      {"Split", split, "axis split num_outputs"},
      {"Concat", concat, "axis"},
      {"Tile", tile},
      {"Pad", pad, "mode"},
  };
  return rules;
}
