// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Elements.h"

#include "runtime/pe/UnalignedFloat.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace wsec::runtime {

namespace {

template <typename To, typename From>
To bitCast(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

/// Drops the low `bits` of a magnitude, to nearest, ties to even.
uint32_t roundedShift(uint32_t value, unsigned bits) {
  uint32_t half = uint32_t(1) << (bits - 1);
  uint32_t odd = value >> bits & 1;
  return (value + half - 1 + odd) >> bits;
}

template <typename Integer>
Integer toInteger(float value) {
  if (std::isnan(value))
    return 0;
  // The upper limit as a float may be one beyond the largest integer.
  constexpr float upper = -float(std::numeric_limits<Integer>::min());
  if (value >= upper)
    return std::numeric_limits<Integer>::max();
  if (value <= -upper)
    return std::numeric_limits<Integer>::min();
  return Integer(value);
}

/// How a stored element and a word turn into one another.
struct F32 {
  using Stored = float;
  static float load(float stored) { return stored; }
  static float store(float word) { return word; }
};
struct F16 {
  using Stored = uint16_t;
  static float load(uint16_t stored) { return halfToFloat(stored); }
  static uint16_t store(float word) { return floatToHalf(word); }
};
struct BF16 {
  using Stored = uint16_t;
  static float load(uint16_t stored) { return brainToFloat(stored); }
  static uint16_t store(float word) { return floatToBrain(word); }
};
template <typename Integer>
struct Whole {
  using Stored = Integer;
  static float load(Integer stored) { return float(stored); }
  static Integer store(float word) { return toInteger<Integer>(word); }
};
struct Boolean {
  using Stored = uint8_t;
  static float load(uint8_t stored) { return stored != 0; }
  static uint8_t store(float word) { return word != 0; }
};

template <typename Type>
void read(const uint8_t *data, int64_t first, int64_t stride, size_t count,
          float *words) {
  using Stored = typename Type::Stored;
  const uint8_t *from = data + first * int64_t(sizeof(Stored));
  int64_t step = stride * int64_t(sizeof(Stored));
  for (size_t i = 0; i < count; ++i, from += step) {
    Stored stored;
    std::memcpy(&stored, from, sizeof(stored));
    words[i] = Type::load(stored);
  }
}

template <typename Type>
void write(uint8_t *data, int64_t first, int64_t stride, size_t count,
           const float *words) {
  using Stored = typename Type::Stored;
  uint8_t *to = data + first * int64_t(sizeof(Stored));
  int64_t step = stride * int64_t(sizeof(Stored));
  const UnalignedFloat *from = words;
  for (size_t i = 0; i < count; ++i, to += step) {
    Stored stored = Type::store(from[i]);
    std::memcpy(to, &stored, sizeof(stored));
  }
}

} // namespace

float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0) {
    // Zero and subnormals: mantissa * 2^-24, exact in f32.
    float magnitude = float(mantissa) * 0x1p-24f;
    return bitCast<float>(bitCast<uint32_t>(magnitude) | sign);
  }
  uint32_t wide = exponent == 0x1f ? 0xff : exponent + 127 - 15;
  return bitCast<float>(sign | wide << 23 | mantissa << 13);
}

uint16_t floatToHalf(float value) {
  uint32_t bits = bitCast<uint32_t>(value);
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00; // not a number
  if (magnitude >= 0x47800000)
    return sign | 0x7c00; // 65536 and beyond, infinity
  if (magnitude < 0x38800000) {
    // Below 2^-14: in units of 2^-24, which the addition rounds to.
    float shifted = bitCast<float>(magnitude) + 0.5f;
    return sign |
           uint16_t(bitCast<uint32_t>(shifted) - bitCast<uint32_t>(0.5f));
  }
  return sign | uint16_t(roundedShift(magnitude - ((127 - 15) << 23), 13));
}

float brainToFloat(uint16_t bits) {
  return bitCast<float>(uint32_t(bits) << 16);
}

uint16_t floatToBrain(float value) {
  uint32_t bits = bitCast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  return sign | uint16_t(roundedShift(bits & 0x7fffffff, 16));
}

void readElements(program::ElementType type, const uint8_t *data, int64_t first,
                  int64_t stride, size_t count, float *words) {
  switch (type) {
  case program::ElementType::F32:
    if (stride == 1)
      std::memcpy(words, data + first * 4, count * 4);
    else
      read<F32>(data, first, stride, count, words);
    return;
  case program::ElementType::F16:
    return read<F16>(data, first, stride, count, words);
  case program::ElementType::BF16:
    return read<BF16>(data, first, stride, count, words);
  case program::ElementType::I32:
    return read<Whole<int32_t>>(data, first, stride, count, words);
  case program::ElementType::I16:
    return read<Whole<int16_t>>(data, first, stride, count, words);
  case program::ElementType::I64:
    return read<Whole<int64_t>>(data, first, stride, count, words);
  case program::ElementType::Bool:
    return read<Boolean>(data, first, stride, count, words);
  }
}

void writeElements(program::ElementType type, uint8_t *data, int64_t first,
                   int64_t stride, size_t count, const float *words) {
  switch (type) {
  case program::ElementType::F32:
    return write<F32>(data, first, stride, count, words);
  case program::ElementType::F16:
    return write<F16>(data, first, stride, count, words);
  case program::ElementType::BF16:
    return write<BF16>(data, first, stride, count, words);
  case program::ElementType::I32:
    return write<Whole<int32_t>>(data, first, stride, count, words);
  case program::ElementType::I16:
    return write<Whole<int16_t>>(data, first, stride, count, words);
  case program::ElementType::I64:
    return write<Whole<int64_t>>(data, first, stride, count, words);
  case program::ElementType::Bool:
    return write<Boolean>(data, first, stride, count, words);
  }
}

int64_t readIndex(program::ElementType type, const uint8_t *data,
                  uint64_t index) {
  if (type == program::ElementType::I32) {
    int32_t value;
    std::memcpy(&value, data + index * sizeof(value), sizeof(value));
    return value;
  }
  int64_t value;
  std::memcpy(&value, data + index * sizeof(value), sizeof(value));
  return value;
}

} // namespace wsec::runtime
