// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_TEST_COMPILER_ROUTE_TRANSFORMERSTREAMS_H
#define WSEC_TEST_COMPILER_ROUTE_TRANSFORMERSTREAMS_H

#include "compiler/machine/Tiling.h"
#include "compiler/route/RoutingProblem.h"

namespace wsec {

/// Groups of three columns, of which two hear, the last perhaps cut short.
inline RouteRows columnGroups(int64_t width, RoutePattern pattern) {
  if (pattern == RoutePattern::RootWest)
    return {(width + 2) / 3, 3, 1};
  return width < 2 ? RouteRows{1, 1, 1} : RouteRows{(width + 1) / 3, 3, 2};
}

/// All patterns a transformer opens, with tokens in `rows`.
inline RoutingProblem transformerProblem(int64_t width, int64_t height,
                                         int64_t channels, RouteRows rows) {
  RoutingProblem problem;
  problem.meshWidth = width;
  problem.meshHeight = height;
  problem.colors = 24; // of all patterns at once
  RouteRegion region{0, 0, width, height, {}, {}};
  for (int64_t l = 0; l < channels; ++l) {
    int64_t row = tileStart(height, channels, l);
    region.west.push_back({row, tileStart(width, channels, l),
                           tileStart(width, channels, l + 1)});
    region.east.push_back({row, row, tileStart(height, channels, l + 1)});
  }
  problem.regions.push_back(region);
  for (unsigned p = 0; p < numRoutePatterns; ++p) {
    RoutePattern pattern = RoutePattern(p);
    if (pattern == RoutePattern::Transfer)
      continue; // of several regions
    bool takesRows = pattern == RoutePattern::Column ||
                     pattern == RoutePattern::ColumnRest ||
                     pattern == RoutePattern::KeyCast ||
                     pattern == RoutePattern::ValueCast ||
                     pattern == RoutePattern::OutColumn ||
                     pattern == RoutePattern::OutBand;
    StreamRequest request{name(pattern), pattern,
                          takesRows ? rows : RouteRows{}};
    if (pattern == RoutePattern::RootWest || pattern == RoutePattern::HeadCast)
      request.rows = columnGroups(width, pattern);
    if (problem.connects(request))
      problem.streams.push_back(request);
  }
  problem.relays = {{RoutePattern::Channel, RoutePattern::Column},
                    {RoutePattern::Channel, RoutePattern::ColumnRest},
                    {RoutePattern::RowWest, RoutePattern::RowWest},
                    {RoutePattern::RowWest, RoutePattern::RowCast},
                    {RoutePattern::RowWest, RoutePattern::RootWest},
                    {RoutePattern::RowWest, RoutePattern::HeadCast},
                    {RoutePattern::RootWest, RoutePattern::RootWest},
                    {RoutePattern::RootWest, RoutePattern::RowCast},
                    {RoutePattern::KeyNorth, RoutePattern::KeyNorth},
                    {RoutePattern::KeyNorth, RoutePattern::KeyCast},
                    {RoutePattern::RowEast, RoutePattern::RowEast},
                    {RoutePattern::RowEast, RoutePattern::OutNorth},
                    {RoutePattern::OutNorth, RoutePattern::OutExit},
                    {RoutePattern::OutColumn, RoutePattern::OutColumn},
                    {RoutePattern::OutColumn, RoutePattern::RowEast},
                    {RoutePattern::RowEast, RoutePattern::OutBand}};
  return problem;
}

} // namespace wsec

#endif // WSEC_TEST_COMPILER_ROUTE_TRANSFORMERSTREAMS_H
