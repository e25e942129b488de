// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/place/AnnealingPlacer.h"
#include "compiler/placement/PlacementBound.h"
#include "tools/place/FreeRooms.h"
#include "tools/place/Grow.h"
#include "tools/place/SlicingTree.h"
#include "tools/place/Slide.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

using namespace wsec;

namespace {

/// As it is and turned.
void addTurned(std::vector<CandidateShape> &set, const CandidateShape &shape) {
  set.push_back(shape);
  set.push_back({shape.rows, shape.columns, shape.cost});
}

/// Four regions in a row, each 4x4 for a cost of 2 or 2x6 for one of 3.
PlacementProblem fourRegions(int64_t width, int64_t height) {
  PlacementProblem problem;
  problem.width = width;
  problem.height = height;
  problem.throughputWeight = problem.wireWeight = 1;
  problem.shapeSets.emplace_back();
  addTurned(problem.shapeSets[0], {4, 4, 2});
  addTurned(problem.shapeSets[0], {2, 6, 3});
  problem.regions = {{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}};
  problem.edges = {{0, 1}, {1, 2}, {2, 3}};
  return problem;
}

Placement solve(const PlacementProblem &problem, int64_t changes = 3000,
                int threads = 1, uint64_t seed = 1) {
  EXPECT_EQ(problem.check(), "");
  Placement placement;
  AnnealingOptions options;
  options.changes = changes;
  options.threads = threads;
  options.seed = seed;
  EXPECT_EQ(anneal(problem, options, placement), "");
  EXPECT_EQ(problem.verify(placement), "");
  EXPECT_GE(problem.cost(placement).throughput, throughputBound(problem));
  EXPECT_GE(problem.cost(placement).score, scoreBound(problem));
  return placement;
}

double scoreOf(const PlacementProblem &problem, const Placement &placement) {
  return problem.cost(placement).score;
}

/// Regions of many shapes, of areas and edges drawn from a seed.
PlacementProblem randomProblem(uint64_t seed, size_t regions) {
  RandomNumbers random(seed);
  PlacementProblem problem;
  problem.width = 90;
  problem.height = 70;
  problem.throughputWeight = 1;
  problem.wireWeight = 1 + random.below(3);
  for (size_t i = 0; i < regions; ++i) {
    const int64_t work = 2000 + random.below(4000);
    std::vector<CandidateShape> set;
    for (int64_t width = 4; width <= 60; width += 1 + random.below(4))
      for (int64_t height = 5; height <= 60; height += 1 + random.below(4))
        addTurned(set, {width, height, double(work / (width * height))});
    problem.add("r" + std::to_string(i), std::move(set));
    if (i)
      problem.edges.push_back({size_t(random.below(i)), i});
  }
  return problem;
}

TEST(PlacementBound, IsWhereTheSmallestShapesFill) {
  EXPECT_EQ(throughputBound(fourRegions(8, 8)), 2); // 64 cells: 4 x 16
  EXPECT_EQ(throughputBound(fourRegions(8, 7)), 3); // 56 cells: 4 x 12
  EXPECT_GT(throughputBound(fourRegions(8, 5)), 1e300);
}

/// By hand: within a cost of 2 the ends of each edge are 4 hops apart, within 3
/// they are 2; where there is room for 2x6 only, 3 + 3 x 2.
TEST(PlacementBound, OfTheScore) {
  PlacementProblem problem = fourRegions(8, 8);
  problem.wireWeight = 0.1;
  EXPECT_DOUBLE_EQ(scoreBound(problem), 2 + 0.1 * 12);
  problem.wireWeight = 10;
  EXPECT_DOUBLE_EQ(scoreBound(problem), 3 + 10 * 6);
  EXPECT_DOUBLE_EQ(scoreBound(fourRegions(8, 7)), 3 + 6);
}

/// Three regions, each a neighbour of both others, are one side further apart.
TEST(PlacementBound, OfATriangle) {
  PlacementProblem problem = fourRegions(32, 32);
  problem.shapeSets[0] = {{4, 4, 2}};
  problem.edges = {{0, 1}, {1, 2}, {2, 0}};
  EXPECT_DOUBLE_EQ(scoreBound(problem), 2 + 12 + 4);
  EXPECT_DOUBLE_EQ(scoreOf(problem, solve(problem)), 2 + 4 + 4 + 8);
}

/// Long shapes have short sides, but not all regions have room for them: 2x6
/// takes 12 PEs of 64, 1x20 takes 20.
TEST(PlacementBound, PesThatShortSidesTakeAreNotFree) {
  PlacementProblem problem = fourRegions(20, 4);
  problem.shapeSets[0] = {{4, 4, 2}, {20, 1, 2}};
  problem.height = 4; // four of 20x1 fit
  EXPECT_DOUBLE_EQ(scoreBound(problem), 2 + 3);
  problem.keepOuts = {{0, 0, 4, 2}}; // of 72 PEs, two regions of 20x1 fit
  EXPECT_GT(scoreBound(problem), 2 + 3 + 2);
  EXPECT_LE(scoreBound(problem), 2 + 3 + 3 * 1.5);
}

TEST(AnnealingPlacer, FindsThePerfectTiling) {
  PlacementProblem problem = fourRegions(8, 8);
  problem.wireWeight = 0.1;
  EXPECT_DOUBLE_EQ(scoreOf(problem, solve(problem)), 2 + 0.1 * 12);
}

/// Turned by 90 degrees or not at all.
TEST(AnnealingPlacer, TurnsRegions) {
  const PlacementProblem problem = fourRegions(6, 8);
  const Placement placement = solve(problem);
  EXPECT_EQ(scoreOf(problem, placement), 3 + 6);
  EXPECT_EQ(problem.cellsOf(placement, 0).columns, 6);
}

/// A dearer shape is worth it where wires weigh more.
TEST(AnnealingPlacer, WeighsCostAgainstWire) {
  PlacementProblem problem = fourRegions(32, 32);
  problem.wireWeight = 0.01;
  EXPECT_EQ(problem.cost(solve(problem)).throughput, 2);
  problem.wireWeight = 10;
  EXPECT_EQ(problem.cost(solve(problem)).throughput, 3);
}

TEST(AnnealingPlacer, SaysWhyThereIsNone) {
  Placement placement;
  EXPECT_EQ(anneal(fourRegions(8, 5), {}, placement),
            "the smallest shapes of all regions together have 48 PEs, 40 are "
            "free; a larger mesh or fewer keep-outs leave more");
  PlacementProblem problem = fourRegions(8, 5);
  problem.add("e", {{9, 1, 1}, {1, 6, 1}});
  EXPECT_EQ(anneal(problem, {}, placement),
            "e has no shape that fits the mesh of 8x5");
}

TEST(AnnealingPlacer, DependsOnTheSeedOnly) {
  const PlacementProblem problem = randomProblem(3, 24);
  const Placement first = solve(problem, 4000, 1);
  const Placement again = solve(problem, 4000, 3);
  const Placement other = solve(problem, 4000, 1, 2);
  bool differs = false;
  for (size_t i = 0; i < first.regions.size(); ++i) {
    EXPECT_EQ(first.regions[i].at, again.regions[i].at);
    EXPECT_EQ(first.regions[i].shape, again.regions[i].shape);
    differs |= !(first.regions[i].at == other.regions[i].at);
  }
  EXPECT_TRUE(differs);
}

TEST(AnnealingPlacer, RandomProblemsGetLegalPlacements) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    solve(randomProblem(seed, 1 + seed), 2000);
}

/// Without weights the largest cost goes first, then wires.
TEST(AnnealingPlacer, ThroughputGoesFirst) {
  PlacementProblem problem = fourRegions(8, 8);
  problem.throughputWeight = problem.wireWeight = 0;
  const PlacementCost cost = problem.cost(solve(problem));
  EXPECT_EQ(cost.throughput, 2);
  EXPECT_EQ(cost.wire, 2 * 12);
}

/// Round a hole in the middle, at a pin, near the far corner and a side.
TEST(AnnealingPlacer, KeepsPinsAndKeepOuts) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    PlacementProblem problem = randomProblem(seed, 9);
    problem.keepOuts = {{44, 34, 2, 2}, {10, 60, 1, 3}};
    problem.regions[3].pin = {5, 7};
    problem.regions[4].pin = {70, 3};
    problem.wishes = {{5, NearWish::Target::Pe, 0, {89, 69}, 3},
                      {6, NearWish::Target::West, 0, {}, 4},
                      {7, NearWish::Target::South, 0, {}, 4},
                      {8, NearWish::Target::Region, 3}};
    solve(problem, 4000);
  }
}

/// To pulls, up to what is in the way, and no further than helps.
TEST(Slide, ShortensWires) {
  PlacementProblem problem = fourRegions(20, 10);
  problem.shapeSets[0] = {{2, 2, 1}};
  problem.keepOuts = {{6, 0, 1, 1}};
  problem.regions[0].pin = {0, 0};
  problem.edges = {{0, 1}, {2, 3, 3}};
  problem.wishes = {{2, NearWish::Target::Pe, 0, {12, 6}},
                    {3, NearWish::Target::South}};
  Placement placement{{{0, {0, 0}}, {0, {10, 0}}, {0, {16, 3}}, {0, {18, 8}}}};
  ASSERT_EQ(problem.verify(placement), "");
  const int64_t before = problem.cost(placement).wire;
  slide(problem, placement);
  EXPECT_EQ(problem.verify(placement), "");
  EXPECT_LT(problem.cost(placement).wire, before);
  EXPECT_EQ(placement.regions[1].at, (PlacedOrigin{7, 0}));
}

TEST(AnnealingPlacer, LiesNearWhatItIsToldTo) {
  PlacementProblem problem = fourRegions(32, 32);
  problem.shapeSets[0] = {{4, 4, 2}};
  problem.edges.clear();
  using Target = NearWish::Target;
  problem.wishes = {{0, Target::East, 0, {}, 3}, {0, Target::South, 0, {}, 3},
                    {1, Target::Pe, 0, {9, 2}},  {2, Target::Region, 0},
                    {3, Target::North},          {3, Target::West}};
  const Placement placement = solve(problem, 40000);
  // In hops: twice 3 x 2, 1, 4 and twice 2.
  EXPECT_LE(problem.cost(placement).wire, 2 * (12 + 1 + 4 + 4));
}

/// Pinned regions have their smallest shape within the limit that fits.
TEST(AnnealingPlacer, AllPinned) {
  PlacementProblem problem = fourRegions(8, 8);
  problem.regions[0].pin = {0, 0};
  problem.regions[1].pin = {4, 0};
  problem.regions[2].pin = {0, 4};
  problem.regions[3].pin = {4, 4};
  EXPECT_EQ(problem.cost(solve(problem)).throughput, 2);
  problem.regions[3].pin = {4, 5};
  Placement placement;
  EXPECT_EQ(anneal(problem, {}, placement),
            "d has no shape that fits at (4,5), where it is pinned");
}

TEST(AnnealingPlacer, SaysThatKeepOutsLeaveNoRoom) {
  PlacementProblem problem = fourRegions(8, 12);
  problem.keepOuts = {{0, 1, 8, 1}, {0, 3, 8, 1}, {0, 5, 8, 1},
                      {0, 7, 8, 1}, {0, 9, 8, 1}, {0, 11, 8, 1}};
  Placement placement;
  EXPECT_EQ(anneal(problem, {}, placement),
            "keep-outs and pinned regions leave no room for another region");
  problem.keepOuts = {{0, 4, 8, 1}, {0, 8, 8, 1}, {5, 0, 1, 12}};
  problem.shapeSets[0] = {{5, 3, 1}};
  AnnealingOptions options;
  options.changes = 2000;
  EXPECT_EQ(anneal(problem, options, placement),
            "no placement was found in what keep-outs and pinned regions "
            "leave; with more changes, or on a larger mesh, there may be one");
}

/// As many PEs as there are, but no way to fill them.
TEST(AnnealingPlacer, SaysThatNoneWasFoundWithoutKeepOuts) {
  PlacementProblem problem = fourRegions(8, 8);
  problem.shapeSets[0] = {{5, 3, 1}};
  AnnealingOptions options;
  options.changes = 2000;
  Placement placement;
  EXPECT_EQ(anneal(problem, options, placement),
            "no placement was found that fills the mesh so far; with more "
            "changes, or on a larger mesh, there may be one");
}

/// A lattice of keep-outs leaves 36 rooms of 2x2 PEs; 16 are looked at.
TEST(AnnealingPlacer, SaysWhichRoomsWereLeftEmpty) {
  PlacementProblem problem;
  problem.width = problem.height = 17;
  for (int64_t at = 2; at < 17; at += 3) {
    problem.keepOuts.push_back({at, 0, 1, 17});
    problem.keepOuts.push_back({0, at, 17, 1});
  }
  for (int i = 0; i < 20; ++i)
    problem.add("r" + std::to_string(i), {{2, 2, 1}});
  AnnealingOptions options;
  options.changes = 2000;
  Placement placement;
  EXPECT_EQ(anneal(problem, options, placement),
            "no placement was found in what keep-outs and pinned regions "
            "leave; with more changes, or on a larger mesh, there may be one; "
            "20 of the 36 rooms between keep-outs and pinned regions, the "
            "smallest, were left empty");
}

/// Faster shapes are worth longer wires where latency counts.
TEST(AnnealingPlacer, WeighsLatency) {
  PlacementProblem problem = randomProblem(3, 8);
  problem.width = problem.height = 120;
  const double without = problem.cost(solve(problem)).latency;
  problem.latencyWeight = 1;
  EXPECT_LT(problem.cost(solve(problem)).latency, 0.95 * without);
}

/// Each to the side where nothing is in the way.
TEST(Grow, TakesFreePes) {
  PlacementProblem problem = fourRegions(32, 32);
  problem.shapeSets[0] = {{4, 4, 2}, {10, 10, 1}};
  problem.regions.resize(2);
  problem.edges.resize(1);
  problem.latencyWeight = 1;
  problem.wireWeight = 0.01;
  Placement placement{{{0, {10, 10}}, {0, {14, 10}}}};
  grow(problem, placement);
  EXPECT_EQ(problem.verify(placement), "");
  EXPECT_EQ(problem.cost(placement).latency, 2);
  problem.keepOuts = {{9, 0, 1, 32}};
  placement = {{{0, {10, 10}}, {0, {14, 10}}}};
  grow(problem, placement);
  EXPECT_EQ(problem.cost(placement).latency, 3);
}

/// A pinned region whose cheapest shape leaves no room has another one.
TEST(AnnealingPlacer, PinnedRegionsLeaveRoom) {
  PlacementProblem problem = fourRegions(8, 8);
  problem.regions.clear();
  problem.edges.clear();
  problem.shapeSets = {{{8, 7, 1}, {4, 8, 2}}, {{4, 2, 1}}};
  problem.regions = {{"a", 0, PlacedOrigin{0, 0}}, {"b", 1}};
  const Placement placement = solve(problem);
  EXPECT_EQ(placement.regions[0].shape, 1u);
  EXPECT_EQ(placement.regions[1].at, (PlacedOrigin{4, 0}));
}

/// Also one that costs more than any limit, of which there are not as many as
/// costs.
TEST(AnnealingPlacer, PinnedRegionsMayCostMost) {
  PlacementProblem problem = fourRegions(32, 32);
  problem.shapeSets[0].clear();
  for (int i = 0; i < 300; ++i)
    problem.shapeSets[0].push_back({4, 4, 1000. + i});
  problem.add("e", {{8, 8, 1}, {4, 4, 1300}}, PlacedOrigin{28, 28});
  EXPECT_EQ(problem.cost(solve(problem)).throughput, 1300);
}

/// Rooms and what is taken tile the area, PE by PE.
TEST(FreeRooms, TileWhatIsLeft) {
  RandomNumbers random(1);
  for (int i = 0; i < 200; ++i) {
    const PlacedRegion area{1, 2, 1 + random.below(12), 1 + random.below(12)};
    std::vector<PlacedRegion> taken;
    for (int32_t j = random.below(5); j > 0; --j)
      taken.push_back({random.below(14), random.below(14), 1 + random.below(4),
                       1 + random.below(4)});
    const std::vector<PlacedRegion> rooms = freeRooms(area, taken);
    for (int64_t y = 0; y < 16; ++y)
      for (int64_t x = 0; x < 16; ++x) {
        const PlacedRegion pe{x, y, 1, 1};
        int in = 0, isTaken = 0;
        for (const PlacedRegion &room : rooms)
          in += room.overlaps(pe);
        for (const PlacedRegion &its : taken)
          isTaken += its.overlaps(pe);
        EXPECT_EQ(in, pe.overlaps(area) && !isTaken);
      }
  }
}

/// A small hole costs no more than a strip.
TEST(FreeRooms, AreLarge) {
  const auto rooms = freeRooms({0, 0, 100, 100}, {{40, 50, 2, 2}});
  ASSERT_EQ(rooms.size(), 4u);
  int64_t largest = 0, second = 0;
  for (const PlacedRegion &room : rooms) {
    const int64_t pes = room.columns * room.rows;
    second = std::max(second, std::min(pes, largest));
    largest = std::max(largest, pes);
  }
  EXPECT_EQ(largest + second, 100 * 98);
}

/// The tree of a problem in these rooms.
SlicingProblem slicingOf(const PlacementProblem &problem,
                         const std::vector<PlacedRegion> &rooms) {
  SlicingProblem slicing;
  slicing.rooms = rooms;
  for (const RegionRequest &region : problem.regions)
    slicing.sets.push_back(region.shapeSet);
  for (const PlacementEdge &edge : problem.edges)
    slicing.edges.push_back({int32_t(edge.from), int32_t(edge.to), 1});
  slicing.pulls = {{0, 30, std::nullopt, 2}, {1, std::nullopt, 10, 1}};
  for (size_t region : problem.flowOrder())
    slicing.order.push_back(int32_t(region));
  return slicing;
}

/// What is kept up change by change is what a new tree computes, and what is
/// undone leaves no trace.
void changeAndUndo(const SlicingProblem &slicing, const ShapeCurves &curves,
                   const std::vector<SlicingTree::Columns> &columns) {
  SlicingTree tree(slicing, curves), fresh(slicing, curves);
  tree.buildColumns(columns, curves.limits().size() / 2);
  RandomNumbers random(7);
  for (int i = 0; i < 2000; ++i) {
    const int64_t overflow = tree.overflow();
    const double wire = tree.layOut();
    if (random.below(20))
      tree.change(random);
    else
      tree.changeLimit(random.below(curves.limits().size()));
    if (random.below(3) == 0) {
      tree.undo();
      ASSERT_EQ(tree.overflow(), overflow);
      ASSERT_EQ(tree.layOut(), wire);
    } else {
      tree.keep();
      fresh.restore(tree.plan());
      ASSERT_EQ(tree.overflow(), fresh.overflow());
      ASSERT_EQ(tree.layOut(), fresh.layOut());
    }
  }
}

TEST(SlicingTree, ChangesAndUndoneChanges) {
  const PlacementProblem problem = randomProblem(5, 9);
  const ShapeCurves curves(problem);
  changeAndUndo(slicingOf(problem, {{0, 0, 90, 70}}), curves,
                {{{0, 1, 2}, {5, 4, 3}, {6, 7, 8}}});
  changeAndUndo(
      slicingOf(problem, {{0, 0, 40, 70}, {42, 0, 48, 30}, {42, 31, 48, 39}}),
      curves, {{{0, 1, 2}, {5, 4, 3}}, {}, {{6, 7, 8}}});
}

/// Shapes that may not be turned.
TEST(SlicingTree, OneOrientation) {
  PlacementProblem problem = fourRegions(6, 8);
  problem.shapeSets[0] = {{4, 4, 2}, {2, 6, 3}};
  problem.edges.clear();
  problem.regions.resize(2);
  const Placement placement = solve(problem);
  EXPECT_EQ(problem.cost(placement).throughput, 2);
  EXPECT_EQ(placement.regions[0].at.x, placement.regions[1].at.x);
  problem.height = 6; // 2x6 and 4x4 beside one another
  EXPECT_EQ(problem.cost(solve(problem)).throughput, 3);
}

} // namespace
