// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On random routings, sound and broken, RandomProblems holds the proof against
// the walk over all PEs.

#include "compiler/route/RouteProof.h"
#include "TransformerStreams.h"
#include "compiler/route/ColoringRouter.h"

#include <gtest/gtest.h>

using namespace wsec;

namespace {

// A ring hears the west, the south, the east and the north in turn, so no
// local rule is broken: only the ports that words arrive by give it away.
TEST(RouteProof, SeesALoopThatFeedsItself) {
  RoutingProblem problem = transformerProblem(6, 6, 1, {1, 6, 1});
  problem.streams = {{"key", StreamPattern::KeyCast, {1, 6, 2}}};
  Routing routing;
  ASSERT_EQ(routeByColoring(problem, routing), "");
  int64_t color = routing.streams[0].colors[0];
  auto add = [&](int64_t x, int64_t y, Port receive, Port transmit) {
    routing.streams[0].rules.push_back(
        {color, {x, x + 1, 1, y, y + 1, 1}, receive, portBit(transmit)});
  };
  add(2, 3, Port::South, Port::East);
  add(3, 3, Port::West, Port::South);
  add(3, 4, Port::North, Port::West);
  add(2, 4, Port::East, Port::North);
  EXPECT_FALSE(proveRouting(problem, routing));
  EXPECT_NE(problem.verify(routing).find("fed by no source"),
            std::string::npos);
}

int64_t stepsOn(int64_t width, int64_t height) {
  RoutingProblem problem =
      transformerProblem(width, height, 44, {height / 71, 71, 65});
  Routing routing;
  EXPECT_EQ(routeByColoring(problem, routing), "");
  int64_t steps = 0;
  EXPECT_TRUE(proveRouting(problem, routing, &steps));
  return steps;
}

// Sixteen planes of 745500 PEs would be twelve million steps.
TEST(RouteProof, StepsFollowTheSidesNotTheArea) {
  int64_t small = stepsOn(188, 249), whole = stepsOn(750, 994);
  EXPECT_LT(whole, 5 * small);
  EXPECT_LT(whole, 2 * 750 * 994);
}

} // namespace
