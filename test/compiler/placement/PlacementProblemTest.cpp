// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/placement/PlacementProblem.h"
#include "compiler/placement/PlacementSolver.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

using namespace wsec;

namespace {

struct Named {
  const char *name;
  int64_t columns, rows;
};

/// Regions of one shape each, in place of those that are there.
void addRegions(PlacementProblem &problem, const std::vector<Named> &regions) {
  problem.regions.clear();
  problem.shapeSets.clear();
  for (const Named &its : regions)
    problem.add(std::string("region @") + its.name, {{its.columns, its.rows}});
}

/// The worked example of PlacementProblem.h.
PlacementProblem example() {
  PlacementProblem problem;
  problem.width = problem.height = 32;
  problem.channelRows = {0, 8, 16, 24};
  addRegions(problem, {{"a", 32, 16}, {"b", 16, 8}});
  return problem;
}

Placement solve(const PlacementProblem &problem) {
  EXPECT_EQ(problem.check(), "");
  Placement placement;
  EXPECT_EQ(solvePlacement(problem, {}, placement), "");
  EXPECT_EQ(problem.verify(placement), "");
  return placement;
}

TEST(PlacementProblem, WorkedExample) {
  Placement placement = solve(example());
  EXPECT_EQ(placement.regions[0].at, (PlacedOrigin{0, 0}));
  EXPECT_EQ(placement.regions[1].at, (PlacedOrigin{0, 16}));
}

TEST(PlacementProblem, PacksResidentRegionsWithoutOverlap) {
  PlacementProblem problem = example();
  addRegions(problem, {});
  for (int64_t i = 0; i < 16; ++i)
    problem.add("region @r" + std::to_string(i), {{3 + i % 5, 4 + i % 3}});
  solve(problem);
}

TEST(PlacementProblem, LosesFewChannels) {
  PlacementProblem problem = example();
  problem.channelRows = {0, 9, 17, 25};
  addRegions(problem, {{"a", 4, 9}});
  // Nine rows from row 9 or 17 on have two channels, from row 0 on only one.
  EXPECT_EQ(solve(problem).regions[0].at, (PlacedOrigin{0, 9}));
}

TEST(PlacementProblem, PinnedRegionsStayAndOthersAvoidThem) {
  PlacementProblem problem = example();
  problem.regions[1].pin = {2, 0};
  Placement placement = solve(problem);
  EXPECT_EQ(placement.regions[1].at, (PlacedOrigin{2, 0}));
  EXPECT_EQ(placement.regions[0].at, (PlacedOrigin{0, 8}));
}

TEST(PlacementProblem, TooLargeForTheMesh) {
  PlacementProblem problem = example();
  problem.shapeSets[1][0].rows = 33;
  Placement placement;
  EXPECT_EQ(solvePlacement(problem, {}, placement),
            "region @b needs 16x33 PEs, the mesh has 32x32");
}

TEST(PlacementProblem, NoRoomLeft) {
  PlacementProblem problem = example();
  problem.add("region @c", {{32, 16}});
  Placement placement;
  EXPECT_EQ(solvePlacement(problem, {}, placement),
            "region @b needs 16x8 PEs, of the mesh of 32x32 other regions take "
            "1024 PEs and no such rectangle that begins at an I/O "
            "channel is left; compile for a larger mesh; nor is there in any "
            "other arrangement");
}

TEST(PlacementProblem, AvoidsKeepOuts) {
  PlacementProblem problem = example();
  problem.keepOuts = {{3, 0, 1, 1}, {8, 26, 2, 2}};
  Placement placement = solve(problem);
  EXPECT_EQ(placement.regions[0].at, (PlacedOrigin{0, 8}));
  EXPECT_EQ(placement.regions[1].at, (PlacedOrigin{10, 24})); // row 0 is shut
}

/// The largest first leaves no room for the others.
TEST(PlacementProblem, FindsAnotherArrangement) {
  PlacementProblem problem;
  problem.width = 8;
  problem.height = 1;
  problem.channelRows = {0};
  addRegions(problem, {{"a", 3, 1}, {"b", 2, 1}, {"c", 2, 1}});
  problem.keepOuts = {{4, 0, 1, 1}};
  EXPECT_EQ(solve(problem).regions[0].at, (PlacedOrigin{5, 0}));
}

/// Where no order fits them, and one channel brings more than a region costs.
TEST(PlacementProblem, TriesAllArrangements) {
  PlacementProblem problem;
  problem.width = 6;
  problem.height = 2;
  problem.channelRows = {0};
  addRegions(problem, {{"a", 3, 2}, {"b", 3, 1}});
  problem.keepOuts = {{4, 1, 1, 1}};
  problem.wishes = {{0, NearWish::Target::Pe, 0, {2, 0}}};
  for (double stream : {0, 3}) {
    problem.shapeSets[0][0].stream = stream;
    const Placement placement = solve(problem);
    EXPECT_EQ(placement.regions[0].at, (PlacedOrigin{0, 0}));
    EXPECT_EQ(placement.regions[1].at, (PlacedOrigin{3, 0}));
  }
}

TEST(PlacementProblem, LiesNearWhatItIsToldTo) {
  using Target = NearWish::Target;
  auto placed = [](NearWish wish) {
    PlacementProblem problem = example();
    addRegions(problem, {{"a", 4, 8}, {"b", 8, 8}});
    problem.regions[1].pin = {16, 16};
    problem.wishes = {wish};
    return solve(problem).regions[0].at;
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
  addRegions(problem, {{"a", 4, 8}});
  problem.wishes = {{0, NearWish::Target::East, 0, {}, 1},
                    {0, NearWish::Target::West, 0, {}, 2}};
  EXPECT_EQ(solve(problem).regions[0].at, (PlacedOrigin{0, 0}));
  problem.wishes[0].weight = 3;
  const Placement placement = solve(problem);
  EXPECT_EQ(placement.regions[0].at, (PlacedOrigin{28, 0}));
  EXPECT_EQ(problem.cost(placement).wire, 3 * 4 + 2 * 60);
}

/// A chain of data lies in its order, though the last is the largest.
TEST(PlacementProblem, ChainsLieInTheirOrder) {
  PlacementProblem problem = example();
  addRegions(problem, {{"a", 5, 32}, {"b", 6, 32}, {"c", 7, 32}, {"d", 8, 32}});
  for (size_t i = 1; i < 4; ++i)
    problem.edges.push_back({i - 1, i});
  const Placement placement = solve(problem);
  EXPECT_EQ(problem.cost(placement).wire, 5 + 6 + 6 + 7 + 7 + 8);
}

/// A wish counts as the edge with most words, and heavier ones as more.
TEST(PlacementProblem, WeighsWishesAgainstWords) {
  PlacementProblem problem = example();
  addRegions(problem, {{"a", 4, 8}, {"b", 4, 8}});
  problem.regions[1].pin = {28, 0};
  problem.edges = {{0, 1, 500}, {1, 0, 100}};
  problem.wishes = {{0, NearWish::Target::West}};
  EXPECT_EQ(solve(problem).regions[0].at, (PlacedOrigin{24, 0}));
  problem.wishes[0].weight = 2;
  const Placement placement = solve(problem);
  EXPECT_EQ(placement.regions[0].at, (PlacedOrigin{0, 0}));
  EXPECT_EQ(problem.cost(placement).wire, 600 * 56 + 1000 * 4);
  problem.wishes[0].words = 599;
  EXPECT_EQ(solve(problem).regions[0].at, (PlacedOrigin{24, 0}));
  problem.wishes[0].words = 601;
  EXPECT_EQ(solve(problem).regions[0].at, (PlacedOrigin{0, 0}));
}

/// Of three regions in a row the words of both edges cross the line between
/// the first two.
TEST(PlacementProblem, LoadIsOfTheLineThatMostWordsCross) {
  PlacementProblem problem = example();
  addRegions(problem, {{"a", 4, 8}, {"b", 4, 8}, {"c", 4, 8}});
  problem.edges = {{0, 1, 10}, {2, 0, 5}};
  const Placement row{{{0, {0, 0}}, {0, {4, 0}}, {0, {8, 0}}}};
  EXPECT_EQ(problem.cost(row).load, 15);
  const Placement middle{{{0, {4, 0}}, {0, {0, 0}}, {0, {8, 0}}}};
  EXPECT_EQ(problem.cost(middle).load, 10);
  const Placement column{{{0, {0, 0}}, {0, {0, 8}}, {0, {0, 16}}}};
  EXPECT_EQ(problem.cost(column).load, 15);
}

/// Words of the host pass the regions between the edge and theirs.
TEST(PlacementProblem, LoadHasTheWordsOfTheHost) {
  PlacementProblem problem = example();
  addRegions(problem, {{"a", 4, 8}, {"b", 4, 8}});
  problem.edges = {{0, 1, 10}};
  problem.wishes = {{1, NearWish::Target::West}, {0, NearWish::Target::East}};
  const Placement row{{{0, {0, 0}}, {0, {4, 0}}}};
  EXPECT_EQ(problem.cost(row).load, 10); // those wishes have no words
  problem.wishes[0].words = 100;
  problem.wishes[1].words = 1000;
  EXPECT_EQ(problem.cost(row).load, 1110);
  const Placement back{{{0, {4, 0}}, {0, {0, 0}}}};
  EXPECT_EQ(problem.cost(back).load, 1000);
}

TEST(PlacementProblem, ThroughputThenLatencyThenWireThenLoad) {
  const PlacementCost base{1, 8, 2, 20, 100, 50, 7};
  auto isWorse = [&](PlacementCost other) { return base.key() < other.key(); };
  EXPECT_TRUE(isWorse({2, 1, 1, 1, 1, 1, 1}));
  EXPECT_TRUE(isWorse({1, 9, 1, 1, 1, 1, 1}));
  EXPECT_TRUE(isWorse({1, 8, 3, 1, 1, 1, 1}));
  EXPECT_TRUE(isWorse({1, 8, 2, 21, 1, 1, 1}));
  EXPECT_TRUE(isWorse({1, 8, 2, 20, 101, 1, 1}));
  EXPECT_TRUE(isWorse({1, 8, 2, 20, 100, 51, 1}));
  EXPECT_TRUE(isWorse({1, 8, 2, 20, 100, 50, 8}));
}

TEST(PlacementProblem, LatencyIsOfTheLongestWay) {
  PlacementProblem problem = example();
  addRegions(problem, {});
  for (double cost : {3, 5, 7, 11})
    problem.add("region @r", {{4, 8, cost}});
  problem.edges = {{0, 1}, {0, 2}, {1, 3}};
  const Placement placement = solve(problem);
  EXPECT_EQ(problem.cost(placement).latency, 3 + 5 + 11);
  EXPECT_EQ(problem.cost(placement).throughput, 11);
}

/// The fastest shapes that have room together.
TEST(PlacementProblem, ChoosesShapesByThroughput) {
  PlacementProblem problem = example();
  addRegions(problem, {});
  for (const char *name : {"region @a", "region @b", "region @c"})
    problem.add(name, {{8, 32, 9}, {10, 32, 7}, {16, 32, 5}, {12, 16, 8}});
  problem.edges = {{0, 1}, {1, 2}};
  const Placement placement = solve(problem);
  EXPECT_EQ(problem.cost(placement).throughput, 7);
  // 10 + 10 + 10 columns; no shape of cost 5 has room beside two others.
  EXPECT_EQ(problem.cost(placement).latency, 21);
}

/// Room that is left makes the latency shorter, but not at the cost of more
/// throughput.
TEST(PlacementProblem, SpareRoomGoesToLatency) {
  PlacementProblem problem = example();
  addRegions(problem, {});
  problem.add("region @a", {{8, 32, 9}});
  problem.add("region @b", {{8, 32, 6}, {24, 32, 3}, {28, 32, 1}});
  problem.edges = {{0, 1}};
  const Placement placement = solve(problem);
  EXPECT_EQ(placement.regions[1].shape, 1u);
  EXPECT_EQ(problem.cost(placement).latency, 12);
}

/// A shape that costs more is worth it where the score says so.
TEST(PlacementProblem, WeighsCostAgainstWire) {
  PlacementProblem problem = example();
  problem.channelRows.clear();
  addRegions(problem, {});
  for (const char *name : {"region @a", "region @b"})
    problem.add(name, {{8, 8, 10}, {2, 2, 12}});
  problem.edges = {{0, 1}};
  problem.throughputWeight = 1;
  problem.wireWeight = 0.1;
  EXPECT_EQ(problem.cost(solve(problem)).throughput, 10);
  problem.wireWeight = 1;
  EXPECT_EQ(problem.cost(solve(problem)).score, 12 + 2);
}

/// At any row where there are no channels; keep-outs and pins are gone round.
/// Two of 16x32 beside one another would share channels; two of 32x16 have
/// their own, though each is slower.
TEST(PlacementProblem, StreamsOfOneChannelAddUp) {
  PlacementProblem problem = example();
  addRegions(problem, {});
  for (const char *name : {"a", "b"})
    problem.add(name, {{16, 32, 10, 8}, {32, 16, 12, 9}});
  const Placement placement = solve(problem);
  EXPECT_EQ(problem.cost(placement).throughput, 12);
  EXPECT_NE(placement.regions[0].at.y, placement.regions[1].at.y);
  for (std::vector<CandidateShape> &set : problem.shapeSets)
    set[0].stream = 5;
  EXPECT_EQ(problem.cost(solve(problem)).throughput, 10);
}

TEST(PlacementProblem, RowsAreFreeWithoutChannels) {
  PlacementProblem problem;
  problem.width = 5;
  problem.height = 5;
  addRegions(problem, {{"a", 5, 2}, {"b", 2, 2}, {"c", 2, 2}});
  problem.regions[1].pin = {1, 0};
  problem.keepOuts = {{0, 2, 1, 1}};
  const Placement placement = solve(problem);
  EXPECT_EQ(placement.regions[0].at, (PlacedOrigin{0, 3}));
  EXPECT_EQ(placement.regions[2].at, (PlacedOrigin{3, 0}));
}

/// Of the shapes of a pinned region, one that fits there.
TEST(PlacementProblem, PinnedRegionsHaveShapes) {
  PlacementProblem problem = example();
  addRegions(problem, {});
  problem.add("region @a", {{16, 8, 1}, {8, 16, 1}}, PlacedOrigin{0, 0});
  problem.keepOuts = {{8, 0, 1, 8}};
  EXPECT_EQ(solve(problem).regions[0].shape, 1u);
}

/// One that costs more, where cheaper ones hit something; and not the smallest
/// one of each, where those overlap.
TEST(PlacementProblem, PinnedRegionsFitBesideOneAnother) {
  PlacementProblem problem = example();
  addRegions(problem, {});
  problem.add("region @a", {{16, 8, 1}, {8, 8, 5}}, PlacedOrigin{0, 0});
  problem.add("region @b", {{8, 8, 3}});
  problem.keepOuts = {{12, 4, 1, 1}};
  EXPECT_EQ(solve(problem).regions[0].shape, 1u);
  problem = example();
  addRegions(problem, {});
  problem.add("region @a", {{6, 10}, {9, 8}}, PlacedOrigin{0, 0});
  problem.add("region @b", {{4, 16}, {16, 4}}, PlacedOrigin{4, 8});
  EXPECT_EQ(solve(problem).regions[0].shape, 1u);
}

/// Not the smallest one, where that leaves no room, or another costs less.
TEST(PlacementProblem, ShapesOfPinnedRegionsSuitOthers) {
  PlacementProblem problem;
  problem.width = 3;
  problem.height = 4;
  problem.add("region @a", {{1, 4, 2}, {3, 2, 2}}, PlacedOrigin{0, 0});
  problem.add("region @b", {{3, 2, 5}});
  EXPECT_EQ(solve(problem).regions[0].shape, 1u);
  problem.width = 8;
  problem.shapeSets[0] = {{1, 4, 4}, {3, 4, 2}};
  problem.edges = {{0, 1}};
  const Placement placement = solve(problem);
  EXPECT_EQ(placement.regions[0].shape, 1u);
  EXPECT_EQ(problem.cost(placement).latency, 7);
}

/// All in one row that has room for them, though another is nearer.
TEST(PlacementProblem, SharesLieInOneRow) {
  PlacementProblem problem = example();
  addRegions(problem, {{"a", 6, 8},
                       {"b", 5, 8},
                       {"c", 7, 8},
                       {"d", 4, 8},
                       {"e", 3, 8},
                       {"f", 4, 8}});
  for (size_t i = 0; i < 6; ++i) {
    problem.regions[i].group = 0;
    if (i > 0)
      problem.edges.push_back({i - 1, i, 10});
  }
  problem.keepOuts = {{4, 0, 1, 1}, {20, 9, 1, 1}};
  const Placement placement = solve(problem);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(placement.regions[i].at.y, 16);
    if (i > 0)
      EXPECT_EQ(placement.regions[i].at.x,
                placement.regions[i - 1].at.x +
                    problem.shapesOf(i - 1)[0].columns);
  }
}

TEST(PlacementProblem, FreePesAreThoseOfNoKeepOut) {
  PlacementProblem problem = example();
  EXPECT_EQ(problem.freePes(), 1024);
  problem.keepOuts = {{0, 0, 4, 4}, {2, 2, 4, 4}, {3, 3, 1, 1}, {31, 0, 1, 32}};
  EXPECT_EQ(problem.freePes(), 1024 - 16 - 12 - 32);
}

/// More regions than are moved in pairs; the seed decides.
TEST(PlacementProblem, ManyRegionsDependOnTheSeedOnly) {
  PlacementProblem problem = example();
  addRegions(problem, {});
  for (int64_t i = 0; i < 20; ++i) {
    problem.add("region @r" + std::to_string(i), {{2 + i % 4, 3 + i % 5}});
    if (i > 0)
      problem.edges.push_back({size_t(i * 7 % i), size_t(i), 1 + i % 3});
  }
  PlacementOptions options;
  Placement first, again, other;
  EXPECT_EQ(solvePlacement(problem, options, first), "");
  EXPECT_EQ(solvePlacement(problem, options, again), "");
  options.seed = 2;
  EXPECT_EQ(solvePlacement(problem, options, other), "");
  EXPECT_EQ(problem.verify(other), "");
  bool differs = false;
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(first.regions[i].at, again.regions[i].at);
    differs |= !(first.regions[i].at == other.regions[i].at);
  }
  EXPECT_TRUE(differs);
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
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.width = 8193; }),
            "a mesh of 8193x32 PEs is larger than 8192x8192");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.channelRows[3] = 32; }),
            "I/O channels must lie on ascending rows of the mesh, found row 32 "
            "of 32");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.channelRows[2] = 8; }),
            "I/O channels must lie on ascending rows of the mesh, found row 8 "
            "of 32");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.shapeSets[0][0].columns = 0; }),
            "region @a has 0x16 PEs");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.shapeSets[0][0].rows = 0; }),
            "region @a has 32x0 PEs");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.keepOuts = {{31, 0, 2, 1}}; }),
            "the keep-out of 2x1 at (31,0) leaves the mesh of 32x32");
  EXPECT_EQ(errorOf([](PlacementProblem &p) {
              p.wishes = {{0, NearWish::Target::Region, 0}};
            }),
            "a region is to lie near one that does not exist, or itself");
  EXPECT_EQ(
      errorOf([](PlacementProblem &p) {
        p.wishes = {{0, NearWish::Target::East, 0, {}, 0}};
      }),
      "region @a is to lie near something with a weight of 0, weights are "
      "1 to 1000");
  EXPECT_EQ(errorOf([](PlacementProblem &p) {
              p.wishes = {{0, NearWish::Target::East, 0, {}, 1001}};
            }),
            "region @a is to lie near something with a weight of 1001, "
            "weights are 1 to 1000");
  EXPECT_EQ(errorOf([](PlacementProblem &p) {
              p.wishes = {{0, NearWish::Target::East, 0, {}, 1, -1}};
            }),
            "-1 words flow to or from region @a; 1 to 2^46 can");
  EXPECT_EQ(errorOf([](PlacementProblem &p) {
              p.wishes = {{0, NearWish::Target::Pe, 0, {32, 1}}};
            }),
            "region @a is to lie near PE (32,1), which is not of the mesh of "
            "32x32");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.shapeSets[1].clear(); }),
            "region @b has no shapes");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.regions[1].shapeSet = 2; }),
            "region @b has no shapes");
  for (double cost : {-1., std::numeric_limits<double>::infinity()})
    EXPECT_EQ(
        errorOf([=](PlacementProblem &p) { p.shapeSets[1][0].cost = cost; }),
        "region @b has no cost of at least 0 as 16x8");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.shapeSets[1][0].stream = -1; }),
            "region @b has no stream of at least 0 as 16x8");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.mostAbreast = 0; }),
            "0 regions may have PEs in one row");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.edges = {{0, 2}}; }),
            "data flow from or to a region that does not exist");
  EXPECT_EQ(errorOf([](PlacementProblem &p) { p.edges = {{0, 1, 0}}; }),
            "0 words flow from region @a to region @b; 1 to 2^46 can");
  const int64_t most = int64_t(1) << 46;
  EXPECT_EQ(errorOf([=](PlacementProblem &p) { p.edges = {{0, 1, most}}; }),
            "");
  EXPECT_EQ(
      errorOf([=](PlacementProblem &p) { p.edges = {{0, 1, most}, {1, 0}}; }),
      "more than 2^46 words flow, or wishes weigh as much");
  EXPECT_EQ(errorOf([=](PlacementProblem &p) {
              p.edges = {{0, 1, most / 2}};
              p.wishes = {{0, NearWish::Target::East, 0, {}, 2}};
            }),
            "more than 2^46 words flow, or wishes weigh as much");
  EXPECT_EQ(errorOf([](PlacementProblem &p) {
              p.regions[1].group = 0;
              p.channelRows.clear();
            }),
            "region @b shares out channels, and there are none");
  for (double PlacementProblem::*weight :
       {&PlacementProblem::throughputWeight, &PlacementProblem::latencyWeight,
        &PlacementProblem::wireWeight})
    EXPECT_EQ(errorOf([=](PlacementProblem &p) { p.*weight = -1; }),
              "weights of throughput, latency and wire are at least 0");
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
  EXPECT_EQ(errorOf([](Placement &p) { p.regions.pop_back(); }),
            "P1: expected places for 2 regions, found 1");
}
TEST(BrokenPlacement, P1NoSuchShape) {
  EXPECT_EQ(errorOf([](Placement &p) { p.regions[1].shape = 1; }),
            "P1: region @b has 1 shapes, found number 1");
}
TEST(BrokenPlacement, P1MovedAwayFromItsPin) {
  EXPECT_EQ(
      errorOf([](Placement &p) { p.regions[1].at.x = 1; }, PlacedOrigin{0, 16}),
      "P1: region @b, 16x8 at (1,16), is pinned to (0,16)");
}
TEST(BrokenPlacement, P2LeavesTheMesh) {
  EXPECT_EQ(errorOf([](Placement &p) { p.regions[1].at.y = 25; }),
            "P2: region @b, 16x8 at (0,25), leaves the mesh of 32x32");
  EXPECT_EQ(errorOf([](Placement &p) { p.regions[1].at.x = 17; }),
            "P2: region @b, 16x8 at (17,16), leaves the mesh of 32x32");
  EXPECT_EQ(errorOf([](Placement &p) { p.regions[1].at.x = -1; }),
            "P2: region @b, 16x8 at (-1,16), leaves the mesh of 32x32");
  EXPECT_EQ(errorOf([](Placement &p) { p.regions[1].at.y = -1; }),
            "P2: region @b, 16x8 at (0,-1), leaves the mesh of 32x32");
}
TEST(BrokenPlacement, P3BeginsBetweenChannels) {
  EXPECT_EQ(errorOf([](Placement &p) { p.regions[1].at.y = 17; }),
            "P3: region @b, 16x8 at (0,17), begins at a row without an I/O "
            "channel; the nearest with one are 16 and 24");
}
TEST(BrokenPlacement, P3BeforeTheFirstChannelAndBehindTheLast) {
  PlacementProblem problem = example();
  problem.channelRows = {8};
  addRegions(problem, {{"a", 4, 4}});
  EXPECT_EQ(problem.verify({{{0, {0, 7}}}}),
            "P3: region @a, 4x4 at (0,7), begins at a row without an I/O "
            "channel; the nearest with one is 8");
  EXPECT_EQ(problem.verify({{{0, {0, 9}}}}),
            "P3: region @a, 4x4 at (0,9), begins at a row without an I/O "
            "channel; the nearest with one is 8");
}
TEST(BrokenPlacement, P4Overlap) {
  EXPECT_EQ(errorOf([](Placement &p) { p.regions[1].at.y = 8; }),
            "P4: region @a, 32x16 at (0,0), and region @b, 16x8 at (0,8), "
            "overlap");
}

TEST(BrokenPlacement, P6SharesOfDifferentRows) {
  PlacementProblem problem = example();
  addRegions(problem, {{"a", 4, 8}, {"b", 4, 8}, {"c", 4, 8}});
  problem.regions[0].group = problem.regions[2].group = 0;
  EXPECT_EQ(problem.verify({{{0, {0, 0}}, {0, {0, 8}}, {0, {8, 0}}}}), "");
  EXPECT_EQ(problem.verify({{{0, {0, 0}}, {0, {0, 8}}, {0, {8, 8}}}}),
            "P6: region @a, 4x8 at (0,0), and region @c, 4x8 at (8,8), share "
            "out channels and begin at different rows");
  // Another group has rows of its own.
  problem.regions[1].group = 1;
  EXPECT_EQ(problem.verify({{{0, {0, 0}}, {0, {4, 8}}, {0, {8, 0}}}}), "");
  EXPECT_EQ(problem.verify({{{0, {0, 0}}, {0, {4, 0}}, {0, {8, 0}}}}),
            "P6: region @a, 4x8 at (0,0), and region @b, 4x8 at (4,0), have a "
            "row in common and share out channels with other regions each");
}

TEST(BrokenPlacement, P7TooManyAbreast) {
  PlacementProblem problem = example();
  addRegions(problem, {{"a", 4, 8}, {"b", 4, 16}, {"c", 4, 8}});
  const Placement placement{{{0, {0, 0}}, {0, {4, 0}}, {0, {0, 8}}}};
  problem.mostAbreast = 2;
  EXPECT_EQ(problem.verify(placement), "");
  problem.mostAbreast = 1;
  EXPECT_EQ(problem.verify(placement),
            "P7: 2 regions have PEs in row 0, region @a to region @b, 1 may");
  const Placement stacked = solve(problem);
  EXPECT_EQ(problem.abreast(problem.cellsOf(stacked, 1), stacked,
                            {true, false, true}),
            1);
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
