// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_TOOLS_PLACE_SOLVEKERNELS_H
#define WSEC_TOOLS_PLACE_SOLVEKERNELS_H

#include "compiler/placement/PlacementSolver.h"

#include <functional>

namespace wsec {

struct AnnealingOptions : PlacementOptions {
  /// Changes that annealing tries, all runs together; 0 for as many as take
  /// less than a minute of one core's time. A placement depends on the number
  /// and the seed, never on the clock or the number of threads.
  int64_t changes = 0;
  int threads = 1;
  /// Told now and then, from the calling thread: the part of the work that is
  /// done, and the best score so far.
  std::function<void(double done, double score)> progress;
};

/// As `solvePlacement`, by search for at most 12 regions of at most 16 shapes,
/// and for more by annealing (AnnealingPlacer.h), where no channels say at
/// which row a region begins.
std::string solveKernels(const PlacementProblem &problem,
                         const AnnealingOptions &options, Placement &placement);

} // namespace wsec

#endif // WSEC_TOOLS_PLACE_SOLVEKERNELS_H
