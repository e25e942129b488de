// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/StridedWords.h"

#include "runtime/pe/UnalignedFloat.h"
#include "runtime/pe/VectorKernels.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace wsec::runtime {

static const UnalignedFloat *at(const uint8_t *from, int64_t floats) {
  return reinterpret_cast<const UnalignedFloat *>(from + floats * 4);
}

void StridedWords::loop(int64_t count, int64_t from, int64_t to) {
  if (count > 1)
    loops[rank++] = {count, from, to};
}

/// Puts the loops in the order in which the words lie where they come from,
/// joins those that walk on without a gap, and takes out the tile: the last of
/// them, and that of words that follow one another where they go.
void StridedWords::order() {
  std::sort(loops.begin(), loops.begin() + ptrdiff_t(rank),
            [](const Loop &a, const Loop &b) {
              return std::pair(std::abs(a.from), a.to) >
                     std::pair(std::abs(b.from), b.to);
            });
  size_t joined = 0;
  for (size_t i = 0; i < rank; ++i) {
    const Loop its = loops[i];
    Loop *before = joined ? &loops[joined - 1] : nullptr;
    if (before && before->from == its.count * its.from &&
        before->to == its.count * its.to)
      *before = {before->count * its.count, its.from, its.to};
    else
      loops[joined++] = its;
  }
  rank = joined;
  if (rank == 0)
    return;
  inner = loops[--rank];
  for (size_t i = rank; inner.to != 1 && i-- > 0;)
    if (loops[i].to == 1) {
      outer = loops[i];
      std::copy(loops.begin() + ptrdiff_t(i) + 1,
                loops.begin() + ptrdiff_t(rank), loops.begin() + ptrdiff_t(i));
      --rank;
      return;
    }
}

void StridedWords::copy(const uint8_t *from, float *to) {
  order();
  std::array<int64_t, std::tuple_size_v<decltype(loops)>> turn{};
  for (;;) {
    size_t i = rank;
    int64_t fromNext = 0, toNext = 0;
    while (i > 0 && turn[i - 1] + 1 == loops[i - 1].count) {
      --i;
      fromNext -= turn[i] * loops[i].from;
      toNext -= turn[i] * loops[i].to;
      turn[i] = 0;
    }
    if (i > 0) {
      ++turn[i - 1];
      fromNext += loops[i - 1].from;
      toNext += loops[i - 1].to;
      prefetch(from + fromNext * 4, i - 1);
    }
    copyTile(from, to);
    if (i == 0)
      return;
    from += fromNext * 4;
    to += toNext;
  }
}

/// Asks the memory for rows that lie far from one another, of a tile and those
/// behind it that go on where they end, once one of the loops before these has
/// `changed`.
void StridedWords::prefetch(const uint8_t *from, size_t changed) const {
  constexpr int64_t line = 16; // floats
  int64_t last = std::abs((inner.count - 1) * inner.from);
  if (std::abs(outer.from) < 2 * line || inner.from < 0)
    return;
  for (size_t i = rank;
       i-- > 0 && loops[i].from > 0 && loops[i].from <= last + line;) {
    if (i == changed)
      return; // Asked for already.
    last += (loops[i].count - 1) * loops[i].from;
  }
  for (int64_t o = 0; o < outer.count; ++o)
    for (int64_t i = 0; i < last + line; i += line)
      __builtin_prefetch(at(from, o * outer.from + std::min(i, last)));
}

void StridedWords::copyTile(const uint8_t *from, float *to) const {
  if (inner.from == 1 && inner.to == 1 && outer.count == 1) {
    std::copy_n(from, inner.count * 4, reinterpret_cast<uint8_t *>(to));
    return;
  }
  if (inner.from == 1 && outer.to == 1 && outer.count > 1)
    return copyAcross(from, to);
  for (int64_t o = 0; o < outer.count; ++o)
    for (int64_t i = 0; i < inner.count; ++i)
      to[o * outer.to + i * inner.to] =
          *at(from, o * outer.from + i * inner.from);
}

/// Rows that become columns, in tiles that keep both sides in the first-level
/// cache.
void StridedWords::copyAcross(const uint8_t *from, float *to) const {
  constexpr int64_t side = 16, most = 64;
  if (inner.to == outer.count && outer.count <= most) {
    const float *rows[most];
    for (int64_t o = 0; o < outer.count; ++o)
      rows[o] = reinterpret_cast<const float *>(from + o * outer.from * 4);
    return interleave({1, size_t(inner.count), size_t(outer.count), 0, 0, 1},
                      to, rows);
  }
  for (int64_t o0 = 0; o0 < outer.count; o0 += side)
    for (int64_t i0 = 0; i0 < inner.count; i0 += side)
      for (int64_t o = o0; o < std::min(outer.count, o0 + side); ++o) {
        float row[side];
        const int64_t length = std::min(inner.count - i0, side);
        std::copy_n(from + (o * outer.from + i0) * 4, length * 4,
                    reinterpret_cast<uint8_t *>(row));
        for (int64_t i = 0; i < length; ++i)
          to[o + (i0 + i) * inner.to] = row[i];
      }
}

} // namespace wsec::runtime
