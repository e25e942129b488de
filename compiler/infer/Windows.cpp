// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/Windows.h"
#include <algorithm>

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;

/// A list with a number for each spatial axis, all alike if it is not stated.
static std::optional<Shape> perAxis(Node &node, StringRef name, size_t count,
                                    int64_t otherwise, int64_t least) {
  Shape list = node.intsAttr(name).value_or(Shape(count, otherwise));
  if (list.size() == count &&
      llvm::all_of(list, [&](int64_t value) { return value >= least; }))
    return list;
  node.fail(name + " does not fit " + Twine(count) + " axes");
  return std::nullopt;
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
  if (!node.isOneOf("auto_pad",
                    {"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"}))
    return false;
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
    if (room < 0) {
      node.fail("a window of " + Twine(covered) + " over " +
                Twine(spatial[d] + w.before[d] + w.after[d]));
      return std::nullopt;
    }
    int64_t last = room / w.strides[d];
    if (ceiling && room % w.strides[d] &&
        (last + 1) * w.strides[d] < spatial[d] + w.before[d])
      ++last;
    w.counts.push_back(last + 1);
  }
  return w;
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
    Tensor tensor(*elementTypeOf(typeOf(x).getElementType()), shape);
    for (int64_t i = 0; i < tensor.size(); ++i)
      isFloat(tensor.type()) ? tensor.setFloat(i, fill)
                             : tensor.setInt(i, int64_t(fill));
    return materialize(n.builder(), n.loc(), std::move(tensor));
  };
  SmallVector<Value> parts = {x};
  if (before > 0)
    parts.insert(parts.begin(), filled(before));
  if (after > 0)
    parts.push_back(filled(after));
  return n.concat(parts, axis);
}
