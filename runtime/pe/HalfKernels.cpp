// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/HalfKernels.h"

#include "runtime/pe/Arithmetic.h"

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

void roundToHalf(size_t n, float *values) {
  HWY_DYNAMIC_DISPATCH(roundAll)(n, values);
}
void roundToBfloat(size_t n, float *values) {
  HWY_DYNAMIC_DISPATCH(roundAllToBfloat)(n, values);
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
