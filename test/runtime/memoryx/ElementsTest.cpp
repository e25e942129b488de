// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Elements.h"
#include "runtime/memoryx/StridedWords.h"
#include "runtime/pe/Arithmetic.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace wsec::runtime {
namespace {

using program::ElementType;

template <typename Stored>
std::vector<float> readAll(ElementType type, const std::vector<Stored> &data,
                           int64_t first, int64_t stride, size_t count) {
  std::vector<float> words(count);
  readElements(type, reinterpret_cast<const uint8_t *>(data.data()), first,
               stride, count, words.data());
  return words;
}

TEST(ElementsTest, ReadEveryType) {
  EXPECT_EQ(readAll<float>(ElementType::F32, {1, 2, 3, 4}, 3, -2, 2),
            (std::vector<float>{4, 2}));
  EXPECT_EQ(readAll<uint16_t>(ElementType::F16, {0, 0x3c00}, 0, 1, 2),
            (std::vector<float>{0, 1}));
  EXPECT_EQ(readAll<uint16_t>(ElementType::BF16, {0x3f80}, 0, 1, 1),
            (std::vector<float>{1}));
  EXPECT_EQ(readAll<int32_t>(ElementType::I32, {-5, 7}, 0, 1, 2),
            (std::vector<float>{-5, 7}));
  EXPECT_EQ(readAll<int64_t>(ElementType::I64, {-5, 7}, 1, 0, 2),
            (std::vector<float>{7, 7}));
  EXPECT_EQ(readAll<uint8_t>(ElementType::Bool, {0, 1, 2}, 0, 1, 3),
            (std::vector<float>{0, 1, 1}));
}

template <typename Stored>
std::vector<Stored> writeAll(ElementType type, std::vector<float> words) {
  std::vector<Stored> data(words.size());
  writeElements(type, reinterpret_cast<uint8_t *>(data.data()), 0, 1,
                words.size(), words.data());
  return data;
}

TEST(ElementsTest, WriteIntegersTowardsZeroAndSaturate) {
  EXPECT_EQ(
      writeAll<int32_t>(ElementType::I32, {1.9f, -1.9f, 3e9f, -3e9f, NAN}),
      (std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, 0}));
  EXPECT_EQ(writeAll<int64_t>(ElementType::I64, {9.3e18f, -9.3e18f, 5}),
            (std::vector<int64_t>{INT64_MAX, INT64_MIN, 5}));
  EXPECT_EQ(writeAll<uint8_t>(ElementType::Bool, {0, -0.0f, 0.5f}),
            (std::vector<uint8_t>{0, 0, 1}));
}

template <typename Bits, typename Stored>
std::vector<Bits> wireBits(ElementType wire, ElementType type,
                           const std::vector<Stored> &data, int64_t first,
                           int64_t stride, size_t count) {
  std::vector<Bits> bits(count);
  EXPECT_EQ(readWire(wire, type, reinterpret_cast<const uint8_t *>(data.data()),
                     first, stride, count, bits.data()),
            count);
  return bits;
}

constexpr float inf = std::numeric_limits<float>::infinity();

TEST(WireTest, FloatsRoundToNearestEvenHalves) {
  const std::vector<float> values{1 + 0x1p-11f,
                                  1 + 3 * 0x1p-11f,
                                  1 + 0x1p-11f + 0x1p-20f, // ties
                                  65519,
                                  65520,
                                  -1e30f, // overflow
                                  0x1p-24f,
                                  0x1p-25f,
                                  -0x1.8p-25f, // subnormals
                                  0x1p-14f,
                                  inf,
                                  -inf,
                                  -0.0f};
  EXPECT_EQ(wireBits<uint16_t>(ElementType::F16, ElementType::F32, values, 0, 1,
                               values.size()),
            (std::vector<uint16_t>{0x3c00, 0x3c02, 0x3c01, 0x7bff, 0x7c00,
                                   0xfc00, 0x0001, 0x0000, 0x8001, 0x0400,
                                   0x7c00, 0xfc00, 0x8000}));
  const std::vector<float> wide{1 + 0x1p-8f, 1 + 3 * 0x1p-8f,
                                std::numeric_limits<float>::max(), 0x1p-133f,
                                -inf};
  EXPECT_EQ(wireBits<uint16_t>(ElementType::BF16, ElementType::F32, wide, 0, 1,
                               wide.size()),
            (std::vector<uint16_t>{0x3f80, 0x3f82, 0x7f80, 0x0001, 0xff80}));
}

TEST(WireTest, NotANumberStaysOne) {
  const std::vector<float> values(33, std::numeric_limits<float>::quiet_NaN());
  for (uint16_t half : wireBits<uint16_t>(ElementType::F16, ElementType::F32,
                                          values, 0, 1, values.size()))
    EXPECT_GT(half & 0x7fff, 0x7c00);
  for (uint16_t half : wireBits<uint16_t>(ElementType::BF16, ElementType::F32,
                                          values, 0, 1, values.size()))
    EXPECT_GT(half & 0x7fff, 0x7f80);
}

/// What is of the wire's type already keeps its bits, whatever they are.
TEST(WireTest, EqualTypesAreCopied) {
  std::vector<uint16_t> all(0x10000);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = uint16_t(i);
  for (ElementType type :
       {ElementType::F16, ElementType::BF16, ElementType::I16}) {
    EXPECT_EQ(wireBits<uint16_t>(type, type, all, 0, 1, all.size()), all);
    std::vector<uint16_t> back(all.size());
    writeWire(type, all.data(), all.size(), type,
              reinterpret_cast<uint8_t *>(back.data()), 0, 1);
    EXPECT_EQ(back, all);
  }
}

/// Longer than what is converted at a time, with a stride, there and back.
TEST(WireTest, EveryHalfGoesThroughAFloatTensor) {
  std::vector<float> values(3 * 0x8000);
  std::vector<uint16_t> halves;
  for (uint32_t i = 0; i < 0x8000; ++i)
    if ((i & 0x7c00) != 0x7c00) {
      values[3 * halves.size() + 1] = floatFromHalf(uint16_t(i));
      halves.push_back(uint16_t(i));
    }
  EXPECT_EQ(wireBits<uint16_t>(ElementType::F16, ElementType::F32, values, 1, 3,
                               halves.size()),
            halves);
  std::vector<float> back(values.size());
  writeWire(ElementType::F16, halves.data(), halves.size(), ElementType::F32,
            reinterpret_cast<uint8_t *>(back.data()), 1, 3);
  EXPECT_EQ(back, values);
  std::vector<float> sums = values;
  addWire(ElementType::F16, halves.data(), halves.size(), sums.data() + 1, 3);
  for (size_t i = 0; i < sums.size(); ++i)
    EXPECT_EQ(sums[i], 2 * values[i]);
}

TEST(WireTest, IntegersAreExactOrFound) {
  const std::vector<int64_t> values{1 << 24, -5, -(1 << 24), (1 << 24) + 1};
  auto read = [&](ElementType wire, size_t count) {
    std::vector<uint32_t> bits(count);
    return readWire(wire, ElementType::I64,
                    reinterpret_cast<const uint8_t *>(values.data()), 0, 1,
                    count, bits.data());
  };
  EXPECT_EQ(read(ElementType::F32, 3), 3u);
  EXPECT_EQ(read(ElementType::F32, 4), 3u);
  EXPECT_EQ(read(ElementType::I32, 4), 4u);
  EXPECT_EQ(read(ElementType::I16, 4), 0u);
  EXPECT_EQ(wireBits<int32_t>(ElementType::I32, ElementType::Bool,
                              std::vector<uint8_t>{0, 7, 1}, 0, 1, 3),
            (std::vector<int32_t>{0, 1, 1}));
  const std::vector<int16_t> shorts{-3, 7};
  std::vector<int64_t> longs(2);
  writeWire(ElementType::I16, shorts.data(), 2, ElementType::I64,
            reinterpret_cast<uint8_t *>(longs.data()), 1, -1);
  EXPECT_EQ(longs, (std::vector<int64_t>{7, -3}));
}

TEST(WireTest, IntegersOfEveryWidth) {
  EXPECT_EQ(wireBits<int32_t>(ElementType::I32, ElementType::U8,
                              std::vector<uint8_t>{0, 255}, 0, 1, 2),
            (std::vector<int32_t>{0, 255}));
  EXPECT_EQ(wireBits<int32_t>(ElementType::I32, ElementType::I4,
                              std::vector<uint8_t>{0x7, 0x8, 0xff}, 0, 1, 3),
            (std::vector<int32_t>{7, -8, -1}));
  EXPECT_EQ(wireBits<int32_t>(ElementType::I32, ElementType::U2,
                              std::vector<uint8_t>{0x3, 0xfc}, 0, 1, 2),
            (std::vector<int32_t>{3, 0}));
  // The bits of an unsigned number of 32 bits; more bits are refused.
  EXPECT_EQ(wireBits<uint32_t>(ElementType::I32, ElementType::U32,
                               std::vector<uint32_t>{0xffffffff}, 0, 1, 1),
            (std::vector<uint32_t>{0xffffffff}));
  const std::vector<uint64_t> wide{INT32_MAX, uint64_t(INT32_MAX) + 1};
  int32_t words[2];
  EXPECT_EQ(readWire(ElementType::I32, ElementType::U64,
                     reinterpret_cast<const uint8_t *>(wide.data()), 0, 1, 2,
                     words),
            1u);
}

TEST(WireTest, IntegersThatATensorDoesNotHoldAreFound) {
  const std::vector<int32_t> words{0, 127, -1, 128};
  std::vector<uint8_t> bytes(8 * words.size());
  auto write = [&](ElementType type) {
    return writeWire(ElementType::I32, words.data(), words.size(), type,
                     bytes.data(), 0, 1);
  };
  EXPECT_EQ(write(ElementType::I8), 3u);
  EXPECT_EQ(write(ElementType::U8), 2u);
  EXPECT_EQ(write(ElementType::U64), 2u);
  EXPECT_EQ(write(ElementType::I16), 4u);
  EXPECT_EQ(write(ElementType::U32), 4u);
}

/// Values of ml_dtypes.
TEST(ElementsTest, SmallFloatsRoundToNearestEven) {
  const float nan = NAN;
  EXPECT_EQ(writeAll<uint8_t>(ElementType::F8E4M3FN,
                              {nan, inf, 464, 465, -0.0f, 240, 249, 1e-7f}),
            (std::vector<uint8_t>{127, 127, 126, 127, 128, 119, 120, 0}));
  EXPECT_EQ(writeAll<uint8_t>(ElementType::F8E4M3FNUZ,
                              {nan, inf, 247, 248, -0.0f, -1e-9f}),
            (std::vector<uint8_t>{128, 128, 127, 128, 0, 0}));
  EXPECT_EQ(writeAll<uint8_t>(ElementType::F8E5M2,
                              {nan, inf, -inf, 480, 60000, 61440, 65000}),
            (std::vector<uint8_t>{126, 124, 252, 96, 123, 124, 124}));
  EXPECT_EQ(writeAll<uint8_t>(ElementType::F8E5M2FNUZ,
                              {nan, 465, 480, 60000, 61440, 65000}),
            (std::vector<uint8_t>{128, 99, 100, 127, 128, 128}));
  EXPECT_EQ(writeAll<uint8_t>(ElementType::F4E2M1FN,
                              {nan, inf, -inf, 9, -8, 5, 0.25f, 0.75f, 1.25f,
                               -0.0f, 3.5f, 2.5f}),
            (std::vector<uint8_t>{8, 7, 15, 7, 15, 6, 0, 2, 2, 8, 6, 4}));
  EXPECT_EQ(writeAll<uint8_t>(ElementType::F8E8M0FNU, {0, 1, 1.1f, 4, nan}),
            (std::vector<uint8_t>{0, 127, 128, 129, 255}));
}

TEST(ElementsTest, SmallFloatsComeBackAsTheyWere) {
  for (ElementType type :
       {ElementType::F8E4M3FN, ElementType::F8E4M3FNUZ, ElementType::F8E5M2,
        ElementType::F8E5M2FNUZ, ElementType::F8E8M0FNU, ElementType::F4E2M1FN})
    for (int code = 0; code < (type == ElementType::F4E2M1FN ? 16 : 256);
         ++code) {
      const float value =
          readAll<uint8_t>(type, {uint8_t(code)}, 0, 1, 1).front();
      if (!std::isnan(value)) {
        EXPECT_EQ(writeAll<uint8_t>(type, {value}).front(), code)
            << program::EnumNameElementType(type) << " " << value;
      }
    }
}

/// Loops around one copy, in any order, are the same copy; `from` has no
/// alignment.
TEST(ElementsTest, CopyStridedWords) {
  std::mt19937 random(1);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  constexpr size_t most = 1 << 16;
  std::vector<uint8_t> bytes(4 * most + 1);
  for (uint8_t &byte : bytes)
    byte = uint8_t(pick(0, 0x3f));
  for (int round = 0; round < 2000; ++round) {
    const size_t rank = size_t(pick(0, 4));
    std::vector<int64_t> extent(rank), from(rank), to(rank);
    for (int64_t &its : extent)
      its = pick(1, pick(0, 3) ? 8 : 20);
    // Each side has the loops in an order of its own, at times with gaps.
    for (std::vector<int64_t> *strides : {&from, &to}) {
      std::vector<size_t> order(rank);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      int64_t stride = pick(0, 4) ? 1 : 2;
      for (size_t d : order) {
        (*strides)[d] = stride;
        stride *= extent[d] + (pick(0, 2) ? 0 : pick(0, 9));
      }
      if (rank > 0 && strides == &from && pick(0, 4) == 0)
        from[size_t(pick(0, int64_t(rank) - 1))] *= -1;
    }
    int64_t first = 0, floats = 1, words = 1;
    for (size_t d = 0; d < rank; ++d) {
      first -= std::min<int64_t>(0, (extent[d] - 1) * from[d]);
      floats += (extent[d] - 1) * std::abs(from[d]);
      words += (extent[d] - 1) * to[d];
    }
    if (floats > int64_t(most) || words > int64_t(most))
      continue;
    std::vector<float> expected(size_t(words), -1), found = expected;
    std::vector<int64_t> at(rank);
    StridedWords loops;
    for (size_t d = 0; d < rank; ++d)
      loops.loop(extent[d], from[d], to[d]);
    loops.copy(bytes.data() + 1 + 4 * first, found.data());
    for (bool more = true; more;) {
      int64_t source = first, target = 0;
      for (size_t d = 0; d < rank; ++d) {
        source += at[d] * from[d];
        target += at[d] * to[d];
      }
      std::memcpy(&expected[size_t(target)], bytes.data() + 1 + 4 * source, 4);
      more = false;
      for (size_t d = rank; d-- > 0 && !more;) {
        more = ++at[d] < extent[d];
        if (!more)
          at[d] = 0;
      }
    }
    ASSERT_EQ(found, expected) << "round " << round;
  }
}

} // namespace
} // namespace wsec::runtime
