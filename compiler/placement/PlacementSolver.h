// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACEMENT_PLACEMENTSOLVER_H
#define WSEC_COMPILER_PLACEMENT_PLACEMENTSOLVER_H

#include "compiler/placement/PlacementProblem.h"

#include <functional>

namespace wsec {

struct PlacementOptions {
  uint64_t seed = 1;
  /// Changes that annealing tries, all runs together; 0 for as many as take
  /// less than a minute of one core's time. A placement depends on the number
  /// and the seed, never on the clock or the number of threads.
  int64_t changes = 0;
  int threads = 1;
  /// Told now and then, from the calling thread: the part of the work that is
  /// done, and the best score so far.
  std::function<void(double done, double score)> progress;
};

/// Chooses a shape and a place for each region: few of them, and those that
/// begin at channels, by search (CornerPlacer.h), many by annealing
/// (AnnealingPlacer.h). Returns empty and fills `placement`, which breaks no
/// rule, or why there is none; `check` has found nothing.
std::string solvePlacement(const PlacementProblem &problem,
                           const PlacementOptions &options,
                           Placement &placement);

} // namespace wsec

#endif // WSEC_COMPILER_PLACEMENT_PLACEMENTSOLVER_H
