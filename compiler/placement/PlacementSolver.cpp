// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/placement/PlacementSolver.h"
#include "compiler/placement/AnnealingPlacer.h"
#include "compiler/placement/CornerPlacer.h"

#include <algorithm>

using namespace wsec;

/// Up to which all shapes of all regions are tried in all corners.
static constexpr size_t fewRegions = 12, fewShapes = 16;

static bool isForSearch(const PlacementProblem &problem) {
  return !problem.channelRows.empty() || problem.mostAbreast ||
         (problem.regions.size() <= fewRegions &&
          std::all_of(problem.shapeSets.begin(), problem.shapeSets.end(),
                      [](const std::vector<CandidateShape> &set) {
                        return set.size() <= fewShapes;
                      }));
}

std::string wsec::solvePlacement(const PlacementProblem &problem,
                                 const PlacementOptions &options,
                                 Placement &placement) {
  std::string error = problem.check();
  if (!error.empty())
    return error;
  error = isForSearch(problem) ? placeInCorners(problem, options, placement)
                               : anneal(problem, options, placement);
  return error.empty() ? problem.verify(placement) : error;
}
