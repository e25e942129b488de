// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/Router.h"

#include "runtime/program/Errors.h"
#include "test/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using program::Port;
using test::ProgramBuilder;

template <class Function>
std::string errorOf(const Function &function) {
  try {
    function();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(RouterTest, MulticastGoesUpAndDownAColumn) {
  ProgramBuilder builder(1, 5);
  builder.route(3, 0, 1, 2, 3, Port::Ramp,
                {Port::North, Port::South, Port::Ramp});
  builder.route(3, 0, 1, 1, 2, Port::South, {Port::North, Port::Ramp});
  builder.route(3, 0, 1, 0, 1, Port::South, {Port::Ramp});
  builder.route(3, 0, 1, 3, 4, Port::North, {Port::South});
  builder.route(3, 0, 1, 4, 5, Port::North, {Port::Ramp});
  Flow flow = RouterTables(builder.finish()).trace(3, {0, 2}, Port::Ramp);
  std::vector<std::pair<int, int>> reached;
  for (const Arrival &arrival : flow.delivered)
    reached.push_back({arrival.pe.y, arrival.hops});
  std::sort(reached.begin(), reached.end());
  EXPECT_EQ(reached,
            (std::vector<std::pair<int, int>>{{0, 2}, {1, 1}, {2, 0}, {4, 2}}));
}

TEST(RouterTest, LeavesOverTheEastEdgeOnly) {
  ProgramBuilder builder(2, 1);
  builder.route(1, 1, 2, 0, 1, Port::Ramp, {Port::East});
  builder.route(2, 0, 1, 0, 1, Port::Ramp, {Port::West});
  RouterTables tables(builder.finish());
  Flow flow = tables.trace(1, {1, 0}, Port::Ramp);
  ASSERT_EQ(flow.exits.size(), 1u);
  EXPECT_EQ(flow.exits[0].hops, 1);
  EXPECT_EQ(errorOf([&] { tables.trace(2, {0, 0}, Port::Ramp); }),
            "MissingRoute: color 2 at PE (0, 0) leads over the West edge of "
            "the mesh");
}

TEST(RouterTest, NamesTheMissingRule) {
  ProgramBuilder builder(3, 1);
  builder.route(1, 0, 1, 0, 1, Port::Ramp, {Port::East});
  EXPECT_EQ(errorOf([&] {
              RouterTables(builder.finish()).trace(1, {0, 0}, Port::Ramp);
            }),
            "MissingRoute: color 1 at PE (1, 0): a wavelet enters from West "
            "and there is no rule for it");
}

TEST(RouterTest, ACircleMeetsASecondReceivePort) {
  ProgramBuilder builder(2, 2);
  builder.route(1, 0, 1, 0, 1, Port::Ramp, {Port::East});
  builder.route(1, 1, 2, 0, 1, Port::West, {Port::South});
  builder.route(1, 1, 2, 1, 2, Port::North, {Port::West});
  builder.route(1, 0, 1, 1, 2, Port::East, {Port::North});
  EXPECT_EQ(errorOf([&] {
              RouterTables(builder.finish()).trace(1, {0, 0}, Port::Ramp);
            }),
            "RouteConflict: color 1 at PE (0, 0): a wavelet enters from South "
            "where the router receives Ramp");
}

TEST(RouterTest, RefusesTwoRulesForOneColor) {
  ProgramBuilder builder(2, 2);
  builder.route(1, 0, 2, 0, 1, Port::Ramp, {Port::East});
  builder.route(1, 1, 2, 0, 2, Port::West, {Port::Ramp});
  EXPECT_EQ(errorOf([&] { RouterTables tables(builder.finish()); }),
            "RouteConflict: color 1 at PE (1, 0) has two rules: receives Ramp "
            "and West");
}

} // namespace
} // namespace wsec::runtime
