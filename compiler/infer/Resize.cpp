// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images that grow or shrink, an axis after another: an element of the result
// is one of the input, or the weighted sum of some that lie beside each other.
// Which, and with what weights, is known when the model is compiled.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Places.h"
#include "compiler/infer/Windows.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace wsec::infer;

/// No axis is as long.
static constexpr double mostElements = double(int64_t(1) << 31);

namespace {
/// One axis: `extent` elements of the result, `scale` times the input's. What
/// is seen of the input is [begin, end] of it.
struct Axis {
  double scale = 1;
  int64_t extent = 0;
  double begin = 0, end = 1;

  bool changes(int64_t from) const {
    return scale != 1 || extent != from || begin != 0 || end != 1;
  }
};

/// How elements along an axis come of `places[t]`, times `weights[t]`.
struct Taps {
  SmallVector<Shape> places;
  SmallVector<std::vector<double>> weights;
  std::vector<double> outside; ///< 1: not of the input but another number
};
} // namespace

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// The numbers of an input; nothing with a reason if they are not `count`.
static std::optional<std::vector<double>>
numbers(Node &node, size_t i, StringRef what, size_t count) {
  std::optional<Tensor> tensor = node.input(i).load();
  if (!tensor)
    return node.failUnknown(i, what);
  std::vector<double> values;
  for (int64_t e = 0; e < tensor->size(); ++e)
    values.push_back(tensor->asFloat(e));
  if (values.size() != count)
    return node.fail(what + " has " + Twine(values.size()) +
                     " elements, expected " + Twine(count));
  return values;
}

static bool isGiven(const Node &node, size_t i) {
  return node.has(i) && numElements(node.input(i).shape) > 0;
}

/// Extents are stated, or follow from scales.
static bool scaleBySizes(Node &node, ArrayRef<double> sizes,
                         ArrayRef<int64_t> axes, SmallVector<Axis> &result) {
  const Shape &x = node.input(0).shape;
  const StringRef policy = node.stringAttr("keep_aspect_ratio_policy");
  double shared = 0;
  for (auto [size, axis] : llvm::zip(sizes, axes)) {
    if (!(size >= 1 && size < mostElements))
      return node.fail("a size of " + Twine(int64_t(size)));
    result[axis].extent = int64_t(size);
    const double scale = result[axis].scale = size / double(x[axis]);
    if (shared == 0 ||
        (policy == "not_larger" ? scale < shared : scale > shared))
      shared = scale;
  }
  if (policy != "stretch")
    for (int64_t axis : axes) {
      result[axis].scale = shared;
      result[axis].extent = int64_t(shared * double(x[axis]) + 0.5);
    }
  return true;
}

/// Refuses what ONNX and onnxruntime answer differently: the one multiplies in
/// double, and puts the last corner where the exact product lies.
static bool scaleAxis(Node &node, double scale, int64_t from, Axis &axis) {
  const double exact = scale * double(from), extent = std::floor(exact);
  if (!(extent >= 1 && extent < mostElements))
    return node.fail(Twine(from) + " elements times a scale of " +
                     llvm::formatv("{0:e3}", scale).str() + ", expected 1 to " +
                     Twine(int64_t(mostElements)) + " elements");
  const StringRef mode = node.stringAttr("coordinate_transformation_mode");
  const bool toCorners =
      node.version() >= 11 && extent != exact &&
      (mode == "align_corners" || mode == "tf_crop_and_resize");
  if (toCorners || extent != std::floor(float(scale) * float(from)))
    return node.fail("a scale that makes " + Twine(from) +
                     " elements no whole number, of which ONNX and "
                     "onnxruntime think differently; state sizes");
  axis.scale = scale;
  axis.extent = int64_t(extent);
  return true;
}

static std::optional<SmallVector<Axis>> resizedAxes(Node &node) {
  const Shape &x = node.input(0).shape;
  // Before opset 11 there are a tensor and its scales only.
  const bool isOld = node.version() < 11;
  const size_t scales = isOld ? 1 : 2, sizes = 3;
  Shape axes;
  for (int64_t d = 0; d < int64_t(x.size()); ++d)
    axes.push_back(d);
  if (std::optional<Shape> stated = node.intsAttr("axes"))
    axes = *stated;
  for (int64_t &axis : axes) {
    axis += axis < 0 ? int64_t(x.size()) : 0;
    if (axis < 0 || axis >= int64_t(x.size()))
      return node.fail("an axis outside of rank " + Twine(x.size()));
  }
  SmallVector<Axis> result(x.size());
  for (auto [axis, extent] : llvm::zip(result, x))
    axis.extent = extent;
  if (numElements(x) == 0 || isGiven(node, scales) == isGiven(node, sizes))
    return node.fail("needs elements, and either scales or sizes");
  if (isGiven(node, sizes)) {
    auto given = numbers(node, sizes, "sizes", axes.size());
    if (!given || !scaleBySizes(node, *given, axes, result))
      return std::nullopt;
  } else {
    auto given = numbers(node, scales, "scales", axes.size());
    if (!given)
      return std::nullopt;
    for (auto [scale, axis] : llvm::zip(*given, axes))
      if (!scaleAxis(node, scale, x[axis], result[axis]))
        return std::nullopt;
  }
  if (!isOld && node.stringAttr("coordinate_transformation_mode") ==
                    "tf_crop_and_resize") {
    if (!isGiven(node, 1))
      return node.fail("crops without a region (roi)");
    auto roi = numbers(node, 1, "roi", 2 * axes.size());
    if (!roi)
      return std::nullopt;
    for (auto [i, axis] : llvm::enumerate(axes)) {
      result[axis].begin = (*roi)[i];
      result[axis].end = (*roi)[axes.size() + i];
    }
  }
  return result;
}

static bool resize(Node &node) {
  auto axes = resizedAxes(node);
  if (!axes)
    return false;
  Shape shape;
  for (const Axis &axis : *axes)
    shape.push_back(axis.extent);
  node.outputs[0] = unknown(node.input(0).type, shape);
  return node.allows(shape);
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

/// Where in the input element `y` of the result lies.
static double placeOf(StringRef mode, const Axis &axis, int64_t from,
                      int64_t y) {
  const double width = axis.scale * double(from), last = double(from - 1);
  const double half = (double(y) + 0.5) / axis.scale - 0.5;
  if (mode == "asymmetric")
    return double(y) / axis.scale;
  if (mode == "align_corners")
    return width == 1 ? 0 : double(y) * last / (width - 1);
  if (mode == "pytorch_half_pixel")
    return width == 1 ? -0.5 : half;
  if (mode == "half_pixel_symmetric")
    return double(from) / 2 * (1 - double(axis.extent) / width) + half;
  if (mode == "tf_crop_and_resize") {
    const double seen = (axis.end - axis.begin) * last;
    return axis.begin * last +
           (width == 1 ? seen / 2 : double(y) * seen / (width - 1));
  }
  return half;
}

/// Weight of an element at this distance, in units of the filter.
static double cubicWeight(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// The element nearest to a place.
static int64_t nearest(StringRef mode, double place) {
  const double below = std::floor(place), rest = place - below;
  if (mode == "round_prefer_floor")
    return int64_t(below) + (rest > 0.5);
  if (mode == "round_prefer_ceil")
    return int64_t(below) + (rest >= 0.5);
  return int64_t(mode == "ceil" ? std::ceil(place) : below);
}

static std::optional<Taps> tapsOf(Node &node, const Axis &axis, int64_t from) {
  const bool isOld = node.version() < 11;
  const StringRef mode = node.stringAttr("mode");
  const StringRef transformation =
      isOld ? "asymmetric" : node.stringAttr("coordinate_transformation_mode");
  // Before opset 11 what onnxruntime does: no element is skipped twice.
  const StringRef rounding = !isOld           ? node.stringAttr("nearest_mode")
                             : axis.scale < 1 ? "ceil"
                                              : "floor";
  const double a = node.floatAttr("cubic_coeff_a", -0.75);
  const double shrinks =
      node.intAttr("antialias") ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = (mode == "linear" ? 1 : 2) / shrinks;
  const int64_t first = int64_t(std::floor(-reach)) + 1;
  const int64_t count = mode == "nearest" ? 1 : 2 - 2 * first;
  if (count > kMostTaps)
    return node.fail(Twine(count) +
                     " elements for each of the result, at most " +
                     Twine(kMostTaps));
  Taps taps;
  taps.places.resize(count);
  taps.weights.resize(count);
  for (int64_t y = 0; y < axis.extent; ++y) {
    const double place = placeOf(transformation, axis, from, y);
    taps.outside.push_back(transformation == "tf_crop_and_resize" &&
                           (place < 0 || place > double(from - 1)));
    // Elements beyond the border are those at it. Of a place on an element the
    // one before it is taken besides.
    int64_t begin = nearest(mode == "nearest" ? rounding : "floor", place);
    if (mode != "nearest")
      begin += first - (double(begin) == place);
    std::vector<double> weights;
    double sum = 0;
    for (int64_t t = 0; t < count; ++t) {
      const double distance = (double(begin + t) - place) * shrinks;
      double weight = mode == "nearest"  ? 1
                      : mode == "linear" ? std::max(0.0, 1 - std::abs(distance))
                                         : cubicWeight(distance, a);
      if (node.intAttr("exclude_outside") &&
          (begin + t < 0 || begin + t >= from))
        weight = 0;
      weights.push_back(weight);
      sum += weight;
    }
    const bool isScaled = mode != "nearest" && sum != 0 &&
                          (shrinks < 1 || node.intAttr("exclude_outside"));
    for (int64_t t = 0; t < count; ++t) {
      taps.places[t].push_back(std::clamp<int64_t>(begin + t, 0, from - 1));
      taps.weights[t].push_back(weights[t] / (isScaled ? sum : 1));
    }
  }
  return taps;
}

/// Numbers along one axis.
static Value along(Legalization &n, ElementType type, ArrayRef<double> values,
                   size_t axis, size_t rank) {
  Shape shape(rank, 1);
  shape[axis] = values.size();
  Tensor tensor(ElementType::Float32, shape);
  for (auto [i, value] : llvm::enumerate(values))
    tensor.setFloat(i, value);
  return n.materialize(tensor.cast(type));
}

static bool resize(Legalization &n) {
  std::optional<SmallVector<Axis>> axes = resizedAxes(n.node());
  if (!axes)
    return false;
  Value x = n.input(0);
  const size_t rank = axes->size();
  const bool picks = n.node().stringAttr("mode") == "nearest";
  if (!picks && !isa<FloatType>(n.resultType().getElementType()))
    return n.fail("interpolates integers; cast to float first");
  for (auto [d, axis] : llvm::enumerate(*axes)) {
    const int64_t from = shapeOf(x)[d];
    if (!axis.changes(from))
      continue;
    std::optional<Taps> taps = tapsOf(n.node(), axis, from);
    if (!taps)
      return false;
    Value sum;
    for (auto [places, weights] : llvm::zip(taps->places, taps->weights)) {
      if (llvm::all_of(weights, [](double weight) { return weight == 0; }))
        continue;
      Value term = elementsOf(n, x, d, places);
      if (!picks)
        term = n.mul(term, along(n, ElementType::Float32, weights, d, rank));
      sum = sum ? n.add(sum, term) : term;
    }
    if (llvm::is_contained(taps->outside, 1))
      sum = n.where(
          along(n, ElementType::Bool, taps->outside, d, rank),
          n.scalarLike(sum, n.node().floatAttr("extrapolation_value")), sum);
    x = sum;
  }
  return n.replace(x);
}

llvm::ArrayRef<Operator> wsec::infer::resizeOperators() {
  static constexpr llvm::StringLiteral understood =
      "mode=nearest|linear|cubic "
      "coordinate_transformation_mode=half_pixel|half_pixel_symmetric|"
      "pytorch_half_pixel|align_corners|asymmetric|tf_crop_and_resize "
      "nearest_mode=round_prefer_floor|round_prefer_ceil|floor|ceil "
      "cubic_coeff_a "
      "exclude_outside extrapolation_value antialias axes "
      "keep_aspect_ratio_policy=stretch|not_larger|not_smaller";
  static const Operator operators[] = {
      {"Resize", resize, resize, understood},
      {"Upsample", resize, resize, understood},
  };
  return operators;
}
