// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/place/CornerPlacer.h"
#include "compiler/place/PlacementProblem.h"
#include "test/compiler/problems/Problems.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>

using namespace wsec;
using namespace wsec::test;

namespace {

using Rules = std::set<std::string>;

const std::vector<Complaint> complaints = {
    {"P1", "P1: expected places for"},
    {"P1", "is pinned to"},
    {"P2", "leaves the mesh of"},
    {"P3", "without an I/O channel"},
    {"P4", "overlap"},
    {"P5", "has PEs of the keep-out"},
};

PlacementProblem randomProblem(Random &random) {
  PlacementProblem problem;
  problem.width = random.between(1, 12);
  problem.height = random.between(1, 12);
  for (int64_t row = 0; row < problem.height; ++row)
    if (random.oneIn(3))
      problem.channelRows.push_back(row);
  if (problem.channelRows.empty())
    problem.channelRows = {random.below(problem.height)};
  for (int64_t i = random.between(1, 5); i > 0; --i) {
    RegionRequest region{"r" + std::to_string(i),
                         random.between(1, 1 + problem.width / 3),
                         random.between(1, 1 + problem.height / 3)};
    if (random.oneIn(8))
      region.columns = random.between(1, problem.width + 1);
    if (random.oneIn(6))
      region.pin = {random.below(problem.width),
                    random.oneIn(4) ? random.below(problem.height)
                                    : random.of(problem.channelRows)};
    problem.regions.push_back(region);
  }
  for (int64_t i = random.below(4); i > 0; --i) {
    PlacedRegion its{random.below(problem.width), random.below(problem.height),
                     1, 1};
    if (random.oneIn(3))
      its.columns = random.between(1, problem.width - its.x);
    problem.keepOuts.push_back(its);
  }
  const int64_t count = int64_t(problem.regions.size());
  for (int64_t i = random.below(4); i > 0; --i) {
    NearWish wish;
    wish.region = size_t(random.below(count));
    wish.other = size_t(random.below(count));
    wish.target =
        NearWish::Target(random.between(wish.other == wish.region, 5));
    wish.pe = {random.below(problem.width), random.below(problem.height)};
    wish.weight = random.between(1, 3);
    problem.wishes.push_back(wish);
  }
  return problem;
}

bool isChannel(const PlacementProblem &problem, int64_t row) {
  return std::count(problem.channelRows.begin(), problem.channelRows.end(),
                    row);
}

/// Whether the region has the PE (x, y).
bool covers(const RegionRequest &region, PlacedOrigin at, int64_t x,
            int64_t y) {
  return x >= at.x && x - at.x < region.columns && y >= at.y &&
         y - at.y < region.rows;
}

/// PEs of the region that lie in the mesh.
int64_t inside(const PlacementProblem &problem, const RegionRequest &region,
               PlacedOrigin at) {
  int64_t count = 0;
  for (int64_t y = 0; y < problem.height; ++y)
    for (int64_t x = 0; x < problem.width; ++x)
      count += covers(region, at, x, y);
  return count;
}

bool fits(const PlacementProblem &problem, const RegionRequest &region,
          PlacedOrigin at) {
  return inside(problem, region, at) == region.columns * region.rows;
}

bool isKeptOut(const PlacementProblem &problem, int64_t x, int64_t y) {
  return std::any_of(problem.keepOuts.begin(), problem.keepOuts.end(),
                     [&](const PlacedRegion &its) {
                       return x >= its.x && x < its.x + its.columns &&
                              y >= its.y && y < its.y + its.rows;
                     });
}

/// The rules that a placement breaks, PE by PE.
Rules brokenRules(const PlacementProblem &problem, const Placement &placement) {
  const size_t count = problem.regions.size();
  if (placement.origins.size() != count)
    return {"P1"};
  Rules broken;
  for (size_t i = 0; i < count; ++i) {
    const RegionRequest &region = problem.regions[i];
    PlacedOrigin at = placement.origins[i];
    if (region.pin && (region.pin->x != at.x || region.pin->y != at.y))
      broken.insert("P1");
    if (!fits(problem, region, at))
      broken.insert("P2");
    if (!isChannel(problem, at.y))
      broken.insert("P3");
  }
  for (int64_t y = 0; y < problem.height; ++y)
    for (int64_t x = 0; x < problem.width; ++x) {
      int64_t owners = 0;
      for (size_t i = 0; i < count; ++i)
        owners += covers(problem.regions[i], placement.origins[i], x, y);
      if (owners > 1)
        broken.insert("P4");
      if (owners > 0 && isKeptOut(problem, x, y))
        broken.insert("P5");
    }
  return broken;
}

/// Channels in the rows of a region at row `y` that no keep-out shuts.
int64_t channelsAt(const PlacementProblem &problem, const RegionRequest &region,
                   int64_t y) {
  int64_t count = 0;
  for (int64_t row = y; row < y + region.rows; ++row) {
    bool open = true;
    for (int64_t x = 0; x < problem.width; ++x)
      open &= !isKeptOut(problem, x, row);
    count += isChannel(problem, row) && open;
  }
  return count;
}

/// How far from the middle of a region that is alone its wishes are, in half
/// hops.
int64_t wishesOf(const PlacementProblem &problem, const RegionRequest &region,
                 PlacedOrigin at) {
  int64_t sum = 0;
  for (const NearWish &wish : problem.wishes) {
    const int64_t x = 2 * at.x + region.columns, y = 2 * at.y + region.rows;
    const std::array<int64_t, 6> distances = {
        0,
        std::abs(x - 2 * wish.pe.x - 1) + std::abs(y - 2 * wish.pe.y - 1),
        y,
        2 * problem.height - y,
        2 * problem.width - x,
        x};
    sum += wish.weight * distances[size_t(wish.target)];
  }
  return sum;
}

/// Where a region that nothing but keep-outs is in the way of costs least: most
/// channels, then nearest to what it is to be near, then fewest hops, then
/// north. False if it lies nowhere.
bool bestPlace(const PlacementProblem &problem, const RegionRequest &region,
               PlacedOrigin &best) {
  bool found = false;
  auto key = [&](PlacedOrigin at) {
    return std::make_tuple(-channelsAt(problem, region, at.y),
                           wishesOf(problem, region, at), at.x + at.y, at.y);
  };
  PlacementProblem alone = problem;
  alone.regions = {region};
  for (int64_t y = 0; y < problem.height; ++y)
    for (int64_t x = 0; x < problem.width; ++x) {
      PlacedOrigin at{x, y};
      if (!brokenRules(alone, {{at}}).empty() ||
          (found && key(best) <= key(at)))
        continue;
      best = at;
      found = true;
    }
  return found;
}

/// A region that is alone lies where it costs least, or has no place.
void checkOptimum(const PlacementProblem &problem, const std::string &error,
                  const Placement &placement, Tally &tally) {
  PlacedOrigin best;
  const bool fits = bestPlace(problem, problem.regions[0], best);
  tally.expect(fits == error.empty(), "solver: '" + error + "'");
  tally.expect(!error.empty() || placement.origins[0] == best,
               "the region does not lie where it costs least");
  tally.met("regions where they cost least", fits);
}

/// Changes the placement, or the pins, so that the rule is probably broken.
void breakRule(int rule, PlacementProblem &problem, Placement &placement,
               Random &random) {
  const size_t i = size_t(random.below(int64_t(problem.regions.size())));
  RegionRequest &region = problem.regions[i];
  PlacedOrigin &at = placement.origins[i];
  switch (rule) {
  case 1:
    if (random.oneIn(4))
      placement.origins.resize(size_t(random.below(7)));
    else if (random.oneIn(2))
      region.pin = {random.below(problem.width),
                    random.of(problem.channelRows)};
    else
      region.pin = {at.x + random.between(-1, 1), at.y + random.between(-1, 1)};
    return;
  case 2:
    (random.oneIn(2) ? at.x : at.y) +=
        random.oneIn(8) ? (random.oneIn(2) ? INT64_MAX / 2 : INT64_MIN / 2)
                        : random.between(-12, 12);
    return;
  case 3:
    at.y = random.below(problem.height);
    return;
  case 4:
  case 5:
    at = {random.below(problem.width), random.of(problem.channelRows)};
    return;
  }
}

/// Two regions that are said not to fit have no two places.
void checkNoRoom(const PlacementProblem &problem, Tally &tally) {
  Placement placement{std::vector<PlacedOrigin>(2)};
  for (int64_t i = 0; i < problem.width * problem.height; ++i)
    for (int64_t j = 0; j < problem.width * problem.height; ++j) {
      placement.origins = {{i % problem.width, i / problem.width},
                           {j % problem.width, j / problem.width}};
      if (problem.verify(placement).empty())
        return tally.expect(false, "the solver misses a placement");
    }
  tally.met("pairs of regions that do not fit");
}

void run(Random &random, Tally &tally) {
  const PlacementProblem problem = randomProblem(random);
  tally.expect(problem.check().empty(), problem.check());
  Placement placement;
  const std::string error = placeInCorners(problem, placement);
  if (problem.regions.size() == 1 && !problem.regions[0].pin)
    checkOptimum(problem, error, placement, tally);
  tally.met("problems without a placement", !error.empty());
  if (!error.empty() && problem.regions.size() == 2 &&
      !problem.regions[0].pin && !problem.regions[1].pin)
    checkNoRoom(problem, tally);
  if (!error.empty())
    return;

  // What is wrong with a solution is wrong with the pins alone.
  const Rules broken = brokenRules(problem, placement);
  PlacementProblem pinned = problem;
  Placement pins;
  pinned.regions.clear();
  for (const RegionRequest &region : problem.regions)
    if (region.pin) {
      pinned.regions.push_back(region);
      pins.origins.push_back(*region.pin);
    }
  tally.expect(broken == brokenRules(pinned, pins), "the solver breaks a rule");
  tally.met("problems with impossible pins", !broken.empty());
  if (!broken.empty())
    return tally.judge(problem.verify(placement), broken);
  tally.met("placements");
  tally.expect(problem.verify(placement).empty(), problem.verify(placement));
  for (int rule : {1, 2, 3, 4, 5}) {
    PlacementProblem changed = problem;
    Placement moved = placement;
    breakRule(rule, changed, moved, random);
    tally.judge(changed.verify(moved), brokenRules(changed, moved));
  }
}

} // namespace

Phase wsec::test::placements() { return {"place", complaints, run}; }
