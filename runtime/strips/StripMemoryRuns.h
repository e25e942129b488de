// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STRIPS_STRIPMEMORYRUNS_H
#define RUNTIME_STRIPS_STRIPMEMORYRUNS_H

#include "runtime/strips/StripMemory.h"

#include <algorithm>
#include <cstdlib>

namespace wsec::runtime {

/// Runs of consecutive words, in loops; those of elements of 16 bits have all
/// words of which one element is in it.
struct StripMemory::Runs {
  Runs(const SramElements &elements, const Nest &nest) : first(elements.first) {
    for (int d = 0; d + 1 < nest.dimensions; ++d) {
      if (elements.stride[d] == 0 || nest.extent[d] == 1)
        continue;
      const int64_t stride = std::abs(elements.stride[d]),
                    extent = int64_t(nest.extent[d]);
      first += std::min<int64_t>(0, elements.stride[d]) * (extent - 1);
      int at = loops++;
      for (; at > 0 && strides[at - 1] < stride; --at) {
        strides[at] = strides[at - 1];
        extents[at] = extents[at - 1];
      }
      strides[at] = stride;
      extents[at] = extent;
    }
    join(1);
    if (!elements.halves())
      return;
    whole = first % 2 == 0 && length % 2 == 0;
    for (int d = 0; d < loops; ++d)
      whole &= strides[d] % 2 == 0;
    halves = true;
  }

  /// Takes words between runs along that are no more than those of a run.
  void closeGaps() { join(2); }

  /// Whether `visit(from, to)` is true for all runs.
  template <class Visit>
  bool all(const Visit &visit, int d = 0, int64_t offset = 0) const {
    if (d == loops) {
      const int64_t begin = first + offset, end = begin + length;
      return halves ? visit(begin >> 1, (end + 1) >> 1) : visit(begin, end);
    }
    if (d + 1 == loops && !halves) {
      int64_t begin = first + offset;
      for (int64_t i = 0; i < extents[d]; ++i, begin += strides[d])
        if (!visit(begin, begin + length))
          return false;
      return true;
    }
    for (int64_t i = 0; i < extents[d]; ++i)
      if (!all(visit, d + 1, offset + i * strides[d]))
        return false;
    return true;
  }

  /// The word behind the last one.
  int64_t endWord() const {
    int64_t end = first + length;
    for (int d = 0; d < loops; ++d)
      end += strides[d] * (extents[d] - 1);
    return halves ? (end + 1) >> 1 : end;
  }
  int64_t firstWord() const { return halves ? first >> 1 : first; }

  /// Lets runs be one that lie at most so many lengths of one apart.
  void join(int64_t lengths) {
    while (loops > 0 && strides[loops - 1] <= lengths * length) {
      --loops;
      length += strides[loops] * (extents[loops] - 1);
    }
  }

  int64_t first, length = 1; ///< of the first run, in elements
  int loops = 0;
  int64_t strides[maxDimensions], extents[maxDimensions];
  bool halves = false, whole = true; ///< no word has another element
};

/// Calls `visit(from, to)` for pieces of one form.
template <class Visit>
void StripMemory::forEachForm(const Runs &runs, const Visit &visit) {
  runs.all([&](int64_t from, int64_t to) {
    for (int64_t until; from < to; from = until) {
      until = sameForm(from, to);
      visit(from, until);
    }
    return true;
  });
}

/// Calls `visit(word, rows, columns)` for rectangles that hold words
/// [begin, end) of rows of `length` words.
template <class Visit>
void forEachRectangle(int64_t begin, int64_t end, int64_t length,
                      const Visit &visit) {
  while (begin < end) {
    const int64_t column = begin % length, left = end - begin;
    const bool rows = column == 0 && left >= length;
    const int64_t columns = rows ? length : std::min(left, length - column);
    const int64_t count = rows ? left / length : 1;
    visit(begin, count, columns);
    begin += count * columns;
  }
}

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_STRIPMEMORYRUNS_H
