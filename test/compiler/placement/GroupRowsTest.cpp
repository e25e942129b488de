// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/placement/FreeColumns.h"
#include "compiler/placement/PlacementSolver.h"

#include <gtest/gtest.h>

using namespace wsec;

namespace {

/// Groups have rows of their own, round keep-outs, however many choices of
/// rows there are.
TEST(GroupRows, GroupsHaveRowsOfTheirOwn) {
  for (int64_t groups : {2, 3, 4}) {
    PlacementProblem problem;
    problem.width = 12;
    problem.height = 40;
    for (int64_t row = 0; row < problem.height; row += 2)
      problem.channelRows.push_back(row);
    problem.keepOuts = {{5, 9, 2, 1}};
    for (int64_t i = 0; i < 3 * groups; ++i) {
      problem.add("region @r" + std::to_string(i), {{4, 7}});
      problem.regions.back().group = size_t(i / 3);
      if (i % 3 > 0)
        problem.edges.push_back({size_t(i - 1), size_t(i), 10});
    }
    Placement placement;
    ASSERT_EQ(solvePlacement(problem, {}, placement), "");
    for (int64_t i = 0; i < 3 * groups; ++i) {
      EXPECT_EQ(placement.regions[size_t(i)].at.y,
                placement.regions[size_t(i - i % 3)].at.y);
      EXPECT_EQ(placement.regions[size_t(i)].at.x, 4 * (i % 3));
    }
  }
}

TEST(FreeColumns, BesideWhatIsTaken) {
  const FreeColumns free = freeColumns(
      12, 4, 3, {{2, 6, 2, 1}, {3, 0, 3, 5}, {8, 3, 1, 1}, {9, 7, 1, 1}});
  using Spans = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(free.spans, (Spans{{0, 2}, {6, 12}}));
  EXPECT_EQ(free.count(), 8);
  EXPECT_EQ(free.firstFor(2, 0), 0);
  EXPECT_EQ(free.firstFor(2, 1), 6);
  EXPECT_EQ(free.firstFor(3, 7), 7);
  EXPECT_EQ(free.firstFor(6, 7), std::nullopt);
  EXPECT_EQ(freeColumns(4, 0, 1, {{0, 0, 4, 2}}).count(), 0);
}

/// Regions of a row step over a keep-out that leaves none of the others room,
/// and where few columns are left in all rows, rows are those that have most.
TEST(GroupRows, RegionsStepOverKeepOuts) {
  for (int64_t groups : {2, 4}) {
    PlacementProblem problem;
    problem.width = 13;
    problem.height = 8 * groups + 1;
    for (int64_t row = 0; row < problem.height; ++row)
      problem.channelRows.push_back(row);
    // With row 0 the first group has no place, without it all have one only.
    problem.keepOuts = {{1, 0, 1, 1}, {8, 4, 1, problem.height - 4}};
    const int64_t widths[] = {8, 4};
    for (int64_t i = 0; i < 2 * groups; ++i) {
      problem.add("region @r" + std::to_string(i), {{widths[i % 2], 8}});
      problem.regions.back().group = size_t(i / 2);
    }
    Placement placement;
    ASSERT_EQ(solvePlacement(problem, {}, placement), "");
    EXPECT_EQ(problem.verify(placement), "");
    for (int64_t i = 0; i < 2 * groups; ++i) {
      EXPECT_EQ(placement.regions[size_t(i)].at.y, 1 + i / 2 * 8);
      EXPECT_EQ(placement.regions[size_t(i)].at.x, i % 2 ? 9 : 0);
    }
  }
}

/// Rows of one would be rows of the other.
TEST(GroupRows, GroupsThatDoNotFit) {
  PlacementProblem problem;
  problem.width = problem.height = 32;
  problem.channelRows = {0, 8, 16, 24};
  problem.add("region @a", {{4, 20}});
  problem.add("region @b", {{4, 8}});
  problem.regions[0].group = 0;
  problem.regions[1].group = 1;
  Placement placement;
  EXPECT_EQ(solvePlacement(problem, {}, placement), "");
  problem.channelRows = {0, 4};
  EXPECT_NE(solvePlacement(problem, {}, placement)
                .find("nor is there in any other arrangement"),
            std::string::npos);
}

} // namespace
