// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is annealed of a placement problem.

#ifndef WSEC_TOOLS_PLACE_ANNEALINGSETUP_H
#define WSEC_TOOLS_PLACE_ANNEALINGSETUP_H

#include "tools/place/FlowLatency.h"

namespace wsec {

/// Pinned regions in shapes that cost no more than a limit, and the rest.
struct AnnealingSetup {
  Placement fixed; ///< of the pinned ones
  double leastCost = 0;
  double costWeight = 0, latencyWeight = 0, wireWeight = 0;
  std::vector<size_t> regions; ///< of each block
  SlicingProblem slicing;
  FlowLatency latency;
  size_t roomsLeftEmpty = 0; ///< that hold a region; there are too many

  /// What latency and wire weigh in a layout.
  double layoutCost(SlicingTree &tree) const {
    const double wire = wireWeight * tree.layOut();
    return latencyWeight > 0 ? wire + latencyWeight * latency.of(tree) : wire;
  }
};

/// Pins what is pinned, in shapes that cost `limit` at most, and lists what is
/// left to do. Returns empty, or why a pinned region has no shape.
std::string setUp(const PlacementProblem &problem, double limit,
                  AnnealingSetup &setup);

} // namespace wsec

#endif // WSEC_TOOLS_PLACE_ANNEALINGSETUP_H
