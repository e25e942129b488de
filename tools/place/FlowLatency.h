// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_TOOLS_PLACE_FLOWLATENCY_H
#define WSEC_TOOLS_PLACE_FLOWLATENCY_H

#include "tools/place/SlicingTree.h"

namespace wsec {

/// The largest sum of costs along the data flow while regions are annealed:
/// each has the cheapest shape that its room in the layout holds.
class FlowLatency {
public:
  FlowLatency() = default;
  /// `blocks`: the regions that are annealed; the others are in `fixed`.
  FlowLatency(const PlacementProblem &problem,
              const std::vector<size_t> &blocks, const Placement &fixed);
  double of(const SlicingTree &tree) const;

private:
  struct Step {
    int32_t block = -1;
    double cost = 0; ///< of what is not annealed
    size_t set = 0;
    std::vector<size_t> readers; ///< numbers of steps that come later
  };
  std::vector<Step> steps;                       ///< in the order of the flow
  std::vector<std::vector<CandidateShape>> sets; ///< the cheapest first
};

} // namespace wsec

#endif // WSEC_TOOLS_PLACE_FLOWLATENCY_H
