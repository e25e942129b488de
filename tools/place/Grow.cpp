// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/place/Grow.h"

#include <algorithm>

using namespace wsec;

static bool isFree(const PlacementProblem &problem, const Placement &placement,
                   size_t region, const PlacedRegion &pes) {
  if (pes.x < 0 || pes.y < 0 || pes.x + pes.columns > problem.width ||
      pes.y + pes.rows > problem.height)
    return false;
  for (size_t other = 0; other < problem.regions.size(); ++other)
    if (other != region && problem.cellsOf(placement, other).overlaps(pes))
      return false;
  return std::none_of(
      problem.keepOuts.begin(), problem.keepOuts.end(),
      [&](const PlacedRegion &its) { return its.overlaps(pes); });
}

/// Tries all shapes of a region that cost less than its own.
static bool growOne(const PlacementProblem &problem, size_t region,
                    Placement &placement, PlacementCost &least) {
  const std::vector<CandidateShape> &shapes = problem.shapesOf(region);
  const PlacedRegion now = problem.cellsOf(placement, region);
  const PlacedShape before = placement.regions[region];
  PlacedShape best = before;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].cost >= shapes[before.shape].cost)
      continue;
    const int64_t right = now.columns - shapes[i].columns;
    const int64_t down = now.rows - shapes[i].rows;
    for (const PlacedOrigin &at :
         {PlacedOrigin{now.x, now.y}, PlacedOrigin{now.x + right, now.y},
          PlacedOrigin{now.x, now.y + down},
          PlacedOrigin{now.x + right, now.y + down}}) {
      if (!isFree(problem, placement, region,
                  {at.x, at.y, shapes[i].columns, shapes[i].rows}))
        continue;
      placement.regions[region] = {i, at};
      const PlacementCost cost = problem.cost(placement);
      if (cost.key() < least.key()) {
        least = cost;
        best = placement.regions[region];
      }
      placement.regions[region] = before;
    }
  }
  placement.regions[region] = best;
  return !(best.shape == before.shape);
}

void wsec::grow(const PlacementProblem &problem, Placement &placement) {
  PlacementCost least = problem.cost(placement);
  for (bool better = true; better;) {
    better = false;
    for (size_t region = 0; region < problem.regions.size(); ++region)
      if (!problem.regions[region].pin)
        better |= growOne(problem, region, placement, least);
  }
}
