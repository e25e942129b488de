// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_TEST_COMPILER_ROUTE_ROUTINGTESTS_H
#define WSEC_TEST_COMPILER_ROUTE_ROUTINGTESTS_H

#include "TransformerStreams.h"
#include "compiler/route/ColoringRouter.h"

#include <gtest/gtest.h>

namespace wsec {

inline Routing solve(const RoutingProblem &problem) {
  EXPECT_EQ(problem.check(), "");
  Routing routing;
  EXPECT_EQ(routeByColoring(problem, routing), "");
  return routing;
}

/// The index of the stream of `pattern`.
inline size_t indexOf(const RoutingProblem &problem, StreamPattern pattern) {
  for (size_t i = 0; i < problem.streams.size(); ++i)
    if (problem.streams[i].pattern == pattern)
      return i;
  ADD_FAILURE() << "no stream " << name(pattern);
  return 0;
}

/// What one PE does with words of one color.
inline const RouteRule *ruleAt(const RoutedStream &stream, int64_t x,
                               int64_t y) {
  for (const RouteRule &rule : stream.rules) {
    const Rect &r = rule.rect;
    if (x >= r.x0 && x < r.x1 && (x - r.x0) % r.xstep == 0 && y >= r.y0 &&
        y < r.y1 && (y - r.y0) % r.ystep == 0)
      return &rule;
  }
  return nullptr;
}

/// A copy of the region beside itself, and what passes between the two.
inline RoutingProblem twoRegions(int64_t gap) {
  RoutingProblem problem = transformerProblem(3, 4, 2, {1, 4, 4});
  const size_t own = problem.streams.size();
  problem.regions.push_back(problem.regions[0]);
  problem.regions[1].x = 3 + gap;
  problem.meshWidth = 7 + gap;
  for (size_t s = 0; s < own; ++s) {
    if (problem.streams[s].pattern == StreamPattern::Launch)
      continue;
    StreamRequest other = problem.streams[s];
    other.name += "_1";
    other.region = 1;
    problem.streams.push_back(other);
  }
  problem.streams.push_back({"east", StreamPattern::Transfer, {}, 0, 1});
  problem.streams.push_back({"west", StreamPattern::Transfer, {}, 1, 0});
  return problem;
}

} // namespace wsec

#endif // WSEC_TEST_COMPILER_ROUTE_ROUTINGTESTS_H
