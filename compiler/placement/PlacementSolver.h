// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACEMENT_PLACEMENTSOLVER_H
#define WSEC_COMPILER_PLACEMENT_PLACEMENTSOLVER_H

#include "compiler/placement/PlacementProblem.h"

namespace wsec {

struct PlacementOptions {
  uint64_t seed = 1;
};

/// Chooses a shape and a place for each region by search (CornerPlacer.h).
/// Returns empty and fills `placement`, which breaks no rule, or why there is
/// none; `check` has found nothing.
std::string solvePlacement(const PlacementProblem &problem,
                           const PlacementOptions &options,
                           Placement &placement);

} // namespace wsec

#endif // WSEC_COMPILER_PLACEMENT_PLACEMENTSOLVER_H
