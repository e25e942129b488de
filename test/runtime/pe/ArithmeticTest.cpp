// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic against oracles: F16 in integers, everything else by definition.
#include "runtime/pe/Arithmetic.h"
#include "runtime/pe/VectorKernels.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace wsec::runtime {
namespace {

using program::ElementType;
using program::Opcode;
using Wide = __int128;
using UnsignedWide = unsigned __int128;

constexpr uint16_t infinity = 0x7c00;

bool isFinite(uint16_t half) { return (half & infinity) != infinity; }

/// A finite F16 in units of 2^-24.
int64_t units(uint16_t half) {
  int exponent = half >> 10 & 31;
  int64_t mantissa = half & 0x3ff;
  int64_t magnitude =
      exponent == 0 ? mantissa : (mantissa | 0x400) << (exponent - 1);
  return half & 0x8000 ? -magnitude : magnitude;
}

/// A number of units of 2^-48, not zero, as F16: nearest, ties to even.
uint16_t nearestHalf(Wide value) {
  const uint16_t sign = value < 0 ? 0x8000 : 0;
  const auto magnitude = UnsignedWide(value < 0 ? -value : value);
  int bits = 0;
  while (magnitude >> bits)
    ++bits;
  // The unit of the result: 2^-24, or 11 bits below the first one.
  const int shift = std::max(24, bits - 11);
  auto kept = uint64_t(magnitude >> shift);
  const auto rest = magnitude - (UnsignedWide(kept) << shift);
  const auto half = UnsignedWide(1) << (shift - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  // A carry into the next binade gives the right bits by itself.
  uint64_t encoded = kept + (uint64_t(shift - 24) << 10);
  return uint16_t(sign | std::min<uint64_t>(encoded, infinity));
}

Number half(uint16_t bits) {
  return decodeElement(ElementType::F16, NumberKind::Half, bits);
}

uint16_t bits(Number number) {
  return uint16_t(encodeElement(ElementType::F16, NumberKind::Half, number));
}

uint16_t compute(Opcode op, uint16_t a, uint16_t b, uint16_t old = 0) {
  return bits(evaluate(op, NumberKind::Half, half(a), half(b), half(old)));
}

void expectFmac(uint16_t a, uint16_t b, uint16_t c) {
  Wide exact = Wide(units(a)) * units(b) + (Wide(units(c)) << 24);
  if (exact == 0)
    return;
  ASSERT_EQ(compute(Opcode::Fmac, a, b, c), nearestHalf(exact))
      << std::hex << a << " * " << b << " + " << c;
}

/// Any finite F16, those with few bits and extreme exponents more often.
uint16_t randomHalf(std::mt19937 &random) {
  uint16_t value = uint16_t(random());
  switch (random() % 4) {
  case 0:
    value &= 0xfc03;
    break;
  case 1:
    value |= 0x03fc;
    break;
  case 2:
    value = uint16_t((value & 0x83ff) | (random() % 2 ? 0 : 30 << 10));
    break;
  }
  return isFinite(value) ? value : uint16_t(value & 0x83ff);
}

TEST(ArithmeticTest, HalfConversionsAreExact) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    float wide = floatFromHalf(uint16_t(i));
    EXPECT_EQ(halfFromFloat(wide), i);
    if (isFinite(uint16_t(i))) {
      EXPECT_EQ(halfFromDouble(wide), i);
      EXPECT_EQ(double(wide), double(units(uint16_t(i))) * 0x1p-24);
    }
  }
}

TEST(ArithmeticTest, HalfRoundsToNearestEven) {
  for (uint32_t i = 0; i < infinity; ++i) {
    // Between this one and the next, in quarters.
    double low = double(units(uint16_t(i))) * 0x1p-24;
    double high =
        i + 1 == infinity ? 65536 : double(units(uint16_t(i + 1))) * 0x1p-24;
    for (int quarter = 1; quarter < 4; ++quarter) {
      double value = low + (high - low) * quarter / 4;
      uint32_t expected =
          quarter < 2 || (quarter == 2 && i % 2 == 0) ? i : i + 1;
      EXPECT_EQ(halfFromFloat(float(value)), expected);
      EXPECT_EQ(halfFromDouble(value), expected);
      EXPECT_EQ(halfFromFloat(float(-value)), expected | 0x8000);
    }
    // What float32 cannot tell from the middle.
    double middle = (low + high) / 2, little = (high - low) * 0x1p-40;
    EXPECT_EQ(halfFromDouble(middle - little), i);
    EXPECT_EQ(halfFromDouble(middle + little), i + 1);
  }
  EXPECT_EQ(halfFromFloat(1e30f), infinity);
}

/// Every code, and every middle between two numbers with its neighbours: what
/// lies between is rounded as they are.
static void expectExact(ElementType format, int exponentBits,
                        int mantissaBits) {
  const uint32_t first = 1u << mantissaBits;
  const uint32_t infinite = 0x8000 - first;
  const int bias = (1 << (exponentBits - 1)) - 1;
  auto number = [&](uint32_t code) {
    const int exponent = int(code >> mantissaBits);
    const uint32_t mantissa = code % first;
    return std::ldexp(double(exponent ? first + mantissa : mantissa),
                      std::max(exponent, 1) - bias - mantissaBits);
  };
  auto narrow = [&](float value) { return narrowFromFloat(format, value); };
  for (uint32_t code = 0; code < infinite; ++code) {
    const float wide = floatFromNarrow(format, uint16_t(code));
    ASSERT_EQ(double(wide), number(code)) << code;
    ASSERT_EQ(narrow(wide), code);
    ASSERT_EQ(narrow(-wide), code | 0x8000);
    const auto middle = float((number(code) + number(code + 1)) / 2);
    if (middle <= 0 || std::isinf(middle)) // of bf16's largest number
      continue;
    ASSERT_EQ(double(middle), (number(code) + number(code + 1)) / 2);
    ASSERT_EQ(narrow(middle), code + code % 2) << code;
    ASSERT_EQ(narrow(-middle), (code + code % 2) | 0x8000) << code;
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0f)), code);
    ASSERT_EQ(narrow(std::nextafter(middle, INFINITY)), code + 1);
  }
  EXPECT_EQ(narrow(INFINITY), infinite);
  EXPECT_EQ(narrow(FLT_MAX), infinite);
  for (uint32_t code = infinite; code < 0x8000; ++code)
    for (uint32_t sign : {0u, 0x8000u}) {
      const float wide = floatFromNarrow(format, uint16_t(code | sign));
      ASSERT_EQ(std::isnan(wide), code > infinite);
      ASSERT_EQ(narrow(wide), code | sign);
    }
}

TEST(ArithmeticTest, NarrowFloatsAreExact) {
  expectExact(ElementType::F16, 5, 10);
  expectExact(ElementType::BF16, 8, 7);
  expectExact(ElementType::CB16, 6, 9);
}

TEST(ArithmeticTest, HalfFmacRoundsOnce) {
  std::mt19937 random(1);
  for (int i = 0; i < 3000000; ++i)
    expectFmac(randomHalf(random), randomHalf(random), randomHalf(random));
}

TEST(ArithmeticTest, HalfFmacBesideTheMiddle) {
  // Products that lie half way between two F16, moved by the smallest terms.
  const uint16_t terms[] = {0x0001, 0x8001, 0x0400, 0x8400, 0x03ff, 0x83ff};
  for (uint32_t a = 0x3c00; a < 0x4000; a += 3)
    for (uint32_t b = 0x3c00; b < 0x4000; b += 7)
      for (uint16_t c : terms) {
        expectFmac(uint16_t(a), uint16_t(b), c);
        expectFmac(uint16_t(a + 0x3800), uint16_t(b), c);
        expectFmac(uint16_t(a | 0x8000), uint16_t(b - 0x3400), c);
      }
  // 1 * c + the product of two small numbers, on both sides of a power of 2.
  for (uint32_t c : {0x3c00u, 0x3bffu, 0x3c01u, 0x7bffu, 0x0400u, 0x0001u})
    for (uint32_t a = 1; a < 0x7c00; a += 37)
      for (uint32_t b : {0x0001u, 0x1000u, 0x1001u, 0x9001u, 0x3c01u}) {
        expectFmac(uint16_t(a), uint16_t(b), uint16_t(c));
        expectFmac(uint16_t(a), uint16_t(b), uint16_t(c | 0x8000));
      }
}

TEST(ArithmeticTest, HalfSumsAndProductsRoundOnce) {
  std::mt19937 random(2);
  for (int i = 0; i < 1000000; ++i) {
    uint16_t a = randomHalf(random), b = randomHalf(random);
    Wide x = Wide(units(a)) << 24, y = Wide(units(b)) << 24;
    if (x + y != 0) {
      ASSERT_EQ(compute(Opcode::Add, a, b), nearestHalf(x + y));
    }
    if (x - y != 0) {
      ASSERT_EQ(compute(Opcode::Sub, a, b), nearestHalf(x - y));
    }
    if (x != 0 && y != 0) {
      ASSERT_EQ(compute(Opcode::Mul, a, b),
                nearestHalf(Wide(units(a)) * units(b)));
    }
  }
}

/// Whether `result` is the F16 nearest to the positive value for which
/// `compare` gives the sign of (value - argument).
template <class Compare>
bool isNearest(uint16_t result, Compare compare) {
  if (result == infinity)
    return compare(65520.0L) >= 0;
  auto value = [](int h) {
    return (long double)(units(uint16_t(h))) * 0x1p-24L;
  };
  long double at = value(result);
  long double up = result == 0x7bff ? 65520.0L : (at + value(result + 1)) / 2;
  bool even = result % 2 == 0;
  int high = compare(up);
  if (high > 0 || (high == 0 && !even))
    return false;
  if (result == 0)
    return true;
  int low = compare((at + value(result - 1)) / 2);
  return low > 0 || (low == 0 && even);
}

int sign(long double x) { return (x > 0) - (x < 0); }

TEST(ArithmeticTest, HalfQuotientsAndRootsRoundOnce) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000000; ++i) {
    uint16_t a = randomHalf(random) & 0x7fff, b = randomHalf(random) & 0x7fff;
    if (a == 0 || b == 0)
      continue;
    // Products of an 11 and a 12 bit number are exact.
    long double x = units(a), y = units(b);
    ASSERT_TRUE(isNearest(compute(Opcode::Div, a, b),
                          [&](long double m) { return sign(x - m * y); }))
        << a << " / " << b;
  }
  for (uint32_t a = 1; a < infinity; ++a) {
    long double x = (long double)(units(uint16_t(a))) * 0x1p-24L;
    auto h = uint16_t(a);
    ASSERT_TRUE(isNearest(compute(Opcode::Sqrt, h, 0), [&](long double m) {
      return sign(x - m * m);
    })) << a;
    ASSERT_TRUE(isNearest(compute(Opcode::Reciprocal, h, 0),
                          [&](long double m) { return sign(1 - m * x); }))
        << a;
    ASSERT_TRUE(isNearest(compute(Opcode::Rsqrt, h, 0), [&](long double m) {
      return sign(1 - m * m * x);
    })) << a;
  }
}

std::vector<float> specials() {
  std::vector<float> values = {0.0f,     -0.0f, 1.0f,    -1.0f,  0.5f,
                               1.5f,     2.5f,  -2.5f,   1e-45f, -1e-45f,
                               1e-38f,   3e38f, -3e38f,  1e10f,  65504.0f,
                               65520.0f, 88.8f, -104.0f, 3.999f, 40000.0f};
  values.push_back(INFINITY);
  values.push_back(-INFINITY);
  values.push_back(NAN);
  return values;
}

TEST(ArithmeticTest, SingleHasTheBitsOfTheVectorKernels) {
  std::mt19937 random(4);
  std::vector<float> values = specials();
  for (int i = 0; i < 400; ++i) {
    uint32_t word = uint32_t(random());
    if (i % 2)
      word = (word & 0x807fffff) | (0x70 + word / 7 % 32) << 23;
    float value;
    std::memcpy(&value, &word, 4);
    values.push_back(value);
  }
  const size_t n = values.size();
  for (int o = 0; o <= int(Opcode::MAX); ++o) {
    if (!computes(Opcode(o), NumberKind::Single))
      continue;
    std::vector<float> a(n), b(n), dst(n);
    for (size_t i = 0; i < n; ++i) {
      a[i] = values[i];
      b[i] = values[(i * 7 + 3) % n];
      dst[i] = values[(i * 11 + 5) % n];
    }
    std::vector<Number> old(n);
    for (size_t i = 0; i < n; ++i)
      old[i].real = dst[i];
    applyVector(Opcode(o), n, dst.data(), {a.data()}, {b.data()});
    for (size_t i = 0; i < n; ++i) {
      Number x{.real = a[i]}, y{.real = b[i]};
      Number one = evaluate(Opcode(o), NumberKind::Single, x, y, old[i]);
      ASSERT_EQ(std::memcmp(&one.real, &dst[i], 4), 0)
          << program::EnumNameOpcode(Opcode(o)) << " " << a[i] << ", " << b[i];
    }
  }
}

TEST(ArithmeticTest, OneElementAtATimeIsTheVector) {
  std::mt19937 random(5);
  constexpr size_t n = 203;
  for (NumberKind kind : {NumberKind::Single, NumberKind::Half,
                          NumberKind::Integer, NumberKind::Unsigned})
    for (int o = 0; o <= int(Opcode::MAX); ++o) {
      if (!computes(Opcode(o), kind))
        continue;
      auto type = kind == NumberKind::Half     ? ElementType::F16
                  : kind == NumberKind::Single ? ElementType::F32
                                               : ElementType::I32;
      std::vector<Number> a(n), b(n), dst(n), single(n);
      for (std::vector<Number> *numbers : {&a, &b, &dst})
        for (Number &number : *numbers)
          number = decodeElement(type, kind, uint32_t(random()));
      single = dst;
      evaluateElements(Opcode(o), kind, n, dst.data(), {a.data()}, {b.data()});
      for (size_t i = 0; i < n; ++i) {
        single[i] = evaluate(Opcode(o), kind, a[i], b[i], single[i]);
        ASSERT_EQ(single[i].integer, dst[i].integer)
            << program::EnumNameOpcode(Opcode(o));
      }
    }
}

TEST(ArithmeticTest, ElementsKeepTheirBits) {
  // Also those of numbers that are none.
  for (ElementType type :
       {ElementType::F16, ElementType::BF16, ElementType::CB16,
        ElementType::I16, ElementType::F32, ElementType::I32}) {
    const uint32_t size = elementSize(type);
    const uint32_t count = 0x10000;
    std::vector<uint8_t> in(size_t(count) * size), out(in.size());
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t value = size == 4 ? i * 65537 + i / 3 : i;
      std::memcpy(&in[size_t(i) * size], &value, size);
    }
    NumberKind kind = numberKind(type, {type});
    std::vector<Number> numbers(count);
    decodeElements(type, kind, count, in.data(), size, numbers.data());
    encodeElements(type, kind, count, numbers.data(), out.data(), size);
    EXPECT_EQ(in, out) << program::EnumNameElementType(type);
    for (uint32_t i = 0; i < count; i += 97) {
      uint32_t value = 0;
      std::memcpy(&value, &in[size_t(i) * size], size);
      Number number = decodeElement(type, kind, value);
      EXPECT_EQ(number.integer, numbers[i].integer);
      EXPECT_EQ(encodeElement(type, kind, number), value);
    }
  }
}

TEST(ArithmeticTest, ElementsAreConverted) {
  auto convert = [](ElementType from, ElementType to, uint32_t element) {
    NumberKind kind = numberKind(to, {from});
    return encodeElement(to, kind, decodeElement(from, kind, element));
  };
  auto f32 = [](float value) {
    uint32_t word;
    std::memcpy(&word, &value, 4);
    return word;
  };
  using enum ElementType;
  EXPECT_EQ(convert(F32, F16, f32(1.0f)), 0x3c00u);
  EXPECT_EQ(convert(F32, F16, f32(2049.0f)), 0x6800u); // to even
  EXPECT_EQ(convert(F32, BF16, f32(1.0f + 0x1p-8f)), 0x3f80u);
  EXPECT_EQ(convert(F32, BF16, f32(1.0f + 0x1.8p-8f)), 0x3f81u);
  EXPECT_EQ(convert(F32, I32, f32(-2.75f)), uint32_t(-2));
  EXPECT_EQ(convert(F32, I32, f32(1e20f)), 0x7fffffffu);
  EXPECT_EQ(convert(F32, I32, f32(NAN)), 0u);
  EXPECT_EQ(convert(F32, I16, f32(70000.0f)), 70000u & 0xffffu);
  EXPECT_EQ(convert(I32, I16, 0x12345), 0x2345u);
  EXPECT_EQ(convert(I16, I32, 0xffff), uint32_t(-1));
  EXPECT_EQ(convert(I32, F32, 16777217), f32(16777216.0f));
  EXPECT_EQ(convert(I32, F16, 2051), 0x6802u);
  EXPECT_EQ(convert(I32, F16, 100000), uint32_t(infinity));
  EXPECT_EQ(convert(I16, F16, 0xffff), 0xbc00u);
  EXPECT_EQ(convert(F16, I16, 0xc500), uint32_t(uint16_t(-5)));
  EXPECT_EQ(convert(F32, U32, f32(3e9f)), 3000000000u);
  EXPECT_EQ(convert(F32, U32, f32(1e20f)), 0xffffffffu);
  EXPECT_EQ(convert(F32, U32, f32(-1.0f)), 0u);
  EXPECT_EQ(convert(F32, U32, f32(NAN)), 0u);
  EXPECT_EQ(convert(F32, U16, f32(65535.0f)), 0xffffu);
  EXPECT_EQ(convert(U32, F32, 0xffffffffu), f32(4294967296.0f));
  EXPECT_EQ(convert(U16, F16, 0xffff), uint32_t(infinity));
  EXPECT_EQ(convert(U16, I32, 0xffff), 0xffffu);
  EXPECT_EQ(convert(I16, U32, 0xffff), 0xffffffffu);
}

TEST(ArithmeticTest, KindFollowsTheOperands) {
  using enum ElementType;
  EXPECT_EQ(numberKind(I32, {I16, I32}), NumberKind::Integer);
  EXPECT_EQ(numberKind(I32, {U32, U16}), NumberKind::Unsigned);
  EXPECT_EQ(numberKind(U32, {U16, U16}), NumberKind::Unsigned);
  EXPECT_EQ(numberKind(U32, {I16}), NumberKind::Integer);
  EXPECT_EQ(numberKind(U16, {U16, U16}), NumberKind::Integer);
  EXPECT_EQ(numberKind(F32, {U32}), NumberKind::Single);
  EXPECT_EQ(numberKind(F16, {F16, F16}), NumberKind::Half);
  EXPECT_EQ(numberKind(F16, {I16}), NumberKind::Half);
  EXPECT_EQ(numberKind(I16, {F16}), NumberKind::Half);
  EXPECT_EQ(numberKind(F32, {F16, F16}), NumberKind::Single);
  EXPECT_EQ(numberKind(F16, {BF16}), NumberKind::Single);
  EXPECT_EQ(numberKind(BF16, {BF16}), NumberKind::Single);
}

TEST(ArithmeticTest, IntegersWrap) {
  auto run = [](Opcode op, int32_t a, int32_t b, int32_t old = 0) {
    return evaluate(op, NumberKind::Integer, {.integer = a}, {.integer = b},
                    {.integer = old})
        .integer;
  };
  EXPECT_EQ(run(Opcode::Add, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(run(Opcode::Mul, 65536, 65536), 0);
  EXPECT_EQ(run(Opcode::Fmac, 3, -4, 5), -7);
  EXPECT_EQ(run(Opcode::Neg, INT32_MIN, 0), INT32_MIN);
  EXPECT_EQ(run(Opcode::Max, -3, 2), 2);
  EXPECT_EQ(run(Opcode::BitXor, 6, 3), 5);
  EXPECT_EQ(run(Opcode::Select, 1, 7, 9), 7);
  EXPECT_EQ(run(Opcode::Select, 0, 7, 9), 9);
  EXPECT_FALSE(computes(Opcode::Exp, NumberKind::Integer));
  EXPECT_FALSE(computes(Opcode::BitOr, NumberKind::Single));
}

TEST(ArithmeticTest, UnsignedIntegers) {
  auto run = [](Opcode op, uint32_t a, uint32_t b) {
    return uint32_t(evaluate(op, NumberKind::Unsigned, {.integer = int32_t(a)},
                             {.integer = int32_t(b)}, Number{})
                        .integer);
  };
  const uint32_t some[] = {0, 1, 7, 0x7fffffff, 0x80000000, 0xffffffff};
  for (uint32_t a : some)
    for (uint32_t b : some) {
      EXPECT_EQ(run(Opcode::Sub, a, b), a - b);
      EXPECT_EQ(run(Opcode::Mul, a, b), a * b);
      EXPECT_EQ(run(Opcode::Div, a, b), b ? a / b : 0);
      EXPECT_EQ(run(Opcode::Min, a, b), std::min(a, b));
      EXPECT_EQ(run(Opcode::Max, a, b), std::max(a, b));
      EXPECT_EQ(run(Opcode::Less, a, b), uint32_t(a < b));
      EXPECT_EQ(run(Opcode::LessOrEqual, a, b), uint32_t(a <= b));
      EXPECT_EQ(run(Opcode::Abs, a, b), a);
      EXPECT_EQ(run(Opcode::Sign, a, b), uint32_t(a > 0));
    }
  auto wraps = [](Opcode op, ElementType dst, uint32_t a, uint32_t b) {
    return integerProblem(op, NumberKind::Unsigned, dst, true,
                          {.integer = int32_t(a)}, {.integer = int32_t(b)},
                          Number{}) != nullptr;
  };
  using enum ElementType;
  EXPECT_FALSE(wraps(Opcode::Add, U32, 0x80000000, 0x7fffffff));
  EXPECT_TRUE(wraps(Opcode::Add, U32, 0x80000000, 0x80000000));
  EXPECT_TRUE(wraps(Opcode::Sub, U32, 1, 2));
  EXPECT_FALSE(wraps(Opcode::BitOr, U32, 0x80000000, 1));
  EXPECT_FALSE(wraps(Opcode::Add, U16, 65535, 0));
  EXPECT_TRUE(wraps(Opcode::Add, U16, 65535, 1));
  EXPECT_TRUE(wraps(Opcode::Max, I32, 0x80000000, 1));
  EXPECT_TRUE(wraps(Opcode::Mul, U32, 0xffffffff, 0xffffffff));
  // What is added to has the kind of the destination, not of the sources.
  auto adds = [](NumberKind kind, ElementType dst, int32_t to) {
    return integerProblem(Opcode::Fmac, kind, dst, true, {.integer = 1},
                          {.integer = 1}, {.integer = to}) == nullptr;
  };
  EXPECT_FALSE(adds(NumberKind::Integer, U32, -1));
  EXPECT_TRUE(adds(NumberKind::Integer, U32, int32_t(3000000000u)));
  EXPECT_TRUE(adds(NumberKind::Unsigned, I32, -5));
  EXPECT_EQ(integerProblem(Opcode::Mov, NumberKind::Single, U32, true,
                           {.real = -0.25f}, Number{}, Number{}),
            nullptr);
  EXPECT_EQ(uint32_t(immediateNumber(NumberKind::Unsigned, 3e9f).integer),
            3000000000u);
  EXPECT_EQ(immediateNumber(NumberKind::Unsigned, -1.0f).integer, -1);
  EXPECT_EQ(
      describeSources(NumberKind::Unsigned, {.integer = -1}, {.integer = 2}),
      "4294967295 and 2");
}

TEST(ArithmeticTest, IntegersThatMustNotWrap) {
  auto problem = [](Opcode op, int32_t a, int32_t b, bool noWrap) {
    const char *what =
        integerProblem(op, NumberKind::Integer, ElementType::I32, noWrap,
                       Number{.integer = a}, Number{.integer = b}, Number{});
    return std::string(what ? what : "");
  };
  EXPECT_EQ(problem(Opcode::Add, INT32_MAX, 0, true), "");
  EXPECT_EQ(problem(Opcode::Add, INT32_MAX, 1, true),
            "has a result that wraps");
  EXPECT_EQ(problem(Opcode::Add, INT32_MAX, 1, false), "");
  EXPECT_EQ(problem(Opcode::Div, INT32_MIN, -1, true),
            "has a result that wraps");
  EXPECT_EQ(problem(Opcode::Div, 7, 0, false), "divides by zero");
  const Number quotient =
      evaluate(Opcode::Div, NumberKind::Integer, Number{.integer = -7},
               Number{.integer = 2}, Number{});
  EXPECT_EQ(quotient.integer, -3); // towards zero
  auto fits = [](float value) {
    return !integerProblem(Opcode::Mov, NumberKind::Single, ElementType::I32,
                           true, Number{.real = value}, Number{}, Number{});
  };
  EXPECT_TRUE(fits(-2147483648.0f));
  EXPECT_FALSE(fits(2147483648.0f));
  // Of a logarithm of 0 nobody may take the integer.
  EXPECT_TRUE(fits(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_TRUE(fits(-std::numeric_limits<float>::infinity()));
}

} // namespace
} // namespace wsec::runtime
