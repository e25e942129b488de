// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One region after the other, each in the corner where it costs least: at a row
// with a channel, its sides at sides of what is there already.
//
//   a a a . . .     @c 2x1 may lie at x = 0, 3 (east of @a), 4 (at the east
//   a a a . # .     side, or its centre below that of a wish), but not on #
//
// Several orders are tried, then regions are taken out and put back, alone and
// with another one, until that helps no more; of many regions also some drawn
// at random. Where no order fits a few regions, all are tried: of any
// placement, pushed west and north as far as it goes, every region lies at
// those sides of the mesh or of something.
//
// Of shapes, a limit on the cost allows those below it. Limits rise until
// regions have room, and channels bring their words within it, and on if the
// score says what more cost is worth.

#include "compiler/placement/CornerPlacer.h"
#include "compiler/placement/GroupRows.h"
#include "compiler/placement/PinnedShapes.h"
#include "compiler/placement/PlacementBound.h"
#include "compiler/placement/RandomNumbers.h"
#include "compiler/placement/ShelfPlacer.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace wsec;

/// Regions up to which pairs are moved, and all orders are tried.
static constexpr size_t pairsUpTo = 12, allOrdersUpTo = 5;
/// Places that are tried before the search for any placement gives up, of all
/// limits together and of each at least.
static constexpr int64_t mostTries = 400'000, leastTries = 10'000;
/// Limits on the cost that are tried.
static constexpr size_t mostLimits = 64;
/// Moves of regions drawn at random, for each region.
static constexpr size_t movesPerRegion = 16;

namespace {
class CornerPlacer {
public:
  CornerPlacer(const PlacementProblem &problem, uint64_t seed,
               Placement &placement)
      : problem(problem), placement(placement), random(seed),
        isPlaced(problem.regions.size(), false) {
    placement.regions.assign(problem.regions.size(), {});
    for (size_t i = 0; i < problem.regions.size(); ++i) {
      const bool isPinned = problem.regions[i].pin.has_value();
      if (!isPinned)
        free.push_back(i);
      if (!isPinned || problem.shapesOf(i).size() > 1)
        open.push_back(i);
    }
  }

  std::string run() {
    std::string error = problem.hasWeights() ? underAll() : underLeast();
    if (!best) {
      const std::string broken = pinsFit ? "" : brokenByPins();
      return broken.empty() ? error : broken;
    }
    if (free.size() > pairsUpTo)
      moveDrawn();
    placement = *best;
    return "";
  }

private:
  //===-- Shapes ----------------------------------------------------------===//

  std::vector<double> limits() const {
    std::set<double> costs;
    double least = 0;
    for (size_t i = 0; i < problem.regions.size(); ++i) {
      double cheapest = INFINITY;
      for (const CandidateShape &shape : problem.shapesOf(i)) {
        costs.insert(shape.cost);
        cheapest = std::min(cheapest, shape.cost);
      }
      least = std::max(least, cheapest);
    }
    if (const double bound = throughputBound(problem); std::isfinite(bound))
      least = std::max(least, bound);
    std::vector<double> limits(costs.lower_bound(least), costs.end());
    return limits.empty() ? std::vector<double>{0} : limits;
  }

  /// Looks for the best placement under each limit, or some of many.
  std::string underAll() {
    const std::vector<double> all = limits();
    const size_t step = 1 + (all.size() - 1) / mostLimits;
    triesWithin = std::max(leastTries, mostTries / int64_t(all.size() / step));
    std::string error;
    for (size_t i = 0; i < all.size(); i += step)
      error = under(all[i]);
    return (all.size() - 1) % step ? under(all.back()) : error;
  }

  /// Looks for the least limit that can be kept, by bisection, and for the best
  /// placement under that one.
  std::string underLeast() {
    const std::vector<double> all = limits();
    triesWithin = mostTries / int64_t(2 + std::log2(double(all.size())));
    size_t low = 0, high = all.size() - 1;
    improves = false;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      under(all[middle]);
      if (best && bestCost.throughput <= all[middle])
        high = middle;
      else
        low = middle + 1;
    }
    improves = true;
    return under(all[low]);
  }

  std::string under(double its) {
    limit = its;
    allow();
    return within();
  }

  /// Shapes that cost no more, and of these the small ones: no other has no
  /// more columns, no more rows and no more of a channel.
  void allow() {
    allowed.assign(problem.shapeSets.size(), {});
    small.assign(problem.shapeSets.size(), {});
    for (size_t set = 0; set < problem.shapeSets.size(); ++set) {
      const std::vector<CandidateShape> &shapes = problem.shapeSets[set];
      for (size_t i = 0; i < shapes.size(); ++i)
        if (shapes[i].cost <= limit)
          allowed[set].push_back(i);
      auto isSmall = [&](size_t i) {
        return std::none_of(
            allowed[set].begin(), allowed[set].end(), [&](size_t other) {
              const CandidateShape &a = shapes[other], &b = shapes[i];
              const bool same = a.columns == b.columns && a.rows == b.rows;
              return a.columns <= b.columns && a.rows <= b.rows &&
                     a.stream <= b.stream &&
                     (!same || a.stream < b.stream ||
                      std::tie(a.cost, other) < std::tie(b.cost, i));
            });
      };
      std::copy_if(allowed[set].begin(), allowed[set].end(),
                   std::back_inserter(small[set]), isSmall);
      auto key = [&](size_t i) {
        return std::make_tuple(shapes[i].columns * shapes[i].rows, i);
      };
      std::sort(small[set].begin(), small[set].end(),
                [&](size_t a, size_t b) { return key(a) < key(b); });
    }
  }

  int64_t areaOf(size_t region, size_t shape) const {
    const CandidateShape &its = problem.shapesOf(region)[shape];
    return its.columns * its.rows;
  }
  const std::vector<size_t> &smallOf(size_t region) const {
    return small[problem.regions[region].shapeSet];
  }
  size_t smallest(size_t region) const { return smallOf(region).front(); }

  //===-- Places ----------------------------------------------------------===//

  void put(size_t region, const PlacedShape &its) {
    placement.regions[region] = its;
    isPlaced[region] = true;
  }
  void takeOut(const std::vector<size_t> &regions) {
    for (size_t region : regions)
      isPlaced[region] = false;
  }

  bool isFree(size_t region, const PlacedRegion &its) const {
    if (its.x < 0 || its.y < 0 || its.x + its.columns > problem.width ||
        its.y + its.rows > problem.height)
      return false;
    for (size_t i = 0; i < isPlaced.size(); ++i) {
      if (!isPlaced[i])
        continue;
      const PlacedRegion other = problem.cellsOf(placement, i);
      if (other.overlaps(its) || !problem.mayShareRows(region, its, i, other))
        return false;
    }
    return (!problem.mostAbreast || problem.abreast(its, placement, isPlaced) <=
                                        *problem.mostAbreast) &&
           std::none_of(
               problem.keepOuts.begin(), problem.keepOuts.end(),
               [&](const PlacedRegion &other) { return other.overlaps(its); });
  }

  /// Columns, or rows, at which a region may begin that has so many of them;
  /// with `all`, also those that pushing it west or north would leave.
  std::vector<int64_t> startsFor(size_t region, int64_t extent, bool columns,
                                 bool all) const {
    if (const auto &pin = problem.regions[region].pin)
      return {columns ? pin->x : pin->y};
    if (const auto &group = problem.regions[region].group; !columns && group)
      return {groupRows.at(*group)};
    if (!columns && !problem.channelRows.empty())
      return problem.channelRows;
    const int64_t last = (columns ? problem.width : problem.height) - extent;
    std::vector<int64_t> starts{0};
    auto beside = [&](const PlacedRegion &its) {
      const int64_t begin = columns ? its.x : its.y;
      const int64_t size = columns ? its.columns : its.rows;
      starts.push_back(begin + size);
      if (all)
        starts.insert(starts.end(),
                      {begin - extent, begin, begin + size - extent,
                       begin + (size - extent) / 2});
    };
    for (const PlacedRegion &keepOut : problem.keepOuts)
      beside(keepOut);
    for (size_t i = 0; i < isPlaced.size(); ++i)
      if (isPlaced[i])
        beside(problem.cellsOf(placement, i));
    if (all)
      starts.push_back(last);
    for (const NearWish &wish : problem.wishes)
      if (all && wish.region == region && wish.target == NearWish::Target::Pe) {
        const int64_t at = columns ? wish.pe.x : wish.pe.y;
        starts.insert(starts.end(), {at - extent / 2, at - (extent - 1) / 2});
      }
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    starts.erase(
        std::remove_if(starts.begin(), starts.end(),
                       [&](int64_t at) { return at < 0 || at > last; }),
        starts.end());
    return starts;
  }

  /// Of what a region adds to the others that have a place.
  PlacementCost costHere(size_t region) const {
    const PlacedRegion pes = problem.cellsOf(placement, region);
    PlacementCost cost;
    cost.lost = problem.lostChannels(pes);
    cost.hops = PlacementProblem::hopsTo(pes);
    cost.latency =
        problem.shapesOf(region)[placement.regions[region].shape].cost;
    cost.throughput = problem.throughput(placement, isPlaced);
    for (const NearWish &wish : problem.wishes) {
      const bool toRegion = wish.target == NearWish::Target::Region;
      const bool own = wish.region == region;
      if ((own && (!toRegion || isPlaced[wish.other])) ||
          (toRegion && wish.other == region && isPlaced[wish.region]))
        cost.wire += problem.wordsOf(wish) * problem.distance(wish, placement);
    }
    for (const PlacementEdge &edge : problem.edges)
      if ((edge.from == region && isPlaced[edge.to]) ||
          (edge.to == region && isPlaced[edge.from]))
        cost.wire += edge.words * PlacementProblem::distance(
                                      problem.cellsOf(placement, edge.from),
                                      problem.cellsOf(placement, edge.to));
    cost.score = problem.throughputWeight * cost.throughput +
                 problem.latencyWeight * cost.latency +
                 problem.wireWeight * double(cost.wire) / 2;
    return cost;
  }

  /// Puts a region where it costs least beside those that have a place; in the
  /// north among equals. False if there is no room. With `sparing` it leaves as
  /// many PEs to others as it can within the limit.
  bool putBest(size_t region, const std::vector<size_t> &shapes, bool sparing) {
    std::optional<PlacedShape> found;
    std::tuple<double, int64_t> leastPes;
    PlacementCost least;
    for (size_t shape : shapes) {
      const CandidateShape &its = problem.shapesOf(region)[shape];
      const std::vector<int64_t> columns =
          startsFor(region, its.columns, true, true);
      for (int64_t y : startsFor(region, its.rows, false, true))
        for (int64_t x : columns) {
          if (!isFree(region, {x, y, its.columns, its.rows}))
            continue;
          put(region, {shape, {x, y}});
          const PlacementCost cost = costHere(region);
          isPlaced[region] = false;
          const std::tuple<double, int64_t> pes =
              sparing ? std::make_tuple(std::max(cost.throughput, limit),
                                        its.columns * its.rows)
                      : std::tuple<double, int64_t>();
          if (found && std::make_pair(pes, cost.key()) >=
                           std::make_pair(leastPes, least.key()))
            continue;
          found = {shape, {x, y}};
          leastPes = pes;
          least = cost;
        }
    }
    if (found)
      put(region, *found);
    return found.has_value();
  }

  /// The rule that pins break, whatever the shapes.
  std::string brokenByPins() {
    PlacementProblem pins = problem;
    pins.regions.clear();
    Placement places;
    limit = INFINITY;
    allow();
    for (size_t i = 0; i < problem.regions.size(); ++i)
      if (const auto &pin = problem.regions[i].pin) {
        pins.regions.push_back(problem.regions[i]);
        places.regions.push_back({smallest(i), *pin});
        placement.regions[i] = places.regions.back();
      }
    return pins.verify(places);
  }

  //===-- Orders ----------------------------------------------------------===//

  /// The largest first; as they are listed; each one first.
  std::vector<std::vector<size_t>> orders() const {
    std::vector<std::vector<size_t>> orders{free};
    auto key = [&](size_t i) {
      return std::make_pair(-areaOf(i, smallest(i)), i);
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

  /// The best placement in the shapes that are allowed, or why there is none.
  std::string within() {
    pinned.regions.assign(problem.regions.size(), {});
    std::string error = choosePinnedShapes(problem, limit, pinned);
    if (!error.empty())
      return error;
    pinsFit = true;
    bool found = false, isSome = false;
    std::vector<GroupRows> choices = rowsOfGroups(problem, small, isSome);
    triedAll = !isSome;
    for (GroupRows &rows : choices) {
      groupRows = std::move(rows);
      std::string here = inRow();
      found |= here.empty();
      if (error.empty())
        error = std::move(here);
    }
    if (found)
      return "";
    return error + (triedAll ? "; nor is there in any other arrangement" : "");
  }

  /// With regions that share out channels in their row.
  std::string inRow() {
    placement = pinned;
    for (size_t i = 0; i < problem.regions.size(); ++i)
      isPlaced[i] = problem.regions[i].pin.has_value();
    std::string error;
    bool tooLarge = false, found = false, isWithin = false;
    if (startInOrder()) {
      found = isWithin = true;
      isPlaced.assign(isPlaced.size(), true);
      improve();
      takeOut(free);
    }
    for (const std::vector<size_t> &order : orders()) {
      if (isWithin && !improves)
        return "";
      size_t done = 0;
      while (done < order.size() &&
             putBest(order[done], smallOf(order[done]), !problem.hasWeights()))
        ++done;
      if (done == order.size()) {
        found = true;
        improve();
        isWithin |= current.throughput <= limit;
      } else if (error.empty()) {
        error = doesNotFit(order[done], tooLarge);
      }
      takeOut(free);
    }
    if (isWithin)
      return "";
    const bool canTryAll =
        !tooLarge && open.size() > 1 && open.size() <= allOrdersUpTo;
    triedAll &= found || canTryAll;
    // A channel that brings more than the limit is better than no placement.
    mostThroughput = limit;
    for (bool again = canTryAll; again; mostThroughput = INFINITY) {
      tries = 0;
      aboveMost = false;
      takeOut(open);
      if (anyPlacement(open.size())) {
        improve();
        return "";
      }
      triedAll &= found || tries < triesWithin;
      again = !found && aboveMost;
    }
    return found ? "" : error;
  }

  /// On shelves or in the rows of their groups, within the limit.
  bool startInOrder() {
    if (std::optional<Placement> shelves = placeOnShelves(problem, limit)) {
      placement = std::move(*shelves);
      return true;
    }
    if (groupRows.empty() ||
        !placeInRows(problem, groupRows, small, isPlaced, placement))
      return false;
    const std::vector<bool> all(isPlaced.size(), true);
    return problem.throughput(placement, all) <= limit;
  }

  /// Takes these out and puts them back in this order if that costs less.
  bool moveIfBetter(const std::vector<size_t> &regions) {
    const Placement before = placement;
    takeOut(regions);
    const bool placed =
        std::all_of(regions.begin(), regions.end(), [&](size_t region) {
          return putBest(region, allowed[problem.regions[region].shapeSet],
                         false);
        });
    if (placed && placement.regions != before.regions) {
      const PlacementCost cost = problem.cost(placement);
      if (cost.key() < current.key()) {
        current = cost;
        return true;
      }
    }
    placement = before;
    for (size_t region : regions)
      isPlaced[region] = true;
    return false;
  }

  void improve() {
    current = problem.cost(placement);
    for (bool better = improves; better;) {
      better = false;
      for (size_t a : open) {
        better |= moveIfBetter({a});
        for (size_t b : open)
          if (a != b && open.size() <= pairsUpTo)
            better |= moveIfBetter({a, b});
      }
    }
    if (!best || current.key() < bestCost.key()) {
      best = placement;
      bestCost = current;
      bestRows = groupRows;
    }
  }

  /// Of the best placement.
  void moveDrawn() {
    placement = *best;
    current = bestCost;
    groupRows = bestRows;
    isPlaced.assign(problem.regions.size(), true);
    for (size_t i = 0; i < movesPerRegion * free.size(); ++i)
      moveIfBetter(drawRegions());
    best = placement;
  }

  /// Two to four, in the order in which they are drawn.
  std::vector<size_t> drawRegions() {
    std::vector<size_t> drawn;
    const size_t count = size_t(2 + random.below(3));
    while (drawn.size() < count) {
      const size_t region = free[size_t(random.below(free.size()))];
      if (std::find(drawn.begin(), drawn.end(), region) == drawn.end())
        drawn.push_back(region);
    }
    return drawn;
  }

  /// Whether `left` regions that have no place find one, any one that
  /// `mostThroughput` allows.
  bool anyPlacement(size_t left) {
    if (left == 0)
      return true;
    if (!haveRoom())
      return false;
    for (size_t region : open) {
      if (isPlaced[region] || hasOpenTwin(region))
        continue;
      for (size_t shape : smallOf(region)) {
        const CandidateShape &its = problem.shapesOf(region)[shape];
        const auto rows = startsFor(region, its.rows, false, false);
        for (int64_t x : startsFor(region, its.columns, true, false))
          for (int64_t y : rows) {
            if (++tries >= triesWithin)
              return false;
            if (!isFree(region, {x, y, its.columns, its.rows}))
              continue;
            put(region, {shape, {x, y}});
            const bool isAbove =
                problem.throughput(placement, isPlaced) > mostThroughput;
            if (!isAbove && anyPlacement(left - 1))
              return true;
            aboveMost |= isAbove;
            isPlaced[region] = false;
          }
      }
    }
    return false;
  }

  /// Whether the PEs that are left are as many as the smallest shapes have.
  bool haveRoom() const {
    int64_t pes = problem.freePes();
    for (size_t i = 0; i < isPlaced.size(); ++i)
      pes -= areaOf(i, isPlaced[i] ? placement.regions[i].shape : smallest(i));
    return pes >= 0;
  }

  /// Whether one before it that is as good has no place either.
  bool hasOpenTwin(size_t region) const {
    auto isTwin = [&](size_t other) {
      const RegionRequest &a = problem.regions[region],
                          &b = problem.regions[other];
      return !isPlaced[other] && !a.pin && !b.pin && a.group == b.group &&
             problem.shapesOf(region) == problem.shapesOf(other);
    };
    return std::any_of(open.begin(),
                       std::find(open.begin(), open.end(), region), isTwin);
  }

  /// Why the region has no place beside those that have one.
  std::string doesNotFit(size_t region, bool &tooLarge) const {
    const CandidateShape &its = problem.shapesOf(region)[smallest(region)];
    std::string error = problem.regions[region].name + " needs " +
                        std::to_string(its.columns) + "x" +
                        std::to_string(its.rows) + " PEs, ";
    const std::string mesh =
        std::to_string(problem.width) + "x" + std::to_string(problem.height);
    const std::vector<size_t> &shapes = smallOf(region);
    tooLarge = std::none_of(shapes.begin(), shapes.end(), [&](size_t shape) {
      return problem.fits(problem.shapesOf(region)[shape]);
    });
    if (tooLarge)
      return error + "the mesh has " + mesh;
    int64_t taken = 0;
    for (size_t i = 0; i < isPlaced.size(); ++i)
      if (isPlaced[i])
        taken += areaOf(i, placement.regions[i].shape);
    error += "of the mesh of " + mesh + " other regions take " +
             std::to_string(taken) + " PEs";
    if (!problem.keepOuts.empty())
      error += ", " + std::to_string(problem.keepOuts.size()) +
               " rectangles are kept out,";
    return error + " and no such rectangle " +
           (problem.channelRows.empty() ? ""
                                        : "that begins at an I/O channel ") +
           "is left; compile for a larger mesh";
  }

  const PlacementProblem &problem;
  Placement &placement;
  RandomNumbers random;
  std::vector<std::vector<size_t>> allowed, small; ///< shapes of each set
  Placement pinned;                                ///< places of pinned regions
  bool pinsFit = false;                            ///< within some limit
  std::vector<bool> isPlaced;
  std::vector<size_t> free; ///< regions without a pin
  std::vector<size_t> open; ///< and pinned ones of several shapes
  PlacementCost current;    ///< of what is improved
  std::optional<Placement> best;
  PlacementCost bestCost;
  GroupRows groupRows, bestRows;
  double limit = 0;
  bool improves = true; ///< placements; else one within the limit will do
  int64_t tries = 0, triesWithin = 0;
  double mostThroughput = 0; ///< of any placement
  bool aboveMost = false;    ///< is some placement that was met
  bool triedAll = false;     ///< arrangements, in vain
};
} // namespace

std::string wsec::placeInCorners(const PlacementProblem &problem,
                                 const PlacementOptions &options,
                                 Placement &placement) {
  return CornerPlacer(problem, options.seed, placement).run();
}
