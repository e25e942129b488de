// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of RoutingProblem::verify that can be told from the rules of a
// routing alone, without asking where words go: R1, R2, R7 and R8.
//
// Deadlock. A link of one color blocks no other color, so a full link waits
// only for the next links of its own tree, or, at a RAMP, for the PE. A PE
// takes what it gets unless it relays to another stream. Trees have no cycles
// (R6), hence a cycle must pass through relays: between streams we look for
// one among the patterns; within a stream of neighbour links, where each PE
// relays to the next, all links must point the same way, so that every relay
// comes closer to the end of the mesh.

#ifndef WSEC_COMPILER_ROUTE_ROUTERULES_H
#define WSEC_COMPILER_ROUTE_ROUTERULES_H

#include "compiler/route/RoutingProblem.h"

namespace wsec {

/// Each returns the first rule that is broken, or empty.
std::string checkColors(const RoutingProblem &problem, const Routing &routing);
std::string checkRule(const RoutingProblem &problem,
                      const StreamRequest &request, const RoutedStream &stream,
                      const RouteRule &rule);
std::string checkRelays(const RoutingProblem &problem, const Routing &routing);

/// Words for messages.
std::string describePE(int64_t x, int64_t y);
std::string describeKeepOut(const Rect &rect);
std::string describeColor(const StreamRequest &request, int64_t color);
const char *name(Port port);

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_ROUTERULES_H
