// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_ROUTE_ROUTETRACER_H
#define WSEC_COMPILER_ROUTE_ROUTETRACER_H

#include "compiler/route/RoutingProblem.h"

namespace wsec {

/// Follows every stream of `routing` hop by hop and holds it against what its
/// pattern means. Knows nothing of how rules are made. Returns the first
/// broken rule of RoutingProblem::verify, or empty. Streams that `proved` says
/// are sound, and have no PE of a color in common with others, are left out.
std::string traceRouting(const RoutingProblem &problem, const Routing &routing,
                         const std::vector<bool> &proved = {});

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_ROUTETRACER_H
