// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACE_FLOORPLANANNEALER_H
#define WSEC_COMPILER_PLACE_FLOORPLANANNEALER_H

#include "compiler/place/FloorplanProblem.h"

#include <functional>

namespace wsec {

struct AnnealingOptions {
  uint64_t seed = 1;
  /// Changes that are tried, all runs together; 0 for as many as take less than
  /// a minute of one core's time. The result depends on the number and the
  /// seed, never on the clock or the number of threads.
  int64_t changes = 0;
  int threads = 1;
  /// Told now and then, from the calling thread: the part of the work that is
  /// done, and the best score so far.
  std::function<void(double done, double score)> progress;
};

/// Simulated annealing over slicing trees (SlicingTree.h) and the largest cost
/// that blocks may have. Starts are snakes: columns in the order of the graph.
/// Several runs; the better half of them goes on, for longer. Returns
/// empty and fills `floorplan`, or why there is none.
std::string annealFloorplan(const FloorplanProblem &problem,
                            const AnnealingOptions &options,
                            Floorplan &floorplan);

} // namespace wsec

#endif // WSEC_COMPILER_PLACE_FLOORPLANANNEALER_H
