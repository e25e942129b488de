// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_RECTSET_H
#define RUNTIME_PROGRAM_RECTSET_H

#include "runtime/program/program_generated.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Whether the rectangle has PEs, lies inside the mesh and steps forward, by
/// so little that coordinates do not overflow.
bool validRect(const program::Rect &rect, int32_t width, int32_t height);

/// The rule of `validRect` in words, for messages.
std::string rectRule(int32_t width, int32_t height);

/// Number of PEs of a valid rectangle.
int64_t rectSize(const program::Rect &rect);

/// "x 0..3, y 2", half-open ranges as in the program but said inclusively.
std::string describeRect(const program::Rect &rect);

/// PEs of a mesh, a bit each. Adding rectangles until the first overlap costs
/// at most one visit per PE, however many rectangles there are.
class RectSet {
public:
  RectSet(int32_t width, int32_t height);

  /// Adds a valid rectangle; returns a PE that was there already, if any.
  std::optional<std::pair<int32_t, int32_t>> add(const program::Rect &rect);

private:
  size_t wordsPerRow;
  std::vector<uint64_t> bits;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_RECTSET_H
