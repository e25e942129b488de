// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/RoutingProblem.h"
#include "RoutingTests.h"
#include "compiler/route/RoutePlan.h"

#include <gtest/gtest.h>

#include <functional>

using namespace wsec;

namespace {

/// A legal routing of an 8x8 mesh with one rule of one stream changed.
class BrokenRouting : public ::testing::Test {
protected:
  void SetUp() override {
    problem = transformerProblem(8, 8, 2, {2, 4, 3});
    routing = solve(problem);
    ASSERT_EQ(problem.verify(routing), "");
  }
  RoutedStream &stream(StreamPattern pattern) {
    return routing.streams[indexOf(problem, pattern)];
  }
  void expectError(const std::string &part) {
    std::string error = problem.verify(routing);
    EXPECT_NE(error.find(part), std::string::npos) << "error: " << error;
  }
  RoutingProblem problem;
  Routing routing;
};

TEST(RoutingProblem, SolvesMeshesOfManyShapes) {
  for (int64_t width : {1, 2, 3, 8, 33})
    for (int64_t height : {1, 2, 5, 32})
      for (int64_t channels : {1, 2, 3, 44}) {
        RowSet all{1, height, height};
        RowSet some{1, height, (height + 1) / 2};
        RowSet groups{height / 2, 2, 1};
        for (RowSet rows : {all, some, groups}) {
          if (rows.groups == 0)
            continue;
          RoutingProblem problem = transformerProblem(
              width, height, std::min(channels, height), rows);
          EXPECT_EQ(problem.verify(solve(problem)), "")
              << width << "x" << height << ", " << channels << " channels";
        }
      }
}

/// All of a column but the PE that sends.
TEST(RoutingProblem, ColumnRestReachesAllButItsInjector) {
  RoutingProblem problem = transformerProblem(2, 4, 2, {1, 4, 4});
  const Routing routing = solve(problem);
  const RoutedStream &rest =
      routing.streams[indexOf(problem, StreamPattern::ColumnRest)];
  for (const RouteChannel &channel : problem.regions[0].west)
    for (int64_t x = channel.begin; x < channel.end; ++x)
      for (int64_t y = 0; y < 4; ++y) {
        const RouteRule *rule = ruleAt(rest, x, y);
        ASSERT_NE(rule, nullptr) << x << ", " << y;
        EXPECT_EQ((rule->transmit & portBit(Port::Ramp)) != 0, y != channel.row)
            << x << ", " << y;
        EXPECT_EQ(rule->receive == Port::Ramp, y == channel.row);
      }
}

TEST_F(BrokenRouting, ColumnRestThatItsInjectorHears) {
  for (RouteRule &rule : stream(StreamPattern::ColumnRest).rules)
    if (rule.receive == Port::Ramp)
      rule.transmit |= portBit(Port::Ramp);
  EXPECT_NE(problem.verify(routing), "");
}

TEST_F(BrokenRouting, ColumnRestThatAPEDoesNotHear) {
  for (RouteRule &rule : stream(StreamPattern::ColumnRest).rules)
    if (rule.receive != Port::Ramp) {
      rule.transmit &= uint8_t(~portBit(Port::Ramp));
      break;
    }
  EXPECT_NE(problem.verify(routing), "");
}

TEST(RoutingProblem, StreamsOfTheHostPassThePEsBesideARegion) {
  RoutingProblem problem = transformerProblem(3, 2, 2, {1, 2, 2});
  problem.regions[0].x = 2;
  problem.regions[0].y = 3;
  problem.meshWidth = 7;
  problem.meshHeight = 6;
  Routing routing = solve(problem);
  EXPECT_EQ(problem.verify(routing), "");
  const RoutedStream &launch =
      routing.streams[indexOf(problem, StreamPattern::Launch)];
  // East along the first row of the mesh, south down the region's columns.
  EXPECT_EQ(ruleAt(launch, 0, 0)->receive, Port::West);
  EXPECT_EQ(ruleAt(launch, 0, 0)->transmit, portBit(Port::East));
  EXPECT_EQ(ruleAt(launch, 2, 0)->transmit,
            portBit(Port::East) | portBit(Port::South));
  EXPECT_EQ(ruleAt(launch, 4, 2)->transmit, portBit(Port::South));
  EXPECT_EQ(ruleAt(launch, 4, 4)->transmit, portBit(Port::Ramp));
  EXPECT_EQ(ruleAt(launch, 0, 3), nullptr);
  EXPECT_EQ(ruleAt(launch, 5, 0), nullptr);
  EXPECT_EQ(ruleAt(launch, 2, 5), nullptr);
  const RoutedStream &channel =
      routing.streams[indexOf(problem, StreamPattern::Channel)];
  EXPECT_EQ(ruleAt(channel, 0, 4)->transmit, portBit(Port::East));
  const RoutedStream &exit =
      routing.streams[indexOf(problem, StreamPattern::OutExit)];
  EXPECT_EQ(ruleAt(exit, 4, 3)->receive, Port::Ramp);
  EXPECT_EQ(ruleAt(exit, 6, 3)->receive, Port::West);
}

TEST(RoutingProblem, RegionsHaveStreamsOfTheirOwn) {
  for (int64_t gap : {0, 1, 2}) {
    RoutingProblem problem = twoRegions(gap);
    Routing routing = solve(problem);
    EXPECT_EQ(problem.verify(routing), "");
    const RoutedStream &launch =
        routing.streams[indexOf(problem, StreamPattern::Launch)];
    EXPECT_EQ(ruleAt(launch, 3 + gap, 3)->transmit, portBit(Port::Ramp));
    EXPECT_EQ(ruleAt(launch, 6 + gap, 0), nullptr);
  }
}

TEST(RoutingProblem, TransfersReachTheirRegionAndNoOther) {
  RoutingProblem problem = twoRegions(1);
  Routing routing = solve(problem);
  RoutedStream &east = routing.streams[problem.streams.size() - 2];
  for (RouteRule &rule : east.rules)
    if (rule.transmit == portBit(Port::East) && rule.receive == Port::West)
      rule.transmit |= portBit(Port::Ramp); // the PEs between them
  EXPECT_EQ(problem.verify(routing),
            "stream 'east', color " + std::to_string(east.colors[0]) +
                ": words of PE (2,0) reach PE (3,0), which is not meant");
}

TEST(RoutingProblem, TransfersToOtherRowsAreSearched) {
  // Three lanes between the regions, for the four rows of a transfer each way.
  RoutingProblem problem = twoRegions(3);
  problem.meshHeight = 6;
  problem.regions[1].y = 2;
  Routing routing = solve(problem);
  EXPECT_EQ(problem.verify(routing), "");
  const RoutedStream &east = routing.streams[problem.streams.size() - 2];
  EXPECT_EQ(ruleAt(east, 2, 0)->receive, Port::Ramp);
  for (int64_t y = 2; y < 6; ++y)
    EXPECT_EQ(ruleAt(east, 8, y)->transmit, portBit(Port::Ramp));
}

TEST(RoutingProblem, TransferWithoutAWayNamesWhoCompetes) {
  // Rows 2 and 3 of the one above the other, which nothing passes by.
  RoutingProblem problem = twoRegions(0);
  problem.meshWidth = 3;
  problem.meshHeight = 8;
  problem.regions[0].name = "a";
  problem.regions[1].name = "b";
  problem.regions[1].x = 0;
  problem.regions[1].y = 4;
  problem.streams = {problem.streams.back()};
  problem.colors = 1;
  Routing routing;
  const std::string error = routeByColoring(problem, routing);
  EXPECT_EQ(
      error.rfind("RouteCongestion: there are no ways for a transfer from "
                  "@b in rows 4 to 7 to @a in rows 0 to 3\n",
                  0),
      0u)
      << error;
  EXPECT_NE(error.find("\nplace both in the same rows, or leave columns free "
                       "between them"),
            std::string::npos);
}

/// From 4 rows to 2, or back, of regions beside one another.
RoutingProblem otherHeights(bool back, int64_t tokens) {
  RoutingProblem problem;
  problem.meshWidth = 8;
  problem.meshHeight = 4;
  problem.colors = 24;
  problem.regions = {{0, 0, 2, 4, {{0, 0, 2}}, {{0, 0, 4}}, "a"},
                     {5, 1, 2, 2, {{0, 0, 2}}, {{0, 0, 2}}, "b"}};
  problem.streams = {{"t",
                      StreamPattern::Transfer,
                      {1, tokens, tokens},
                      size_t(back),
                      size_t(!back)}};
  return problem;
}

TEST(RoutingProblem, SearchThatGivesUpSaysWhoCompetes) {
  // One lane between the regions, for four rows each way.
  RoutingProblem problem = twoRegions(1);
  problem.meshHeight = 6;
  problem.regions[1].y = 2;
  Routing routing = solve(problem);
  problem.searchSteps = 400;
  const std::string error = routeByColoring(problem, routing);
  EXPECT_EQ(error.rfind("RouteEffort: the search for 'row ", 0), 0u) << error;
  EXPECT_NE(error.find(" compete for "), std::string::npos) << error;
  EXPECT_NE(error.find("\nplace regions in the same rows, or leave columns "
                       "free between them"),
            std::string::npos);
}

TEST(RoutingProblem, OnlyStreamsThatLackColorsMayBecomeOne) {
  RoutingProblem problem = twoRegions(1);
  Routing routing;
  problem.colors = 5;
  RouteLack lack;
  std::string error = routeByColoring(problem, routing, &lack);
  EXPECT_EQ(lack, RouteLack::Colors) << error;
  problem = otherHeights(false, 4);
  problem.colors = 1;
  error = routeByColoring(problem, routing, &lack);
  EXPECT_EQ(lack, RouteLack::Paths) << error;
  problem.colors = 2;
  error = routeByColoring(problem, routing, &lack);
  EXPECT_EQ(lack, RouteLack::Nothing) << error;
}

TEST(RoutingProblem, RowsThatMeetHaveDifferentColors) {
  // Tokens 0 to 3 of four rows: 0 and 1 meet in row 0 of the other region.
  RoutingProblem problem = otherHeights(false, 4);
  EXPECT_EQ(problem.leastColors(problem.streams[0]), 2);
  Routing routing = solve(problem);
  EXPECT_EQ(problem.verify(routing), "");
  ASSERT_EQ(routing.streams[0].colors.size(), 2u);
  routing.streams[0].colors.pop_back();
  EXPECT_EQ(problem.verify(routing),
            "stream 't' has 1 colors, pattern transfer needs 2 to 4");
  problem.colors = 1;
  Routing none;
  EXPECT_EQ(routeByColoring(problem, none),
            "RouteCongestion: 2 rows of @a in rows 0 to 3 meet in one of @b in "
            "rows 1 to 2, each in a color of its own, of 1\nplace both in "
            "regions whose heights differ less");
}

TEST(RoutingProblem, ARowIsHeardWhereItsTokensAre) {
  // Tokens 0 1 | 2 of two rows, of which rows 0, 1 and 2 of the other hold one
  // each; row 3 holds none.
  RoutingProblem problem = otherHeights(true, 3);
  EXPECT_EQ(problem.leastColors(problem.streams[0]), 1);
  Routing routing = solve(problem);
  EXPECT_EQ(problem.verify(routing), "");
  RoutedStream &stream = routing.streams[0];
  EXPECT_EQ(ruleAt(stream, 1, 3), nullptr);
  // Row 2 hears what rows 0 and 1 are sent, row 1 what row 2 is.
  Rect moved{0, 1, 1, 3, 4, 1};
  for (const RouteRule &rule : stream.rules)
    if (rule.rect.y0 <= 1 && rule.rect.y1 > 1 && rule.rect.x0 == 0)
      stream.rules.push_back(
          {rule.color, moved, Port::North, portBit(Port::Ramp)});
  EXPECT_NE(problem.verify(routing), "");
}

TEST(RoutingProblem, ChecksSeveralRegions) {
  RoutingProblem problem = twoRegions(0);
  problem.regions[1].x = 2;
  EXPECT_EQ(problem.check(), "two regions have PEs in common, the one at (0,0) "
                             "and the one at (2,0)");
  problem = twoRegions(0);
  problem.regions[1].height = 3;
  problem.regions[1].east = {{0, 0, 3}};
  problem.regions[1].west = {{0, 0, 3}};
  problem.streams.erase(problem.streams.begin(), problem.streams.end() - 2);
  EXPECT_EQ(problem.check(), "stream 'east' goes from 4 rows to 3; which "
                             "tokens, it does not say");
  StreamRequest &east = problem.streams[problem.streams.size() - 2];
  east.rows = {2, 3, 2};
  EXPECT_EQ(problem.check(), "stream 'east' goes from 4 rows to 3: 2 batch "
                             "elements of 3 tokens are no number of tokens");
  for (RowSet none : {RowSet{-1, 3, 3}, RowSet{1, 0, 0},
                      RowSet{2, int64_t(1) << 31, int64_t(1) << 31}}) {
    east.rows = none;
    EXPECT_NE(problem.check().find("are no number of tokens"),
              std::string::npos)
        << problem.check();
  }
  problem = twoRegions(0);
  problem.streams.back().target = 2;
  EXPECT_EQ(problem.check(), "stream 'west' goes to no other region");
  problem = twoRegions(0);
  problem.streams.back().rows = {1, 4, 4};
  EXPECT_EQ(problem.check(),
            "stream 'west' goes from 4 rows to 4 and takes no rows");
  problem = twoRegions(0);
  problem.streams.back().target = 1;
  EXPECT_EQ(problem.check(), "stream 'west' goes to no other region");
  problem.streams.back().region = 2;
  EXPECT_EQ(problem.check(), "stream 'west' is of no region");
  problem.regions.clear();
  EXPECT_EQ(problem.check(), "there is no region");
}

TEST(RoutingProblem, RulesOfAWholeWaferAreFew) {
  RoutingProblem problem = transformerProblem(750, 994, 44, {1, 994, 128});
  Routing routing = solve(problem);
  EXPECT_EQ(problem.verify(routing), "");
  size_t rules = 0;
  for (const RoutedStream &stream : routing.streams)
    rules += stream.rules.size();
  EXPECT_LT(rules, 44 * 26u);
}

TEST(RoutingProblem, TransformerFitsTheColorsOfTheMachine) {
  RoutingProblem problem = transformerProblem(32, 32, 8, {4, 8, 8});
  problem.streams.push_back({"pooled", StreamPattern::Column, RowSet{4, 8, 1}});
  EXPECT_EQ(problem.verify(solve(problem)), "");
}

TEST(RoutingProblem, TooManyStreamsNamesTheLimitAndTheRemedy) {
  RoutingProblem problem = transformerProblem(8, 8, 2, {1, 8, 8});
  problem.colors = 12;
  Routing routing;
  EXPECT_EQ(routeByColoring(problem, routing),
            "ColorOverflow: the streams of the program need 21 colors, the "
            "machine has 12 for programs; a mesh or --region of fewer rows "
            "needs fewer");
  problem.streams.push_back({"column_1", StreamPattern::Column, {1, 8, 1}});
  problem.streams.push_back({"column_2", StreamPattern::Column, {1, 8, 2}});
  std::string error = routeByColoring(problem, routing);
  EXPECT_NE(error.find("for programs, and 3 of " +
                       std::to_string(problem.streams.size()) +
                       " streams are 'column', one for each way to share out "
                       "tokens over rows; a mesh"),
            std::string::npos)
      << error;
}

TEST(RoutingProblem, StreamsWithoutCommonPeShareAColor) {
  RoutingProblem problem = transformerProblem(8, 8, 1, {1, 8, 8});
  problem.streams = {
      {"key_cast", StreamPattern::KeyCast, {1, 4, 4}},
      {"exit", StreamPattern::OutExit, {}},
      {"channel", StreamPattern::Channel, {}},
  };
  Routing routing = solve(problem);
  EXPECT_EQ(problem.verify(routing), "");
  // All three meet in the north-east corner, so they cannot share.
  EXPECT_NE(routing.streams[0].colors, routing.streams[1].colors);
  EXPECT_NE(routing.streams[1].colors, routing.streams[2].colors);

  // With the exit of a second channel only, the channel of row 0 is out of its
  // way.
  problem.regions[0].west = {{0, 0, 8}};
  problem.regions[0].east = {{4, 0, 8}};
  problem.streams = {problem.streams[1], problem.streams[2]};
  routing = solve(problem);
  EXPECT_EQ(problem.verify(routing), "");
  EXPECT_EQ(routing.streams[0].colors, routing.streams[1].colors);
}

TEST(RoutingProblem, ChecksItsInput) {
  auto errorOf = [](std::function<void(RoutingProblem &)> change) {
    RoutingProblem problem = transformerProblem(4, 4, 2, {1, 4, 4});
    change(problem);
    return problem.check();
  };
  EXPECT_EQ(errorOf([](RoutingProblem &p) { p.regions[0].x = 1; }),
            "a region leaves the mesh");
  auto expectLeaves = [&](std::function<void(RouteRegion &)> change) {
    EXPECT_EQ(errorOf([&](RoutingProblem &p) { change(p.regions[0]); }),
              "a region leaves the mesh");
  };
  expectLeaves([](RouteRegion &region) { region.x = -1; });
  expectLeaves([](RouteRegion &region) { region.y = -1; });
  expectLeaves([](RouteRegion &region) { region.y = 1; });
  EXPECT_EQ(errorOf([](RoutingProblem &p) { p.regions[0].width = 0; }),
            "a region has no PEs");
  EXPECT_EQ(errorOf([](RoutingProblem &p) { p.regions[0].height = 0; }),
            "a region has no PEs");
  EXPECT_EQ(errorOf([](RoutingProblem &p) { p.colors = 0; }),
            "0 usable colors, expected 1 to 32");
  EXPECT_EQ(
      errorOf([](RoutingProblem &p) { p.regions[0].west[1].row = 4; }),
      "west channels must lie on ascending rows of the region, found row 4");
  EXPECT_EQ(errorOf([](RoutingProblem &p) { p.regions[0].west[0].end = -1; }),
            "west channels must share 4 columns or rows without gap");
  EXPECT_EQ(errorOf([](RoutingProblem &p) { p.colors = 33; }),
            "33 usable colors, expected 1 to 32");
  EXPECT_EQ(
      errorOf([](RoutingProblem &p) { p.regions[0].west[1].row = 0; }),
      "west channels must lie on ascending rows of the region, found row 0");
  EXPECT_EQ(errorOf([](RoutingProblem &p) { p.regions[0].west.pop_back(); }),
            "west channels serve 2 of 4");
  EXPECT_EQ(errorOf([](RoutingProblem &p) { p.regions[0].west[1].begin = 3; }),
            "west channels must share 4 columns or rows without gap");
  EXPECT_EQ(errorOf([](RoutingProblem &p) {
              p.regions[0].east[0].row = 2;
              p.regions[0].east[1].row = 3;
            }),
            "the east channel at row 2 does not lie in the rows it carries");
  EXPECT_EQ(errorOf([](RoutingProblem &p) { p.streams[2].rows = {}; }),
            "stream 'column' of pattern column needs rows");
  EXPECT_EQ(errorOf([](RoutingProblem &p) { p.streams[0].rows = {1, 1, 1}; }),
            "stream 'channel' of pattern channel takes no rows");
  EXPECT_EQ(errorOf([](RoutingProblem &p) { p.streams[2].rows = {2, 4, 1}; }),
            "stream 'column': 2 groups of 1 rows, one every 4, do not fit "
            "the 4 rows of the region");
  EXPECT_EQ(errorOf([](RoutingProblem &p) {
              p.streams = {{"k", StreamPattern::KeyCast, {2, 2, 1}}};
            }),
            "stream 'k' of pattern key_cast connects nothing on a region of "
            "4x4");
}

TEST_F(BrokenRouting, R1MissingStream) {
  routing.streams.pop_back();
  expectError("expected 18 routed streams, found 17");
}
TEST_F(BrokenRouting, R1MissingColor) {
  stream(StreamPattern::RowWest).colors.pop_back();
  expectError("'row_west' has 1 colors, pattern row_west needs 2");
}
TEST_F(BrokenRouting, R1ReservedColor) {
  stream(StreamPattern::Channel).colors = {26};
  expectError("'channel' has color 26, programs may use 0 to 25");
}
TEST_F(BrokenRouting, R1SameColorTwice) {
  auto &colors = stream(StreamPattern::RowEast).colors;
  colors[1] = colors[0];
  expectError("'row_east' has color");
}
TEST_F(BrokenRouting, R2StepsThatOverflow) {
  stream(StreamPattern::RowWest).rules[0].rect.xstep = INT64_MAX;
  expectError(
      "has steps of 9223372036854775807 columns and 1 rows, the longest "
      "is 2147483647");
}
TEST_F(BrokenRouting, R2RuleOutsideTheMesh) {
  stream(StreamPattern::Launch).rules[0].rect.x1 = 9;
  expectError("does not lie in the mesh");
}
TEST_F(BrokenRouting, R2ColorOfAnotherStream) {
  stream(StreamPattern::Launch).rules[0].color =
      stream(StreamPattern::Channel).colors[0];
  expectError("which is not its own");
}
TEST_F(BrokenRouting, R2NoTransmitPort) {
  stream(StreamPattern::Channel).rules[0].transmit = 0;
  expectError("transmits to no port");
}
TEST_F(BrokenRouting, R2BackToTheSender) {
  stream(StreamPattern::Channel).rules[0].transmit |= portBit(Port::West);
  expectError("sends words back to WEST");
}
TEST_F(BrokenRouting, R3TwoSettings) {
  RoutedStream &channel = stream(StreamPattern::Channel);
  channel.rules.push_back(channel.rules.front());
  expectError("has two settings of this color");
}
TEST_F(BrokenRouting, R3StreamsShareAColorAndPe) {
  RoutedStream &key = stream(StreamPattern::KeyCast);
  key.colors = stream(StreamPattern::ValueCast).colors;
  for (RouteRule &rule : key.rules)
    rule.color = key.colors[0];
  expectError("has two settings of this color");
}
TEST_F(BrokenRouting, R4NextPeReceivesFromElsewhere) {
  stream(StreamPattern::Launch).rules.back().receive = Port::East;
  expectError("receives from EAST");
}
TEST_F(BrokenRouting, R4NextPeHasNoSetting) {
  stream(StreamPattern::Channel).rules.pop_back();
  expectError("has no setting of this color");
}
TEST_F(BrokenRouting, R4OffTheMesh) {
  stream(StreamPattern::Channel).rules.back().transmit |= portBit(Port::East);
  expectError("sends words off the mesh to EAST");
}
TEST_F(BrokenRouting, R5SourceDoesNotInject) {
  for (RouteRule &rule : stream(StreamPattern::OutExit).rules)
    rule.receive = Port::West;
  expectError("is a source, but does not receive from RAMP");
}
TEST_F(BrokenRouting, R5NothingLeavesTheWaferBehindTheRegion) {
  problem.meshWidth = 10;
  problem.meshHeight = 8;
  routing = solve(problem);
  ASSERT_EQ(problem.verify(routing), "");
  for (RouteRule &rule : stream(StreamPattern::OutExit).rules)
    if (rule.receive == Port::West)
      rule.transmit = portBit(Port::Ramp);
  expectError("which is not meant");
  for (RouteRule &rule : stream(StreamPattern::OutExit).rules)
    if (rule.receive == Port::West)
      rule.rect.x1 -= 1;
  for (RouteRule &rule : stream(StreamPattern::OutExit).rules)
    rule.transmit = portBit(Port::East);
  expectError("has no setting of this color");
}
TEST_F(BrokenRouting, R5NothingLeavesTheWafer) {
  for (RouteRule &rule : stream(StreamPattern::OutExit).rules)
    rule.transmit = portBit(Port::North);
  expectError("sends words off the mesh to NORTH");
}
TEST_F(BrokenRouting, R5ReachesARowWithoutTokens) {
  for (RouteRule &rule : stream(StreamPattern::Column).rules)
    rule.transmit |= portBit(Port::Ramp);
  expectError("which is not meant");
}
TEST_F(BrokenRouting, R5MissesAPe) {
  for (RouteRule &rule : stream(StreamPattern::RowCast).rules)
    if (rule.receive == Port::Ramp)
      rule.transmit = portBit(Port::East);
  expectError("reach 7 of 8 PEs");
}
TEST_F(BrokenRouting, R2EmptyRectangles) {
  for (int64_t Rect::*begin : {&Rect::x0, &Rect::y0}) {
    Routing broken = routing;
    RouteRule &rule =
        broken.streams[indexOf(problem, StreamPattern::Launch)].rules[0];
    rule.rect.*begin = begin == &Rect::x0 ? rule.rect.x1 : rule.rect.y1;
    EXPECT_NE(problem.verify(broken).find("does not lie in the mesh"),
              std::string::npos);
  }
}
TEST_F(BrokenRouting, R6Loop) {
  RoutedStream &cast = stream(StreamPattern::KeyCast);
  // Row 3 holds no tokens: two PEs there that only feed each other.
  uint8_t east = portBit(Port::East), west = portBit(Port::West);
  int64_t color = cast.colors[0];
  cast.rules.push_back({color, {0, 1, 1, 3, 4, 1}, Port::East, east});
  cast.rules.back().transmit = portBit(Port::South);
  cast.rules.push_back({color, {1, 2, 1, 3, 4, 1}, Port::South, west});
  expectError("2 settings are fed by no source");
}
TEST_F(BrokenRouting, R7RelaysBetweenStreams) {
  problem.relays.push_back({StreamPattern::Column, StreamPattern::Channel});
  expectError("streams of pattern channel wait for themselves through relays");
}
TEST_F(BrokenRouting, R7RelaysWithinAStream) {
  problem.relays.push_back({StreamPattern::Column, StreamPattern::Column});
  expectError("'column' relays to itself in more than one direction");
}

TEST_F(BrokenRouting, R8SettingInAKeepOut) {
  problem.keepOuts = {{7, 8, 1, 5, 6, 1}};
  expectError("has PEs of the keep-out of columns 7 to 7 and rows 5 to 5");
}

TEST(CompressToRanges, FindsStrides) {
  auto text = [](const std::vector<int64_t> &numbers) {
    std::string result;
    for (const Progression &r : compressToRanges(numbers))
      result += "[" + std::to_string(r.begin) + "," + std::to_string(r.end) +
                ")/" + std::to_string(r.step);
    return result;
  };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({7}), "[7,8)/1");
  EXPECT_EQ(text({0, 1, 2, 3}), "[0,4)/1");
  EXPECT_EQ(text({1, 3, 5}), "[1,6)/2");
  EXPECT_EQ(text({0, 1, 2, 8, 9, 10, 16, 17, 18}), "[0,3)/1[8,11)/1[16,19)/1");
  EXPECT_EQ(text({0, 1, 9, 10, 18, 19, 27, 28}), "[0,28)/9[1,29)/9");
}

TEST(RoutingProblem, GroupsThatOverflow) {
  RoutingProblem problem = transformerProblem(8, 8, 2, {2, 4, 3});
  for (StreamRequest &stream : problem.streams)
    if (stream.rows.groups)
      stream.rows = {(int64_t(1) << 32) + 1, int64_t(1) << 32, 1};
  EXPECT_NE(problem.check().find("do not fit the 8 rows of the region"),
            std::string::npos);
}

} // namespace
