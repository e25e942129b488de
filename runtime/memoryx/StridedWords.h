// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_STRIDEDWORDS_H
#define RUNTIME_MEMORYX_STRIDEDWORDS_H

#include "runtime/program/Checker.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace wsec::runtime {

/// Floats of 32 bits that lie in strides, and go to other strides: loops around
/// one copy, in any order.
class StridedWords {
public:
  /// A loop of `count` > 0 turns, each so many floats further on.
  void loop(int64_t count, int64_t from, int64_t to);
  /// Copies them, as they lie in memory as far as it can. `from` needs no
  /// alignment.
  void copy(const uint8_t *from, float *to);

private:
  struct Loop {
    int64_t count, from, to;
  };
  void order();
  void copyTile(const uint8_t *from, float *to) const;
  void copyAcross(const uint8_t *from, float *to) const;
  void prefetch(const uint8_t *from, size_t changed) const;

  /// Lines, columns of a channel, and the loops of a block.
  std::array<Loop, largestSegmentRank + 2> loops;
  size_t rank = 0;
  Loop outer{1, 0, 0}, inner{1, 1, 1}; ///< of a tile
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_STRIDEDWORDS_H
