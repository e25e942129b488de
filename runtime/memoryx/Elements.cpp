// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Elements.h"

#include "runtime/memoryx/SmallFloats.h"
#include "runtime/pe/Arithmetic.h"
#include "runtime/pe/HalfKernels.h"
#include "runtime/pe/UnalignedFloat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace wsec::runtime {

using program::ElementType;

namespace {

template <typename Integer>
Integer toInteger(float value) {
  if (std::isnan(value))
    return 0;
  // The upper limit as a float may be one beyond the largest integer.
  constexpr float upper =
      float(std::numeric_limits<Integer>::max() / 2 + 1) * 2;
  if (value >= upper)
    return std::numeric_limits<Integer>::max();
  if (value <= float(std::numeric_limits<Integer>::min()))
    return std::numeric_limits<Integer>::min();
  return Integer(value);
}

/// How a stored element and a word turn into one another.
struct F32 {
  using Stored = float;
  static float load(float stored) { return stored; }
  static float store(float word) { return word; }
};
template <ElementType format>
struct NarrowFloat {
  using Stored = uint16_t;
  static float load(uint16_t stored) { return floatFromNarrow(format, stored); }
  static uint16_t store(float word) { return narrowFromFloat(format, word); }
};
struct F64 {
  using Stored = double;
  static float load(double stored) { return float(stored); }
  static double store(float word) { return word; }
};
template <ElementType type>
struct Small {
  using Stored = uint8_t;
  static float load(uint8_t stored) { return floatFromSmall(type, stored); }
  static uint8_t store(float word) { return smallFromFloat(type, word); }
};
template <typename Integer>
struct Whole {
  using Stored = Integer;
  static float load(Integer stored) { return float(stored); }
  static Integer store(float word) { return toInteger<Integer>(word); }
};
/// An integer of `bits` bits, in the lowest of a byte.
template <unsigned bits, bool isSigned>
struct Bits {
  using Stored = uint8_t;
  static int integer(uint8_t stored) {
    const int low = stored & ((1 << bits) - 1);
    return isSigned && low >> (bits - 1) ? low - (1 << bits) : low;
  }
  static float load(uint8_t stored) { return float(integer(stored)); }
  static uint8_t store(float word) { return uint8_t(toInteger<int8_t>(word)); }
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

/// Calls `visit` with what converts elements of the type.
template <typename Visit>
void visitType(ElementType type, const Visit &visit) {
  switch (type) {
  case ElementType::F32:
    return visit(F32());
  case ElementType::F16:
    return visit(NarrowFloat<ElementType::F16>());
  case ElementType::BF16:
    return visit(NarrowFloat<ElementType::BF16>());
  case ElementType::CB16:
    return visit(NarrowFloat<ElementType::CB16>());
  case ElementType::F64:
    return visit(F64());
  case ElementType::I64:
    return visit(Whole<int64_t>());
  case ElementType::I32:
    return visit(Whole<int32_t>());
  case ElementType::I16:
    return visit(Whole<int16_t>());
  case ElementType::I8:
    return visit(Whole<int8_t>());
  case ElementType::U64:
    return visit(Whole<uint64_t>());
  case ElementType::U32:
    return visit(Whole<uint32_t>());
  case ElementType::U16:
    return visit(Whole<uint16_t>());
  case ElementType::U8:
    return visit(Whole<uint8_t>());
  case ElementType::I4:
    return visit(Bits<4, true>());
  case ElementType::I2:
    return visit(Bits<2, true>());
  case ElementType::U4:
    return visit(Bits<4, false>());
  case ElementType::U2:
    return visit(Bits<2, false>());
  case ElementType::Bool:
    return visit(Boolean());
  case ElementType::F8E4M3FN:
    return visit(Small<ElementType::F8E4M3FN>());
  case ElementType::F8E4M3FNUZ:
    return visit(Small<ElementType::F8E4M3FNUZ>());
  case ElementType::F8E5M2:
    return visit(Small<ElementType::F8E5M2>());
  case ElementType::F8E5M2FNUZ:
    return visit(Small<ElementType::F8E5M2FNUZ>());
  case ElementType::F8E8M0FNU:
    return visit(Small<ElementType::F8E8M0FNU>());
  case ElementType::F4E2M1FN:
    return visit(Small<ElementType::F4E2M1FN>());
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
  case ElementType::BF16:
    if (stride == 1 && reinterpret_cast<uintptr_t>(data) % 2 == 0)
      return widen(type, count,
                   reinterpret_cast<const uint16_t *>(data) + first, words);
    [[fallthrough]];
  default:
    return visitType(type, [&]<typename Type>(Type) {
      read<Type>(data, first, stride, count, words);
    });
  }
}

void writeElements(ElementType type, uint8_t *data, int64_t first,
                   int64_t stride, size_t count, const float *words) {
  if (type == ElementType::F32 && stride == 1) {
    std::memcpy(data + first * 4, words, count * 4);
    return;
  }
  visitType(type, [&]<typename Type>(Type) {
    write<Type>(data, first, stride, count, words);
  });
}

// ---------------------------------------------------------------- wires

namespace {

/// The integers of a tensor that a wire carries exactly.
struct Range {
  int64_t low, high;
};

bool isFloatingPoint(ElementType type) {
  return type <= ElementType::BF16 || type == ElementType::F64 ||
         type >= ElementType::F8E4M3FN;
}

Range exactRange(ElementType wire) {
  switch (wire) {
  case ElementType::I16:
    return {INT16_MIN, INT16_MAX};
  case ElementType::U16:
    return {0, UINT16_MAX};
  case ElementType::U32:
    return {0, UINT32_MAX};
  case ElementType::F16:
    return {-(1 << 11), 1 << 11};
  case ElementType::BF16:
    return {-(1 << 8), 1 << 8};
  case ElementType::CB16:
    return {-(1 << 10), 1 << 10};
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

/// Calls `visit` with an integer of the type that elements are stored as, and
/// what one of them is; only for integers.
template <typename Visit>
void visitInteger(ElementType type, const Visit &visit) {
  visitType(type, [&]<typename Type>(Type) {
    using Stored = typename Type::Stored;
    if constexpr (requires { Type::integer(Stored()); })
      visit(Stored(), Type::integer);
    else if constexpr (std::is_integral_v<Stored>)
      visit(Stored(), [](Stored stored) { return stored; });
  });
}

/// The first of the elements that the wire does not carry. An I32 has the bits
/// of a U32.
size_t firstBeyond(ElementType wire, ElementType type, const uint8_t *data,
                   int64_t first, int64_t stride, size_t count) {
  const bool isBits = type == ElementType::U32 && wire == ElementType::I32;
  if (isFloatingPoint(type) || type == ElementType::Bool || isBits)
    return count;
  const auto [low, high] = exactRange(wire);
  size_t good = count;
  visitInteger(type, [&](auto zero, auto integer) {
    using Stored = decltype(zero);
    if (std::cmp_less_equal(low, std::numeric_limits<Stored>::min()) &&
        std::cmp_greater_equal(high, std::numeric_limits<Stored>::max()))
      return;
    auto beyond = [&](size_t i) {
      const auto value =
          integer(loadInteger<Stored>(data, first + int64_t(i) * stride));
      return std::cmp_less(value, low) || std::cmp_greater(value, high);
    };
    bool any = false;
    for (size_t i = 0; i < count; ++i)
      any |= beyond(i);
    for (good = 0; any && !beyond(good);)
      ++good;
    if (!any)
      good = count;
  });
  return good;
}

/// Elements converted at a time, on the stack.
constexpr size_t convertedAtOnce = 512;

template <typename Visit>
void inParts(size_t count, const Visit &visit) {
  for (size_t done = 0; done < count; done += convertedAtOnce)
    visit(done, std::min(convertedAtOnce, count - done));
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

/// The integers of a tensor.
Range rangeOf(ElementType type) {
  switch (type) {
  case ElementType::I16:
    return {INT16_MIN, INT16_MAX};
  case ElementType::I8:
    return {INT8_MIN, INT8_MAX};
  case ElementType::I4:
    return {-8, 7};
  case ElementType::I2:
    return {-2, 1};
  case ElementType::U64:
    return {0, INT64_MAX};
  case ElementType::U16:
    return {0, UINT16_MAX};
  case ElementType::U8:
    return {0, UINT8_MAX};
  case ElementType::U4:
    return {0, 15};
  case ElementType::U2:
    return {0, 3};
  default: // of 32 bits the bits are kept
    return {INT64_MIN, INT64_MAX};
  }
}

template <typename Wire>
size_t convertTo(ElementType type, const void *elements, size_t count,
                 uint8_t *data, int64_t first, int64_t stride) {
  const auto [low, high] = rangeOf(type);
  size_t i = 0;
  visitType(type, [&]<typename Type>(Type) {
    for (; i < count; ++i) {
      const Wire word =
          loadInteger<Wire>(static_cast<const uint8_t *>(elements), int64_t(i));
      if (word < low || word > high)
        return;
      storeAs(data, first + int64_t(i) * stride, typename Type::Stored(word));
    }
  });
  return i;
}

template <typename Wire>
void convertFrom(ElementType type, const uint8_t *data, int64_t first,
                 int64_t stride, size_t count, void *elements) {
  const bool isBool = type == ElementType::Bool;
  visitInteger(type, [&](auto zero, auto integer) {
    using Stored = decltype(zero);
    for (size_t i = 0; i < count; ++i) {
      const Stored stored =
          loadInteger<Stored>(data, first + int64_t(i) * stride);
      storeAs(elements, int64_t(i),
              isBool ? Wire(stored != 0) : Wire(integer(stored)));
    }
  });
}

} // namespace

size_t readWire(ElementType wire, ElementType type, const uint8_t *data,
                int64_t first, int64_t stride, size_t count, void *elements) {
  const size_t good = firstBeyond(wire, type, data, first, stride, count);
  if (good < count)
    return good;
  if (wire == ElementType::F32)
    readElements(type, data, first, stride, count,
                 static_cast<float *>(elements));
  else if (wire == ElementType::I32)
    convertFrom<int32_t>(type, data, first, stride, count, elements);
  else if (wire == ElementType::I16)
    convertFrom<int16_t>(type, data, first, stride, count, elements);
  else if (wire == ElementType::U32)
    convertFrom<uint32_t>(type, data, first, stride, count, elements);
  else if (wire == ElementType::U16)
    convertFrom<uint16_t>(type, data, first, stride, count, elements);
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

size_t writeWire(ElementType wire, const void *elements, size_t count,
                 ElementType type, uint8_t *data, int64_t first,
                 int64_t stride) {
  if (wire == ElementType::F32)
    writeElements(type, data, first, stride, count,
                  static_cast<const float *>(elements));
  else if (wire == type && elementSize(wire) == 2)
    scatter<uint16_t>(elements, count, data, first, stride);
  else if (wire == type)
    scatter<uint32_t>(elements, count, data, first, stride);
  else if (wire == ElementType::I32)
    return convertTo<int32_t>(type, elements, count, data, first, stride);
  else if (wire == ElementType::I16)
    return convertTo<int16_t>(type, elements, count, data, first, stride);
  else if (wire == ElementType::U32)
    return convertTo<uint32_t>(type, elements, count, data, first, stride);
  else if (wire == ElementType::U16)
    return convertTo<uint16_t>(type, elements, count, data, first, stride);
  else
    inParts(count, [&](size_t done, size_t part) {
      float values[convertedAtOnce];
      widen(wire, part, static_cast<const uint16_t *>(elements) + done, values);
      writeElements(type, data, first + int64_t(done) * stride, stride, part,
                    values);
    });
  return count;
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
  int64_t result = 0;
  visitInteger(type, [&](auto zero, auto integer) {
    result =
        int64_t(integer(loadInteger<decltype(zero)>(data, int64_t(index))));
  });
  return result;
}

std::string printedIndex(ElementType type, const uint8_t *data,
                         uint64_t index) {
  const int64_t value = readIndex(type, data, index);
  return type == ElementType::U64 ? std::to_string(uint64_t(value))
                                  : std::to_string(value);
}

} // namespace wsec::runtime
