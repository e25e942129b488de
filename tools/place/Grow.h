// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_TOOLS_PLACE_GROW_H
#define WSEC_TOOLS_PLACE_GROW_H

#include "compiler/placement/PlacementProblem.h"

namespace wsec {

/// Gives regions shapes that cost less where PEs beside them are free, each
/// from one of its corners, as long as the placement then costs less:
/// throughput bounds the largest cost only, and latency wants all of them
/// small. Pinned regions stay as they are.
void grow(const PlacementProblem &problem, Placement &placement);

} // namespace wsec

#endif // WSEC_TOOLS_PLACE_GROW_H
