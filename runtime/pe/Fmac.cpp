// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inner loop of every matrix product: a stream of scalars times vectors
// that lie in SRAM. A tile of accumulators stays in registers while the depth
// runs; each accumulator takes its terms in order, so the bits are those of
// the plain loop.
#include "runtime/pe/UnalignedFloat.h"
#include "runtime/pe/VectorKernels.h"

#include <algorithm>
#include <cstdlib>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/pe/Fmac.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wsec::runtime::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using HalfTag = hn::Half<Tag>;
using Vector = hn::Vec<Tag>;

/// Where the vectors of a tile lie, from the first column of the first block.
template <int vectors>
struct Places {
  ptrdiff_t c[vectors], b[vectors];
};

/// Fewer columns than these are few, and the floats that are computed of such
/// at a time.
constexpr size_t narrow = 8, mostNarrow = 4096;

/// Calls `visit(a, b)` for each term of the factors there, in order.
template <class Visit>
HWY_INLINE void forEachTermAt(const FmacProblem &p, const UnalignedFloat *a,
                              const float *b, const Visit &visit) {
  for (size_t k = 0; k < p.outer.extent; ++k) {
    const UnalignedFloat *aTerm = a;
    const float *bTerm = b;
    for (size_t l = 0; l < p.inner.extent; ++l) {
      visit(aTerm, bTerm);
      aTerm += p.inner.a;
      bTerm += p.inner.b;
    }
    a += p.outer.a;
    b += p.outer.b;
  }
}

/// The same of all factors, `aAt` and `bAt` behind where they lie.
template <class Visit>
HWY_INLINE void forEachTerm(const FmacProblem &p, ptrdiff_t aAt, ptrdiff_t bAt,
                            const Visit &visit) {
  for (size_t i = 0; i < p.count; ++i)
    forEachTermAt(p, static_cast<const UnalignedFloat *>(p.factors[i].a) + aAt,
                  p.factors[i].b + bAt, visit);
}

/// One tile: `tileRows` x `vectors` accumulators.
template <int tileRows, int vectors>
HWY_NOINLINE void tile(const FmacProblem &p, float *HWY_RESTRICT c,
                       ptrdiff_t aAt, const Places<vectors> &at) {
  const Tag d;
  const ptrdiff_t cRow = p.cRow, aRow = p.aRow;
  Vector sums[tileRows][vectors];
  for (int i = 0; i < tileRows; ++i)
    for (int v = 0; v < vectors; ++v)
      sums[i][v] =
          p.starts ? hn::Set(d, p.start) : hn::LoadU(d, c + i * cRow + at.c[v]);
  ptrdiff_t bAt[vectors];
  for (int v = 0; v < vectors; ++v)
    bAt[v] = at.b[v];
  forEachTerm(p, aAt, 0,
              [&](const UnalignedFloat *aTerm, const float *bTerm) HWY_ATTR {
                Vector terms[vectors];
                for (int v = 0; v < vectors; ++v)
                  terms[v] = hn::LoadU(d, bTerm + bAt[v]);
                for (int i = 0; i < tileRows; ++i) {
                  const Vector factor = hn::Set(d, aTerm[i * aRow]);
                  for (int v = 0; v < vectors; ++v)
                    sums[i][v] = hn::MulAdd(factor, terms[v], sums[i][v]);
                }
              });
  for (int i = 0; i < tileRows; ++i)
    for (int v = 0; v < vectors; ++v)
      hn::StoreU(sums[i][v], d, c + i * cRow + at.c[v]);
}

/// The last columns of a block, fewer than a vector of tag `D`.
template <class D, int tileRows>
HWY_NOINLINE void tailTile(const FmacProblem &p, float *HWY_RESTRICT c,
                           ptrdiff_t aAt, const Places<1> &at, size_t columns) {
  const D d;
  const auto mask = hn::FirstN(d, columns);
  const ptrdiff_t cRow = p.cRow, aRow = p.aRow;
  hn::Vec<D> sums[tileRows];
  for (int i = 0; i < tileRows; ++i)
    sums[i] = p.starts ? hn::Set(d, p.start)
                       : hn::MaskedLoad(mask, d, c + i * cRow + at.c[0]);
  forEachTerm(p, aAt, at.b[0],
              [&](const UnalignedFloat *aTerm, const float *bTerm) HWY_ATTR {
                const auto term = hn::MaskedLoad(mask, d, bTerm);
                for (int i = 0; i < tileRows; ++i)
                  sums[i] =
                      hn::MulAdd(hn::Set(d, aTerm[i * aRow]), term, sums[i]);
              });
  for (int i = 0; i < tileRows; ++i)
    hn::BlendedStore(sums[i], mask, d, c + i * cRow + at.c[0]);
}

/// The same of one row of several blocks: each waits for its own sum.
template <class D, int tileBlocks>
HWY_NOINLINE void blockTile(const FmacProblem &p, const Places<1> &at,
                            size_t columns) {
  const D d;
  const auto mask = hn::FirstN(d, columns);
  float *c = p.c + at.c[0];
  hn::Vec<D> sums[tileBlocks];
  for (int i = 0; i < tileBlocks; ++i)
    sums[i] = p.starts ? hn::Set(d, p.start)
                       : hn::MaskedLoad(mask, d, c + i * p.cBlock);
  forEachTerm(p, 0, at.b[0],
              [&](const UnalignedFloat *aTerm, const float *bTerm) HWY_ATTR {
                const auto factor = hn::Set(d, *aTerm);
                for (int i = 0; i < tileBlocks; ++i)
                  sums[i] = hn::MulAdd(
                      factor, hn::MaskedLoad(mask, d, bTerm + i * p.bBlock),
                      sums[i]);
              });
  for (int i = 0; i < tileBlocks; ++i)
    hn::BlendedStore(sums[i], mask, d, c + i * p.cBlock);
}

/// Rows of one column. What they read lies apart, so that each is computed by
/// itself; several at a time, since one waits for its own sum.
template <int tileRows>
HWY_NOINLINE void scalarTile(const FmacProblem &p, float *HWY_RESTRICT c,
                             ptrdiff_t aAt) {
  const hn::CappedTag<float, 1> d;
  const ptrdiff_t cRow = p.cRow, aRow = p.aRow;
  hn::Vec<decltype(d)> sums[tileRows];
  for (int i = 0; i < tileRows; ++i)
    sums[i] = p.starts ? hn::Set(d, p.start) : hn::Set(d, c[i * cRow]);
  forEachTerm(
      p, aAt, 0, [&](const UnalignedFloat *aTerm, const float *bTerm) HWY_ATTR {
        const UnalignedFloat *factor = bTerm;
        const auto term = hn::Set(d, *factor);
        for (int i = 0; i < tileRows; ++i)
          sums[i] = hn::MulAdd(hn::Set(d, aTerm[i * aRow]), term, sums[i]);
      });
  for (int i = 0; i < tileRows; ++i)
    c[i * cRow] = hn::GetLane(sums[i]);
}

/// Calls `step` with `count`, of at most `most`, as a constant.
template <int most, class Step>
HWY_INLINE void withCount(size_t count, const Step &step) {
  if constexpr (most > 1)
    if (count < most)
      return withCount<most - 1>(count, step);
  step(std::integral_constant<int, most>());
}

/// All rows of some columns: tiles of as many rows as registers hold, and of
/// about as many each, for a small one waits for its own sums.
template <int most, class Step>
HWY_INLINE void forEachTile(const FmacProblem &p, const Step &step) {
  for (size_t row = 0, left = (p.rows + most - 1) / most; left > 0; --left) {
    const size_t rows = (p.rows - row) / left;
    withCount<most>(rows, [&](auto count) {
      step(count, p.c + ptrdiff_t(row) * p.cRow, ptrdiff_t(row) * p.aRow);
    });
    row += rows;
  }
}

/// Vectors of all blocks, one after the other.
class Vectors {
public:
  explicit Vectors(const FmacProblem &p)
      : p(p), perBlock(p.columns / hn::Lanes(Tag())) {}

  size_t left() const { return perBlock * p.blocks - next; }
  template <int vectors>
  Places<vectors> take() {
    Places<vectors> places;
    for (int v = 0; v < vectors; ++v, ++next) {
      const auto block = ptrdiff_t(next / perBlock);
      const auto column = ptrdiff_t(next % perBlock * hn::Lanes(Tag()));
      places.c[v] = block * p.cBlock + column;
      places.b[v] = block * p.bBlock + column;
    }
    return places;
  }

private:
  const FmacProblem &p;
  const size_t perBlock;
  size_t next = 0;
};

/// Asks the memory for the factors of `rows` rows that will be used soon: those
/// of a row follow one another, too few for the processor to find out by
/// itself.
class RowsAhead {
public:
  explicit RowsAhead(const FmacProblem &p)
      : p(p), length(reach(p)), end(ptrdiff_t(p.rows) * p.aRow),
        asks(p.aRow >= line && length <= p.aRow && length <= 8 * line &&
             ptrdiff_t(p.rows) > 2 * distance) {}

  HWY_INLINE void ask(ptrdiff_t at, int rows) {
    if (!asks || (end - at) / p.aRow <= distance)
      return;
    at += distance * p.aRow;
    for (int i = 0; i < rows && at < end; ++i, at += p.aRow)
      for (size_t j = 0; j < p.count; ++j)
        for (ptrdiff_t next = 0; next < length + line; next += line)
          __builtin_prefetch(p.factors[j].a + at + next, 0, 2);
  }
  void stop() { asks = false; }

private:
  static constexpr ptrdiff_t line = 16;     // floats
  static constexpr ptrdiff_t distance = 36; // rows
  static ptrdiff_t reach(const FmacProblem &p) {
    return ptrdiff_t(p.outer.extent - 1) * std::abs(p.outer.a) +
           ptrdiff_t(p.inner.extent - 1) * std::abs(p.inner.a) + 1;
  }
  const FmacProblem &p;
  const ptrdiff_t length, end;
  bool asks;
};

template <int vectors, int rows>
HWY_INLINE void columnTiles(const FmacProblem &p, Vectors &all,
                            RowsAhead &ahead) {
  while (all.left() >= vectors) {
    const Places<vectors> at = all.take<vectors>();
    forEachTile<rows>(p, [&](auto count, float *c, ptrdiff_t aAt) {
      ahead.ask(aAt, decltype(count)::value);
      tile<decltype(count)::value, vectors>(p, c, aAt, at);
    });
    ahead.stop();
  }
}

/// The columns behind the last vector of each block.
void tails(const FmacProblem &p) {
  const size_t columns = p.columns % hn::Lanes(Tag());
  if (columns == 0)
    return;
  // Half a vector costs some processors half the time.
  const bool half = columns <= hn::Lanes(HalfTag());
  const auto first = ptrdiff_t(p.columns - columns);
  size_t block = 0;
  auto places = [&] {
    return Places<1>{{ptrdiff_t(block) * p.cBlock + first},
                     {ptrdiff_t(block) * p.bBlock + first}};
  };
  auto tiles = [&](auto count) {
    constexpr int n = decltype(count)::value;
    for (; block + n <= p.blocks; block += n)
      (half ? blockTile<HalfTag, n> : blockTile<Tag, n>)(p, places(), columns);
  };
  if (p.rows == 1) {
    tiles(std::integral_constant<int, 12>());
    tiles(std::integral_constant<int, 4>());
    tiles(std::integral_constant<int, 2>());
  }
  for (; block < p.blocks; ++block) {
    const Places<1> at = places();
    forEachTile<12>(p, [&](auto count, float *c, ptrdiff_t aAt) {
      constexpr int n = decltype(count)::value;
      (half ? tailTile<HalfTag, n> : tailTile<Tag, n>)(p, c, aAt, at, columns);
    });
  }
}

/// As many terms as `b` has in the first-level cache while all rows use them.
void accumulateBlock(const FmacProblem &p) {
  if (p.columns * p.blocks == 1)
    return forEachTile<12>(p, [&](auto count, float *c, ptrdiff_t aAt) {
      scalarTile<decltype(count)::value>(p, c, aAt);
    });
  // Registers: 4 vectors need 24 accumulators and 4 terms. Rows that are one
  // tile of 2 vectors read `b` once.
  constexpr bool wide = HWY_TARGET <= HWY_AVX3;
  const bool once = p.rows > 6 && p.rows <= 12;
  Vectors all(p);
  RowsAhead ahead(p);
  if constexpr (wide)
    if (!once)
      columnTiles<4, 6>(p, all, ahead);
  columnTiles<2, wide ? 12 : 6>(p, all, ahead);
  columnTiles<1, 12>(p, all, ahead);
  tails(p);
}

/// Some rows, as many terms at a time as stay in the cache.
void accumulateRows(const FmacProblem &p) {
  constexpr size_t terms = termsAtOnce;
  FmacProblem part = p;
  const size_t mostInner = std::min(p.inner.extent, terms);
  const size_t mostOuter =
      mostInner < p.inner.extent ? 1 : std::max<size_t>(1, terms / mostInner);
  part.count = std::max<size_t>(1, terms / (p.outer.extent * p.inner.extent));
  for (size_t i = 0; i < p.count; i += part.count) {
    part.count = std::min(part.count, p.count - i);
    if (part.count > 1) {
      part.factors = p.factors + i;
      accumulateBlock(part);
      part.starts = false;
      continue;
    }
    Factors factors;
    part.factors = &factors;
    for (size_t k = 0; k < p.outer.extent; k += mostOuter)
      for (size_t l = 0; l < p.inner.extent; l += mostInner) {
        part.outer.extent = std::min(mostOuter, p.outer.extent - k);
        part.inner.extent = std::min(mostInner, p.inner.extent - l);
        const UnalignedFloat *a = p.factors[i].a;
        factors = {a + ptrdiff_t(k) * p.outer.a + ptrdiff_t(l) * p.inner.a,
                   p.factors[i].b + ptrdiff_t(k) * p.outer.b +
                       ptrdiff_t(l) * p.inner.b};
        accumulateBlock(part);
        part.starts = false;
      }
  }
}

/// All terms of as many rows as have their sums in the cache, then
/// of others: other products have used it meanwhile.
void accumulateDepth(const FmacProblem &p) {
  constexpr size_t sums = 1 << 14;
  const size_t terms = p.count * p.outer.extent * p.inner.extent;
  constexpr size_t tall = 12; // rows of a tile
  const size_t rows =
      std::max<size_t>(2, sums / (p.blocks * p.columns) / tall) * tall;
  if (p.rows <= rows || terms <= termsAtOnce || p.count > mostFactors)
    return accumulateRows(p);
  Factors factors[mostFactors];
  std::copy_n(p.factors, p.count, factors);
  FmacProblem part = p;
  part.factors = factors;
  for (size_t row = 0; row < p.rows; row += part.rows) {
    part.rows = std::min(rows, p.rows - row);
    accumulateRows(part);
    part.c += ptrdiff_t(part.rows) * p.cRow;
    for (size_t i = 0; i < p.count; ++i) {
      const UnalignedFloat *a = factors[i].a;
      factors[i].a = a + ptrdiff_t(part.rows) * p.aRow;
    }
  }
}

/// Few columns and many rows whose factors lie side by side: vectors of rows,
/// brought between those of other columns when they are complete. Rows of what
/// is computed are blocks, or columns if there are more of these.
void accumulateNarrow(const FmacProblem &p) {
  alignas(64) float sums[mostNarrow];
  const size_t atOnce = mostNarrow / (p.rows * p.columns);
  for (size_t block = 0; block < p.blocks; block += atOnce) {
    const size_t blocks = std::min(atOnce, p.blocks - block);
    const bool byBlock = blocks >= p.columns;
    const size_t others = byBlock ? p.columns : blocks;
    FmacProblem part;
    part.rows = byBlock ? blocks : p.columns;
    part.cRow = ptrdiff_t(p.rows * others);
    part.aRow = byBlock ? p.bBlock : 1;
    part.outer = {p.outer.extent, p.outer.b, p.outer.a};
    part.inner = {p.inner.extent, p.inner.b, p.inner.a};
    part.columns = p.rows;
    part.starts = true;
    part.start = p.start;
    for (size_t i = 0; i < others; ++i) {
      part.c = sums + i * p.rows;
      const Factors factors{p.factors->b + ptrdiff_t(block) * p.bBlock +
                                ptrdiff_t(i) * (byBlock ? 1 : p.bBlock),
                            p.factors->a};
      part.factors = &factors;
      accumulateDepth(part);
    }
    const size_t column = byBlock ? p.rows : p.rows * others;
    const float *sources[narrow];
    for (size_t m = 0; m < p.columns; ++m)
      sources[m] = sums + m * column;
    interleave({blocks, p.rows, p.columns, p.cBlock,
                ptrdiff_t(byBlock ? p.rows * others : p.rows), 1},
               p.c + ptrdiff_t(block) * p.cBlock, sources);
  }
}

void accumulate(const FmacProblem &p) {
  const bool isNarrow = p.starts && p.count == 1 && p.columns > 1 &&
                        p.columns < narrow && p.rows >= 2 * narrow &&
                        p.aRow == 1 && p.cRow == ptrdiff_t(p.columns) &&
                        p.rows * p.columns <= mostNarrow;
  (isNarrow ? accumulateNarrow : accumulateDepth)(p);
}

} // namespace wsec::runtime::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wsec::runtime {
HWY_EXPORT(accumulate);
void accumulateProducts(const FmacProblem &problem) {
  HWY_DYNAMIC_DISPATCH(accumulate)(problem);
}
} // namespace wsec::runtime
#endif
