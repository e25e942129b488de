// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/PatternSemantics.h"
#include "RoutingTests.h"
#include "compiler/route/RouteProof.h"
#include "compiler/route/RouteTracer.h"

using namespace wsec;
using fabric::Members;
using fabric::Movement;

namespace {

/// A region of 7 x 6 PEs at (2,1) of a mesh of 10 x 8 with one stream.
RoutingProblem problemOf(StreamPattern pattern, RowSet rows) {
  RoutingProblem problem = transformerProblem(7, 6, 2, {1, 6, 6});
  problem.meshWidth = 10;
  problem.meshHeight = 8;
  problem.regions[0].x = 2;
  problem.regions[0].y = 1;
  problem.streams = {{"it", pattern, rows}};
  return problem;
}

TEST(StreamPattern, NamesAndDataAreOneToOne) {
  for (const auto &[name, pattern] : fabric::allPatterns) {
    EXPECT_EQ(fabric::patternNamed(name), pattern);
    EXPECT_STREQ(fabric::name(pattern), name);
  }
  EXPECT_EQ(fabric::patternNamed("row_up"), std::nullopt);
  EXPECT_EQ(fabric::patternNamed(""), std::nullopt);
}

TEST(RowSet, NumbersItsRows) {
  const RowSet rows{2, 3, 2}; // 0 1 . 3 4 .
  const int64_t numbers[] = {0, 1, 3, 4};
  for (int64_t i = 0; i < rows.count(); ++i) {
    EXPECT_EQ(rows.row(i), numbers[i]);
    EXPECT_EQ(rows.before(numbers[i]), i);
  }
  EXPECT_EQ(rows.last(), 4);
  EXPECT_FALSE(rows.contains(2));
  EXPECT_TRUE(rows.cover({1, 2, 2}));
  EXPECT_FALSE(rows.cover({1, 3, 3}));
}

TEST(PatternSemantics, SpansLieBehindTheirSources) {
  const RoutingProblem problem =
      problemOf({Movement::Multicast, Port::West, Members::Groups}, {2, 4, 3});
  const std::vector<Span> spans = spansOf(problem, problem.streams[0], 0, 1);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].sources, (Progression{2, 7, 4})); // columns 2 and 6
  EXPECT_TRUE(spans[0].hears(6, 4));
  EXPECT_TRUE(spans[0].hears(6, 6));
  EXPECT_FALSE(spans[0].hears(6, 3));
  EXPECT_EQ(spans[0].hearers(6), 3);
}

/// Of 4 and 3 columns of an exit 2 and 1 are its west half.
TEST(PatternSemantics, HalvesOfExitsLeaveFromTheirLastColumns) {
  const RoutingProblem problem =
      problemOf(StreamPattern::OutHalf, RowSet{1, 1, 1});
  const std::vector<Span> spans = spansOf(problem, problem.streams[0], 0, 1);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].sources, (Progression{1, 2, 1}));
  EXPECT_EQ(spans[1].sources, (Progression{4, 5, 1}));
  const Routing routing = solve(problem);
  EXPECT_EQ(traceRouting(problem, routing), "");
  EXPECT_TRUE(proveRouting(problem, routing));
}

/// Movements that no kernel makes are routed, proved and traced all the same:
/// nobody asks for one by name.
TEST(PatternSemantics, PatternsAreData) {
  const RowSet groups{2, 3, 3};
  for (Port toward : {Port::North, Port::South, Port::East, Port::West})
    for (Movement movement : {Movement::Multicast, Movement::Link})
      for (Members members : {Members::All, Members::Groups}) {
        const StreamPattern pattern{movement, toward, members};
        const RoutingProblem problem =
            problemOf(pattern, pattern.takesRows() ? groups : RowSet{});
        const Routing routing = solve(problem);
        EXPECT_EQ(traceRouting(problem, routing), "");
        EXPECT_TRUE(proveRouting(problem, routing));
        // And not those of another: words that go the other way.
        RoutingProblem other = problem;
        other.streams[0].pattern.toward = opposite(toward);
        EXPECT_NE(traceRouting(other, routing), "");
        EXPECT_FALSE(proveRouting(other, routing));
      }
}

} // namespace
