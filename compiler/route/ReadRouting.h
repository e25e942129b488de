// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_ROUTE_READROUTING_H
#define WSEC_COMPILER_ROUTE_READROUTING_H

#include "compiler/route/RoutingProblem.h"
#include "dialects/wse/Wse.h"

namespace wsec {

/// Region, channels, colors and relays of a placed program; no streams yet.
RoutingProblem readRegion(wse::ProgramOp program);

/// The streams that a kernel needs, without those that would connect nothing
/// on this mesh. They have no names.
std::vector<StreamRequest> streamsNeededBy(wse::KernelOp kernel,
                                           const Machine &machine,
                                           const RoutingProblem &problem);

bool sameStream(const StreamRequest &a, const StreamRequest &b);

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_READROUTING_H
