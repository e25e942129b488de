// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/place/SolveKernels.h"
#include "tools/place/AnnealingPlacer.h"

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

std::string wsec::solveKernels(const PlacementProblem &problem,
                               const AnnealingOptions &options,
                               Placement &placement) {
  if (isForSearch(problem))
    return solvePlacement(problem, options, placement);
  std::string error = problem.check();
  if (error.empty())
    error = anneal(problem, options, placement);
  return error.empty() ? problem.verify(placement) : error;
}
