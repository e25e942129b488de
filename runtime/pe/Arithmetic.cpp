// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/Arithmetic.h"

#include "runtime/pe/HalfKernels.h"
#include "runtime/pe/VectorKernels.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Opcodes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <sstream>

namespace wsec::runtime {

using program::ElementType;
using program::Opcode;

namespace {

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Towards zero, saturating.
int32_t integerFrom(float value) {
  if (std::isnan(value))
    return 0;
  if (value >= 2147483648.0f)
    return INT32_MAX;
  return value <= -2147483648.0f ? INT32_MIN : int32_t(value);
}

/// The bits of an integer without a sign.
int32_t unsignedFrom(float value) {
  if (!(value > 0))
    return 0;
  return int32_t(value >= 4294967296.0f ? UINT32_MAX : uint32_t(value));
}

float fromInteger(NumberKind kind, int64_t value) {
  return kind == NumberKind::Half ? floatFromHalf(halfFromDouble(double(value)))
                                  : float(value);
}

/// `value` with its last bit set where the conversion loses anything, so that
/// it can be rounded again.
float roundedToOdd(double value) {
  float nearest = float(value);
  if (double(nearest) == value || !std::isfinite(nearest) ||
      (bitsOf(nearest) & 1))
    return nearest;
  bool outward = std::fabs(value) > std::fabs(double(nearest));
  return floatOf(bitsOf(nearest) + (outward ? 1 : -1));
}

} // namespace

namespace {

/// A float of 16 bits as IEEE has them.
template <int exponentBits, int mantissaBits>
struct Narrow {
  static constexpr uint32_t bias = (1u << (exponentBits - 1)) - 1;
  static constexpr uint32_t rebias = (127 - bias) << 23;
  static constexpr int shift = 23 - mantissaBits;
  static constexpr uint32_t mantissas = (1u << mantissaBits) - 1;
  static constexpr uint32_t infinity = 0x7fff & ~mantissas;
  /// A unit of its subnormal numbers.
  static constexpr float unit =
      std::bit_cast<float>((128 - bias - mantissaBits) << 23);

  static float widen(uint16_t bits) {
    const uint32_t sign = uint32_t(bits & 0x8000) << 16;
    const uint32_t exponent = bits & infinity, mantissa = bits & mantissas;
    if (exponent == infinity)
      return floatOf(sign | 0x7f800000 | mantissa << shift);
    if (exponent != 0)
      return floatOf(sign | (uint32_t(bits & 0x7fff) << shift) + rebias);
    return floatOf(sign | bitsOf(float(mantissa) * unit));
  }

  static uint16_t round(float value) {
    const uint32_t bits = bitsOf(value), magnitude = bits & 0x7fffffff;
    const auto sign = uint16_t(bits >> 16 & 0x8000);
    constexpr uint32_t half = 1u << (shift - 1);
    if (magnitude > 0x7f800000) {
      const uint32_t payload = magnitude >> shift & mantissas;
      const uint32_t quiet = 1u << (mantissaBits - 1);
      return uint16_t(sign | infinity | (payload ? payload : quiet));
    }
    if (magnitude >= ((bias + 127) << 23 | (0x7fffff & ~(half - 1))))
      return uint16_t(sign | infinity);    // half way to what is too large
    if (magnitude < rebias + (1u << 23)) { // adding leaves whole units
      constexpr float many = unit * 0x1p23f;
      return uint16_t(sign |
                      (bitsOf(floatOf(magnitude) + many) - bitsOf(many)));
    }
    const uint32_t near = magnitude - rebias;
    return uint16_t(sign | (near + (half - 1) + (near >> shift & 1)) >> shift);
  }
};
using Half = Narrow<5, 10>;
using CB16 = Narrow<6, 9>;

} // namespace

float floatFromHalf(uint16_t half) { return Half::widen(half); }

uint16_t halfFromFloat(float value) { return Half::round(value); }

uint16_t halfFromDouble(double value) {
  return halfFromFloat(roundedToOdd(value));
}

uint16_t bfloatFromFloat(float value) {
  const uint32_t bits = bitsOf(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | (bits >> 16 & 0x7f ? 0 : 0x40));
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float floatFromNarrow(ElementType format, uint16_t bits) {
  return format == ElementType::BF16   ? floatOf(uint32_t(bits) << 16)
         : format == ElementType::CB16 ? CB16::widen(bits)
                                       : floatFromHalf(bits);
}

uint16_t narrowFromFloat(ElementType format, float value) {
  return format == ElementType::BF16   ? bfloatFromFloat(value)
         : format == ElementType::CB16 ? CB16::round(value)
                                       : halfFromFloat(value);
}

NumberKind numberKind(ElementType dst,
                      std::initializer_list<ElementType> sources) {
  bool integers = isInteger(dst), words = dst == ElementType::U32;
  bool hasSign = false;
  bool halves = isInteger(dst) || dst == ElementType::F16;
  for (ElementType type : sources) {
    integers &= isInteger(type);
    words |= type == ElementType::U32;
    hasSign |= isSigned(type);
    halves &= isInteger(type) || type == ElementType::F16;
  }
  if (integers)
    return words && !hasSign ? NumberKind::Unsigned : NumberKind::Integer;
  return halves ? NumberKind::Half : NumberKind::Single;
}

bool computes(Opcode op, NumberKind kind) {
  switch (factsOf(op).numbers) {
  case OpcodeFacts::Integers:
    return ofIntegers(kind);
  case OpcodeFacts::Floats:
    return !ofIntegers(kind);
  case OpcodeFacts::Any:
    return true;
  }
  return true;
}

Number decodeElement(ElementType type, NumberKind kind, uint32_t bits) {
  Number number;
  if (isInteger(type)) {
    const int64_t value = type == ElementType::I16   ? int16_t(uint16_t(bits))
                          : type == ElementType::U16 ? uint16_t(bits)
                          : type == ElementType::U32 ? int64_t(bits)
                                                     : int32_t(bits);
    if (ofIntegers(kind))
      number.integer = int32_t(value);
    else
      number.real = fromInteger(kind, value);
    return number;
  }
  number.real = isNarrowFloat(type) ? floatFromNarrow(type, uint16_t(bits))
                                    : floatOf(bits);
  return number;
}

uint32_t encodeElement(ElementType type, NumberKind kind, Number number) {
  if (isInteger(type)) {
    const int32_t value = ofIntegers(kind)   ? number.integer
                          : isUnsigned(type) ? unsignedFrom(number.real)
                                             : integerFrom(number.real);
    return elementSize(type) == 2 ? uint16_t(value) : uint32_t(value);
  }
  return isNarrowFloat(type) ? narrowFromFloat(type, number.real)
                             : bitsOf(number.real);
}

Number immediateNumber(NumberKind kind, float value) {
  Number number;
  if (ofIntegers(kind))
    number.integer = kind == NumberKind::Unsigned && value > 0
                         ? unsignedFrom(value)
                         : integerFrom(value);
  else
    number.real =
        kind == NumberKind::Half ? floatFromHalf(halfFromFloat(value)) : value;
  return number;
}

namespace {

int32_t evaluateInteger(Opcode op, int32_t a, int32_t b, int32_t old) {
  const auto x = uint32_t(a), y = uint32_t(b);
  switch (op) {
  case Opcode::Add:
    return int32_t(x + y);
  case Opcode::Sub:
    return int32_t(x - y);
  case Opcode::Mul:
    return int32_t(x * y);
  case Opcode::Div: // of INT32_MIN by -1 wraps; by 0 is an error elsewhere
    return b == 0 ? 0 : b == -1 ? int32_t(-x) : a / b;
  case Opcode::Min:
    return std::min(a, b);
  case Opcode::Max:
    return std::max(a, b);
  case Opcode::Fmac:
    return int32_t(x * y + uint32_t(old));
  case Opcode::Neg:
    return int32_t(-x);
  case Opcode::Abs:
    return int32_t(a < 0 ? -x : x);
  case Opcode::Sign:
    return (a > 0) - (a < 0);
  case Opcode::Equal:
    return a == b;
  case Opcode::Less:
    return a < b;
  case Opcode::LessOrEqual:
    return a <= b;
  case Opcode::And:
    return a && b;
  case Opcode::Or:
    return a || b;
  case Opcode::Not:
    return !a;
  case Opcode::Select:
    return a ? b : old;
  case Opcode::BitAnd:
    return a & b;
  case Opcode::BitOr:
    return a | b;
  case Opcode::BitXor:
    return a ^ b;
  default: // Mov, and what leaves integers as they are
    return a;
  }
}

/// Of kind Unsigned: all that is not the same of the bits.
int32_t evaluateUnsigned(Opcode op, int32_t a, int32_t b, int32_t old) {
  const auto x = uint32_t(a), y = uint32_t(b);
  switch (op) {
  case Opcode::Div: // by 0 is an error elsewhere
    return int32_t(y == 0 ? 0 : x / y);
  case Opcode::Min:
    return int32_t(std::min(x, y));
  case Opcode::Max:
    return int32_t(std::max(x, y));
  case Opcode::Abs:
    return a;
  case Opcode::Sign:
    return x > 0;
  case Opcode::Less:
    return x < y;
  case Opcode::LessOrEqual:
    return x <= y;
  default:
    return evaluateInteger(op, a, b, old);
  }
}

/// What an operation on integers would give without wrapping.
__int128 exactInteger(Opcode op, NumberKind kind, __int128 a, __int128 b,
                      __int128 old) {
  switch (op) {
  case Opcode::Add:
    return a + b;
  case Opcode::Sub:
    return a - b;
  case Opcode::Mul:
    return a * b;
  case Opcode::Div:
    return a / b;
  case Opcode::Fmac:
    return a * b + old;
  case Opcode::Neg:
    return -a;
  case Opcode::Abs:
    return a < 0 ? -a : a;
  default:
    if (kind == NumberKind::Integer)
      return evaluateInteger(op, int32_t(a), int32_t(b), int32_t(old));
    return uint32_t(evaluateUnsigned(op, int32_t(a), int32_t(b), int32_t(old)));
  }
}

template <int32_t (*evaluate)(Opcode, int32_t, int32_t, int32_t)>
void evaluateIntegers(Opcode op, size_t n, Number *dst, NumberSource a,
                      NumberSource b) {
  static constexpr Number zero{.integer = 0};
  if (!b.data)
    b = {&zero, true};
  for (size_t i = 0; i < n; ++i)
    dst[i].integer = evaluate(op, a.data[a.scalar ? 0 : i].integer,
                              b.data[b.scalar ? 0 : i].integer, dst[i].integer);
}

VectorSource reals(NumberSource source) {
  return {source.data ? &source.data->real : nullptr, source.scalar};
}

/// Half: what float32 gives is one of F16 already, is rounded again without
/// harm (24 bits are enough for sums, products, quotients and roots of 11), or
/// needs a way of its own.
void evaluateHalves(Opcode op, size_t n, Number *dst, NumberSource a,
                    NumberSource b) {
  switch (op) {
  case Opcode::Fmac:
    return fmacHalf(n, &dst->real, reals(a), reals(b));
  case Opcode::Rsqrt:
    for (size_t i = 0; i < n; ++i) {
      double x = a.data[a.scalar ? 0 : i].real;
      dst[i].real = floatFromHalf(halfFromDouble(1 / std::sqrt(x)));
    }
    return;
  default:
    applyVector(op, n, &dst->real, reals(a), reals(b));
    if (factsOf(op).software != OpcodeFacts::No || op == Opcode::Add ||
        op == Opcode::Sub || op == Opcode::Mul)
      roundToNarrow(ElementType::F16, n, &dst->real);
  }
}

} // namespace

void evaluateElements(Opcode op, NumberKind kind, size_t n, Number *dst,
                      NumberSource a, NumberSource b) {
  if (n == 0)
    return;
  if (kind == NumberKind::Integer)
    return evaluateIntegers<evaluateInteger>(op, n, dst, a, b);
  if (kind == NumberKind::Unsigned)
    return evaluateIntegers<evaluateUnsigned>(op, n, dst, a, b);
  if (kind == NumberKind::Half)
    return evaluateHalves(op, n, dst, a, b);
  applyVector(op, n, &dst->real, reals(a), reals(b));
}

const char *integerProblem(Opcode op, NumberKind kind, ElementType dst,
                           bool noWrap, Number a, Number b, Number old) {
  if (ofIntegers(kind) && op == Opcode::Div && b.integer == 0)
    return "divides by zero";
  if (!noWrap)
    return nullptr;
  const int bits = elementSize(dst) == 2 ? 16 : 32;
  const int64_t low = isUnsigned(dst) ? 0 : -(int64_t(1) << (bits - 1));
  const int64_t high = low + (int64_t(1) << bits) - 1;
  if (ofIntegers(kind)) {
    auto value = [](Number number, bool isUnsigned) {
      return isUnsigned ? int64_t(uint32_t(number.integer))
                        : int64_t(number.integer);
    };
    const bool ofUnsigned = kind == NumberKind::Unsigned;
    const __int128 exact =
        exactInteger(op, kind, value(a, ofUnsigned), value(b, ofUnsigned),
                     value(old, isUnsigned(dst)));
    return exact < low || exact > high ? "has a result that wraps" : nullptr;
  }
  const float real = std::trunc(evaluate(op, kind, a, b, old).real);
  return !std::isfinite(real) || (real >= float(low) && real < float(high + 1))
             ? nullptr
             : "has a result that is beyond its integers";
}

std::string describeSources(NumberKind kind, Number a, Number b) {
  auto text = [&](Number number) {
    if (kind == NumberKind::Integer)
      return std::to_string(number.integer);
    if (kind == NumberKind::Unsigned)
      return std::to_string(uint32_t(number.integer));
    std::ostringstream out;
    out << std::setprecision(9) << number.real;
    return out.str();
  };
  return text(a) + " and " + text(b);
}

Number evaluate(Opcode op, NumberKind kind, Number a, Number b, Number old) {
  evaluateElements(op, kind, 1, &old, {&a, true}, {&b, true});
  return old;
}

void decodeElements(ElementType type, NumberKind kind, size_t n,
                    const void *elements, ptrdiff_t stride, Number *numbers) {
  const auto *at = static_cast<const uint8_t *>(elements);
  if (n == 0)
    return;
  if (elementSize(type) == 4) {
    if (stride == 4 && isInteger(type) == ofIntegers(kind)) {
      std::memcpy(numbers, at, n * 4);
      return;
    }
    for (size_t i = 0; i < n; ++i, at += stride) {
      uint32_t bits;
      std::memcpy(&bits, at, 4);
      numbers[i] = decodeElement(type, kind, bits);
    }
    return;
  }
  if (!isInteger(type) && stride == 2)
    return widen(type, n, reinterpret_cast<const uint16_t *>(at),
                 &numbers->real);
  if (!isInteger(type) && stride == 4)
    return widenApart(type, n, at, &numbers->real);
  for (size_t i = 0; i < n; ++i, at += stride) {
    uint16_t bits;
    std::memcpy(&bits, at, 2);
    numbers[i] = decodeElement(type, kind, bits);
  }
}

void encodeElements(ElementType type, NumberKind kind, size_t n,
                    const Number *numbers, void *elements, ptrdiff_t stride) {
  auto *at = static_cast<uint8_t *>(elements);
  if (n == 0)
    return;
  if (elementSize(type) == 4) {
    if (stride == 4 && isInteger(type) == ofIntegers(kind)) {
      std::memcpy(at, numbers, n * 4);
      return;
    }
    for (size_t i = 0; i < n; ++i, at += stride) {
      uint32_t bits = encodeElement(type, kind, numbers[i]);
      std::memcpy(at, &bits, 4);
    }
    return;
  }
  if (!isInteger(type) && stride == 2)
    return narrow(type, n, &numbers->real, reinterpret_cast<uint16_t *>(at));
  if (!isInteger(type) && stride == 4)
    return narrowApart(type, n, &numbers->real, at);
  for (size_t i = 0; i < n; ++i, at += stride) {
    auto bits = uint16_t(encodeElement(type, kind, numbers[i]));
    std::memcpy(at, &bits, 2);
  }
}

void roundElements(ElementType type, size_t n, float *values) {
  if (isNarrowFloat(type))
    roundToNarrow(type, n, values);
}

void requireProcessor() {
  if (!processorSupported())
    throw Error(ErrorClass::BadProgram,
                "the emulator needs a processor with AVX2 and FMA");
}

} // namespace wsec::runtime
