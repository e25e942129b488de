// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/Windows.h"
#include <algorithm>

using namespace wsec::infer;

/// So large no stride, dilation, pad or window is that an image has use for;
/// below, sums of products of two of them do not overflow.
static constexpr int64_t kMostAlongAxis = int64_t(1) << 24;

static bool isPerAxis(Node &node, StringRef name, ArrayRef<int64_t> list,
                      size_t count, int64_t least) {
  if (list.size() != count)
    return node.fail(name + " does not fit " + Twine(count) + " axes");
  for (int64_t value : list)
    if (value < least || value > kMostAlongAxis)
      return node.fail(name + " has " + Twine(value) + ", expected " +
                       Twine(least) + " to " + Twine(kMostAlongAxis));
  return true;
}

std::optional<Shape> wsec::infer::perAxis(Node &node, StringRef name,
                                          size_t count, int64_t otherwise,
                                          int64_t least) {
  Shape list = node.intsAttr(name).value_or(Shape(count, otherwise));
  if (!isPerAxis(node, name, list, count, least))
    return std::nullopt;
  return list;
}

/// Pads as stated, or such that there are extent / stride windows.
static bool setPads(Node &node, ArrayRef<int64_t> spatial, Windows &w) {
  StringRef automatic = node.stringAttr("auto_pad");
  size_t axes = spatial.size();
  if (automatic == "NOTSET" || automatic == "VALID") {
    auto pads = automatic == "VALID" ? std::optional(Shape(2 * axes, 0))
                                     : perAxis(node, "pads", 2 * axes, 0, 0);
    if (!pads)
      return false;
    w.before.assign(pads->begin(), pads->begin() + axes);
    w.after.assign(pads->begin() + axes, pads->end());
    return true;
  }
  for (size_t d = 0; d < axes; ++d) {
    int64_t windows = (spatial[d] + w.strides[d] - 1) / w.strides[d];
    int64_t covered =
        (windows - 1) * w.strides[d] + (w.extents[d] - 1) * w.dilations[d] + 1;
    int64_t total = std::max<int64_t>(covered - spatial[d], 0);
    int64_t less = total / 2;
    w.before.push_back(automatic == "SAME_UPPER" ? less : total - less);
    w.after.push_back(total - w.before.back());
  }
  return true;
}

std::optional<Windows> wsec::infer::windowsOf(Node &node,
                                              ArrayRef<int64_t> spatial,
                                              const Shape &extents,
                                              bool ceiling) {
  const size_t axes = spatial.size();
  if (!isPerAxis(node, "kernel_shape", extents, axes, 1))
    return std::nullopt;
  Windows w;
  auto strides = perAxis(node, "strides", axes, 1, 1);
  auto dilations = perAxis(node, "dilations", axes, 1, 1);
  if (!strides || !dilations)
    return std::nullopt;
  w.extents = extents;
  w.strides = *strides;
  w.dilations = *dilations;
  if (!setPads(node, spatial, w))
    return std::nullopt;
  for (size_t d = 0; d < axes; ++d) {
    int64_t covered = (w.extents[d] - 1) * w.dilations[d] + 1;
    int64_t room = spatial[d] + w.before[d] + w.after[d] - covered;
    if (room < 0)
      return node.fail("a window of " + Twine(covered) + " over " +
                       Twine(spatial[d] + w.before[d] + w.after[d]) +
                       " elements, pads counted");
    int64_t last = room / w.strides[d];
    if (ceiling && room % w.strides[d] &&
        (last + 1) * w.strides[d] < spatial[d] + w.before[d])
      ++last;
    w.counts.push_back(last + 1);
  }
  if (!arePatches(w, spatial) && !areFewTaps(node, w.extents))
    return std::nullopt;
  return w;
}

bool wsec::infer::areFewTaps(Node &node, ArrayRef<int64_t> extents) {
  int64_t taps = 1;
  for (int64_t extent : extents) {
    taps *= extent;
    if (taps > kMostTaps)
      return node.fail("its windows have more than " + Twine(kMostTaps) +
                       " elements, each of which is a slice; use windows "
                       "that neither overlap nor leave gaps, or a product");
  }
  return true;
}

bool wsec::infer::arePatches(const Windows &w, ArrayRef<int64_t> spatial) {
  for (size_t d = 0; d < spatial.size(); ++d)
    if (w.strides[d] != w.extents[d] || w.dilations[d] != 1 || w.before[d] ||
        w.after[d] || spatial[d] != w.extents[d] * w.counts[d])
      return false;
  return true;
}

Value wsec::infer::padded(Legalization &n, Value x, size_t axis, int64_t before,
                          int64_t after, double fill) {
  auto filled = [&](int64_t count) {
    Shape shape(shapeOf(x));
    shape[axis] = count;
    return n.expand(n.scalarLike(x, fill), shape);
  };
  SmallVector<Value> parts = {x};
  if (before > 0)
    parts.insert(parts.begin(), filled(before));
  if (after > 0)
    parts.push_back(filled(after));
  return n.concat(parts, axis);
}
