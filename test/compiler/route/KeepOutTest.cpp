// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ways that go straight no more: round keep-outs, and round other regions.

#include "RoutingTests.h"

using namespace wsec;

namespace {

/// A region of 3x4 PEs at (6,1) of a mesh of 12x6, and keep-outs west, north
/// and east of it.
RoutingProblem amongKeepOuts() {
  RoutingProblem problem = transformerProblem(3, 4, 2, {1, 4, 4});
  problem.meshWidth = 12;
  problem.meshHeight = 6;
  problem.regions[0].x = 6;
  problem.regions[0].y = 1;
  problem.regions[0].name = "r";
  problem.keepOuts = {{2, 4, 1, 0, 3, 1}, {10, 11, 1, 1, 5, 1}};
  return problem;
}

TEST(RoutingProblem, WaysGoRoundKeepOuts) {
  RoutingProblem problem = amongKeepOuts();
  Routing routing = solve(problem);
  EXPECT_EQ(problem.verify(routing), "");
  const auto &launch = routing.streams[indexOf(problem, StreamPattern::Launch)];
  EXPECT_EQ(ruleAt(launch, 2, 0), nullptr);
  EXPECT_EQ(ruleAt(launch, 2, 3)->receive, Port::West);
  // The channel in row 1 goes round, the one in row 3 straight.
  const auto &channel =
      routing.streams[indexOf(problem, StreamPattern::Channel)];
  EXPECT_NE(ruleAt(channel, 1, 2), nullptr);
  EXPECT_EQ(ruleAt(channel, 0, 1)->receive, Port::West);
  // Exits come back to their rows.
  const auto &exit = routing.streams[indexOf(problem, StreamPattern::OutExit)];
  EXPECT_TRUE(ruleAt(exit, 11, 1)->transmit & portBit(Port::East));
  EXPECT_EQ(ruleAt(exit, 10, 1), nullptr);
  size_t rules = 0;
  for (const RoutedStream &stream : routing.streams)
    rules += stream.rules.size();
  EXPECT_LT(rules, 150u);
}

TEST(RoutingProblem, LaunchesPassThroughOneRegionToTheNext) {
  // Nothing but @a leads to @b.
  RoutingProblem problem = twoRegions(0);
  problem.keepOuts = {{3, 7, 1, 4, 5, 1}, {6, 7, 1, 0, 4, 1}};
  problem.meshHeight = 5;
  problem.streams = {{"launch", StreamPattern::Launch, {}}};
  EXPECT_EQ(problem.verify(solve(problem)), "");
  problem.regions[1].y = problem.regions[0].y = 1;
  problem.meshHeight = 6;
  problem.keepOuts = {{2, 3, 1, 0, 1, 1}};
  EXPECT_EQ(problem.verify(solve(problem)), "");
}

TEST(RoutingProblem, WaysThatKeepOutsShutOffAreNamed) {
  RoutingProblem problem = amongKeepOuts();
  problem.keepOuts = {{2, 4, 1, 0, 6, 1}};
  Routing routing;
  EXPECT_EQ(routeByColoring(problem, routing),
            "RouteCongestion: launches do not reach @r: no way leads from PE "
            "(0,0) around the keep-out of columns 2 to 3 and rows 0 to 5\n"
            "place it elsewhere, or leave a lane of PEs free");
  problem.keepOuts = {{10, 11, 1, 0, 6, 1}};
  const std::string error = routeByColoring(problem, routing);
  EXPECT_EQ(error.rfind("RouteCongestion: there are no ways for stream "
                        "'out_exit' of @r in rows 1 to 4\non color ",
                        0),
            0u)
      << error;
  EXPECT_NE(error.find("no way is left for 'the exit in row 1 of @r' from PE "
                       "(8,1) to PE (11,1) past the keep-out of columns 10 to "
                       "10 and rows 0 to 5"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("\nplace it elsewhere, or leave a lane of PEs free to "
                       "the edge"),
            std::string::npos);
}

// Rows of the whole mesh fill its lanes: those that a keep-out is in the way of
// pass through the lanes of others on another color, which takes no search.
TEST(RoutingProblem, TransferOfAllRowsPastAKeepOut) {
  RoutingProblem problem;
  problem.meshWidth = 14;
  problem.meshHeight = 90;
  problem.colors = 4;
  problem.regions = {{0, 0, 4, 90, {{0, 0, 4}}, {{0, 0, 90}}, "a"},
                     {10, 0, 4, 90, {{0, 0, 4}}, {{0, 0, 90}}, "b"}};
  problem.streams = {{"east", StreamPattern::Transfer, {}, 0, 1}};
  problem.keepOuts = {{6, 9, 1, 40, 42, 1}};
  problem.searchSteps = 4000;
  const Routing routing = solve(problem);
  EXPECT_EQ(problem.verify(routing), "");
  EXPECT_EQ(routing.streams[0].colors.size(), 2u);
}

TEST(RoutingProblem, TooFewColorsToGoStraight) {
  // Words for @b could pass @a on a second color; on the first they go round.
  RoutingProblem problem = twoRegions(1);
  problem.meshHeight = 6;
  for (RouteRegion &region : problem.regions) {
    region.x += 1;
    region.y = 1;
  }
  problem.regions[0].west = {{0, 0, 3}};
  problem.regions[0].east = {{0, 0, 4}};
  problem.regions[1].west = {{2, 0, 3}};
  problem.regions[1].east = {{2, 0, 4}};
  problem.streams = {{"cast", StreamPattern::RowCast, {}, 0},
                     {"channel", StreamPattern::Channel, {}, 1}};
  problem.colors = 2;
  EXPECT_EQ(solve(problem).streams[1].rules.size(), 3u);
  problem.colors = 1;
  Routing routing = solve(problem);
  EXPECT_EQ(problem.verify(routing), "");
  EXPECT_EQ(ruleAt(routing.streams[1], 1, 5)->receive, Port::West);
  problem.meshHeight = 5;
  problem.regions[0].y = problem.regions[1].y = 0;
  problem.regions[1].height = 4;
  problem.keepOuts = {{3, 4, 1, 4, 5, 1}};
  EXPECT_EQ(routeByColoring(problem, routing)
                .rfind("ColorOverflow: the "
                       "streams of the program "
                       "need 2 colors",
                       0),
            0u);
}

TEST(RoutingProblem, ChecksKeepOuts) {
  auto errorOf = [](Rect rect) {
    RoutingProblem problem = amongKeepOuts();
    problem.keepOuts = {rect};
    return problem.check();
  };
  EXPECT_EQ(errorOf({11, 13, 1, 0, 1, 1}),
            "the keep-out of columns 11 to 12 and rows 0 to 0 is no rectangle "
            "of the mesh");
  EXPECT_EQ(errorOf({8, 9, 1, 0, 2, 1}),
            "the region at (6,1) has PEs of the keep-out of columns 8 to 8 and "
            "rows 0 to 1");
  EXPECT_EQ(errorOf({0, 1, 1, 0, 1, 1}),
            "stream 'launch' enters the mesh at PE (0,0), which lies in the "
            "keep-out of columns 0 to 0 and rows 0 to 0; leave the edge free "
            "there");
  EXPECT_EQ(errorOf({0, 1, 1, 3, 4, 1}),
            "stream 'channel' enters the mesh at PE (0,3), which lies in the "
            "keep-out of columns 0 to 0 and rows 3 to 3; leave the edge free "
            "there");
  EXPECT_EQ(errorOf({11, 12, 1, 1, 2, 1}),
            "stream 'out_exit' leaves the mesh at PE (11,1), which lies in the "
            "keep-out of columns 11 to 11 and rows 1 to 1; leave the edge free "
            "there");
}

} // namespace
