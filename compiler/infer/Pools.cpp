// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools: the mean, the largest element or a norm of each window. Patches of an
// image are reduced where they are; other windows are a strided slice for each
// of their elements, which meet one by one.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Windows.h"
#include <algorithm>
#include <limits>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static std::optional<Windows> windowsOfPool(Node &node) {
  ArrayRef<int64_t> spatial = ArrayRef(node.input(0).shape).drop_front(2);
  Shape extents = node.intsAttr("kernel_shape").value_or(Shape());
  // From SAME_UPPER and SAME_LOWER follow pads without a rest.
  return windowsOf(node, spatial, extents, node.intAttr("ceil_mode"));
}

static bool pool(Node &node) {
  const Fact &x = node.input(0);
  if (x.rank() < 3)
    return node.fail("pools " + printShape(x.shape));
  std::optional<Windows> windows = windowsOfPool(node);
  if (!windows)
    return false;
  Shape shape = {x.shape[0], x.shape[1]};
  llvm::append_range(shape, windows->counts);
  for (Fact &output : node.outputs)
    output = unknown(ElementType::Int64, shape); // places of maxima
  return node.setOutput(unknown(x.type, shape));
}

static bool lpPool(Node &node) {
  return node.intAttr("p") >= 1
             ? pool(node)
             : node.fail("a norm of p = " + Twine(node.intAttr("p")) +
                         ", expected 1 or more");
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

static Value reducePatches(Legalization &n, Value image, const Windows &w,
                           ReduceKind kind) {
  ArrayRef<int64_t> x = shapeOf(image);
  Shape split = {x[0], x[1]}, axes;
  for (size_t d = 0; d < w.counts.size(); ++d) {
    split.append({w.counts[d], w.extents[d]});
    axes.push_back(3 + 2 * int64_t(d));
  }
  Value y = n.keptReduced(n.reshape(image, split), kind, axes);
  return n.reshape(y, n.resultType().getShape());
}

/// The elements of all windows, joined by `kind`; pads are `neutral`.
static Value joinTaps(Legalization &n, Value x, const Windows &w,
                      BinaryKind kind, double neutral) {
  const size_t axes = w.counts.size();
  Box box{Shape(axes + 2, 0), Shape(n.resultType().getShape()),
          Shape(axes + 2, 1)};
  for (size_t d = 0; d < axes; ++d) {
    // A last window may reach beyond the pads.
    int64_t reached = (w.counts[d] - 1) * w.strides[d] +
                      (w.extents[d] - 1) * w.dilations[d] + 1;
    int64_t behind = reached - shapeOf(x)[d + 2] - w.before[d];
    x = padded(n, x, d + 2, w.before[d], std::max(behind, w.after[d]), neutral);
    box.steps[d + 2] = w.strides[d];
  }
  Value joined;
  Shape strides = rowMajorStrides(w.extents);
  for (int64_t tap = 0; tap < numElements(w.extents); ++tap) {
    for (size_t d = 0; d < axes; ++d)
      box.starts[d + 2] = tap / strides[d] % w.extents[d] * w.dilations[d];
    Value part = n.slice(x, box);
    joined = joined ? n.binary(kind, joined, part) : part;
  }
  return joined;
}

static bool maxPool(Legalization &n) {
  std::optional<Windows> windows = windowsOfPool(n.node());
  if (!windows)
    return false;
  if (arePatches(*windows, shapeOf(n.input(0)).drop_front(2)))
    return n.replace(reducePatches(n, n.input(0), *windows, ReduceKind::Max));
  Type element = n.resultType().getElementType();
  double least = -std::numeric_limits<double>::infinity();
  if (auto integer = dyn_cast<IntegerType>(element))
    least = integer.isUnsigned() ? 0 : -std::ldexp(1, integer.getWidth() - 1);
  return n.replace(joinTaps(n, n.input(0), *windows, BinaryKind::Max, least));
}

/// How many elements each window has: of the image, or with its pads.
static Tensor elementCounts(const Windows &w, ArrayRef<int64_t> spatial,
                            bool countsPads) {
  const size_t axes = w.counts.size();
  Shape shape = {1, 1};
  llvm::append_range(shape, w.counts);
  Tensor counts(ElementType::Float32, shape);
  Shape strides = rowMajorStrides(w.counts);
  for (int64_t window = 0; window < counts.size(); ++window) {
    int64_t count = 1;
    for (size_t d = 0; d < axes; ++d) {
      int64_t least = countsPads ? -w.before[d] : 0, along = 0;
      int64_t end = spatial[d] + (countsPads ? w.after[d] : 0);
      int64_t start =
          window / strides[d] % w.counts[d] * w.strides[d] - w.before[d];
      for (int64_t tap = 0; tap < w.extents[d]; ++tap) {
        int64_t at = start + tap * w.dilations[d];
        along += at >= least && at < end;
      }
      count *= along;
    }
    counts.setFloat(window, double(count));
  }
  return counts;
}

static bool averagePool(Legalization &n) {
  std::optional<Windows> windows = windowsOfPool(n.node());
  if (!windows)
    return false;
  ArrayRef<int64_t> spatial = shapeOf(n.input(0)).drop_front(2);
  if (arePatches(*windows, spatial))
    return n.replace(reducePatches(n, n.input(0), *windows, ReduceKind::Mean));
  if (numElements(windows->counts) > maxFoldedBytes)
    return n.fail(Twine(numElements(windows->counts)) +
                  " windows, each with a count of its own; at most " +
                  Twine(maxFoldedBytes));
  Value counts = n.materialize(
      elementCounts(*windows, spatial, n.node().intAttr("count_include_pad")));
  return n.replace(
      n.div(joinTaps(n, n.input(0), *windows, BinaryKind::Add, 0), counts));
}

/// The root of the sum of powers of each window.
static bool lpPool(Legalization &n) {
  std::optional<Windows> windows = windowsOfPool(n.node());
  if (!windows)
    return false;
  const int64_t p = n.node().intAttr("p");
  Value x = n.input(0);
  Value powers = p == 2   ? n.mul(x, x)
                 : p == 1 ? n.abs(x)
                          : n.pow(n.abs(x), double(p));
  Value sum = arePatches(*windows, shapeOf(x).drop_front(2))
                  ? reducePatches(n, powers, *windows, ReduceKind::Sum)
                  : joinTaps(n, powers, *windows, BinaryKind::Add, 0);
  if (p == 2)
    sum = n.sqrt(sum);
  else if (p > 2)
    sum = n.pow(sum, 1 / double(p));
  return n.replace(sum);
}

llvm::ArrayRef<Operator> wsec::infer::poolsOperators() {
  static const Operator operators[] = {
      {"AveragePool", pool, averagePool,
       "auto_pad=SAME_UPPER|SAME_LOWER|VALID|NOTSET "
       "ceil_mode count_include_pad dilations kernel_shape pads "
       "strides"},
      {"MaxPool", pool, maxPool,
       "auto_pad=SAME_UPPER|SAME_LOWER|VALID|NOTSET "
       "ceil_mode dilations kernel_shape pads strides"},
      {"LpPool", lpPool, lpPool,
       "auto_pad=SAME_UPPER|SAME_LOWER|VALID|NOTSET "
       "ceil_mode dilations kernel_shape pads strides p"},
  };
  return operators;
}
