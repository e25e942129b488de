// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_TEST_COMPILER_ROUTE_TRANSFORMERSTREAMS_H
#define WSEC_TEST_COMPILER_ROUTE_TRANSFORMERSTREAMS_H

#include "compiler/machine/Tiling.h"
#include "compiler/route/RoutingProblem.h"

namespace wsec {

/// Groups of three columns, of which two hear, the last perhaps cut short.
inline RowSet columnGroups(int64_t width, StreamPattern pattern) {
  if (pattern == StreamPattern::RootWest)
    return {(width + 2) / 3, 3, 1};
  return width < 2 ? RowSet{1, 1, 1} : RowSet{(width + 1) / 3, 3, 2};
}

/// All patterns a transformer opens, with tokens in `rows`.
inline RoutingProblem transformerProblem(int64_t width, int64_t height,
                                         int64_t channels, RowSet rows) {
  RoutingProblem problem;
  problem.meshWidth = width;
  problem.meshHeight = height;
  problem.colors = 26; // of all patterns at once
  RouteRegion region{0, 0, width, height, {}, {}};
  for (int64_t l = 0; l < channels; ++l) {
    int64_t row = tileStart(height, channels, l);
    region.west.push_back({row, tileStart(width, channels, l),
                           tileStart(width, channels, l + 1)});
    region.east.push_back({row, row, tileStart(height, channels, l + 1)});
  }
  problem.regions.push_back(region);
  for (const auto &[name, pattern] : fabric::allPatterns) {
    if (pattern == StreamPattern::Transfer)
      continue; // of several regions
    StreamRequest request{name, pattern,
                          pattern.groupsColumns() ? columnGroups(width, pattern)
                          : pattern.takesRows()   ? rows
                                                  : RowSet{}};
    if (problem.connects(request))
      problem.streams.push_back(request);
  }
  problem.relays = {{StreamPattern::Channel, StreamPattern::Column},
                    {StreamPattern::Channel, StreamPattern::ColumnRest},
                    {StreamPattern::RowWest, StreamPattern::RowWest},
                    {StreamPattern::RowWest, StreamPattern::RowCast},
                    {StreamPattern::RowWest, StreamPattern::RootWest},
                    {StreamPattern::RowWest, StreamPattern::HeadCast},
                    {StreamPattern::RootWest, StreamPattern::RootWest},
                    {StreamPattern::RootWest, StreamPattern::RowCast},
                    {StreamPattern::KeyNorth, StreamPattern::KeyNorth},
                    {StreamPattern::KeyNorth, StreamPattern::KeyCast},
                    {StreamPattern::KeyNorth, StreamPattern::RootNorth},
                    {StreamPattern::RootNorth, StreamPattern::RootNorth},
                    {StreamPattern::RootNorth, StreamPattern::KeyCast},
                    {StreamPattern::RowEast, StreamPattern::RowEast},
                    {StreamPattern::RowEast, StreamPattern::OutNorth},
                    {StreamPattern::OutNorth, StreamPattern::OutExit},
                    {StreamPattern::OutColumn, StreamPattern::OutColumn},
                    {StreamPattern::OutColumn, StreamPattern::RowEast},
                    {StreamPattern::RowEast, StreamPattern::OutBand},
                    {StreamPattern::RowEast, StreamPattern::OutHalf}};
  return problem;
}

} // namespace wsec

#endif // WSEC_TEST_COMPILER_ROUTE_TRANSFORMERSTREAMS_H
