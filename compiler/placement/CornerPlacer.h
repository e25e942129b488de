// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACEMENT_CORNERPLACER_H
#define WSEC_COMPILER_PLACEMENT_CORNERPLACER_H

#include "compiler/placement/PlacementSolver.h"

namespace wsec {

/// Places the regions where PlacementProblem::cost is small: one that nothing
/// is in the way of lies where it costs least. Returns empty and fills
/// `placement`, or why they do not fit, with the rule where it is for the pins
/// alone; whether these begin at channels is left to `verify`.
std::string placeInCorners(const PlacementProblem &problem,
                           const PlacementOptions &options,
                           Placement &placement);

} // namespace wsec

#endif // WSEC_COMPILER_PLACEMENT_CORNERPLACER_H
