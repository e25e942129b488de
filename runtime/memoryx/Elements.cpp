// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Elements.h"

#include "runtime/pe/Arithmetic.h"
#include "runtime/pe/HalfKernels.h"
#include "runtime/pe/UnalignedFloat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace wsec::runtime {

using program::ElementType;

namespace {

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
  static float load(uint16_t stored) { return floatFromHalf(stored); }
  static uint16_t store(float word) { return halfFromFloat(word); }
};
struct BF16 {
  using Stored = uint16_t;
  static float load(uint16_t stored) {
    return std::bit_cast<float>(uint32_t(stored) << 16);
  }
  static uint16_t store(float word) { return bfloatFromFloat(word); }
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

void readElements(ElementType type, const uint8_t *data, int64_t first,
                  int64_t stride, size_t count, float *words) {
  switch (type) {
  case ElementType::F32:
    if (stride == 1)
      std::memcpy(words, data + first * 4, count * 4);
    else
      read<F32>(data, first, stride, count, words);
    return;
  case ElementType::F16:
    if (stride == 1 && reinterpret_cast<uintptr_t>(data) % 2 == 0)
      return widenHalf(count, reinterpret_cast<const uint16_t *>(data) + first,
                       words);
    return read<F16>(data, first, stride, count, words);
  case ElementType::BF16:
    return read<BF16>(data, first, stride, count, words);
  case ElementType::I32:
    return read<Whole<int32_t>>(data, first, stride, count, words);
  case ElementType::I16:
    return read<Whole<int16_t>>(data, first, stride, count, words);
  case ElementType::I64:
    return read<Whole<int64_t>>(data, first, stride, count, words);
  case ElementType::Bool:
    return read<Boolean>(data, first, stride, count, words);
  }
}

void writeElements(ElementType type, uint8_t *data, int64_t first,
                   int64_t stride, size_t count, const float *words) {
  switch (type) {
  case ElementType::F32:
    return write<F32>(data, first, stride, count, words);
  case ElementType::F16:
    return write<F16>(data, first, stride, count, words);
  case ElementType::BF16:
    return write<BF16>(data, first, stride, count, words);
  case ElementType::I32:
    return write<Whole<int32_t>>(data, first, stride, count, words);
  case ElementType::I16:
    return write<Whole<int16_t>>(data, first, stride, count, words);
  case ElementType::I64:
    return write<Whole<int64_t>>(data, first, stride, count, words);
  case ElementType::Bool:
    return write<Boolean>(data, first, stride, count, words);
  }
}

// ---------------------------------------------------------------- wires

namespace {

/// The integers of a tensor that a wire carries exactly.
struct Range {
  int64_t low, high;
};

Range exactRange(ElementType wire) {
  switch (wire) {
  case ElementType::I16:
    return {INT16_MIN, INT16_MAX};
  case ElementType::F16:
    return {-(1 << 11), 1 << 11};
  case ElementType::BF16:
    return {-(1 << 8), 1 << 8};
  case ElementType::F32:
    return {-(1 << 24), 1 << 24};
  default:
    return {INT32_MIN, INT32_MAX};
  }
}

template <typename Integer>
Integer loadInteger(const uint8_t *data, int64_t element) {
  Integer value;
  std::memcpy(&value, data + element * int64_t(sizeof(value)), sizeof(value));
  return value;
}

template <typename Stored>
void storeAs(void *data, int64_t element, Stored value) {
  std::memcpy(static_cast<uint8_t *>(data) + element * int64_t(sizeof(value)),
              &value, sizeof(value));
}

/// The first of the elements that the wire does not carry.
template <typename Integer>
size_t firstBeyond(ElementType wire, const uint8_t *data, int64_t first,
                   int64_t stride, size_t count) {
  const auto [low, high] = exactRange(wire);
  if (low <= std::numeric_limits<Integer>::min() &&
      high >= std::numeric_limits<Integer>::max())
    return count;
  auto beyond = [&](size_t i) {
    const int64_t value =
        loadInteger<Integer>(data, first + int64_t(i) * stride);
    return value < low || value > high;
  };
  bool any = false;
  for (size_t i = 0; i < count; ++i)
    any |= beyond(i);
  size_t i = 0;
  while (any && !beyond(i))
    ++i;
  return any ? i : count;
}

/// Elements converted at a time, on the stack.
constexpr size_t convertedAtOnce = 512;

template <typename Visit>
void inParts(size_t count, const Visit &visit) {
  for (size_t done = 0; done < count; done += convertedAtOnce)
    visit(done, std::min(convertedAtOnce, count - done));
}

void narrow(ElementType type, size_t count, const float *values,
            uint16_t *elements) {
  if (type == ElementType::F16)
    return narrowToHalf(count, values, elements);
  for (size_t i = 0; i < count; ++i)
    elements[i] = bfloatFromFloat(values[i]);
}

void widen(ElementType type, size_t count, const uint16_t *elements,
           float *values) {
  if (type == ElementType::F16)
    return widenHalf(count, elements, values);
  for (size_t i = 0; i < count; ++i)
    values[i] = std::bit_cast<float>(uint32_t(elements[i]) << 16);
}

/// Element i of one array is element i * stride of the other.
template <typename Bits>
void gather(const uint8_t *data, int64_t first, int64_t stride, size_t count,
            void *elements) {
  for (size_t i = 0; i < count; ++i)
    storeAs(elements, int64_t(i),
            loadInteger<Bits>(data, first + int64_t(i) * stride));
}
template <typename Bits>
void scatter(const void *elements, size_t count, uint8_t *data, int64_t first,
             int64_t stride) {
  for (size_t i = 0; i < count; ++i)
    storeAs(
        data, first + int64_t(i) * stride,
        loadInteger<Bits>(static_cast<const uint8_t *>(elements), int64_t(i)));
}

template <typename Wire, typename Stored>
void convertIntegers(const void *elements, size_t count, uint8_t *data,
                     int64_t first, int64_t stride) {
  for (size_t i = 0; i < count; ++i)
    storeAs(data, first + int64_t(i) * stride,
            Stored(loadInteger<Wire>(static_cast<const uint8_t *>(elements),
                                     int64_t(i))));
}

template <typename Wire>
void convertTo(ElementType type, const void *elements, size_t count,
               uint8_t *data, int64_t first, int64_t stride) {
  if (type == ElementType::I64)
    return convertIntegers<Wire, int64_t>(elements, count, data, first, stride);
  convertIntegers<Wire, int32_t>(elements, count, data, first, stride);
}

template <typename Wire>
void convertFrom(ElementType type, const uint8_t *data, int64_t first,
                 int64_t stride, size_t count, void *elements) {
  auto convert = [&]<typename Stored>(Stored) {
    for (size_t i = 0; i < count; ++i)
      storeAs(elements, int64_t(i),
              Wire(loadInteger<Stored>(data, first + int64_t(i) * stride)));
  };
  switch (type) {
  case ElementType::I64:
    return convert(int64_t());
  case ElementType::I32:
    return convert(int32_t());
  case ElementType::I16:
    return convert(int16_t());
  default:
    for (size_t i = 0; i < count; ++i)
      storeAs(elements, int64_t(i),
              Wire(data[first + int64_t(i) * stride] != 0));
  }
}

} // namespace

size_t readWire(ElementType wire, ElementType type, const uint8_t *data,
                int64_t first, int64_t stride, size_t count, void *elements) {
  size_t good = count;
  if (type == ElementType::I64)
    good = firstBeyond<int64_t>(wire, data, first, stride, count);
  if (type == ElementType::I32)
    good = firstBeyond<int32_t>(wire, data, first, stride, count);
  if (type == ElementType::I16)
    good = firstBeyond<int16_t>(wire, data, first, stride, count);
  if (good < count)
    return good;
  if (wire == ElementType::F32)
    readElements(type, data, first, stride, count,
                 static_cast<float *>(elements));
  else if (wire == ElementType::I32)
    convertFrom<int32_t>(type, data, first, stride, count, elements);
  else if (wire == ElementType::I16)
    convertFrom<int16_t>(type, data, first, stride, count, elements);
  else if (wire == type)
    gather<uint16_t>(data, first, stride, count, elements);
  else
    inParts(count, [&](size_t done, size_t part) {
      float values[convertedAtOnce];
      readElements(type, data, first + int64_t(done) * stride, stride, part,
                   values);
      narrow(wire, part, values, static_cast<uint16_t *>(elements) + done);
    });
  return count;
}

std::string wholeRange(ElementType wire) {
  const auto [low, high] = exactRange(wire);
  return "from " + std::to_string(low) + " to " + std::to_string(high);
}

void writeWire(ElementType wire, const void *elements, size_t count,
               ElementType type, uint8_t *data, int64_t first, int64_t stride) {
  if (wire == ElementType::F32)
    writeElements(type, data, first, stride, count,
                  static_cast<const float *>(elements));
  else if (wire == type && elementSize(wire) == 2)
    scatter<uint16_t>(elements, count, data, first, stride);
  else if (wire == type)
    scatter<uint32_t>(elements, count, data, first, stride);
  else if (wire == ElementType::I32)
    convertTo<int32_t>(type, elements, count, data, first, stride);
  else if (wire == ElementType::I16)
    convertTo<int16_t>(type, elements, count, data, first, stride);
  else
    inParts(count, [&](size_t done, size_t part) {
      float values[convertedAtOnce];
      widen(wire, part, static_cast<const uint16_t *>(elements) + done, values);
      writeElements(type, data, first + int64_t(done) * stride, stride, part,
                    values);
    });
}

static void addValues(const float *values, size_t count, float *sums,
                      int64_t stride) {
  const UnalignedFloat *from = values;
  for (size_t i = 0; i < count; ++i)
    sums[int64_t(i) * stride] += from[i];
}

void addWire(ElementType wire, const void *elements, size_t count, float *sums,
             int64_t stride) {
  if (wire == ElementType::F32)
    return addValues(static_cast<const float *>(elements), count, sums, stride);
  inParts(count, [&](size_t done, size_t part) {
    float values[convertedAtOnce];
    widen(wire, part, static_cast<const uint16_t *>(elements) + done, values);
    addValues(values, part, sums + int64_t(done) * stride, stride);
  });
}

int64_t readIndex(ElementType type, const uint8_t *data, uint64_t index) {
  if (type == ElementType::I32)
    return loadInteger<int32_t>(data, int64_t(index));
  if (type == ElementType::I16)
    return loadInteger<int16_t>(data, int64_t(index));
  return loadInteger<int64_t>(data, int64_t(index));
}

} // namespace wsec::runtime
