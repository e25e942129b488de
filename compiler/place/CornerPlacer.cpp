// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One region after the other, each in the corner where it costs least: at a row
// with a channel, its sides at sides of what is there already.
//
//   a a a . . .     @c 2x1 may lie at x = 0, 3 (east of @a), 4 (at the east
//   a a a . # .     side, or its centre below that of a wish), but not on #
//
// Several orders are tried, then each region is taken out and put back, alone
// and with another one, until that helps no more. Where no order fits a few
// regions, all are tried: of any placement, pushed west as far as it goes,
// every region lies at the west side or at the east side of something.

#include "compiler/place/CornerPlacer.h"

#include <algorithm>
#include <numeric>

using namespace wsec;

/// Regions up to which pairs are moved, and all orders are tried.
static constexpr size_t pairsUpTo = 12, allOrdersUpTo = 5;
/// Places that are tried before the search for any placement gives up.
static constexpr int64_t mostTries = 400'000;

namespace {
class CornerPlacer {
public:
  CornerPlacer(const PlacementProblem &problem, Placement &placement)
      : problem(problem), placement(placement),
        isPlaced(problem.regions.size()) {
    placement.origins.assign(problem.regions.size(), {});
    for (size_t i = 0; i < problem.regions.size(); ++i) {
      if (!problem.regions[i].pin)
        free.push_back(i);
      else
        put(i, *problem.regions[i].pin);
    }
  }

  std::string run() {
    std::string error;
    bool tooLarge = false;
    std::optional<Placement> best;
    for (const std::vector<size_t> &order : orders()) {
      const size_t stuck = inOrder(order);
      if (stuck == free.size()) {
        improve();
        if (!best || problem.cost(placement).key() < problem.cost(*best).key())
          best = placement;
      } else if (error.empty()) {
        error = doesNotFit(order[stuck], tooLarge);
      }
      takeOut(free);
    }
    if (!best && !tooLarge && free.size() > 1 && free.size() <= allOrdersUpTo) {
      if (anyPlacement(free.size())) {
        improve();
        return "";
      }
      if (tries < mostTries)
        error += "; nor is there in any other arrangement";
    }
    if (!best)
      return error;
    placement = *best;
    return "";
  }

private:
  void put(size_t region, PlacedOrigin at) {
    placement.origins[region] = at;
    isPlaced[region] = true;
  }
  void takeOut(const std::vector<size_t> &regions) {
    for (size_t region : regions)
      isPlaced[region] = false;
  }

  /// The largest first; as they are listed; each one first.
  std::vector<std::vector<size_t>> orders() const {
    std::vector<std::vector<size_t>> orders{free};
    auto key = [&](size_t i) {
      return std::make_pair(
          -problem.regions[i].columns * problem.regions[i].rows, i);
    };
    std::sort(orders[0].begin(), orders[0].end(),
              [&](size_t a, size_t b) { return key(a) < key(b); });
    if (orders[0] != free)
      orders.push_back(free);
    for (size_t i = 1; i < std::min(free.size(), pairsUpTo); ++i) {
      orders.push_back(orders[0]);
      std::rotate(orders.back().begin(), orders.back().begin() + i,
                  orders.back().begin() + i + 1);
    }
    return orders;
  }

  bool isFree(const PlacedRegion &its) const {
    auto apart = [&](const PlacedRegion &other) {
      return its.x + its.columns <= other.x ||
             other.x + other.columns <= its.x || its.y + its.rows <= other.y ||
             other.y + other.rows <= its.y;
    };
    for (size_t i = 0; i < isPlaced.size(); ++i)
      if (isPlaced[i] && !apart(problem.cellsOf(placement, i)))
        return false;
    return std::all_of(problem.keepOuts.begin(), problem.keepOuts.end(), apart);
  }

  /// Columns at which a region may begin; with `all`, also those that pushing
  /// it west would leave.
  std::vector<int64_t> columnsFor(size_t region, bool all) const {
    const int64_t columns = problem.regions[region].columns;
    const int64_t last = problem.width - columns;
    std::vector<int64_t> starts{0};
    auto beside = [&](const PlacedRegion &its) {
      starts.push_back(its.x + its.columns);
      if (all)
        starts.insert(starts.end(),
                      {its.x - columns, its.x, its.x + its.columns - columns,
                       its.x + (its.columns - columns) / 2});
    };
    for (const PlacedRegion &keepOut : problem.keepOuts)
      beside(keepOut);
    for (size_t i = 0; i < isPlaced.size(); ++i)
      if (isPlaced[i])
        beside(problem.cellsOf(placement, i));
    if (all)
      starts.push_back(last);
    for (const NearWish &wish : problem.wishes)
      if (all && wish.region == region && wish.target == NearWish::Target::Pe)
        starts.insert(starts.end(),
                      {wish.pe.x - columns / 2, wish.pe.x - (columns - 1) / 2});
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    starts.erase(std::remove_if(starts.begin(), starts.end(),
                                [&](int64_t x) { return x < 0 || x > last; }),
                 starts.end());
    return starts;
  }

  PlacementCost costHere(size_t region) const {
    PlacementCost cost =
        problem.costAlone(problem.regions[region], placement.origins[region]);
    for (const NearWish &wish : problem.wishes) {
      const bool toRegion = wish.target == NearWish::Target::Region;
      const bool own = wish.region == region;
      if ((own && (!toRegion || isPlaced[wish.other])) ||
          (toRegion && wish.other == region && isPlaced[wish.region]))
        cost.wire += wish.weight * problem.distance(wish, placement);
    }
    return cost;
  }

  /// Puts a region where it costs least beside those that have a place; in the
  /// north among equals. False if there is no room.
  bool putBest(size_t region) {
    const RegionRequest &its = problem.regions[region];
    const std::vector<int64_t> starts = columnsFor(region, true);
    std::optional<PlacedOrigin> best;
    PlacementCost least;
    for (int64_t y : problem.channelRows) {
      if (y + its.rows > problem.height)
        break;
      for (int64_t x : starts) {
        if (!isFree({x, y, its.columns, its.rows}))
          continue;
        placement.origins[region] = {x, y};
        const PlacementCost cost = costHere(region);
        if (best && cost.key() >= least.key())
          continue;
        best = {x, y};
        least = cost;
      }
    }
    if (best)
      put(region, *best);
    return best.has_value();
  }

  /// How many of the order found room.
  size_t inOrder(const std::vector<size_t> &order) {
    size_t done = 0;
    while (done < order.size() && putBest(order[done]))
      ++done;
    return done;
  }

  /// Takes these out and puts them back in this order if that costs less.
  bool moveIfBetter(const std::vector<size_t> &regions) {
    const Placement before = placement;
    takeOut(regions);
    if (inOrder(regions) == regions.size() &&
        problem.cost(placement).key() < problem.cost(before).key())
      return true;
    placement = before;
    for (size_t region : regions)
      isPlaced[region] = true;
    return false;
  }

  void improve() {
    for (bool better = true; better;) {
      better = false;
      for (size_t a : free) {
        better |= moveIfBetter({a});
        for (size_t b : free)
          if (a != b && free.size() <= pairsUpTo)
            better |= moveIfBetter({a, b});
      }
    }
  }

  /// Whether `left` regions that have no place find one, any one.
  bool anyPlacement(size_t left) {
    if (left == 0)
      return true;
    for (size_t region : free) {
      if (isPlaced[region])
        continue;
      const RegionRequest &its = problem.regions[region];
      for (int64_t x : columnsFor(region, false))
        for (int64_t y : problem.channelRows) {
          if (y + its.rows > problem.height || ++tries >= mostTries)
            break;
          if (!isFree({x, y, its.columns, its.rows}))
            continue;
          put(region, {x, y});
          if (anyPlacement(left - 1))
            return true;
          isPlaced[region] = false;
        }
    }
    return false;
  }

  /// Why the region has no place beside those that have one.
  std::string doesNotFit(size_t region, bool &tooLarge) const {
    const RegionRequest &its = problem.regions[region];
    std::string error = "region @" + its.name + " needs " +
                        std::to_string(its.columns) + "x" +
                        std::to_string(its.rows) + " PEs, ";
    const std::string mesh =
        std::to_string(problem.width) + "x" + std::to_string(problem.height);
    tooLarge = its.columns > problem.width || its.rows > problem.height;
    if (tooLarge)
      return error + "the mesh has " + mesh;
    int64_t taken = 0;
    for (size_t i = 0; i < isPlaced.size(); ++i)
      if (isPlaced[i])
        taken += problem.regions[i].columns * problem.regions[i].rows;
    error += "of the mesh of " + mesh + " other regions take " +
             std::to_string(taken) + " PEs";
    if (!problem.keepOuts.empty())
      error += ", " + std::to_string(problem.keepOuts.size()) +
               " rectangles are kept out,";
    return error + " and no such rectangle that begins at an I/O channel is "
                   "left; compile for a larger mesh";
  }

  const PlacementProblem &problem;
  Placement &placement;
  std::vector<bool> isPlaced;
  std::vector<size_t> free; ///< regions without a pin
  int64_t tries = 0;
};
} // namespace

std::string wsec::placeInCorners(const PlacementProblem &problem,
                                 Placement &placement) {
  return CornerPlacer(problem, placement).run();
}
