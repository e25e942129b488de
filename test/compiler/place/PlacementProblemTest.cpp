// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/PlacementProblem.h"
#include "compiler/place/CornerPlacer.h"

#include <gtest/gtest.h>

#include <functional>

using namespace wsec;

namespace {

/// The worked example of PlacementProblem.h.
PlacementProblem example() {
  PlacementProblem problem;
  problem.width = problem.height = 32;
  problem.channelRows = {0, 8, 16, 24};
  problem.regions = {{"a", 32, 16}, {"b", 16, 8}};
  return problem;
}

Placement solve(const PlacementProblem &problem) {
  EXPECT_EQ(problem.check(), "");
  Placement placement;
  EXPECT_EQ(placeInCorners(problem, placement), "");
  EXPECT_EQ(problem.verify(placement), "");
  return placement;
}

TEST(PlacementProblem, WorkedExample) {
  Placement placement = solve(example());
  EXPECT_EQ(placement.origins[0], (PlacedOrigin{0, 0}));
  EXPECT_EQ(placement.origins[1], (PlacedOrigin{0, 16}));
}

TEST(PlacementProblem, PacksResidentRegionsWithoutOverlap) {
  PlacementProblem problem = example();
  problem.regions.clear();
  for (int64_t i = 0; i < 16; ++i)
    problem.regions.push_back({"r" + std::to_string(i), 3 + i % 5, 4 + i % 3});
  solve(problem);
}

TEST(PlacementProblem, LosesFewChannels) {
  PlacementProblem problem = example();
  problem.channelRows = {0, 9, 17, 25};
  problem.regions = {{"a", 4, 9}};
  // Nine rows from row 9 or 17 on have two channels, from row 0 on only one.
  EXPECT_EQ(solve(problem).origins[0], (PlacedOrigin{0, 9}));
}

TEST(PlacementProblem, PinnedRegionsStayAndOthersAvoidThem) {
  PlacementProblem problem = example();
  problem.regions[1].pin = {2, 0};
  Placement placement = solve(problem);
  EXPECT_EQ(placement.origins[1], (PlacedOrigin{2, 0}));
  EXPECT_EQ(placement.origins[0], (PlacedOrigin{0, 8}));
}

TEST(PlacementProblem, TooLargeForTheMesh) {
  PlacementProblem problem = example();
  problem.regions[1].rows = 33;
  Placement placement;
  EXPECT_EQ(placeInCorners(problem, placement),
            "region @b needs 16x33 PEs, the mesh has 32x32");
}

TEST(PlacementProblem, NoRoomLeft) {
  PlacementProblem problem = example();
  problem.regions.push_back({"c", 32, 16});
  Placement placement;
  EXPECT_EQ(placeInCorners(problem, placement),
            "region @b needs 16x8 PEs, of the mesh of 32x32 other regions take "
            "1024 PEs and no such rectangle that begins at an I/O "
            "channel is left; compile for a larger mesh; nor is there in any "
            "other arrangement");
}

TEST(PlacementProblem, AvoidsKeepOuts) {
  PlacementProblem problem = example();
  problem.keepOuts = {{3, 0, 1, 1}, {8, 26, 2, 2}};
  Placement placement = solve(problem);
  EXPECT_EQ(placement.origins[0], (PlacedOrigin{0, 8}));
  EXPECT_EQ(placement.origins[1], (PlacedOrigin{10, 24})); // row 0 is shut
}

/// The largest first leaves no room for the others.
TEST(PlacementProblem, FindsAnotherArrangement) {
  PlacementProblem problem;
  problem.width = 8;
  problem.height = 1;
  problem.channelRows = {0};
  problem.regions = {{"a", 3, 1}, {"b", 2, 1}, {"c", 2, 1}};
  problem.keepOuts = {{4, 0, 1, 1}};
  EXPECT_EQ(solve(problem).origins[0], (PlacedOrigin{5, 0}));
}

TEST(PlacementProblem, LiesNearWhatItIsToldTo) {
  using Target = NearWish::Target;
  auto placed = [](NearWish wish) {
    PlacementProblem problem = example();
    problem.regions = {{"a", 4, 8}, {"b", 8, 8}};
    problem.regions[1].pin = {16, 16};
    problem.wishes = {wish};
    return solve(problem).origins[0];
  };
  EXPECT_EQ(placed({0, Target::Region, 1}), (PlacedOrigin{12, 16}));
  EXPECT_EQ(placed({0, Target::Pe, 0, {30, 10}}), (PlacedOrigin{28, 8}));
  EXPECT_EQ(placed({0, Target::North}), (PlacedOrigin{0, 0}));
  EXPECT_EQ(placed({0, Target::South}), (PlacedOrigin{0, 24}));
  EXPECT_EQ(placed({0, Target::East}), (PlacedOrigin{28, 0}));
  EXPECT_EQ(placed({0, Target::West}), (PlacedOrigin{0, 0}));
}

/// One wish outweighs another.
TEST(PlacementProblem, WeighsWishes) {
  PlacementProblem problem = example();
  problem.regions = {{"a", 4, 8}};
  problem.wishes = {{0, NearWish::Target::East, 0, {}, 1},
                    {0, NearWish::Target::West, 0, {}, 2}};
  EXPECT_EQ(solve(problem).origins[0], (PlacedOrigin{0, 0}));
  problem.wishes[0].weight = 3;
  const Placement placement = solve(problem);
  EXPECT_EQ(placement.origins[0], (PlacedOrigin{28, 0}));
  EXPECT_EQ(problem.cost(placement).wire, 3 * 4 + 2 * 60);
}

/// A chain of data lies in its order, though the last is the largest.
TEST(PlacementProblem, ChainsLieInTheirOrder) {
  PlacementProblem problem = example();
  problem.regions = {{"a", 5, 32}, {"b", 6, 32}, {"c", 7, 32}, {"d", 8, 32}};
  for (size_t i = 1; i < 4; ++i)
    problem.wishes.push_back({i - 1, NearWish::Target::Region, i});
  const Placement placement = solve(problem);
  EXPECT_EQ(problem.cost(placement).wire, 5 + 6 + 6 + 7 + 7 + 8);
}

TEST(PlacementProblem, ChecksItsInput) {
  auto errorOf = [](std::function<void(PlacementProblem &)> change) {
    PlacementProblem problem = example();
    change(problem);
    return problem.check();
  };
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.width = 0; }),
            "the mesh has 0x32 PEs");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.height = 0; }),
            "the mesh has 32x0 PEs");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.channelRows[0] = -1; }),
            "I/O channels must lie on ascending rows of the mesh, found row -1 "
            "of 32");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.channelRows.clear(); }),
            "the mesh has no I/O channels");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.channelRows[3] = 32; }),
            "I/O channels must lie on ascending rows of the mesh, found row 32 "
            "of 32");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.channelRows[2] = 8; }),
            "I/O channels must lie on ascending rows of the mesh, found row 8 "
            "of 32");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.regions[0].columns = 0; }),
            "region @a has 0x16 PEs");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.regions[0].rows = 0; }),
            "region @a has 32x0 PEs");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.keepOuts = {{31, 0, 2, 1}}; }),
            "the keep-out of 2x1 at (31,0) leaves the mesh of 32x32");
  EXPECT_EQ(errorOf([](PlacementProblem &p) {
              p.wishes = {{0, NearWish::Target::Region, 0}};
            }),
            "a region is to lie near one that does not exist, or itself");
  EXPECT_EQ(errorOf([](PlacementProblem &p) {
              p.wishes = {{0, NearWish::Target::East, 0, {}, 0}};
            }),
            "region @a is to lie near something with a weight of 0");
}

/// A legal placement of the worked example with one thing changed.
std::string errorOf(std::function<void(Placement &)> change,
                    std::optional<PlacedOrigin> pin = std::nullopt) {
  PlacementProblem problem = example();
  Placement placement = solve(problem);
  problem.regions[1].pin = pin;
  change(placement);
  return problem.verify(placement);
}

TEST(BrokenPlacement, P1MissingPlace) {
  EXPECT_EQ(errorOf([](Placement &p) { p.origins.pop_back(); }),
            "P1: expected places for 2 regions, found 1");
}
TEST(BrokenPlacement, P1MovedAwayFromItsPin) {
  EXPECT_EQ(
      errorOf([](Placement &p) { p.origins[1].x = 1; }, PlacedOrigin{0, 16}),
      "P1: region @b, 16x8 at (1,16), is pinned to (0,16)");
}
TEST(BrokenPlacement, P2LeavesTheMesh) {
  EXPECT_EQ(errorOf([](Placement &p) { p.origins[1].y = 25; }),
            "P2: region @b, 16x8 at (0,25), leaves the mesh of 32x32");
  EXPECT_EQ(errorOf([](Placement &p) { p.origins[1].x = 17; }),
            "P2: region @b, 16x8 at (17,16), leaves the mesh of 32x32");
  EXPECT_EQ(errorOf([](Placement &p) { p.origins[1].x = -1; }),
            "P2: region @b, 16x8 at (-1,16), leaves the mesh of 32x32");
  EXPECT_EQ(errorOf([](Placement &p) { p.origins[1].y = -1; }),
            "P2: region @b, 16x8 at (0,-1), leaves the mesh of 32x32");
}
TEST(BrokenPlacement, P3BeginsBetweenChannels) {
  EXPECT_EQ(errorOf([](Placement &p) { p.origins[1].y = 17; }),
            "P3: region @b, 16x8 at (0,17), begins at a row without an I/O "
            "channel; the nearest with one are 16 and 24");
}
TEST(BrokenPlacement, P3BeforeTheFirstChannelAndBehindTheLast) {
  PlacementProblem problem = example();
  problem.channelRows = {8};
  problem.regions = {{"a", 4, 4}};
  EXPECT_EQ(problem.verify({{{0, 7}}}),
            "P3: region @a, 4x4 at (0,7), begins at a row without an I/O "
            "channel; the nearest with one is 8");
  EXPECT_EQ(problem.verify({{{0, 9}}}),
            "P3: region @a, 4x4 at (0,9), begins at a row without an I/O "
            "channel; the nearest with one is 8");
}
TEST(BrokenPlacement, P4Overlap) {
  EXPECT_EQ(errorOf([](Placement &p) { p.origins[1].y = 8; }),
            "P4: region @a, 32x16 at (0,0), and region @b, 16x8 at (0,8), "
            "overlap");
}

TEST(BrokenPlacement, P5OnAKeepOut) {
  PlacementProblem problem = example();
  const Placement placement = solve(problem);
  problem.keepOuts = {{15, 23, 4, 4}};
  EXPECT_EQ(problem.verify(placement),
            "P5: region @b, 16x8 at (0,16), has PEs of the keep-out of 4x4 at "
            "(15,23)");
  // @b is 16x8 at (0,16): beside each of its free sides.
  problem.keepOuts = {{16, 23, 4, 4}, {16, 16, 1, 8}, {0, 24, 16, 1}};
  EXPECT_EQ(problem.verify(placement), "");
  for (const PlacedRegion &inside :
       {PlacedRegion{15, 16, 1, 1}, {0, 23, 1, 1}, {0, 16, 1, 1}}) {
    problem.keepOuts = {inside};
    EXPECT_NE(problem.verify(placement).find("P5: region @b"),
              std::string::npos);
  }
}

} // namespace
