// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the patterns of RoutingProblem.h mean for the PEs of the mesh.

#ifndef WSEC_COMPILER_ROUTE_ROUTEMEANING_H
#define WSEC_COMPILER_ROUTE_ROUTEMEANING_H

#include "compiler/route/RoutingProblem.h"

namespace wsec {

/// What one color of a pattern means.
struct Meaning {
  RoutePort entry = RoutePort::Ramp; // of words at their sources
  std::vector<RouteRect> sources, destinations;
  std::vector<RouteRect> exits; // PEs that send off the mesh, to the east
};

/// Of color number `slot` of a stream with `slots` of them.
Meaning meaningOf(const RoutingProblem &problem, const StreamRequest &request,
                  int64_t slot, int64_t slots);

/// The PEs of the mesh that hear row `row` of a transfer: those of runs of
/// rows, north to south. None for a row without tokens.
std::vector<RouteRect> heardBy(const RoutingProblem &problem,
                               const StreamRequest &transfer, int64_t row);

/// The ports by which words may arrive at a PE of the pattern, from another PE
/// or off the mesh. No port and its opposite, but where each column has one
/// source: then the PEs north of it hear the south, the others the north. None
/// for ways that are searched, which may turn anywhere.
uint8_t arrivals(const RoutingProblem &problem, const StreamRequest &request);

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_ROUTEMEANING_H
