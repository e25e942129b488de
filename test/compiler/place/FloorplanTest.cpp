// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/FloorplanAnnealer.h"
#include "compiler/place/SlicingTree.h"

#include <gtest/gtest.h>

#include <limits>

using namespace wsec;

namespace {

/// Four blocks in a row, each 4x4 for a cost of 2 or 2x6 for one of 3.
FloorplanProblem fourBlocks(int64_t width, int64_t height) {
  FloorplanProblem problem;
  problem.width = width;
  problem.height = height;
  problem.shapeSets = {{{4, 4, 2}, {2, 6, 3}}};
  problem.blocks = {{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}};
  problem.edges = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}};
  return problem;
}

Floorplan solve(const FloorplanProblem &problem, int64_t changes = 3000,
                int threads = 1, uint64_t seed = 1) {
  EXPECT_EQ(problem.check(), "");
  Floorplan floorplan;
  AnnealingOptions options;
  options.changes = changes;
  options.threads = threads;
  options.seed = seed;
  EXPECT_EQ(annealFloorplan(problem, options, floorplan), "");
  EXPECT_EQ(problem.verify(floorplan), "");
  return floorplan;
}

/// Blocks of many shapes, of areas and edges drawn from a seed.
FloorplanProblem randomProblem(uint64_t seed, size_t blocks) {
  RandomNumbers random(seed);
  FloorplanProblem problem;
  problem.width = 90;
  problem.height = 70;
  problem.wireWeight = 1 + random.below(3);
  for (size_t i = 0; i < blocks; ++i) {
    const int64_t work = 2000 + random.below(4000);
    std::vector<BlockShape> &set = problem.shapeSets.emplace_back();
    for (int64_t width = 4; width <= 60; width += 1 + random.below(4))
      for (int64_t height = 5; height <= 60; height += 1 + random.below(4))
        set.push_back({width, height, double(work / (width * height))});
    problem.blocks.push_back({"b" + std::to_string(i), i});
    if (i)
      problem.edges.push_back({size_t(random.below(i)), i, 1});
  }
  return problem;
}

TEST(Floorplan, F1EveryBlockHasAPlaceAndAShape) {
  const FloorplanProblem problem = fourBlocks(8, 8);
  Floorplan floorplan = solve(problem);
  floorplan.blocks.pop_back();
  EXPECT_EQ(problem.verify(floorplan), "F1: 4 blocks, 3 places");
  floorplan.blocks.push_back({2, false, 0, 0});
  EXPECT_EQ(problem.verify(floorplan), "F1: block d has no shape 2");
}

TEST(Floorplan, F2BlocksLieInsideTheArea) {
  const FloorplanProblem problem = fourBlocks(16, 6);
  Floorplan floorplan{{{0, false, 0, 0},
                       {0, false, 4, 0},
                       {0, false, 8, 0},
                       {0, false, 12, 2}}};
  EXPECT_EQ(problem.verify(floorplan), "");
  floorplan.blocks[3] = {0, false, 12, 3};
  EXPECT_EQ(problem.verify(floorplan),
            "F2: block d of 4x4 at (12, 3) leaves the area of 16x6");
  floorplan.blocks[3] = {1, true, 12, 0};
  EXPECT_EQ(problem.verify(floorplan),
            "F2: block d of 6x2 at (12, 0) leaves the area of 16x6");
  floorplan.blocks[3] = {0, false, -1, 2};
  EXPECT_EQ(problem.verify(floorplan),
            "F2: block d of 4x4 at (-1, 2) leaves the area of 16x6");
  floorplan.blocks[3] = {0, false, 12, -1};
  EXPECT_EQ(problem.verify(floorplan),
            "F2: block d of 4x4 at (12, -1) leaves the area of 16x6");
}

TEST(Floorplan, F3BlocksAreDisjoint) {
  const FloorplanProblem problem = fourBlocks(16, 6);
  const Floorplan floorplan{{{0, false, 0, 0},
                             {0, false, 4, 0},
                             {1, false, 7, 0},
                             {0, false, 12, 2}}};
  EXPECT_EQ(problem.verify(floorplan),
            "F3: block b of 4x4 at (4, 0) overlaps block c of 2x6 at (7, 0)");
}

TEST(Floorplan, ScoreWeighsTheLargestCostAndCentres) {
  FloorplanProblem problem = fourBlocks(16, 6);
  problem.costWeight = 10;
  problem.wireWeight = 2;
  problem.edges[2].weight = 3;
  // Centres (2,2) (6,2) (9,3) (14,3).
  const FloorplanScore score = problem.score({{{0, false, 0, 0},
                                               {0, false, 4, 0},
                                               {1, false, 8, 0},
                                               {0, false, 12, 1}}});
  EXPECT_EQ(score.cost, 3);
  EXPECT_EQ(score.wire, 4 + 4 + 3 * 5);
  EXPECT_EQ(score.total, 10 * 3 + 2 * 23);
}

TEST(Floorplan, BoundIsWhereTheSmallestShapesFill) {
  EXPECT_EQ(fourBlocks(8, 8).costBound(), 2); // 64 cells: 4 x 16
  EXPECT_EQ(fourBlocks(8, 7).costBound(), 3); // 56 cells: 4 x 12
  EXPECT_GT(fourBlocks(8, 5).costBound(), 1e300);
}

TEST(Floorplan, CheckNamesWhatMakesNoSense) {
  FloorplanProblem problem = fourBlocks(5, 3);
  EXPECT_EQ(problem.check(), "no shape of block a fits 5x3");
  problem = fourBlocks(8, 8);
  problem.blocks[1].shapeSet = 1;
  EXPECT_EQ(problem.check(), "block b has no shapes");
  problem = fourBlocks(8, 8);
  problem.edges[0].to = 4;
  EXPECT_EQ(problem.check(), "an edge has no blocks or a negative weight");
  problem = fourBlocks(8, 0);
  EXPECT_EQ(problem.check(), "an area of 8x0 has no cells");
  problem = fourBlocks(8, 8);
  problem.shapeSets[0][1].height = 0;
  EXPECT_EQ(problem.check(), "a shape of 2x0 is no rectangle with a cost");
  problem = fourBlocks(8, 8);
  problem.shapeSets[0][1].cost = std::numeric_limits<double>::infinity();
  EXPECT_NE(problem.check().find("is no rectangle with a cost"),
            std::string::npos);
  problem.shapeSets[0][1] = {0, 2, 1};
  EXPECT_EQ(problem.check(), "a shape of 0x2 is no rectangle with a cost");
  EXPECT_EQ(fourBlocks(0, 8).check(), "an area of 0x8 has no cells");
  for (double FloorplanProblem::*weight :
       {&FloorplanProblem::costWeight, &FloorplanProblem::wireWeight}) {
    problem = fourBlocks(8, 8);
    problem.*weight = -1;
    EXPECT_EQ(problem.check(), "weights of cost and wire are at least 0");
  }
  problem = fourBlocks(8, 8);
  problem.edges[0].from = 4;
  EXPECT_EQ(problem.check(), "an edge has no blocks or a negative weight");
  problem = fourBlocks(8, 8);
  problem.edges[0].weight = -1;
  EXPECT_EQ(problem.check(), "an edge has no blocks or a negative weight");
}

TEST(FloorplanAnnealer, FindsThePerfectTiling) {
  FloorplanProblem problem = fourBlocks(8, 8);
  problem.wireWeight = 0.1;
  EXPECT_DOUBLE_EQ(problem.score(solve(problem)).total, 2 + 0.1 * 12);
}

/// Turned by 90 degrees or not at all.
TEST(FloorplanAnnealer, TurnsBlocks) {
  const FloorplanProblem problem = fourBlocks(6, 8);
  const Floorplan floorplan = solve(problem);
  EXPECT_EQ(problem.score(floorplan).total, 3 + 6);
  EXPECT_TRUE(floorplan.blocks[0].rotated);
}

/// A dearer shape is worth it where wires weigh more.
TEST(FloorplanAnnealer, WeighsCostAgainstWire) {
  FloorplanProblem problem = fourBlocks(32, 32);
  problem.wireWeight = 0.01;
  EXPECT_EQ(problem.score(solve(problem)).cost, 2);
  problem.wireWeight = 10;
  EXPECT_EQ(problem.score(solve(problem)).cost, 3);
}

TEST(FloorplanAnnealer, SaysWhyThereIsNone) {
  Floorplan floorplan;
  EXPECT_EQ(annealFloorplan(fourBlocks(8, 5), {}, floorplan),
            "the smallest shapes of all blocks together have more cells than "
            "the area");
}

TEST(FloorplanAnnealer, DependsOnTheSeedOnly) {
  const FloorplanProblem problem = randomProblem(3, 24);
  const Floorplan first = solve(problem, 4000, 1);
  const Floorplan again = solve(problem, 4000, 3);
  const Floorplan other = solve(problem, 4000, 1, 2);
  bool differs = false;
  for (size_t i = 0; i < first.blocks.size(); ++i) {
    EXPECT_EQ(first.blocks[i].x, again.blocks[i].x);
    EXPECT_EQ(first.blocks[i].y, again.blocks[i].y);
    EXPECT_EQ(first.blocks[i].shape, again.blocks[i].shape);
    differs |= first.blocks[i].x != other.blocks[i].x;
  }
  EXPECT_TRUE(differs);
}

TEST(FloorplanAnnealer, RandomProblemsGetLegalFloorplans) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    solve(randomProblem(seed, 1 + seed), 2000);
}

/// What is kept up change by change is what a new tree computes, and what is
/// undone leaves no trace.
TEST(SlicingTree, ChangesAndUndoneChanges) {
  const FloorplanProblem problem = randomProblem(5, 9);
  const ShapeCurves curves(problem);
  SlicingTree tree(problem, curves), fresh(problem, curves);
  tree.buildColumns({{0, 1, 2}, {5, 4, 3}, {6, 7, 8}},
                    curves.limits().size() / 2);
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

} // namespace
