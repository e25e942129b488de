// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_TOOLS_PLACE_ANNEALINGPLACER_H
#define WSEC_TOOLS_PLACE_ANNEALINGPLACER_H

#include "tools/place/SolveKernels.h"

namespace wsec {

/// Simulated annealing over slicing trees (SlicingTree.h) and the largest cost
/// that regions may have, in the rooms that keep-outs and pinned regions leave.
/// Starts are boustrophedon orders: columns in the order of the flow. Several
/// runs; the better half of them goes on, for longer. Regions may begin at any
/// row; what is lowered is throughput, latency and wire, not link load.
/// Returns empty and fills `placement`, or why there is none.
std::string anneal(const PlacementProblem &problem,
                   const AnnealingOptions &options, Placement &placement);

} // namespace wsec

#endif // WSEC_TOOLS_PLACE_ANNEALINGPLACER_H
