// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/PlacementProblem.h"

#include <algorithm>
#include <cstdlib>

using namespace wsec;

static std::string size(int64_t columns, int64_t rows) {
  return std::to_string(columns) + "x" + std::to_string(rows);
}

static std::string text(PlacedOrigin origin) {
  return "(" + std::to_string(origin.x) + "," + std::to_string(origin.y) + ")";
}

static std::string text(const RegionRequest &region, PlacedOrigin origin) {
  return "region @" + region.name + ", " + size(region.columns, region.rows) +
         " at " + text(origin);
}

static std::string describe(const PlacedRegion &keepOut) {
  return "the keep-out of " + size(keepOut.columns, keepOut.rows) + " at " +
         text(PlacedOrigin{keepOut.x, keepOut.y});
}

std::string PlacementProblem::check() const {
  if (width < 1 || height < 1)
    return "the mesh has " + size(width, height) + " PEs";
  if (channelRows.empty())
    return "the mesh has no I/O channels";
  for (size_t i = 0; i < channelRows.size(); ++i)
    if (channelRows[i] < 0 || channelRows[i] >= height ||
        (i > 0 && channelRows[i] <= channelRows[i - 1]))
      return "I/O channels must lie on ascending rows of the mesh, found row " +
             std::to_string(channelRows[i]) + " of " + std::to_string(height);
  for (const RegionRequest &region : regions)
    if (region.columns < 1 || region.rows < 1)
      return "region @" + region.name + " has " +
             size(region.columns, region.rows) + " PEs";
  for (const PlacedRegion &its : keepOuts)
    if (its.x < 0 || its.y < 0 || its.columns < 1 || its.rows < 1 ||
        its.columns > width - its.x || its.rows > height - its.y)
      return describe(its) + " leaves the mesh of " + size(width, height);
  for (const NearWish &wish : wishes) {
    if (wish.region >= regions.size() ||
        (wish.target == NearWish::Target::Region &&
         (wish.other >= regions.size() || wish.other == wish.region)))
      return "a region is to lie near one that does not exist, or itself";
    if (wish.weight < 1)
      return "region @" + regions[wish.region].name +
             " is to lie near something with a weight of " +
             std::to_string(wish.weight);
  }
  return "";
}

/// P1.
static std::string checkPins(const PlacementProblem &problem,
                             const Placement &placement) {
  if (placement.origins.size() != problem.regions.size())
    return "P1: expected places for " + std::to_string(problem.regions.size()) +
           " regions, found " + std::to_string(placement.origins.size());
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    const RegionRequest &region = problem.regions[i];
    if (region.pin && !(*region.pin == placement.origins[i]))
      return "P1: " + text(region, placement.origins[i]) + ", is pinned to " +
             text(*region.pin);
  }
  return "";
}

/// P2.
static std::string checkInside(const PlacementProblem &problem,
                               const RegionRequest &region,
                               PlacedOrigin origin) {
  if (origin.x < 0 || origin.y < 0 ||
      origin.x > problem.width - region.columns ||
      origin.y > problem.height - region.rows)
    return "P2: " + text(region, origin) + ", leaves the mesh of " +
           size(problem.width, problem.height);
  return "";
}

/// P3.
static std::string checkChannel(const PlacementProblem &problem,
                                const RegionRequest &region,
                                PlacedOrigin origin) {
  const std::vector<int64_t> &rows = problem.channelRows;
  auto next = std::lower_bound(rows.begin(), rows.end(), origin.y);
  if (next != rows.end() && *next == origin.y)
    return "";
  std::string error = "P3: " + text(region, origin) +
                      ", begins at a row without an I/O channel; the nearest "
                      "with one ";
  if (next == rows.begin())
    return error + "is " + std::to_string(*next);
  if (next == rows.end())
    return error + "is " + std::to_string(rows.back());
  return error + "are " + std::to_string(*std::prev(next)) + " and " +
         std::to_string(*next);
}

/// P4.
static std::string checkDisjoint(const PlacementProblem &problem,
                                 const Placement &placement,
                                 std::vector<size_t> &about) {
  for (size_t i = 0; i < problem.regions.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const RegionRequest &first = problem.regions[j];
      const RegionRequest &second = problem.regions[i];
      PlacedOrigin a = placement.origins[j], b = placement.origins[i];
      bool apart = a.x + first.columns <= b.x || b.x + second.columns <= a.x ||
                   a.y + first.rows <= b.y || b.y + second.rows <= a.y;
      about = {j, i};
      if (!apart)
        return "P4: " + text(first, a) + ", and " + text(second, b) +
               ", overlap";
    }
  return "";
}

/// P5.
static std::string checkKeepOuts(const PlacementProblem &problem,
                                 const Placement &placement,
                                 std::vector<size_t> &about) {
  for (size_t i = 0; i < problem.regions.size(); ++i)
    for (size_t k = 0; k < problem.keepOuts.size(); ++k) {
      const PlacedRegion &keepOut = problem.keepOuts[k];
      const PlacedRegion its = problem.cellsOf(placement, i);
      about = {i, problem.regions.size() + k};
      if (its.x < keepOut.x + keepOut.columns &&
          keepOut.x < its.x + its.columns && its.y < keepOut.y + keepOut.rows &&
          keepOut.y < its.y + its.rows)
        return "P5: " + text(problem.regions[i], placement.origins[i]) +
               ", has PEs of " + describe(keepOut);
    }
  return "";
}

std::string PlacementProblem::verify(const Placement &placement,
                                     std::vector<size_t> *concerned) const {
  std::vector<size_t> none, &about = concerned ? *concerned : none;
  std::string error = checkPins(*this, placement);
  for (size_t i = 0; i < regions.size() && error.empty(); ++i) {
    about = {i};
    error = checkInside(*this, regions[i], placement.origins[i]);
    if (error.empty())
      error = checkChannel(*this, regions[i], placement.origins[i]);
  }
  if (error.empty())
    error = checkDisjoint(*this, placement, about);
  return error.empty() ? checkKeepOuts(*this, placement, about) : error;
}

static int64_t channelsIn(const std::vector<int64_t> &channelRows,
                          int64_t begin, int64_t end) {
  return std::lower_bound(channelRows.begin(), channelRows.end(), end) -
         std::lower_bound(channelRows.begin(), channelRows.end(), begin);
}

PlacementCost PlacementProblem::costAlone(const RegionRequest &region,
                                          PlacedOrigin origin) const {
  int64_t most = 0;
  for (int64_t row : channelRows)
    if (row + region.rows <= height)
      most = std::max(most, channelsIn(channelRows, row, row + region.rows));
  int64_t lost =
      most - channelsIn(channelRows, origin.y, origin.y + region.rows);
  for (int64_t row : channelRows)
    lost += row >= origin.y && row < origin.y + region.rows &&
            std::any_of(
                keepOuts.begin(), keepOuts.end(),
                [&](const PlacedRegion &its) {
                  return row >= its.y && row < its.y + its.rows;
                });
  return {lost, 0, (origin.x + origin.y) * region.columns * region.rows};
}

int64_t PlacementProblem::distance(const NearWish &wish,
                                   const Placement &placement) const {
  auto middle = [&](size_t region) { // doubled
    const PlacedRegion its = cellsOf(placement, region);
    return PlacedOrigin{2 * its.x + its.columns, 2 * its.y + its.rows};
  };
  const PlacedOrigin from = middle(wish.region);
  switch (wish.target) {
  case NearWish::Target::Region: {
    const PlacedOrigin to = middle(wish.other);
    return std::abs(from.x - to.x) + std::abs(from.y - to.y);
  }
  case NearWish::Target::Pe:
    return std::abs(from.x - 2 * wish.pe.x - 1) +
           std::abs(from.y - 2 * wish.pe.y - 1);
  case NearWish::Target::North:
    return from.y;
  case NearWish::Target::South:
    return 2 * height - from.y;
  case NearWish::Target::East:
    return 2 * width - from.x;
  case NearWish::Target::West:
    return from.x;
  }
  return 0;
}

PlacementCost PlacementProblem::cost(const Placement &placement) const {
  PlacementCost sum;
  for (size_t i = 0; i < regions.size(); ++i)
    sum.add(costAlone(regions[i], placement.origins[i]));
  for (const NearWish &wish : wishes)
    sum.wire += wish.weight * distance(wish, placement);
  return sum;
}
