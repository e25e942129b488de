// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The skyline is the first free column of every row. A region of w x h PEs put
// at row y starts at the highest skyline of rows [y, y+h); what it shades to
// its west is lost. That wastes some PEs on odd shapes, but is deterministic,
// and exact for the one case of weight streaming: one region, no skyline.

#include "compiler/place/SkylinePlacer.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace wsec;

/// The best place above `skyline`; nothing if there is none.
static std::optional<PlacedOrigin>
findSpot(const PlacementProblem &problem, const RegionRequest &region,
         const std::vector<int64_t> &skyline) {
  std::optional<PlacedOrigin> best;
  for (int64_t y : problem.channelRows) {
    if (y + region.rows > problem.height)
      break;
    int64_t x = *std::max_element(skyline.begin() + y,
                                  skyline.begin() + y + region.rows);
    if (x + region.columns > problem.width)
      continue;
    PlacedOrigin spot{x, y};
    if (!best || problem.cost(region, spot) < problem.cost(region, *best))
      best = spot;
  }
  return best;
}

static std::string doesNotFit(const PlacementProblem &problem,
                              const RegionRequest &region,
                              const std::vector<int64_t> &skyline) {
  std::string error = "region @" + region.name + " needs " +
                      std::to_string(region.columns) + "x" +
                      std::to_string(region.rows) + " PEs, ";
  std::string mesh =
      std::to_string(problem.width) + "x" + std::to_string(problem.height);
  if (region.columns > problem.width || region.rows > problem.height)
    return error + "the mesh has " + mesh;
  int64_t taken = std::accumulate(skyline.begin(), skyline.end(), int64_t(0));
  return error + "of the mesh of " + mesh + " other regions take or shade " +
         std::to_string(taken) +
         " PEs and no such rectangle that begins at an I/O channel is left; "
         "compile for a larger mesh";
}

/// In the order in which they choose.
static std::vector<size_t> orderOf(const PlacementProblem &problem) {
  std::vector<size_t> order(problem.regions.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    auto key = [&](size_t i) {
      const RegionRequest &region = problem.regions[i];
      return std::make_tuple(!region.pin, -region.columns * region.rows, i);
    };
    return key(a) < key(b);
  });
  return order;
}

std::string wsec::placeBySkyline(const PlacementProblem &problem,
                                 Placement &placement) {
  placement.origins.assign(problem.regions.size(), {});
  std::vector<int64_t> skyline(problem.height, 0);
  for (size_t i : orderOf(problem)) {
    const RegionRequest &region = problem.regions[i];
    std::optional<PlacedOrigin> spot =
        region.pin ? region.pin : findSpot(problem, region, skyline);
    if (!spot)
      return doesNotFit(problem, region, skyline);
    placement.origins[i] = *spot;
    for (int64_t y = spot->y; y < spot->y + region.rows; ++y)
      if (y >= 0 && y < problem.height)
        skyline[y] = std::max(skyline[y], spot->x + region.columns);
  }
  return "";
}
