// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GridSample: elements of an image between places that a grid states. Each
// pixel that has a share in one is a row of a table, all of its channels, which
// the store looks up. AffineGrid makes grids.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Places.h"
#include "compiler/values/Formula.h"

using namespace wsec::infer;
using Term = TermOf<Legalization>;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static bool gridSample(Node &node) {
  const Shape &x = node.input(0).shape, &grid = node.input(1).shape;
  const int64_t axes = int64_t(x.size()) - 2;
  const bool isCubic = node.stringAttr("mode").ends_with("cubic");
  if (axes < 1 || axes > 3 || grid.size() != x.size() || grid[0] != x[0] ||
      grid.back() != axes || numElements(x) == 0)
    return node.fail("a grid of shape " + printShape(grid) +
                     " for an image of " + printShape(x) +
                     ", of 1 to 3 axes behind batch and channels");
  if (isCubic && axes > 2)
    return node.fail("cubic along " + Twine(axes) + " axes, expected 1 or 2");
  Shape shape = {x[0], x[1]};
  shape.append(grid.begin() + 1, grid.end() - 1);
  return node.setOutput(unknown(node.input(0).type, shape));
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

namespace {
/// Along one axis of the image, of `extent` pixels.
struct PixelAxis {
  int64_t extent;
  double low, high; // places beyond these are padding
  StringRef padding;
};

/// A pixel that has a share in each result.
struct Tap {
  Term index;
  std::optional<Value> weight; // 1 if none
  std::optional<Value> inside; // everywhere if none
};
} // namespace

/// Back and forth between the ends.
static Term reflected(Term place, const PixelAxis &axis) {
  const double range = axis.high - axis.low;
  if (range == 0)
    return place.all(axis.low);
  Term along = place - axis.low;
  along = along - floor(along / (2 * range)) * (2 * range);
  return axis.high - abs(along - range);
}

static Term clamped(Term place, const PixelAxis &axis) {
  return min(max(place, 0), double(axis.extent - 1));
}

static Term placeInside(Term place, const PixelAxis &axis) {
  if (axis.padding == "zeros")
    return place;
  Term moved =
      axis.padding == "border" ? clamped(place, axis) : reflected(place, axis);
  return where(place < axis.low, moved, where(axis.high < place, moved, place));
}

static Tap tapAt(Term index, std::optional<Value> weight,
                 const PixelAxis &axis) {
  Tap tap{
      clamped(axis.padding == "reflection" ? placeInside(index, axis) : index,
              axis),
      weight, std::nullopt};
  if (axis.padding == "zeros")
    tap.inside = (tap.index == index).value;
  return tap;
}

/// Where `place`, from -1 to 1 along the image, has its pixels.
static SmallVector<Tap> tapsOf(Term place, const PixelAxis &axis,
                               StringRef mode, bool alignsCorners) {
  place = alignsCorners ? (place + 1) * (0.5 * double(axis.extent - 1))
                        : ((place + 1) * double(axis.extent) - 1) * 0.5;
  if (mode == "nearest")
    return {tapAt(placeInside(round(place), axis), std::nullopt, axis)};
  place = placeInside(place, axis);
  Term below = floor(place), t = place - below;
  if (!mode.ends_with("cubic"))
    return {tapAt(below, (1 - t).value, axis), tapAt(below + 1, t.value, axis)};
  constexpr double a = -0.75;
  auto near = [&](Term x) { // of distances up to 1
    return ((x * (a + 2) - (a + 3)) * x) * x + 1;
  };
  auto far = [&](Term x) { // from 1 to 2
    return ((x * a - 5 * a) * x + 8 * a) * x - 4 * a;
  };
  return {tapAt(below - 1, far(t + 1).value, axis),
          tapAt(below, near(t).value, axis),
          tapAt(below + 1, near(1 - t).value, axis),
          tapAt(below + 2, far(2 - t).value, axis)};
}

static bool gridSample(Legalization &n) {
  const Shape x(shapeOf(n.input(0))), out(n.resultType().getShape());
  const int64_t axes = int64_t(x.size()) - 2, batch = x[0], channels = x[1];
  const int64_t pixels = numElements(x) / batch / channels;
  const int64_t points = numElements(out) / batch / channels;
  const StringRef mode = n.node().stringAttr("mode");
  const bool alignsCorners = n.node().intAttr("align_corners");
  // The last coordinate is that of the first axis.
  Value grid = n.reshape(n.input(1), {batch, points, axes});
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t d = 0; d < axes; ++d) {
    PixelAxis axis{x[d + 2], -0.5, double(x[d + 2]) - 0.5,
                   n.node().stringAttr("padding_mode")};
    if (alignsCorners) {
      axis.low = 0;
      axis.high = double(axis.extent - 1);
    }
    Value place =
        n.reshape(n.sliceLast(grid, axes - 1 - d, 1), {batch, points});
    taps.push_back(tapsOf({n, place}, axis, mode, alignsCorners));
  }
  Shape perm = {0};
  for (int64_t d = 0; d < axes; ++d)
    perm.push_back(d + 2);
  perm.push_back(1);
  Value table =
      n.reshape(n.transpose(n.input(0), perm), {batch * pixels, channels});
  const Shape strides = rowMajorStrides(ArrayRef(x).drop_front(2));
  Shape counts;
  for (const SmallVector<Tap> &along : taps)
    counts.push_back(int64_t(along.size()));
  const Shape steps = rowMajorStrides(counts);
  Value sum;
  for (int64_t i = 0; i < numElements(counts); ++i) {
    Value place = countAlong(n, ElementType::Int32, 2, 0, batch, pixels);
    Value weight, inside;
    auto join = [&](BinaryKind kind, Value &all, std::optional<Value> next) {
      if (next)
        all = all ? n.binary(kind, all, *next) : *next;
    };
    for (int64_t d = 0; d < axes; ++d) {
      const Tap &tap = taps[d][i / steps[d] % counts[d]];
      Value index = asI32(n, tap.index.value);
      if (strides[d] != 1)
        index = n.mul(index, double(strides[d]));
      place = n.add(index, place);
      join(BinaryKind::Mul, weight, tap.weight);
      join(BinaryKind::And, inside, tap.inside);
    }
    Value part = rowsAt(n, table, place);
    auto ofChannels = [&](Value value) {
      return n.reshape(value, {batch, points, 1});
    };
    if (inside)
      part = n.where(ofChannels(inside), part, n.scalarLike(part, 0));
    if (weight)
      part = n.mul(part, ofChannels(weight));
    sum = sum ? n.add(sum, part) : part;
  }
  return n.replace(n.reshape(n.transpose(sum, {0, 2, 1}), out));
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

static bool affineGrid(Node &node) {
  const Shape &theta = node.input(0).shape;
  std::optional<Shape> size = node.ints(1, "size");
  if (!size)
    return false;
  const int64_t axes = int64_t(size->size()) - 2;
  if (axes < 2 || axes > 3 || theta != Shape{(*size)[0], axes, axes + 1})
    return node.fail("maps of shape " + printShape(theta) +
                     " for an image of " + printShape(*size));
  Shape shape = {(*size)[0]};
  shape.append(size->begin() + 2, size->end());
  shape.push_back(axes);
  node.outputs[0] = unknown(node.input(0).type, shape);
  return node.allows(shape) &&
         (numElements(shape) <= maxFoldedBytes ||
          node.fail("a grid of " + printShape(shape) + ", at most " +
                    Twine(maxFoldedBytes) + " numbers"));
}

/// Coordinates of all pixels, and 1, times each map.
static bool affineGrid(Legalization &n) {
  const Shape out(n.resultType().getShape());
  const int64_t batch = out[0], axes = out.back();
  const Shape extents(ArrayRef(out).drop_front().drop_back());
  const int64_t pixels = numElements(extents);
  const Shape strides = rowMajorStrides(extents);
  const bool alignsCorners = n.node().intAttr("align_corners");
  Tensor places(ElementType::Float32, {pixels, axes + 1});
  for (int64_t i = 0; i < places.size(); ++i) {
    const int64_t d = axes - 1 - i % (axes + 1); // the last axis comes first
    if (d < 0) {
      places.setFloat(i, 1);
      continue;
    }
    const int64_t extent = extents[d],
                  at = i / (axes + 1) / strides[d] % extent;
    const double step =
        2 / double(alignsCorners ? std::max<int64_t>(extent - 1, 1) : extent);
    places.setFloat(i, step * double(at) - 1 + (alignsCorners ? 0 : step / 2));
  }
  Value all = n.expand(
      n.reshape(n.materialize(std::move(places)), {1, pixels, axes + 1}),
      {batch, pixels, axes + 1});
  Value maps = n.transpose(n.input(0), {0, 2, 1});
  return n.replace(n.reshape(n.batchMatmul(all, maps), out));
}

llvm::ArrayRef<Operator> wsec::infer::gridSampleOperators() {
  static const Operator operators[] = {
      {"AffineGrid", affineGrid, affineGrid, "align_corners"},
      {"GridSample", gridSample, gridSample,
       "align_corners mode=linear|nearest|cubic|bilinear|bicubic "
       "padding_mode=zeros|border|reflection"},
  };
  return operators;
}
