// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Elements.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace wsec::runtime {
namespace {

using program::ElementType;

TEST(HalfTest, RoundTripsEveryValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = halfToFloat(uint16_t(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(value))));
    else
      EXPECT_EQ(floatToHalf(value), bits) << value;
  }
}

TEST(HalfTest, KnownValues) {
  EXPECT_EQ(halfToFloat(0x3c00), 1.0f);
  EXPECT_EQ(halfToFloat(0x0001), 0x1p-24f);
  EXPECT_EQ(halfToFloat(0xfbff), -65504.0f);
  EXPECT_EQ(halfToFloat(0x7c00), std::numeric_limits<float>::infinity());
}

TEST(HalfTest, RoundsToNearestEven) {
  EXPECT_EQ(floatToHalf(1 + 0x1p-11f), 0x3c00);            // tie, to even
  EXPECT_EQ(floatToHalf(1 + 3 * 0x1p-11f), 0x3c02);        // tie, to even
  EXPECT_EQ(floatToHalf(1 + 0x1p-11f + 0x1p-20f), 0x3c01); // above the tie
  EXPECT_EQ(floatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(floatToHalf(0x1p-25f), 0x0000);
  EXPECT_EQ(floatToHalf(-0x1.8p-25f), 0x8001);
}

TEST(BrainTest, RoundTripsAndRounds) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = brainToFloat(uint16_t(bits));
    if (!std::isnan(value))
      EXPECT_EQ(floatToBrain(value), bits);
  }
  EXPECT_EQ(floatToBrain(1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(floatToBrain(1 + 3 * 0x1p-8f), 0x3f82);
  EXPECT_TRUE(std::isnan(brainToFloat(floatToBrain(NAN))));
}

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

} // namespace
} // namespace wsec::runtime
