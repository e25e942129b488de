// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_COMPILER_ROUTE_ROUTEPROOF_H
#define WSEC_COMPILER_ROUTE_ROUTEPROOF_H

#include "compiler/route/RoutingProblem.h"

namespace wsec {

/// Whether R1 to R7 could be proved from the rules' rectangles. True means
/// that traceRouting finds nothing either; false means only that somebody has
/// to look closer. `steps`, if given, counts the work: it grows with the sides
/// of the mesh and with the rules, not with the PEs.
bool proveRouting(const RoutingProblem &problem, const Routing &routing,
                  int64_t *steps = nullptr);

/// Proves stream by stream, in `proved`: R3 to R6, as far as they concern it
/// alone. False if what concerns several could not be proved: then none is.
bool proveStreams(const RoutingProblem &problem, const Routing &routing,
                  std::vector<bool> &proved, int64_t *steps = nullptr);

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_ROUTEPROOF_H
