// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_ROUTE_ROUTEPLAN_H
#define WSEC_COMPILER_ROUTE_ROUTEPLAN_H

#include "compiler/route/RoutingProblem.h"

namespace wsec {

/// The fewest ranges the greedy choice of the longest one finds for ascending
/// `numbers`: 0 1 2 8 9 10 16 17 18 -> [0,3), [8,11), [16,19).
std::vector<Progression> compressToRanges(const std::vector<int64_t> &numbers);

/// Setting of one color in one PE; transmit == 0: none.
struct RouteSetting {
  Port receive = Port::Ramp;
  uint8_t transmit = 0;
  bool operator==(const RouteSetting &other) const {
    return receive == other.receive && transmit == other.transmit;
  }
};

/// Columns of the mesh whose PEs all have the same settings: those of `rows`,
/// top down.
struct RouteBand {
  Progression columns;
  std::vector<RouteSetting> rows;
};

/// What one color of a stream needs. Streams are alike in whole bands of
/// columns, so its size does not depend on the width of the mesh. Bands have
/// no PE in common.
using RoutePlan = std::vector<RouteBand>;

/// The plans of a stream, one per color of its pattern; empty plans if the
/// pattern degenerates on this mesh (one column, one row).
std::vector<RoutePlan> planStream(const RoutingProblem &problem,
                                  const StreamRequest &request);

/// Launches where keep-outs lie in the way of the comb that they take
/// otherwise. Empty if a region cannot be reached; its index is `lost`.
RoutePlan planLaunchTree(const RoutingProblem &problem, size_t &lost);

/// True if some PE has a setting in both.
bool overlap(const RoutePlan &a, const RoutePlan &b);
/// True if some PE of the rectangles has a setting.
bool overlap(const RoutePlan &plan, const std::vector<Rect> &rects);

/// The plan as strided rectangles.
std::vector<RouteRule> makeRules(const RoutePlan &plan, int64_t color);

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_ROUTEPLAN_H
