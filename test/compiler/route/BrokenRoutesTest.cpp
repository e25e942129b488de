// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Routings of a few PEs, written rule by rule: what is broken is what a count
// of PEs, or a look at neighbours alone, would not see.

#include "TransformerStreams.h"
#include "compiler/route/RoutingProblem.h"

#include <gtest/gtest.h>

using namespace wsec;

namespace {

const uint8_t ramp = portBit(Port::Ramp);
const uint8_t east = portBit(Port::East);
const uint8_t south = portBit(Port::South);

RouteRule at(int64_t x, int64_t y, Port receive, uint8_t transmit) {
  return {0, {x, x + 1, 1, y, y + 1, 1}, receive, transmit};
}

/// One stream on a region that is the whole mesh.
RoutingProblem oneStream(int64_t width, int64_t height, StreamRequest stream) {
  RoutingProblem problem =
      transformerProblem(width, height, 1, {1, height, height});
  problem.streams = {stream};
  return problem;
}

std::string errorOf(const RoutingProblem &problem,
                    const std::vector<RouteRule> &rules) {
  EXPECT_EQ(problem.check(), "");
  return problem.verify({{{{0}, rules}}});
}

// As many PEs as are meant, but not the same ones.
TEST(BrokenRoutes, R5LaunchReachesAPeOfNoRegion) {
  RoutingProblem problem =
      oneStream(1, 1, {"launch", StreamPattern::Launch, {}});
  problem.regions.push_back(problem.regions[0]);
  problem.regions[1].x = 2;
  problem.meshWidth = 3;
  const RouteRule last = at(2, 0, Port::West, ramp);
  EXPECT_EQ(errorOf(problem, {at(0, 0, Port::West, east | ramp),
                              at(1, 0, Port::West, east), last}),
            "");
  EXPECT_EQ(errorOf(problem, {at(0, 0, Port::West, east),
                              at(1, 0, Port::West, east | ramp), last}),
            "stream 'launch', color 0: words of PE (0,0) reach PE (1,0), which "
            "is not meant");
}

TEST(BrokenRoutes, R5InjectorHearsItselfInPlaceOfAnother) {
  RoutingProblem problem =
      oneStream(1, 2, {"rest", StreamPattern::ColumnRest, {1, 2, 2}});
  problem.regions[0].west = {{0, 0, 1}};
  EXPECT_EQ(errorOf(problem,
                    {at(0, 0, Port::Ramp, south), at(0, 1, Port::North, ramp)}),
            "");
  EXPECT_EQ(errorOf(problem, {at(0, 0, Port::Ramp, ramp)}),
            "stream 'rest', color 0: words of PE (0,0) reach PE (0,0), which "
            "is not meant");
}

// One row to three, the last of which holds no tokens.
TEST(BrokenRoutes, R5TransferReachesARowWithoutItsTokens) {
  RoutingProblem problem;
  problem.meshWidth = 2;
  problem.meshHeight = 3;
  problem.colors = 4;
  problem.regions = {{0, 0, 1, 1, {{0, 0, 1}}, {{0, 0, 1}}, "a"},
                     {1, 0, 1, 3, {{0, 0, 1}}, {{0, 0, 3}}, "b"}};
  // Two tokens: rows 0 and 1 of the other region hold one each.
  problem.streams = {{"t", StreamPattern::Transfer, {1, 2, 2}, 0, 1}};
  const RouteRule source = at(0, 0, Port::Ramp, east);
  EXPECT_EQ(errorOf(problem, {source, at(1, 0, Port::West, south | ramp),
                              at(1, 1, Port::North, ramp)}),
            "");
  EXPECT_EQ(errorOf(problem, {source, at(1, 0, Port::West, south | ramp),
                              at(1, 1, Port::North, south),
                              at(1, 2, Port::North, ramp)}),
            "stream 't', color 0: words of PE (0,0) reach PE (1,2), which is "
            "not meant");
}

// The same between rows that hold some: of two batch elements of two tokens
// each has three rows.
TEST(BrokenRoutes, R5TransferReachesARowBetweenThoseOfItsTokens) {
  RoutingProblem problem;
  problem.meshWidth = 2;
  problem.meshHeight = 6;
  problem.colors = 5;
  problem.regions = {{0, 0, 1, 1, {{0, 0, 1}}, {{0, 0, 1}}, "a"},
                     {1, 0, 1, 6, {{0, 0, 1}}, {{0, 0, 6}}, "b"}};
  problem.streams = {{"t", StreamPattern::Transfer, {2, 2, 2}, 0, 1}};
  auto rulesWith = [](int64_t skipped) {
    std::vector<RouteRule> rules = {at(0, 0, Port::Ramp, east),
                                    at(1, 0, Port::West, south | ramp)};
    for (int64_t y = 1; y < 5; ++y)
      rules.push_back(
          at(1, y, Port::North,
             uint8_t((y < 4 ? south : 0) | (y != skipped ? ramp : 0))));
    return rules;
  };
  EXPECT_EQ(errorOf(problem, rulesWith(2)), "");
  EXPECT_EQ(errorOf(problem, rulesWith(1)),
            "stream 't', color 0: words of PE (0,0) reach PE (1,2), which is "
            "not meant");
}

// The PE in the middle of three hears what is beyond the mesh, not the first.
TEST(BrokenRoutes, R5NothingComesInOverTheEdges) {
  for (Port edge : {Port::North, Port::South}) {
    EXPECT_EQ(errorOf(oneStream(3, 1, {"cast", StreamPattern::RowCast, {}}),
                      {at(0, 0, Port::Ramp, ramp), at(1, 0, edge, east | ramp),
                       at(2, 0, Port::West, ramp)}),
              "stream 'cast', color 0: words of PE (0,0) reach 1 of 3 PEs");
  }
  for (Port edge : {Port::West, Port::East}) {
    EXPECT_EQ(
        errorOf(oneStream(1, 3, {"cast", StreamPattern::KeyCast, {1, 3, 3}}),
                {at(0, 0, Port::Ramp, ramp), at(0, 1, edge, south | ramp),
                 at(0, 2, Port::North, ramp)}),
        "stream 'cast', color 0: words of PE (0,0) reach 1 of 3 PEs");
  }
}

} // namespace
