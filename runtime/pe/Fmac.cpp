// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inner loop of every matrix product: a stream of scalars times vectors
// that lie in SRAM. A tile of accumulators stays in registers while the depth
// runs; each accumulator takes its terms in order, so the bits are those of
// the plain loop.
#include "runtime/pe/UnalignedFloat.h"
#include "runtime/pe/VectorKernels.h"

#include <algorithm>

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

/// One tile: `tileRows` x `vectors` accumulators, depth terms each.
template <int tileRows, int vectors>
HWY_NOINLINE void tile(size_t depth, float *HWY_RESTRICT c, ptrdiff_t cRow,
                       const UnalignedFloat *HWY_RESTRICT a, ptrdiff_t aRow,
                       ptrdiff_t aDepth, const float *HWY_RESTRICT b,
                       ptrdiff_t bDepth) {
  const Tag d;
  const size_t width = hn::Lanes(d);
  Vector sums[tileRows][vectors];
  for (int i = 0; i < tileRows; ++i)
    for (int v = 0; v < vectors; ++v)
      sums[i][v] = hn::LoadU(d, c + i * cRow + v * width);
  for (size_t k = 0; k < depth; ++k) {
    Vector terms[vectors];
    for (int v = 0; v < vectors; ++v)
      terms[v] = hn::LoadU(d, b + v * width);
    for (int i = 0; i < tileRows; ++i) {
      const Vector factor = hn::Set(d, a[i * aRow]);
      for (int v = 0; v < vectors; ++v)
        sums[i][v] = hn::MulAdd(factor, terms[v], sums[i][v]);
    }
    a += aDepth;
    b += bDepth;
  }
  for (int i = 0; i < tileRows; ++i)
    for (int v = 0; v < vectors; ++v)
      hn::StoreU(sums[i][v], d, c + i * cRow + v * width);
}

/// The last columns, fewer than a vector of tag `D`.
template <class D, int tileRows>
HWY_NOINLINE void tailTile(size_t columns, size_t depth, float *HWY_RESTRICT c,
                           ptrdiff_t cRow, const UnalignedFloat *HWY_RESTRICT a,
                           ptrdiff_t aRow, ptrdiff_t aDepth,
                           const float *HWY_RESTRICT b, ptrdiff_t bDepth) {
  const D d;
  const auto mask = hn::FirstN(d, columns);
  hn::Vec<D> sums[tileRows];
  for (int i = 0; i < tileRows; ++i)
    sums[i] = hn::MaskedLoad(mask, d, c + i * cRow);
  for (size_t k = 0; k < depth; ++k) {
    const auto term = hn::MaskedLoad(mask, d, b);
    for (int i = 0; i < tileRows; ++i)
      sums[i] = hn::MulAdd(hn::Set(d, a[i * aRow]), term, sums[i]);
    a += aDepth;
    b += bDepth;
  }
  for (int i = 0; i < tileRows; ++i)
    hn::BlendedStore(sums[i], mask, d, c + i * cRow);
}

/// All rows of a block of `vectors` vectors, or of a tail (vectors == 0).
template <int vectors>
void columnBlock(const FmacProblem &p, size_t tail, size_t depth, float *c,
                 const UnalignedFloat *a, const float *b) {
  size_t row = 0;
  // Half a vector costs some processors half the time.
  const bool narrow = tail <= hn::Lanes(HalfTag());
  auto step = [&](auto count) {
    constexpr int n = decltype(count)::value;
    for (; row + n <= p.rows; row += n) {
      float *cTile = c + ptrdiff_t(row) * p.cRow;
      const UnalignedFloat *aTile = a + ptrdiff_t(row) * p.aRow;
      if constexpr (vectors == 0)
        (narrow ? tailTile<HalfTag, n>
                : tailTile<Tag, n>)(tail, depth, cTile, p.cRow, aTile, p.aRow,
                                    p.aDepth, b, p.bDepth);
      else
        tile<n, vectors>(depth, cTile, p.cRow, aTile, p.aRow, p.aDepth, b,
                         p.bDepth);
    }
  };
  if constexpr (vectors <= 1)
    step(std::integral_constant<int, 12>());
  if constexpr (vectors == 2)
    step(std::integral_constant<int, 8>());
  if constexpr (vectors <= 4)
    step(std::integral_constant<int, 6>());
  step(std::integral_constant<int, 4>());
  step(std::integral_constant<int, 2>());
  step(std::integral_constant<int, 1>());
}

/// Rows of `b` that stay in the first-level cache while all rows of a column
/// block use them.
constexpr size_t depthBlock = 128;

void accumulate(const FmacProblem &p) {
  const size_t width = hn::Lanes(Tag());
  // Registers: 4 vectors need 24 accumulators and 4 terms.
  constexpr bool wide = HWY_TARGET <= HWY_AVX3;
  for (size_t k = 0; k < p.depth; k += depthBlock) {
    const size_t depth = std::min(depthBlock, p.depth - k);
    const UnalignedFloat *a = p.a + ptrdiff_t(k) * p.aDepth;
    const float *b = p.b + ptrdiff_t(k) * p.bDepth;
    size_t m = 0;
    if constexpr (wide)
      for (; m + 4 * width <= p.columns; m += 4 * width)
        columnBlock<4>(p, 0, depth, p.c + m, a, b + m);
    for (; m + 2 * width <= p.columns; m += 2 * width)
      columnBlock<2>(p, 0, depth, p.c + m, a, b + m);
    if (m + width <= p.columns) {
      columnBlock<1>(p, 0, depth, p.c + m, a, b + m);
      m += width;
    }
    if (m < p.columns)
      columnBlock<0>(p, p.columns - m, depth, p.c + m, a, b + m);
  }
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
