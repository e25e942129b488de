// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/HalfKernels.h"

#include "runtime/pe/Arithmetic.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

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

/// All elements of a vector, for loads and stores that take a mask.
struct All {};
template <class D>
HWY_INLINE hn::Vec<D> load(All, D d, const hn::TFromD<D> *from) {
  return hn::LoadU(d, from);
}
template <class D, class Mask>
HWY_INLINE hn::Vec<D> load(Mask mask, D d, const hn::TFromD<D> *from) {
  return hn::MaskedLoad(hn::RebindMask(d, mask), d, from);
}
template <class D>
HWY_INLINE void store(hn::Vec<D> v, All, D d, hn::TFromD<D> *to) {
  hn::StoreU(v, d, to);
}
template <class D, class Mask>
HWY_INLINE void store(hn::Vec<D> v, Mask mask, D d, hn::TFromD<D> *to) {
  hn::BlendedStore(v, hn::RebindMask(d, mask), d, to);
}

/// Calls `visit(mask, i)` for vectors of `n` elements.
template <class Visit>
HWY_INLINE void forEachVector(size_t n, const Visit &visit) {
  const size_t width = hn::Lanes(Tag());
  size_t i = 0;
  for (; i + width <= n; i += width)
    visit(All(), i);
  if (i < n)
    visit(hn::FirstN(BitsTag(), n - i), i);
}

HWY_NOINLINE hn::Vec<BitsTag> halfBitsOneByOne(Vector x) {
  const Tag d;
  HWY_ALIGN float values[HWY_MAX_BYTES / 4];
  HWY_ALIGN uint32_t halves[HWY_MAX_BYTES / 4];
  hn::Store(x, d, values);
  for (size_t i = 0; i < hn::Lanes(d); ++i)
    halves[i] = halfFromFloat(values[i]);
  return hn::Load(BitsTag(), halves);
}

HWY_NOINLINE Vector floatsOneByOne(hn::Vec<BitsTag> halves) {
  const BitsTag bits;
  HWY_ALIGN float values[HWY_MAX_BYTES / 4];
  HWY_ALIGN uint32_t its[HWY_MAX_BYTES / 4];
  hn::Store(halves, bits, its);
  for (size_t i = 0; i < hn::Lanes(bits); ++i)
    values[i] = floatFromHalf(uint16_t(its[i]));
  return hn::Load(Tag(), values);
}

/// Halves in the lower bits of words.
template <bool bfloat>
HWY_INLINE hn::Vec<BitsTag> halfBits(Vector x) {
  const Tag d;
  const BitsTag bits;
  if constexpr (bfloat)
    return hn::ShiftRight<16>(bfloatBits(x));
  if (HWY_UNLIKELY(!hn::AllFalse(d, hn::IsNaN(x))))
    return halfBitsOneByOne(x);
  return hn::PromoteTo(bits,
                       hn::BitCast(HalfBitsTag(), hn::DemoteTo(HalfTag(), x)));
}

/// The floats of halves in the lower bits of words.
template <bool bfloat>
HWY_INLINE Vector floats(hn::Vec<BitsTag> halves) {
  const Tag d;
  if constexpr (bfloat)
    return hn::BitCast(d, hn::ShiftLeft<16>(halves));
  const Vector x = hn::PromoteTo(
      d, hn::BitCast(HalfTag(), hn::TruncateTo(HalfBitsTag(), halves)));
  return HWY_LIKELY(hn::AllFalse(d, hn::IsNaN(x))) ? x : floatsOneByOne(halves);
}

template <bool bfloat>
void narrowRow(size_t n, const float *values, uint16_t *halves) {
  const HalfBitsTag halfBitsTag;
  size_t i = 0;
  const size_t width = hn::Lanes(Tag());
  for (; i + width <= n; i += width)
    hn::StoreU(hn::TruncateTo(halfBitsTag,
                              halfBits<bfloat>(hn::LoadU(Tag(), values + i))),
               halfBitsTag, halves + i);
  for (; i < n; ++i)
    halves[i] = bfloat ? bfloatFromFloat(values[i]) : halfFromFloat(values[i]);
}

template <bool bfloat>
void widenRow(size_t n, const uint16_t *halves, float *values) {
  const HalfBitsTag halfBitsTag;
  forEachVector(n, [&](auto mask, size_t i) HWY_ATTR {
    hn::Vec<HalfBitsTag> its;
    if constexpr (std::is_same_v<decltype(mask), All>) {
      its = hn::LoadU(halfBitsTag, halves + i);
    } else {
      HWY_ALIGN uint16_t rest[HWY_MAX_BYTES / 4] = {};
      std::memcpy(rest, halves + i, 2 * (n - i));
      its = hn::Load(halfBitsTag, rest);
    }
    store(floats<bfloat>(hn::PromoteTo(BitsTag(), its)), mask, Tag(),
          values + i);
  });
}

void narrowAllToBfloat(size_t n, const float *values, uint16_t *halves) {
  narrowRow<true>(n, values, halves);
}

template <bool bfloat>
void pairs(size_t n, const float *a, const float *b, uint32_t *words) {
  const Tag d;
  forEachVector(n, [&](auto mask, size_t i) HWY_ATTR {
    const auto low = halfBits<bfloat>(load(mask, d, a + i));
    const auto high = halfBits<bfloat>(load(mask, d, b + i));
    store(hn::Or(low, hn::ShiftLeft<16>(high)), mask, BitsTag(), words + i);
  });
}

void narrowAllPairs(bool bfloat, size_t n, const float *a, const float *b,
                    uint32_t *words) {
  (bfloat ? pairs<true> : pairs<false>)(n, a, b, words);
}

/// Lower halves and upper ones, or null.
template <bool bfloat>
void widenHalves(size_t n, const uint32_t *words, float *lower, float *upper) {
  forEachVector(n, [&](auto mask, size_t i) HWY_ATTR {
    const auto u = load(mask, BitsTag(), words + i);
    if (lower)
      store(floats<bfloat>(u), mask, Tag(), lower + i);
    if (upper)
      store(floats<bfloat>(hn::ShiftRight<16>(u)), mask, Tag(), upper + i);
  });
}

/// The inverse; halves without values stay.
template <bool bfloat>
void narrowHalves(size_t n, const float *lower, const float *upper, bool scalar,
                  uint32_t *words) {
  const BitsTag bits;
  using Bits = hn::Vec<BitsTag>;
  auto first = [&](const float *values) HWY_ATTR -> Bits {
    return values ? halfBits<bfloat>(hn::Set(Tag(), *values)) : hn::Zero(bits);
  };
  const Bits low = first(lower), high = first(upper);
  forEachVector(n, [&](auto mask, size_t i) HWY_ATTR {
    auto its = [&](const float *values, Bits all) HWY_ATTR -> Bits {
      return scalar ? all : halfBits<bfloat>(load(mask, Tag(), values + i));
    };
    auto kept = [&](uint32_t half) HWY_ATTR -> Bits {
      return hn::And(load(mask, bits, words + i), hn::Set(bits, half));
    };
    store(
        hn::Or(lower ? its(lower, low) : kept(0xffffu),
               upper ? hn::ShiftLeft<16>(its(upper, high)) : kept(0xffff0000u)),
        mask, bits, words + i);
  });
}

/// The values of lower halves, or null.
template <class Float>
Float *lowerOf(const HalvesProblem &p, Float *values) {
  return p.part == HalfOf::Upper ? nullptr : values;
}
template <class Float>
Float *upperOf(const HalvesProblem &p, Float *values) {
  return p.part == HalfOf::Lower   ? nullptr
         : p.part == HalfOf::Apart ? values + p.apart
                                   : values;
}

template <bool bfloat>
void widenRows(const HalvesProblem &p, const float *words, float *values) {
  for (size_t r = 0; r < p.rows; ++r, words += p.wordRow, values += p.valueRow)
    if (p.part == HalfOf::Both)
      widenRow<bfloat>(2 * p.columns, reinterpret_cast<const uint16_t *>(words),
                       values);
    else
      widenHalves<bfloat>(p.columns, reinterpret_cast<const uint32_t *>(words),
                          lowerOf(p, values), upperOf(p, values));
}

template <bool bfloat>
void narrowRows(const HalvesProblem &p, const float *values, float *words) {
  for (size_t r = 0; r < p.rows; ++r, words += p.wordRow, values += p.valueRow)
    if (p.part == HalfOf::Both)
      narrowRow<bfloat>(2 * p.columns, values,
                        reinterpret_cast<uint16_t *>(words));
    else
      narrowHalves<bfloat>(p.columns, lowerOf(p, values), upperOf(p, values),
                           p.scalar, reinterpret_cast<uint32_t *>(words));
}

void widenAllWords(const HalvesProblem &p, const float *words, float *values) {
  (p.bfloat ? widenRows<true> : widenRows<false>)(p, words, values);
}

void narrowAllWords(const HalvesProblem &p, const float *values, float *words) {
  (p.bfloat ? narrowRows<true> : narrowRows<false>)(p, values, words);
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
