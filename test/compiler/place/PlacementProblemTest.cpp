// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/PlacementProblem.h"
#include "compiler/place/SkylinePlacer.h"

#include <gtest/gtest.h>

#include <functional>

using namespace wsec;

namespace {

/// The worked example of PlacementProblem.h.
PlacementProblem example(bool timeShared) {
  PlacementProblem problem;
  problem.width = problem.height = 32;
  problem.channels = 4;
  problem.timeShared = timeShared;
  problem.kernels = {
      {"qkv", 32, 16, 0}, {"softmax", 32, 16, 0}, {"pooler", 32, 4, 1}};
  return problem;
}

Placement solve(const PlacementProblem &problem) {
  EXPECT_EQ(problem.check(), "");
  Placement placement;
  EXPECT_EQ(placeBySkyline(problem, placement), "");
  EXPECT_EQ(problem.verify(placement), "");
  return placement;
}

TEST(PlacementProblem, WorkedExample) {
  Placement placement = solve(example(false));
  EXPECT_EQ(placement.regions[0].y, 0);
  EXPECT_EQ(placement.regions[1].y, 0);
  EXPECT_EQ(placement.regions[2].x, 0);
  EXPECT_EQ(placement.regions[2].y, 16);
}

TEST(PlacementProblem, TimeSharedKernelsAllStartAtTheChannels) {
  for (const PlacedRegion &region : solve(example(true)).regions) {
    EXPECT_EQ(region.x, 0);
    EXPECT_EQ(region.y, 0);
  }
}

TEST(PlacementProblem, PacksResidentGroupsWithoutOverlap) {
  PlacementProblem problem = example(false);
  problem.kernels.clear();
  for (int64_t i = 0; i < 20; ++i)
    problem.kernels.push_back(
        {"k" + std::to_string(i), 3 + i % 5, 4 + i % 3, i});
  solve(problem);
}

TEST(PlacementProblem, ChannelsAreSpreadEvenly) {
  PlacementProblem problem = example(true);
  problem.width = 10;
  problem.kernels.clear();
  Placement placement = solve(problem);
  ASSERT_EQ(placement.west.size(), 4u);
  EXPECT_EQ(placement.west[1].row, 8);
  EXPECT_EQ(placement.west[1].begin, 3);
  EXPECT_EQ(placement.west[1].end, 6);
  EXPECT_EQ(placement.east[1].begin, 8);
  EXPECT_EQ(placement.east[1].end, 16);
}

TEST(PlacementProblem, TooLargeForTheMesh) {
  PlacementProblem problem = example(true);
  problem.kernels[1].rows = 33;
  Placement placement;
  EXPECT_EQ(placeBySkyline(problem, placement),
            "kernel 'qkv' and the 1 that share its tensors need 32x33 PEs, "
            "the mesh has 32x32; compile for a larger mesh or fewer tokens");
}

TEST(PlacementProblem, NoRoomLeft) {
  PlacementProblem problem = example(false);
  problem.kernels[2].rows = 15;
  problem.kernels.push_back({"head", 2, 2, 2});
  Placement placement;
  EXPECT_EQ(placeBySkyline(problem, placement),
            "kernel 'head' and the 0 that share its tensors need 2x2 PEs, of "
            "the mesh of 32x32 other kernels take or shade 992 PEs and no "
            "such rectangle is left; compile for a larger mesh");
}

TEST(PlacementProblem, ChecksItsInput) {
  auto errorOf = [](std::function<void(PlacementProblem &)> change) {
    PlacementProblem problem = example(true);
    change(problem);
    return problem.check();
  };
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.width = 0; }),
            "the mesh has 0x32 PEs");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.channels = 33; }),
            "33 I/O channels per edge on a mesh of 32 rows: expected 1 to one "
            "per row");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.kernels[0].columns = 0; }),
            "kernel 'qkv' asks for a region of 0x16 PEs");
}

/// A legal placement of the worked example with one thing changed.
std::string errorOf(std::function<void(Placement &)> change) {
  PlacementProblem problem = example(false);
  Placement placement = solve(problem);
  change(placement);
  return problem.verify(placement);
}

TEST(BrokenPlacement, P1MissingRegion) {
  EXPECT_EQ(errorOf([](Placement &p) { p.regions.pop_back(); }),
            "expected 3 regions, found 2");
}
TEST(BrokenPlacement, P1WrongSize) {
  EXPECT_EQ(errorOf([](Placement &p) { p.regions[2].rows = 3; }),
            "kernel 'pooler' needs 32x4 PEs, its region is 32x3 at (0,16)");
}
TEST(BrokenPlacement, P2LeavesTheMesh) {
  EXPECT_EQ(errorOf([](Placement &p) { p.regions[2].y = 29; }),
            "the region of kernel 'pooler', 32x4 at (0,29), leaves the mesh "
            "of 32x32");
}
TEST(BrokenPlacement, P3DifferentOrigins) {
  EXPECT_EQ(errorOf([](Placement &p) { p.regions[1].y = 1; }),
            "kernels 'qkv' and 'softmax' share tensors but not their origin: "
            "32x16 at (0,0) and 32x16 at (0,1)");
}
TEST(BrokenPlacement, P4Overlap) {
  EXPECT_EQ(errorOf([](Placement &p) { p.regions[2].y = 15; }),
            "the regions of kernels 'qkv' and 'pooler' overlap: 32x16 at "
            "(0,0) and 32x4 at (0,15)");
}
TEST(BrokenPlacement, P5ChannelOffTheMesh) {
  EXPECT_EQ(errorOf([](Placement &p) { p.west[3].row = 32; }),
            "west channel at row 32 of a mesh with 32 rows");
}
TEST(BrokenPlacement, P5TwoChannelsInOneRow) {
  EXPECT_EQ(errorOf([](Placement &p) { p.east[3].row = 0; }),
            "two east channels at row 0");
}
TEST(BrokenPlacement, P5ColumnsNotServed) {
  EXPECT_EQ(errorOf([](Placement &p) { p.west[1].begin = 9; }),
            "west channel at row 8 serves [9,16), expected to begin at 8");
  EXPECT_EQ(errorOf([](Placement &p) { p.west.pop_back(); }),
            "west channels serve 24 of 32");
}

} // namespace
