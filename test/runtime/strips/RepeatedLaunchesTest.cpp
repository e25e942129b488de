// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/RepeatedLaunches.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using Repeats = std::vector<RepeatedLaunches>;

TEST(RepeatedLaunchesTest, LayersBetweenOthers) {
  EXPECT_EQ(findRepeats({9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 8}, 3),
            (Repeats{{1, 3, 3}}));
}

TEST(RepeatedLaunchesTest, TheFirstMayDiffer) {
  // The layers are counted from what the first has in common with the others.
  EXPECT_EQ(findRepeats({1, 7, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}, 3),
            (Repeats{{2, 3, 3, 1}}));
}

TEST(RepeatedLaunchesTest, TheLastMayEndOtherwise) {
  EXPECT_EQ(findRepeats({1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 9, 1, 9, 1, 9, 1}, 3),
            (Repeats{{0, 3, 3, 2}, {11, 2, 3}}));
}

TEST(RepeatedLaunchesTest, TooFew) {
  EXPECT_EQ(findRepeats({1, 2, 1, 2, 1, 2}, 4), Repeats{});
  EXPECT_EQ(findRepeats({}, 2), Repeats{});
}

TEST(RepeatedLaunchesTest, TheShortestPeriod) {
  EXPECT_EQ(findRepeats({1, 1, 1, 1, 1, 1}, 3), (Repeats{{0, 1, 6}}));
}

TEST(RepeatedLaunchesTest, WaysThereAndBack) {
  EXPECT_EQ(findRepeats({1, 2, 1, 2, 1, 2, 0, 3, 4, 5, 3, 4, 5, 3, 4, 5}, 3),
            (Repeats{{0, 2, 3}, {7, 3, 3}}));
}

} // namespace
} // namespace wsec::runtime
