// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/placement/PlacementSolver.h"
#include "compiler/placement/CornerPlacer.h"

using namespace wsec;

std::string wsec::solvePlacement(const PlacementProblem &problem,
                                 const PlacementOptions &options,
                                 Placement &placement) {
  std::string error = problem.check();
  if (error.empty())
    error = placeInCorners(problem, options, placement);
  return error.empty() ? problem.verify(placement) : error;
}
