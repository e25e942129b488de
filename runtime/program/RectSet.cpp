// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/RectSet.h"
#include "runtime/program/Checker.h"

namespace wsec::runtime {

bool validRect(const program::Rect &rect, int32_t width, int32_t height) {
  auto steps = [](int32_t step) {
    return step >= 1 && step <= largestMeshSide;
  };
  return rect.x0() >= 0 && rect.x0() < rect.x1() && rect.x1() <= width &&
         steps(rect.xstep()) && rect.y0() >= 0 && rect.y0() < rect.y1() &&
         rect.y1() <= height && steps(rect.ystep());
}

std::string rectRule(int32_t width, int32_t height) {
  return "expected PEs of the " + std::to_string(width) + "x" +
         std::to_string(height) + " mesh, in steps of 1 to " +
         std::to_string(largestMeshSide);
}

int64_t rectSize(const program::Rect &rect) {
  int64_t columns = (int64_t(rect.x1()) - rect.x0() - 1) / rect.xstep() + 1;
  int64_t rows = (int64_t(rect.y1()) - rect.y0() - 1) / rect.ystep() + 1;
  return columns * rows;
}

static std::string describeRange(const char *name, int64_t from, int64_t to,
                                 int64_t step) {
  std::string text = std::string(name) + " " + std::to_string(from);
  if (from + step >= to)
    return text;
  int64_t last = from + (to - 1 - from) / step * step;
  text += ".." + std::to_string(last);
  return step == 1 ? text : text + " step " + std::to_string(step);
}

std::string describeRect(const program::Rect &rect) {
  if (!validRect(rect, INT32_MAX, INT32_MAX))
    return "x [" + std::to_string(rect.x0()) + ", " +
           std::to_string(rect.x1()) + ") step " +
           std::to_string(rect.xstep()) + ", y [" + std::to_string(rect.y0()) +
           ", " + std::to_string(rect.y1()) + ") step " +
           std::to_string(rect.ystep());
  return describeRange("x", rect.x0(), rect.x1(), rect.xstep()) + ", " +
         describeRange("y", rect.y0(), rect.y1(), rect.ystep());
}

RectSet::RectSet(int32_t width, int32_t height)
    : wordsPerRow((size_t(width) + 63) / 64),
      bits(wordsPerRow * size_t(height)) {}

std::optional<std::pair<int32_t, int32_t>>
RectSet::add(const program::Rect &rect) {
  std::vector<uint64_t> mask(wordsPerRow);
  for (int64_t x = rect.x0(); x < rect.x1(); x += rect.xstep())
    mask[size_t(x) / 64] |= uint64_t(1) << (x % 64);
  size_t first = size_t(rect.x0()) / 64;
  size_t last = size_t(rect.x1() - 1) / 64;
  for (int64_t y = rect.y0(); y < rect.y1(); y += rect.ystep()) {
    uint64_t *row = bits.data() + size_t(y) * wordsPerRow;
    for (size_t word = first; word <= last; ++word) {
      if (uint64_t both = row[word] & mask[word])
        return std::pair(int32_t(word * 64 + size_t(__builtin_ctzll(both))),
                         int32_t(y));
      row[word] |= mask[word];
    }
  }
  return std::nullopt;
}

} // namespace wsec::runtime
