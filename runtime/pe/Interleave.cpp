// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of several sources, side by side: what lanes of a strip got from
// different senders, columns of a product that were computed apart, or those of
// a matrix that is transposed.
#include "runtime/pe/UnalignedFloat.h"
#include "runtime/pe/VectorKernels.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/pe/Interleave.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wsec::runtime::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

constexpr size_t side = 4;

/// Four words of each of four sources, those of a column side by side.
HWY_INLINE void transposeFour(const float *const *from, size_t at, float *to,
                              ptrdiff_t pitch) {
  const hn::FixedTag<float, side> d;
  const auto a = hn::LoadU(d, from[0] + at), b = hn::LoadU(d, from[1] + at);
  const auto e = hn::LoadU(d, from[2] + at), f = hn::LoadU(d, from[3] + at);
  const auto abLow = hn::InterleaveLower(d, a, b);
  const auto abHigh = hn::InterleaveUpper(d, a, b);
  const auto efLow = hn::InterleaveLower(d, e, f);
  const auto efHigh = hn::InterleaveUpper(d, e, f);
  hn::StoreU(hn::ConcatLowerLower(d, efLow, abLow), d, to);
  hn::StoreU(hn::ConcatUpperUpper(d, efLow, abLow), d, to + pitch);
  hn::StoreU(hn::ConcatLowerLower(d, efHigh, abHigh), d, to + 2 * pitch);
  hn::StoreU(hn::ConcatUpperUpper(d, efHigh, abHigh), d, to + 3 * pitch);
}

/// A block of four words from each of two sources after the other.
HWY_INLINE void interleaveBlocks(Vector &a, Vector &b) {
  const Vector even = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
  b = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
  a = even;
}

/// The same of as many words of as many sources as a vector has lanes, 16.
void transposeSixteen(const float *const *from, size_t at, float *to,
                      ptrdiff_t pitch) {
  const Tag d;
  const hn::Repartition<uint64_t, Tag> pairs;
  Vector blocks[side][side]; // By column within a block, group of sources.
  for (size_t group = 0; group < side; ++group) {
    const float *const *its = from + side * group;
    const auto a = hn::LoadU(d, its[0] + at), b = hn::LoadU(d, its[1] + at);
    const auto e = hn::LoadU(d, its[2] + at), f = hn::LoadU(d, its[3] + at);
    auto two = [&](auto x, auto y) HWY_ATTR {
      return std::pair(hn::BitCast(pairs, hn::InterleaveLower(d, x, y)),
                       hn::BitCast(pairs, hn::InterleaveUpper(d, x, y)));
    };
    const auto [abLow, abHigh] = two(a, b);
    const auto [efLow, efHigh] = two(e, f);
    blocks[0][group] = hn::BitCast(d, hn::InterleaveLower(pairs, abLow, efLow));
    blocks[1][group] = hn::BitCast(d, hn::InterleaveUpper(pairs, abLow, efLow));
    blocks[2][group] =
        hn::BitCast(d, hn::InterleaveLower(pairs, abHigh, efHigh));
    blocks[3][group] =
        hn::BitCast(d, hn::InterleaveUpper(pairs, abHigh, efHigh));
  }
  for (size_t i = 0; i < side; ++i, to += pitch) {
    auto &[a, b, e, f] = blocks[i];
    interleaveBlocks(a, b);
    interleaveBlocks(e, f);
    hn::StoreU(hn::ConcatLowerLower(d, e, a), d, to);
    hn::StoreU(hn::ConcatLowerLower(d, f, b), d, to + ptrdiff_t(side) * pitch);
    hn::StoreU(hn::ConcatUpperUpper(d, e, a), d,
               to + ptrdiff_t(2 * side) * pitch);
    hn::StoreU(hn::ConcatUpperUpper(d, f, b), d,
               to + ptrdiff_t(3 * side) * pitch);
  }
}

/// Of a few sources, what each lane of the vectors that as many words of them
/// make is: a word, of a source.
template <size_t sources>
class FewSources {
public:
  static void run(const float *const *from, ptrdiff_t at, size_t columns,
                  float *to) {
    static const FewSources its;
    const size_t lanes = hn::Lanes(Tag());
    for (size_t i = 0; i < columns; i += lanes)
      its.some(from, at + ptrdiff_t(i), std::min(lanes, columns - i),
               to + i * sources);
  }

private:
  FewSources() {
    for (size_t i = 0; i < sources * hn::Lanes(Tag()); ++i) {
      words[i] = int32_t(i / sources);
      sourceOf[i] = int32_t(i % sources);
    }
  }

  /// `columns` words of each, at most as many as a vector has.
  HWY_INLINE void some(const float *const *from, ptrdiff_t at, size_t columns,
                       float *to) const {
    const Tag d;
    const hn::RebindToSigned<Tag> integers;
    const size_t lanes = hn::Lanes(d), all = columns * sources;
    const auto mask = hn::FirstN(d, columns);
    Vector its[sources];
    for (size_t s = 0; s < sources; ++s)
      its[s] = hn::MaskedLoad(mask, d, from[s] + at);
    for (size_t i = 0; i < all; i += lanes) {
      const auto word = hn::IndicesFromVec(d, hn::LoadU(integers, words + i));
      const auto source = hn::LoadU(integers, sourceOf + i);
      Vector result = hn::TableLookupLanes(its[0], word);
      for (size_t s = 1; s < sources; ++s) {
        const auto isIts = hn::Eq(source, hn::Set(integers, int32_t(s)));
        result = hn::IfThenElse(hn::RebindMask(d, isIts),
                                hn::TableLookupLanes(its[s], word), result);
      }
      if (i + lanes <= all)
        hn::StoreU(result, d, to + i);
      else
        hn::BlendedStore(result, hn::FirstN(d, all - i), d, to + i);
    }
  }

  static constexpr size_t mostLanes = HWY_MAX_BYTES / 4;
  int32_t words[sources * mostLanes], sourceOf[sources * mostLanes];
};

using Few = void (*)(const float *const *, ptrdiff_t, size_t, float *);
/// By the number of sources.
constexpr Few fewSources[] = {nullptr,
                              FewSources<1>::run,
                              FewSources<2>::run,
                              FewSources<3>::run,
                              FewSources<4>::run,
                              FewSources<5>::run,
                              FewSources<6>::run,
                              FewSources<7>::run};

/// Words [begin, end) of many sources, those of a column side by side.
void interleaveMany(const float *const *sources, size_t count, ptrdiff_t at,
                    size_t begin, size_t end, float *to) {
  const float *from[16];
  auto group = [&](size_t first, size_t size) {
    for (size_t s = 0; s < size; ++s)
      from[s] = sources[first + s] + at;
  };
  size_t l = 0;
  if (hn::Lanes(Tag()) == 16)
    for (; l + 16 <= count && end - begin >= 16; l += 16) {
      size_t i = begin;
      group(l, 16);
      for (; i + 16 <= end; i += 16)
        transposeSixteen(from, i, to + i * count + l, ptrdiff_t(count));
      for (; i < end; i += side)
        for (size_t s = 0; s < 16; s += side)
          transposeFour(from + s, i, to + i * count + l + s, ptrdiff_t(count));
    }
  for (; l < count; l += side) {
    const size_t first = std::min(l, count - side);
    group(first, side);
    for (size_t i = begin; i < end; i += side)
      transposeFour(from, i, to + i * count + first, ptrdiff_t(count));
  }
}

/// Two words of many sources.
void interleaveTwo(const float *const *sources, size_t count, ptrdiff_t at,
                   float *to) {
  const hn::FixedTag<float, side> d;
  const hn::FixedTag<float, 2> pair;
  auto two = [&](const float *a, const float *b) HWY_ATTR {
    return hn::Combine(d, hn::LoadU(pair, b + at), hn::LoadU(pair, a + at));
  };
  for (size_t l = 0; l < count; l += side) {
    const size_t first = std::min(l, count - side);
    const float *const *its = sources + first;
    const auto ab = two(its[0], its[1]), ef = two(its[2], its[3]);
    hn::StoreU(hn::ConcatEven(d, ef, ab), d, to + first);
    hn::StoreU(hn::ConcatOdd(d, ef, ab), d, to + count + first);
  }
}

/// Columns that follow one another in all sources: of a few sources by vectors
/// of these, of many those of a tile of the destination before others.
void interleaveAll(const InterleaveProblem &p, float *dst,
                   const float *const *sources) {
  constexpr size_t tile = 64; // columns
  const Few few =
      p.sources < std::size(fewSources) ? fewSources[p.sources] : nullptr;
  const size_t full = p.column != 1 ? 0
                      : few         ? p.columns
                                    : p.columns / side * side;
  for (size_t r = 0; r < p.rows; ++r) {
    float *row = dst + ptrdiff_t(r) * p.dstRow;
    const ptrdiff_t at = ptrdiff_t(r) * p.row;
    if (few && full > 0)
      few(sources, at, full, row);
    else
      for (size_t i = 0; i < full; i += tile)
        interleaveMany(sources, p.sources, at, i, std::min(full, i + tile),
                       row);
    size_t done = full;
    if (!few && p.column == 1 && done < p.columns) {
      if (p.columns >= side) { // The last four once more.
        interleaveMany(sources, p.sources, at, p.columns - side, p.columns,
                       row);
        done = p.columns;
      } else if (p.columns >= 2) {
        interleaveTwo(sources, p.sources, at, row);
        done = 2;
      }
    }
    for (size_t i = done; i < p.columns; ++i)
      for (size_t l = 0; l < p.sources; ++l) {
        const UnalignedFloat *from = sources[l] + at + ptrdiff_t(i) * p.column;
        row[i * p.sources + l] = *from;
      }
  }
}

/// Rows that lie side by side in the source, and columns in the destination, at
/// least four of each; the last four once more.
void transpose(const CopyProblem &p) {
  const float *from[16];
  for (size_t c = 0, size; c < p.columns; c += size) {
    size = hn::Lanes(Tag()) == 16 && c + 16 <= p.columns ? 16 : side;
    c = std::min(c, p.columns - size);
    for (size_t s = 0; s < size; ++s)
      from[s] = p.a + ptrdiff_t(c + s) * p.aColumn;
    auto to = [&](size_t r) { return p.dst + ptrdiff_t(r) * p.dstRow + c; };
    size_t r = 0;
    for (; size == 16 && r + 16 <= p.rows; r += 16)
      transposeSixteen(from, r, to(r), p.dstRow);
    for (; r < p.rows; r += side) {
      r = std::min(r, p.rows - side);
      for (size_t s = 0; s < size; s += side)
        transposeFour(from + s, r, to(r) + s, p.dstRow);
    }
  }
}

} // namespace wsec::runtime::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wsec::runtime {
HWY_EXPORT(interleaveAll);
HWY_EXPORT(transpose);

void interleave(const InterleaveProblem &problem, float *dst,
                const float *const *sources) {
  HWY_DYNAMIC_DISPATCH(interleaveAll)(problem, dst, sources);
}

static void swapDimensions(CopyProblem &p) {
  std::swap(p.rows, p.columns);
  std::swap(p.dstRow, p.dstColumn);
  std::swap(p.aRow, p.aColumn);
}

/// Whether words lie side by side, forwards or backwards.
static bool isDense(ptrdiff_t stride) { return std::abs(stride) == 1; }

void copyStrided(const CopyProblem &problem) {
  constexpr size_t fewest = 4; // for blocks
  CopyProblem p = problem;
  if (isDense(p.aColumn) && isDense(p.dstRow))
    swapDimensions(p);
  // Rows that all go to the same words go there in order.
  if (isDense(p.aRow) && isDense(p.dstColumn) && p.dstRow != 0 &&
      p.rows >= fewest && p.columns >= fewest) {
    auto turn = [&](size_t extent, ptrdiff_t &aStride, ptrdiff_t &dstStride) {
      p.a += ptrdiff_t(extent - 1) * aStride;
      p.dst += ptrdiff_t(extent - 1) * dstStride;
      aStride = -aStride;
      dstStride = -dstStride;
    };
    if (p.aRow < 0)
      turn(p.rows, p.aRow, p.dstRow);
    if (p.dstColumn < 0)
      turn(p.columns, p.aColumn, p.dstColumn);
    return HWY_DYNAMIC_DISPATCH(transpose)(p);
  }
  if (p.columns < p.rows) // The longer loop is the inner one.
    swapDimensions(p);
  for (size_t r = 0; r < p.rows; ++r) {
    float *dst = p.dst + ptrdiff_t(r) * p.dstRow;
    const UnalignedFloat *a = p.a + ptrdiff_t(r) * p.aRow;
    for (size_t i = 0; i < p.columns; ++i)
      dst[ptrdiff_t(i) * p.dstColumn] = a[ptrdiff_t(i) * p.aColumn];
  }
}
} // namespace wsec::runtime
#endif
