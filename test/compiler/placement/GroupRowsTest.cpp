// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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
