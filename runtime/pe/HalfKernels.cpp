// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/HalfKernels.h"

#include "runtime/pe/Arithmetic.h"

#include <algorithm>
#include <bit>
#include <cstring>

#ifndef RUNTIME_PE_HALFKERNELS_ONCE
#define RUNTIME_PE_HALFKERNELS_ONCE
namespace wsec::runtime {
static uint16_t halfAt(const char *address) {
  uint16_t half;
  std::memcpy(&half, address, 2);
  return half;
}
static float floatFromBfloat(uint16_t half) {
  return std::bit_cast<float>(uint32_t(half) << 16);
}
} // namespace wsec::runtime
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/pe/HalfKernels.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wsec::runtime::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
using BitsTag = hn::RebindToUnsigned<Tag>;
using HalfTag = hn::Rebind<hwy::float16_t, Tag>;
using HalfBitsTag = hn::Rebind<uint16_t, Tag>;

HWY_INLINE Vector rounded(Vector x) {
  return hn::PromoteTo(Tag(), hn::DemoteTo(HalfTag(), x));
}

/// a * b + c, rounded once to F16. The product of two F16 is exact in float32.
/// The sum is not; rounded to odd (the last bit set where anything is lost) it
/// has all that the second rounding needs, 24 bits being two more than the 11
/// of F16.
HWY_INLINE Vector fmacRounded(Vector a, Vector b, Vector c) {
  const Tag d;
  const BitsTag bits;
  const Vector p = hn::Mul(a, b);
  const Vector s = hn::Add(p, c);
  // s + lost = p + c exactly, without overflow: |p| < 2^33.
  const Vector t = hn::Sub(s, p);
  const Vector lost = hn::Add(hn::Sub(p, hn::Sub(s, t)), hn::Sub(c, t));
  const auto one = hn::Set(bits, 1);
  const auto even = hn::Eq(hn::And(hn::BitCast(bits, s), one), hn::Zero(bits));
  const auto inexact =
      hn::And(hn::Ne(lost, hn::Zero(d)),
              hn::And(hn::IsFinite(s), hn::RebindMask(d, even)));
  // Away from zero where the lost part has the sign of the sum, else towards.
  const auto differ = hn::ShiftRight<31>(
      hn::Xor(hn::BitCast(bits, s), hn::BitCast(bits, lost)));
  const auto step = hn::Sub(one, hn::Add(differ, differ));
  const auto odd = hn::Add(hn::BitCast(bits, s), step);
  return rounded(hn::IfThenElse(inexact, hn::BitCast(d, odd), s));
}

void roundAll(size_t n, float *values) {
  const Tag d;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const Vector x = hn::LoadU(d, values + i);
    if (HWY_LIKELY(hn::AllFalse(d, hn::IsNaN(x))))
      hn::StoreU(rounded(x), d, values + i);
    else
      for (size_t j = i; j < i + hn::Lanes(d); ++j)
        values[j] = floatFromHalf(halfFromFloat(values[j]));
  }
  for (; i < n; ++i)
    values[i] = floatFromHalf(halfFromFloat(values[i]));
}

/// The bits of a BF16 in the upper half of a word, the lower one zero.
HWY_INLINE hn::Vec<BitsTag> bfloatBits(Vector x) {
  const BitsTag bits;
  const auto u = hn::BitCast(bits, x);
  const auto upper = hn::Set(bits, 0xffff0000u);
  const auto odd = hn::And(hn::ShiftRight<16>(u), hn::Set(bits, 1u));
  const auto near = hn::Add(hn::Add(u, hn::Set(bits, 0x7fffu)), odd);
  const auto payload = hn::And(u, hn::Set(bits, 0x7f0000u));
  const auto quiet = hn::IfThenElseZero(hn::Eq(payload, hn::Zero(bits)),
                                        hn::Set(bits, 0x400000u));
  const auto isNaN = hn::RebindMask(bits, hn::IsNaN(x));
  return hn::And(hn::IfThenElse(isNaN, hn::Or(u, quiet), near), upper);
}

void roundAllToBfloat(size_t n, float *values) {
  const Tag d;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d))
    hn::StoreU(hn::BitCast(d, bfloatBits(hn::LoadU(d, values + i))), d,
               values + i);
  if (i == n)
    return;
  const auto mask = hn::FirstN(d, n - i);
  const Vector x = hn::MaskedLoad(mask, d, values + i);
  hn::BlendedStore(hn::BitCast(d, bfloatBits(x)), mask, d, values + i);
}

void fmacAll(size_t n, float *dst, VectorSource a, VectorSource b) {
  const Tag d;
  const Vector aAll = hn::Set(d, a.data[0]), bAll = hn::Set(d, b.data[0]);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const Vector x = a.scalar ? aAll : hn::LoadU(d, a.data + i);
    const Vector y = b.scalar ? bAll : hn::LoadU(d, b.data + i);
    hn::StoreU(fmacRounded(x, y, hn::LoadU(d, dst + i)), d, dst + i);
  }
  if (i == n)
    return;
  const auto mask = hn::FirstN(d, n - i);
  const Vector x = a.scalar ? aAll : hn::MaskedLoad(mask, d, a.data + i);
  const Vector y = b.scalar ? bAll : hn::MaskedLoad(mask, d, b.data + i);
  hn::BlendedStore(fmacRounded(x, y, hn::MaskedLoad(mask, d, dst + i)), mask, d,
                   dst + i);
}

void widenAll(size_t n, const uint16_t *halves, float *values) {
  const Tag d;
  const HalfBitsTag halfBits;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const Vector x = hn::PromoteTo(
        d, hn::BitCast(HalfTag(), hn::LoadU(halfBits, halves + i)));
    hn::StoreU(x, d, values + i);
    if (HWY_UNLIKELY(!hn::AllFalse(d, hn::IsNaN(x))))
      for (size_t j = i; j < i + hn::Lanes(d); ++j)
        values[j] = floatFromHalf(halves[j]);
  }
  for (; i < n; ++i)
    values[i] = floatFromHalf(halves[i]);
}

void narrowAll(size_t n, const float *values, uint16_t *halves) {
  const Tag d;
  const HalfBitsTag halfBits;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const Vector x = hn::LoadU(d, values + i);
    hn::StoreU(hn::BitCast(halfBits, hn::DemoteTo(HalfTag(), x)), halfBits,
               halves + i);
    if (HWY_UNLIKELY(!hn::AllFalse(d, hn::IsNaN(x))))
      for (size_t j = i; j < i + hn::Lanes(d); ++j)
        halves[j] = halfFromFloat(values[j]);
  }
  for (; i < n; ++i)
    halves[i] = halfFromFloat(values[i]);
}

/// Halves in the lower bits of words; with NaNs one by one.
HWY_INLINE hn::Vec<BitsTag> halfBits(bool bfloat, Vector x) {
  const Tag d;
  const BitsTag bits;
  if (bfloat)
    return hn::ShiftRight<16>(bfloatBits(x));
  if (HWY_LIKELY(hn::AllFalse(d, hn::IsNaN(x))))
    return hn::PromoteTo(
        bits, hn::BitCast(HalfBitsTag(), hn::DemoteTo(HalfTag(), x)));
  HWY_ALIGN float values[HWY_MAX_BYTES / 4];
  HWY_ALIGN uint32_t halves[HWY_MAX_BYTES / 4];
  hn::Store(x, d, values);
  for (size_t i = 0; i < hn::Lanes(d); ++i)
    halves[i] = halfFromFloat(values[i]);
  return hn::Load(bits, halves);
}

/// The floats of halves in the lower bits of words, or of BF16 in the upper.
HWY_INLINE Vector floats(bool bfloat, hn::Vec<BitsTag> halves) {
  const Tag d;
  const BitsTag bits;
  if (bfloat)
    return hn::BitCast(d, halves);
  const auto narrow = hn::DemoteTo(
      HalfBitsTag(), hn::BitCast(hn::RebindToSigned<BitsTag>(), halves));
  const Vector x = hn::PromoteTo(d, hn::BitCast(HalfTag(), narrow));
  if (HWY_LIKELY(hn::AllFalse(d, hn::IsNaN(x))))
    return x;
  HWY_ALIGN float values[HWY_MAX_BYTES / 4];
  HWY_ALIGN uint32_t its[HWY_MAX_BYTES / 4];
  hn::Store(halves, bits, its);
  for (size_t i = 0; i < hn::Lanes(d); ++i)
    values[i] = floatFromHalf(uint16_t(its[i]));
  return hn::Load(d, values);
}

/// Vectors of `n` elements: `visit(mask, i)`.
template <class Visit>
HWY_INLINE void forEachVector(size_t n, const Visit &visit) {
  const Tag d;
  for (size_t i = 0; i < n; i += hn::Lanes(d))
    visit(hn::FirstN(BitsTag(), std::min(hn::Lanes(d), n - i)), i);
}

void narrowAllToBfloat(size_t n, const float *values, uint16_t *halves) {
  const Tag d;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d))
    hn::StoreU(
        hn::TruncateTo(HalfBitsTag(), halfBits(true, hn::LoadU(d, values + i))),
        HalfBitsTag(), halves + i);
  for (; i < n; ++i)
    halves[i] = bfloatFromFloat(values[i]);
}

void narrowAllPairs(bool bfloat, size_t n, const float *a, const float *b,
                    uint32_t *words) {
  const Tag d;
  const BitsTag bits;
  forEachVector(n, [&](auto mask, size_t i) HWY_ATTR {
    const auto floatMask = hn::RebindMask(d, mask);
    const auto low = halfBits(bfloat, hn::MaskedLoad(floatMask, d, a + i));
    const auto high = halfBits(bfloat, hn::MaskedLoad(floatMask, d, b + i));
    hn::BlendedStore(hn::Or(low, hn::ShiftLeft<16>(high)), mask, bits,
                     words + i);
  });
}

HWY_INLINE void widenRow(const HalvesProblem &p, const uint32_t *words,
                         float *values) {
  const Tag d;
  const BitsTag bits;
  const auto upper = hn::Set(bits, 0xffff0000u);
  forEachVector(p.columns, [&](auto mask, size_t i) HWY_ATTR {
    const auto u = hn::MaskedLoad(mask, bits, words + i);
    const auto low = p.bfloat ? hn::ShiftLeft<16>(u) : hn::AndNot(upper, u);
    const auto high = p.bfloat ? hn::And(u, upper) : hn::ShiftRight<16>(u);
    if (p.part != HalfOf::Both) {
      const Vector x = floats(p.bfloat, p.part == HalfOf::Upper ? high : low);
      return hn::BlendedStore(x, hn::RebindMask(d, mask), d, values + i);
    }
    const Vector x = floats(p.bfloat, low), y = floats(p.bfloat, high);
    if (i + hn::Lanes(d) <= p.columns)
      return hn::StoreInterleaved2(x, y, d, values + 2 * i);
    HWY_ALIGN float both[HWY_MAX_BYTES / 2];
    hn::StoreInterleaved2(x, y, d, both);
    std::copy_n(both, 2 * (p.columns - i), values + 2 * i);
  });
}

void widenAllWords(const HalvesProblem &p, const float *words, float *values) {
  for (size_t r = 0; r < p.rows; ++r)
    widenRow(
        p, reinterpret_cast<const uint32_t *>(words + ptrdiff_t(r) * p.wordRow),
        values + ptrdiff_t(r) * p.valueRow);
}

HWY_INLINE void narrowRow(const HalvesProblem &p, const float *values,
                          uint32_t *words) {
  const Tag d;
  const BitsTag bits;
  const auto upper = hn::Set(bits, 0xffff0000u);
  forEachVector(p.columns, [&](auto mask, size_t i) HWY_ATTR {
    const auto floatMask = hn::RebindMask(d, mask);
    if (p.part == HalfOf::Both) {
      Vector x, y;
      if (i + hn::Lanes(d) <= p.columns) {
        hn::LoadInterleaved2(d, values + 2 * i, x, y);
      } else {
        HWY_ALIGN float both[HWY_MAX_BYTES / 2] = {};
        std::copy_n(values + 2 * i, 2 * (p.columns - i), both);
        hn::LoadInterleaved2(d, both, x, y);
      }
      const auto low = halfBits(p.bfloat, x), high = halfBits(p.bfloat, y);
      return hn::BlendedStore(hn::Or(low, hn::ShiftLeft<16>(high)), mask, bits,
                              words + i);
    }
    const auto its =
        halfBits(p.bfloat, hn::MaskedLoad(floatMask, d, values + i));
    const auto old = hn::MaskedLoad(mask, bits, words + i);
    const auto result =
        p.part == HalfOf::Upper
            ? hn::Or(hn::AndNot(upper, old), hn::ShiftLeft<16>(its))
            : hn::Or(hn::And(upper, old), its);
    hn::BlendedStore(result, mask, bits, words + i);
  });
}

void narrowAllWords(const HalvesProblem &p, const float *values, float *words) {
  for (size_t r = 0; r < p.rows; ++r)
    narrowRow(p, values + ptrdiff_t(r) * p.valueRow,
              reinterpret_cast<uint32_t *>(words + ptrdiff_t(r) * p.wordRow));
}

/// Vectors end a word before the last element: what lies behind that is not
/// touched.
void widenAllApart(bool bfloat, size_t n, const void *halves, float *values) {
  const Tag d;
  const BitsTag bits;
  const HalfBitsTag halfBits;
  const auto *at = static_cast<const char *>(halves);
  size_t i = 0;
  for (; i + hn::Lanes(d) < n; i += hn::Lanes(d)) {
    const auto u =
        hn::LoadU(bits, reinterpret_cast<const uint32_t *>(at + 4 * i));
    if (bfloat) {
      hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(u)), d, values + i);
      continue;
    }
    const auto low = hn::And(u, hn::Set(bits, 0xffffu));
    const auto narrow =
        hn::DemoteTo(halfBits, hn::BitCast(hn::RebindToSigned<BitsTag>(), low));
    const Vector x = hn::PromoteTo(d, hn::BitCast(HalfTag(), narrow));
    hn::StoreU(x, d, values + i);
    if (HWY_UNLIKELY(!hn::AllFalse(d, hn::IsNaN(x))))
      for (size_t j = i; j < i + hn::Lanes(d); ++j)
        values[j] = floatFromHalf(halfAt(at + 4 * j));
  }
  for (; i < n; ++i)
    values[i] = bfloat ? floatFromBfloat(halfAt(at + 4 * i))
                       : floatFromHalf(halfAt(at + 4 * i));
}

void narrowAllApart(bool bfloat, size_t n, const float *values, void *halves) {
  const Tag d;
  const BitsTag bits;
  const HalfBitsTag halfBits;
  auto *at = static_cast<char *>(halves);
  auto narrowOne = [&](size_t j) {
    const uint16_t half =
        bfloat ? bfloatFromFloat(values[j]) : halfFromFloat(values[j]);
    std::memcpy(at + 4 * j, &half, 2);
  };
  size_t i = 0;
  for (; i + hn::Lanes(d) < n; i += hn::Lanes(d)) {
    const Vector x = hn::LoadU(d, values + i);
    if (!bfloat && HWY_UNLIKELY(!hn::AllFalse(d, hn::IsNaN(x)))) {
      for (size_t j = i; j < i + hn::Lanes(d); ++j)
        narrowOne(j);
      continue;
    }
    auto *words = reinterpret_cast<uint32_t *>(at + 4 * i);
    const auto its =
        bfloat ? hn::ShiftRight<16>(bfloatBits(x))
               : hn::PromoteTo(
                     bits, hn::BitCast(halfBits, hn::DemoteTo(HalfTag(), x)));
    const auto rest =
        hn::And(hn::LoadU(bits, words), hn::Set(bits, 0xffff0000u));
    hn::StoreU(hn::Or(rest, its), bits, words);
  }
  for (; i < n; ++i)
    narrowOne(i);
}

} // namespace wsec::runtime::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wsec::runtime {
HWY_EXPORT(roundAll);
HWY_EXPORT(fmacAll);
HWY_EXPORT(widenAll);
HWY_EXPORT(narrowAll);
HWY_EXPORT(roundAllToBfloat);
HWY_EXPORT(widenAllApart);
HWY_EXPORT(narrowAllApart);
HWY_EXPORT(narrowAllToBfloat);
HWY_EXPORT(narrowAllPairs);
HWY_EXPORT(widenAllWords);
HWY_EXPORT(narrowAllWords);

void roundToHalf(size_t n, float *values) {
  HWY_DYNAMIC_DISPATCH(roundAll)(n, values);
}
void roundToBfloat(size_t n, float *values) {
  HWY_DYNAMIC_DISPATCH(roundAllToBfloat)(n, values);
}
void narrowToBfloat(size_t n, const float *values, uint16_t *halves) {
  HWY_DYNAMIC_DISPATCH(narrowAllToBfloat)(n, values, halves);
}
void narrowPairs(bool bfloat, size_t n, const float *a, const float *b,
                 uint32_t *words) {
  HWY_DYNAMIC_DISPATCH(narrowAllPairs)(bfloat, n, a, b, words);
}
void widenWords(const HalvesProblem &problem, const float *words,
                float *values) {
  HWY_DYNAMIC_DISPATCH(widenAllWords)(problem, words, values);
}
void narrowWords(const HalvesProblem &problem, const float *values,
                 float *words) {
  HWY_DYNAMIC_DISPATCH(narrowAllWords)(problem, values, words);
}
void widenApart(bool bfloat, size_t n, const void *halves, float *values) {
  HWY_DYNAMIC_DISPATCH(widenAllApart)(bfloat, n, halves, values);
}
void narrowApart(bool bfloat, size_t n, const float *values, void *halves) {
  HWY_DYNAMIC_DISPATCH(narrowAllApart)(bfloat, n, values, halves);
}
void fmacHalf(size_t n, float *dst, VectorSource a, VectorSource b) {
  HWY_DYNAMIC_DISPATCH(fmacAll)(n, dst, a, b);
}
void widenHalf(size_t n, const uint16_t *halves, float *values) {
  HWY_DYNAMIC_DISPATCH(widenAll)(n, halves, values);
}
void narrowToHalf(size_t n, const float *values, uint16_t *halves) {
  HWY_DYNAMIC_DISPATCH(narrowAll)(n, values, halves);
}
} // namespace wsec::runtime
#endif
