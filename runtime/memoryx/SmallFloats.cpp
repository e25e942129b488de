// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/SmallFloats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace wsec::runtime {

using program::ElementType;

namespace {

/// Sign, exponent and mantissa; `largest` is the code of the largest number and
/// `beyond` that of what is larger, both without the sign.
struct Format {
  int exponentBits, mantissaBits, bias;
  uint8_t largest, beyond, nan;
  bool negativeZero; // without one, its code is the only NaN

  uint8_t sign() const { return uint8_t(1 << (exponentBits + mantissaBits)); }
};

constexpr Format formatOf(ElementType type) {
  switch (type) {
  case ElementType::F8E4M3FN:
    return {4, 3, 7, 0x7e, 0x7f, 0x7f, true};
  case ElementType::F8E4M3FNUZ:
    return {4, 3, 8, 0x7f, 0x80, 0x80, false};
  case ElementType::F8E5M2:
    return {5, 2, 15, 0x7b, 0x7c, 0x7e, true};
  case ElementType::F8E5M2FNUZ:
    return {5, 2, 16, 0x7f, 0x80, 0x80, false};
  default: // F4E2M1FN, where NaN becomes -0
    return {2, 1, 1, 0x7, 0x7, 0x8, true};
  }
}

float fromExponent(uint8_t stored) {
  return stored == 0xff ? std::numeric_limits<float>::quiet_NaN()
                        : std::ldexp(1.0f, stored - 127);
}

uint8_t upToExponent(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t exponent = bits >> 23 & 0xff, mantissa = bits & 0x7fffff;
  if (exponent == 0) // up to 2^-127, or more
    return mantissa > 0x400000;
  const bool more = mantissa != 0 && exponent < 0xfe;
  return uint8_t(exponent + more);
}

} // namespace

float floatFromSmall(ElementType type, uint8_t stored) {
  if (type == ElementType::F8E8M0FNU)
    return fromExponent(stored);
  const Format format = formatOf(type);
  const uint8_t code = stored & uint8_t(format.sign() - 1);
  const bool negative = (stored & format.sign()) != 0;
  float value;
  if (!format.negativeZero && stored == format.nan)
    return std::numeric_limits<float>::quiet_NaN();
  if (code > format.largest)
    value = type == ElementType::F8E5M2 && code == format.beyond
                ? std::numeric_limits<float>::infinity()
                : std::numeric_limits<float>::quiet_NaN();
  else if (const int exponent = code >> format.mantissaBits; exponent == 0)
    value = std::ldexp(float(code), 1 - format.bias - format.mantissaBits);
  else
    value = std::ldexp(float((1 << format.mantissaBits) +
                             (code & ((1 << format.mantissaBits) - 1))),
                       exponent - format.bias - format.mantissaBits);
  return negative ? -value : value;
}

uint8_t smallFromFloat(ElementType type, float value) {
  if (type == ElementType::F8E8M0FNU)
    return upToExponent(value);
  const Format format = formatOf(type);
  const uint8_t sign = std::signbit(value) ? format.sign() : uint8_t(0);
  if (std::isnan(value))
    return format.negativeZero && type != ElementType::F4E2M1FN
               ? uint8_t(sign | format.nan)
               : format.nan;
  const float size = std::fabs(value);
  int code = format.largest + 1;
  if (size < std::ldexp(1.0f, 17)) { // larger than any of the formats
    // Steps between neighbours; mantissas that round up carry into exponents.
    const int least = 1 - format.bias;
    const int exponent = size == 0 ? least : std::max(std::ilogb(size), least);
    const auto steps =
        int(std::nearbyint(std::ldexp(size, format.mantissaBits - exponent)));
    code = ((exponent - least) << format.mantissaBits) + steps;
  }
  const bool zero = code == 0;
  if (code > format.largest)
    code = format.beyond;
  if (!format.negativeZero && (zero || code == format.nan))
    return uint8_t(code);
  return uint8_t(sign | code);
}

} // namespace wsec::runtime
