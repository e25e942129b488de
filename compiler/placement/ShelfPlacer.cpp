// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/placement/ShelfPlacer.h"

#include <algorithm>

using namespace wsec;

/// Five can be shared out in 52 ways.
static constexpr size_t mostRegions = 5;

namespace {
class ShelfPlacer {
public:
  ShelfPlacer(const PlacementProblem &problem, double limit)
      : problem(problem), limit(limit) {}

  std::optional<Placement> run() {
    placement.regions.resize(problem.regions.size());
    shareOut({}, 0);
    return best;
  }

private:
  /// Regions from shelves.size() on, in all ways; the first `count` shelves
  /// have some.
  void shareOut(std::vector<size_t> shelves, size_t count) {
    if (shelves.size() < problem.regions.size()) {
      for (size_t shelf = 0; shelf <= count; ++shelf) {
        std::vector<size_t> more = shelves;
        more.push_back(shelf);
        shareOut(std::move(more), std::max(count, shelf + 1));
      }
      return;
    }
    std::vector<std::vector<size_t>> groups(count);
    for (size_t region = 0; region < shelves.size(); ++region)
      groups[shelves[region]].push_back(region);
    for (bool stacks : {false, true}) {
      int64_t at = 0;
      auto put = [&](const std::vector<size_t> &group) {
        const std::optional<int64_t> end = putGroup(group, at, stacks);
        at = end.value_or(0);
        return end.has_value();
      };
      if (std::all_of(groups.begin(), groups.end(), put))
        judge();
    }
  }

  /// Puts regions on a shelf that begins at row `at` at the earliest, or in a
  /// stack that begins at that column; returns where it ends.
  std::optional<int64_t> putGroup(const std::vector<size_t> &group, int64_t at,
                                  bool stack) {
    std::vector<int64_t> extents;
    for (size_t region : group)
      for (const CandidateShape &shape : problem.shapesOf(region))
        extents.push_back(stack ? shape.columns : shape.rows);
    std::sort(extents.begin(), extents.end());
    extents.erase(std::unique(extents.begin(), extents.end()), extents.end());
    const std::optional<int64_t> begin = stack ? at : rowFrom(at);
    for (int64_t extent : extents)
      if (begin &&
          *begin + extent <= (stack ? problem.width : problem.height) &&
          putWithin(group, *begin, extent, stack))
        return *begin + extent;
    return std::nullopt;
  }

  /// In so many rows, or columns for a stack, one after the other.
  bool putWithin(const std::vector<size_t> &group, int64_t begin,
                 int64_t extent, bool stack) {
    int64_t next = 0;
    double stream = 0;
    for (size_t region : group) {
      const std::optional<size_t> shape = shortest(region, extent, stack);
      const std::optional<int64_t> at = stack ? rowFrom(next) : next;
      if (!shape || !at)
        return false;
      const CandidateShape &its = problem.shapesOf(region)[*shape];
      placement.regions[region] = {*shape, stack ? PlacedOrigin{begin, *at}
                                                 : PlacedOrigin{*at, begin}};
      next = *at + (stack ? its.rows : its.columns);
      stream += stack ? 0 : its.stream;
      if (next > (stack ? problem.height : problem.width) || stream > limit)
        return false;
    }
    return true;
  }

  /// Of shapes with so many rows at most, the one with the fewest columns; or
  /// with so many columns the one with the fewest rows.
  std::optional<size_t> shortest(size_t region, int64_t extent,
                                 bool stack) const {
    const std::vector<CandidateShape> &shapes = problem.shapesOf(region);
    std::optional<size_t> found;
    auto key = [&](size_t i) {
      return std::make_tuple(stack ? shapes[i].rows : shapes[i].columns,
                             shapes[i].stream, shapes[i].cost);
    };
    for (size_t i = 0; i < shapes.size(); ++i)
      if (shapes[i].cost <= limit &&
          (stack ? shapes[i].columns : shapes[i].rows) <= extent &&
          (!found || key(i) < key(*found)))
        found = i;
    return found;
  }

  /// The first row from there on at which a region may begin.
  std::optional<int64_t> rowFrom(int64_t row) const {
    const std::vector<int64_t> &rows = problem.channelRows;
    if (rows.empty())
      return row;
    auto next = std::lower_bound(rows.begin(), rows.end(), row);
    return next == rows.end() ? std::nullopt : std::optional<int64_t>(*next);
  }

  void judge() {
    if (!problem.verify(placement).empty())
      return;
    const PlacementCost cost = problem.cost(placement);
    if (cost.throughput <= limit && (!best || cost.key() < bestCost.key())) {
      best = placement;
      bestCost = cost;
    }
  }

  const PlacementProblem &problem;
  const double limit;
  Placement placement;
  std::optional<Placement> best;
  PlacementCost bestCost;
};
} // namespace

std::optional<Placement> wsec::placeOnShelves(const PlacementProblem &problem,
                                              double limit) {
  const bool isFit = std::none_of(
      problem.regions.begin(), problem.regions.end(),
      [](const RegionRequest &its) { return its.pin || its.group; });
  if (!isFit || problem.regions.size() > mostRegions)
    return std::nullopt;
  return ShelfPlacer(problem, limit).run();
}
