// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/LaneScalars.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using Numbers = std::vector<int64_t>;

TEST(LaneScalarsTest, ValuesOfAnySizeComeBack) {
  const Numbers values{-128, 32767,  1LL << 31, -32769, 1, // lane 0
                       127,  -32768, 7,         0,      0, // lane 1
                       -1,   128,    INT64_MIN, 5,      1};
  const LaneScalars lanes({4, 0, 2, 1, 5}, values);
  Numbers scalars{9, 9, 9, 9, 9, 9};
  lanes.copyTo(scalars, 0);
  EXPECT_EQ(scalars, (Numbers{32767, -32769, 1LL << 31, 9, -128, 1}));
  lanes.copyTo(scalars, 2);
  EXPECT_EQ(scalars, (Numbers{128, 5, INT64_MIN, 9, -1, 1}));
  lanes.copyTo(scalars, 1);
  EXPECT_EQ(scalars, (Numbers{-32768, 0, 7, 9, 127, 0}));
}

TEST(LaneScalarsTest, SomeOfThemComeBack) {
  const LaneScalars lanes({4, 0, 2}, {1, 300, 3, 4, 500, 6});
  Numbers scalars{9, 9, 9, 9, 9};
  lanes.copyTo(scalars, 1, {0, 1, 4, 7});
  EXPECT_EQ(scalars, (Numbers{500, 9, 9, 9, 4}));
}

TEST(LaneScalarsTest, EachTakesTheBytesThatItsValuesNeed) {
  EXPECT_EQ(LaneScalars({0}, {-128, 127}).bytes(), 2u);
  EXPECT_EQ(LaneScalars({0}, {-129, 0}).bytes(), 4u);
  EXPECT_EQ(LaneScalars({0}, {0, 32768}).bytes(), 8u);
  EXPECT_EQ(LaneScalars({0}, {0, 1LL << 31}).bytes(), 16u);
  EXPECT_EQ(LaneScalars({0, 1}, {0, 128, 1, 128}).bytes(), 6u);
  EXPECT_EQ(LaneScalars({}, {}).bytes(), 0u);
}

} // namespace
} // namespace wsec::runtime
