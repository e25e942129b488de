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
using program::ElementType;
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

/// CB16 by its bits, as `narrowFromFloat`: 14 bits less of mantissa, and an
/// exponent that is 96 less.
constexpr uint32_t rebias = 96u << 23;

HWY_INLINE hn::Vec<BitsTag> cb16Bits(Vector x) {
  const Tag d;
  const BitsTag bits;
  const auto all = hn::BitCast(bits, x);
  const auto size = hn::And(all, hn::Set(bits, 0x7fffffffu));
  const auto sign = hn::And(hn::ShiftRight<16>(all), hn::Set(bits, 0x8000u));
  const auto base = hn::Sub(size, hn::Set(bits, rebias));
  const auto odd = hn::And(hn::ShiftRight<14>(base), hn::Set(bits, 1u));
  const auto normal =
      hn::ShiftRight<14>(hn::Add(hn::Add(base, hn::Set(bits, 0x1fffu)), odd));
  const Vector many = hn::Set(d, 0x1p-16f); // 2^23 units of subnormal numbers
  const auto small =
      hn::Sub(hn::BitCast(bits, hn::Add(hn::BitCast(d, size), many)),
              hn::BitCast(bits, many));
  const auto payload = hn::And(hn::ShiftRight<14>(size), hn::Set(bits, 0x1ffu));
  const auto quiet = hn::IfThenElse(hn::Eq(payload, hn::Zero(bits)),
                                    hn::Set(bits, 0x100u), payload);
  const auto infinity = hn::Set(bits, 0x7e00u);
  // Of sizes, below 2^31, none is negative.
  auto isAbove = [&](uint32_t limit) HWY_ATTR {
    const hn::RebindToSigned<BitsTag> integers;
    return hn::RebindMask(bits, hn::Gt(hn::BitCast(integers, size),
                                       hn::Set(integers, int32_t(limit))));
  };
  auto its = hn::IfThenElse(isAbove(rebias + (1u << 23) - 1), normal, small);
  // From half way between the largest number and 2^32 on.
  its = hn::IfThenElse(isAbove(0x4f7fdfffu), infinity, its);
  its = hn::IfThenElse(isAbove(0x7f800000u), hn::Or(infinity, quiet), its);
  return hn::Or(its, sign);
}

HWY_INLINE Vector floatsOfCb16(hn::Vec<BitsTag> halves) {
  const Tag d;
  const BitsTag bits;
  const hn::RebindToSigned<BitsTag> integers;
  const auto sign = hn::ShiftLeft<16>(hn::And(halves, hn::Set(bits, 0x8000u)));
  const auto mantissa = hn::And(halves, hn::Set(bits, 0x1ffu));
  const auto exponent = hn::And(halves, hn::Set(bits, 0x7e00u));
  const auto shifted =
      hn::ShiftLeft<14>(hn::And(halves, hn::Set(bits, 0x7fffu)));
  const auto normal = hn::Add(shifted, hn::Set(bits, rebias));
  const auto small = hn::BitCast(
      bits, hn::Mul(hn::ConvertTo(d, hn::BitCast(integers, mantissa)),
                    hn::Set(d, 0x1p-39f)));
  auto its = hn::IfThenElse(hn::Eq(exponent, hn::Zero(bits)), small, normal);
  its = hn::IfThenElse(hn::Eq(exponent, hn::Set(bits, 0x7e00u)),
                       hn::Or(shifted, hn::Set(bits, 0x7f800000u)), its);
  return hn::BitCast(d, hn::Or(its, sign));
}

/// Halves in the lower bits of words.
template <ElementType format>
HWY_INLINE hn::Vec<BitsTag> halfBits(Vector x) {
  const Tag d;
  const BitsTag bits;
  if constexpr (format == ElementType::BF16)
    return hn::ShiftRight<16>(bfloatBits(x));
  if constexpr (format == ElementType::CB16)
    return cb16Bits(x);
  if (HWY_UNLIKELY(!hn::AllFalse(d, hn::IsNaN(x))))
    return halfBitsOneByOne(x);
  return hn::PromoteTo(bits,
                       hn::BitCast(HalfBitsTag(), hn::DemoteTo(HalfTag(), x)));
}

/// The floats of halves in the lower bits of words, whatever lies above.
template <ElementType format>
HWY_INLINE Vector floats(hn::Vec<BitsTag> halves) {
  const Tag d;
  if constexpr (format == ElementType::BF16)
    return hn::BitCast(d, hn::ShiftLeft<16>(halves));
  if constexpr (format == ElementType::CB16)
    return floatsOfCb16(halves);
  const Vector x = hn::PromoteTo(
      d, hn::BitCast(HalfTag(), hn::TruncateTo(HalfBitsTag(), halves)));
  return HWY_LIKELY(hn::AllFalse(d, hn::IsNaN(x))) ? x : floatsOneByOne(halves);
}

/// Calls `visit.operator()<format>()`.
template <class Visit>
void inFormat(ElementType format, const Visit &visit) {
  if (format == ElementType::BF16)
    visit.template operator()<ElementType::BF16>();
  else if (format == ElementType::CB16)
    visit.template operator()<ElementType::CB16>();
  else
    visit.template operator()<ElementType::F16>();
}

template <ElementType format>
void roundRow(size_t n, float *values) {
  forEachVector(n, [&](auto mask, size_t i) HWY_ATTR {
    const Vector x = load(mask, Tag(), values + i);
    store(floats<format>(halfBits<format>(x)), mask, Tag(), values + i);
  });
}

template <ElementType format>
void narrowRow(size_t n, const float *values, uint16_t *halves) {
  const HalfBitsTag halfBitsTag;
  size_t i = 0;
  const size_t width = hn::Lanes(Tag());
  for (; i + width <= n; i += width)
    hn::StoreU(hn::TruncateTo(halfBitsTag,
                              halfBits<format>(hn::LoadU(Tag(), values + i))),
               halfBitsTag, halves + i);
  for (; i < n; ++i)
    halves[i] = narrowFromFloat(format, values[i]);
}

template <ElementType format>
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
    store(floats<format>(hn::PromoteTo(BitsTag(), its)), mask, Tag(),
          values + i);
  });
}

template <ElementType format>
void pairs(size_t n, const float *a, const float *b, uint32_t *words) {
  const Tag d;
  forEachVector(n, [&](auto mask, size_t i) HWY_ATTR {
    const auto low = halfBits<format>(load(mask, d, a + i));
    const auto high = halfBits<format>(load(mask, d, b + i));
    store(hn::Or(low, hn::ShiftLeft<16>(high)), mask, BitsTag(), words + i);
  });
}

/// Lower halves and upper ones, or null.
template <ElementType format>
void widenHalves(size_t n, const uint32_t *words, float *lower, float *upper) {
  forEachVector(n, [&](auto mask, size_t i) HWY_ATTR {
    const auto u = load(mask, BitsTag(), words + i);
    if (lower)
      store(floats<format>(u), mask, Tag(), lower + i);
    if (upper)
      store(floats<format>(hn::ShiftRight<16>(u)), mask, Tag(), upper + i);
  });
}

/// The inverse; halves without values stay.
template <ElementType format>
void narrowHalves(size_t n, const float *lower, const float *upper, bool scalar,
                  uint32_t *words) {
  const BitsTag bits;
  using Bits = hn::Vec<BitsTag>;
  auto first = [&](const float *values) HWY_ATTR -> Bits {
    return values ? halfBits<format>(hn::Set(Tag(), *values)) : hn::Zero(bits);
  };
  const Bits low = first(lower), high = first(upper);
  forEachVector(n, [&](auto mask, size_t i) HWY_ATTR {
    auto its = [&](const float *values, Bits all) HWY_ATTR -> Bits {
      return scalar ? all : halfBits<format>(load(mask, Tag(), values + i));
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

template <ElementType format>
void widenRows(const HalvesProblem &p, const float *words, float *values) {
  for (size_t r = 0; r < p.rows; ++r, words += p.wordRow, values += p.valueRow)
    if (p.part == HalfOf::Both)
      widenRow<format>(2 * p.columns, reinterpret_cast<const uint16_t *>(words),
                       values);
    else
      widenHalves<format>(p.columns, reinterpret_cast<const uint32_t *>(words),
                          lowerOf(p, values), upperOf(p, values));
}

template <ElementType format>
void narrowRows(const HalvesProblem &p, const float *values, float *words) {
  for (size_t r = 0; r < p.rows; ++r, words += p.wordRow, values += p.valueRow)
    if (p.part == HalfOf::Both)
      narrowRow<format>(2 * p.columns, values,
                        reinterpret_cast<uint16_t *>(words));
    else
      narrowHalves<format>(p.columns, lowerOf(p, values), upperOf(p, values),
                           p.scalar, reinterpret_cast<uint32_t *>(words));
}

/// Vectors end a word before the last element: what lies behind that is not
/// touched.
template <ElementType format>
void widenWordsApart(size_t n, const char *at, float *values) {
  const size_t width = hn::Lanes(Tag());
  size_t i = 0;
  for (; i + width < n; i += width) {
    const auto *words = reinterpret_cast<const uint32_t *>(at + 4 * i);
    hn::StoreU(floats<format>(hn::LoadU(BitsTag(), words)), Tag(), values + i);
  }
  for (; i < n; ++i)
    values[i] = floatFromNarrow(format, halfAt(at + 4 * i));
}

template <ElementType format>
void narrowWordsApart(size_t n, const float *values, char *at) {
  const BitsTag bits;
  const size_t width = hn::Lanes(bits);
  size_t i = 0;
  for (; i + width < n; i += width) {
    auto *words = reinterpret_cast<uint32_t *>(at + 4 * i);
    const auto rest =
        hn::And(hn::LoadU(bits, words), hn::Set(bits, 0xffff0000u));
    const auto its = halfBits<format>(hn::LoadU(Tag(), values + i));
    hn::StoreU(hn::Or(rest, its), bits, words);
  }
  for (; i < n; ++i) {
    const uint16_t half = narrowFromFloat(format, values[i]);
    std::memcpy(at + 4 * i, &half, 2);
  }
}

void roundAll(ElementType format, size_t n, float *values) {
  inFormat(format, [&]<ElementType its>() { roundRow<its>(n, values); });
}
void widenAll(ElementType format, size_t n, const uint16_t *halves,
              float *values) {
  inFormat(format,
           [&]<ElementType its>() { widenRow<its>(n, halves, values); });
}
void narrowAll(ElementType format, size_t n, const float *values,
               uint16_t *halves) {
  inFormat(format,
           [&]<ElementType its>() { narrowRow<its>(n, values, halves); });
}
void narrowAllPairs(ElementType format, size_t n, const float *a,
                    const float *b, uint32_t *words) {
  inFormat(format, [&]<ElementType its>() { pairs<its>(n, a, b, words); });
}
void widenAllWords(const HalvesProblem &p, const float *words, float *values) {
  inFormat(p.format,
           [&]<ElementType its>() { widenRows<its>(p, words, values); });
}
void narrowAllWords(const HalvesProblem &p, const float *values, float *words) {
  inFormat(p.format,
           [&]<ElementType its>() { narrowRows<its>(p, values, words); });
}
void widenAllApart(ElementType format, size_t n, const void *halves,
                   float *values) {
  inFormat(format, [&]<ElementType its>() {
    widenWordsApart<its>(n, static_cast<const char *>(halves), values);
  });
}
void narrowAllApart(ElementType format, size_t n, const float *values,
                    void *halves) {
  inFormat(format, [&]<ElementType its>() {
    narrowWordsApart<its>(n, values, static_cast<char *>(halves));
  });
}

} // namespace wsec::runtime::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wsec::runtime {
HWY_EXPORT(roundAll);
HWY_EXPORT(fmacAll);
HWY_EXPORT(widenAll);
HWY_EXPORT(narrowAll);
HWY_EXPORT(widenAllApart);
HWY_EXPORT(narrowAllApart);
HWY_EXPORT(narrowAllPairs);
HWY_EXPORT(widenAllWords);
HWY_EXPORT(narrowAllWords);

void fmacHalf(size_t n, float *dst, VectorSource a, VectorSource b) {
  HWY_DYNAMIC_DISPATCH(fmacAll)(n, dst, a, b);
}
void roundToNarrow(ElementType format, size_t n, float *values) {
  HWY_DYNAMIC_DISPATCH(roundAll)(format, n, values);
}
void widen(ElementType format, size_t n, const uint16_t *halves,
           float *values) {
  HWY_DYNAMIC_DISPATCH(widenAll)(format, n, halves, values);
}
void narrow(ElementType format, size_t n, const float *values,
            uint16_t *halves) {
  HWY_DYNAMIC_DISPATCH(narrowAll)(format, n, values, halves);
}
void narrowPairs(ElementType format, size_t n, const float *a, const float *b,
                 uint32_t *words) {
  HWY_DYNAMIC_DISPATCH(narrowAllPairs)(format, n, a, b, words);
}
void widenWords(const HalvesProblem &problem, const float *words,
                float *values) {
  HWY_DYNAMIC_DISPATCH(widenAllWords)(problem, words, values);
}
void narrowWords(const HalvesProblem &problem, const float *values,
                 float *words) {
  HWY_DYNAMIC_DISPATCH(narrowAllWords)(problem, values, words);
}
void widenApart(ElementType format, size_t n, const void *halves,
                float *values) {
  HWY_DYNAMIC_DISPATCH(widenAllApart)(format, n, halves, values);
}
void narrowApart(ElementType format, size_t n, const float *values,
                 void *halves) {
  HWY_DYNAMIC_DISPATCH(narrowAllApart)(format, n, values, halves);
}
} // namespace wsec::runtime
#endif
