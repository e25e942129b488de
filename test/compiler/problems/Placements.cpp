// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/placement/PlacementBound.h"
#include "compiler/placement/PlacementSolver.h"
#include "test/compiler/problems/Problems.h"
#include "tools/place/AnnealingPlacer.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <tuple>

using namespace wsec;
using namespace wsec::test;

namespace {

using Rules = std::set<std::string>;

const std::vector<Complaint> complaints = {
    {"P1", "P1: expected places for"},
    {"P1", "shapes, found number"},
    {"P1", "is pinned to"},
    {"P2", "leaves the mesh of"},
    {"P3", "without an I/O channel"},
    {"P4", "overlap"},
    {"P5", "has PEs of the keep-out"},
    {"P6", "share out channels and begin at different rows"},
    {"P6", "have a row in common and share out channels"},
    {"P7", "regions have PEs in row"},
};

CandidateShape randomShape(const PlacementProblem &problem, Random &random) {
  CandidateShape shape{random.between(1, 1 + problem.width / 3),
                       random.between(1, 1 + problem.height / 3)};
  if (random.oneIn(8))
    shape.columns = random.between(1, problem.width + 1);
  return shape;
}

/// Mostly one shape; else several, of different costs or not.
std::vector<CandidateShape> randomShapes(const PlacementProblem &problem,
                                         Random &random) {
  std::vector<CandidateShape> shapes{randomShape(problem, random)};
  while (random.oneIn(3))
    shapes.push_back(randomShape(problem, random));
  const bool streams = random.oneIn(4);
  for (CandidateShape &shape : shapes) {
    shape.cost = double(random.below(4));
    shape.stream = streams ? double(random.below(4)) : 0;
  }
  return shapes;
}

void addKeepOuts(PlacementProblem &problem, Random &random) {
  for (int64_t i = random.below(4); i > 0; --i) {
    PlacedRegion its{random.below(problem.width), random.below(problem.height),
                     1, 1};
    if (random.oneIn(3))
      its.columns = random.between(1, problem.width - its.x);
    problem.keepOuts.push_back(its);
  }
}

void addWires(PlacementProblem &problem, Random &random) {
  const int64_t count = int64_t(problem.regions.size());
  for (int64_t i = random.below(4); i > 0; --i) {
    NearWish wish;
    wish.region = size_t(random.below(count));
    wish.other = size_t(random.below(count));
    wish.target =
        NearWish::Target(random.between(wish.other == wish.region, 5));
    wish.pe = {random.below(problem.width), random.below(problem.height)};
    wish.weight = random.between(1, 3);
    if (random.oneIn(3))
      wish.words = random.between(1, 30);
    problem.wishes.push_back(wish);
  }
  for (int64_t i = random.below(4); i > 0; --i)
    problem.edges.push_back({size_t(random.below(count)),
                             size_t(random.below(count)),
                             random.between(1, 9)});
}

PlacementProblem randomProblem(Random &random) {
  PlacementProblem problem;
  problem.width = random.between(1, 12);
  problem.height = random.between(1, 12);
  for (int64_t row = 0; row < problem.height; ++row)
    if (random.oneIn(3))
      problem.channelRows.push_back(row);
  for (int64_t i = random.between(1, 5); i > 0; --i) {
    std::optional<PlacedOrigin> pin;
    if (random.oneIn(6))
      pin = {random.below(problem.width),
             problem.channelRows.empty() || random.oneIn(4)
                 ? random.below(problem.height)
                 : random.of(problem.channelRows)};
    problem.add("region @r" + std::to_string(i), randomShapes(problem, random),
                pin);
    if (!problem.channelRows.empty() && random.oneIn(3))
      problem.regions.back().group = size_t(random.oneIn(4));
  }
  if (random.oneIn(4))
    problem.mostAbreast = random.between(1, 3);
  addKeepOuts(problem, random);
  addWires(problem, random);
  if (random.oneIn(4)) {
    problem.throughputWeight = double(random.below(3));
    problem.latencyWeight = double(random.below(2));
    problem.wireWeight = double(random.below(3)) / 4;
  }
  return problem;
}

bool isChannel(const PlacementProblem &problem, int64_t row) {
  return problem.channelRows.empty() ||
         std::count(problem.channelRows.begin(), problem.channelRows.end(),
                    row);
}

/// Whether a shape there has the PE (x, y).
bool covers(const CandidateShape &shape, PlacedOrigin at, int64_t x,
            int64_t y) {
  return x >= at.x && x - at.x < shape.columns && y >= at.y &&
         y - at.y < shape.rows;
}

bool fits(const PlacementProblem &problem, const CandidateShape &shape,
          PlacedOrigin at) {
  int64_t inside = 0;
  for (int64_t y = 0; y < problem.height; ++y)
    for (int64_t x = 0; x < problem.width; ++x)
      inside += covers(shape, at, x, y);
  return inside == shape.columns * shape.rows;
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
  if (placement.regions.size() != count)
    return {"P1"};
  Rules broken;
  std::vector<CandidateShape> shapes;
  for (size_t i = 0; i < count; ++i) {
    const RegionRequest &region = problem.regions[i];
    const auto &[shape, at] = placement.regions[i];
    if (shape >= problem.shapesOf(i).size())
      return {"P1"};
    shapes.push_back(problem.shapesOf(i)[shape]);
    if (region.pin && (region.pin->x != at.x || region.pin->y != at.y))
      broken.insert("P1");
    if (!fits(problem, shapes[i], at))
      broken.insert("P2");
    if (!isChannel(problem, at.y))
      broken.insert("P3");
  }
  std::map<size_t, std::set<int64_t>> begins;
  for (size_t i = 0; i < count; ++i)
    if (auto group = problem.regions[i].group)
      begins[*group].insert(placement.regions[i].at.y);
  for (const auto &[group, rows] : begins)
    if (rows.size() > 1)
      broken.insert("P6");
  for (int64_t y = 0; y < problem.height; ++y) {
    std::set<size_t> inRow, groups;
    for (int64_t x = 0; x < problem.width; ++x) {
      int64_t owners = 0;
      for (size_t i = 0; i < count; ++i)
        if (covers(shapes[i], placement.regions[i].at, x, y)) {
          ++owners;
          inRow.insert(i);
          if (auto group = problem.regions[i].group)
            groups.insert(*group);
        }
      if (owners > 1)
        broken.insert("P4");
      if (owners > 0 && isKeptOut(problem, x, y))
        broken.insert("P5");
    }
    if (groups.size() > 1)
      broken.insert("P6");
    if (problem.mostAbreast && int64_t(inRow.size()) > *problem.mostAbreast)
      broken.insert("P7");
  }
  return broken;
}

/// Channels in so many rows from `y` on that no keep-out shuts, less all others
/// for each that has one at an edge.
int64_t channelsAt(const PlacementProblem &problem, int64_t rows, int64_t y) {
  int64_t count = 0;
  for (int64_t row = y; row < y + rows; ++row) {
    bool open = !problem.channelRows.empty();
    for (int64_t x = 0; x < problem.width; ++x)
      open &= !isKeptOut(problem, x, row);
    if (problem.channelRows.empty() || !isChannel(problem, row))
      continue;
    count += open;
    if (isKeptOut(problem, 0, row) ||
        isKeptOut(problem, problem.width - 1, row))
      count -= int64_t(problem.channelRows.size()) - 1;
  }
  return count;
}

/// Most channels in so many rows, keep-outs aside.
int64_t mostChannels(PlacementProblem problem, int64_t rows) {
  int64_t most = 0;
  problem.keepOuts.clear();
  for (int64_t y = 0; y + rows <= problem.height; ++y)
    if (isChannel(problem, y))
      most = std::max(most, channelsAt(problem, rows, y));
  return most;
}

/// How far from the middle of a region that is alone its wishes are, in half
/// hops.
int64_t wishesOf(const PlacementProblem &problem, const CandidateShape &shape,
                 PlacedOrigin at) {
  int64_t sum = 0, words = 1;
  for (const PlacementEdge &edge : problem.edges)
    words = std::max(words, edge.words);
  for (const NearWish &wish : problem.wishes) {
    const int64_t x = 2 * at.x + shape.columns, y = 2 * at.y + shape.rows;
    const std::array<int64_t, 6> distances = {
        0,
        std::abs(x - 2 * wish.pe.x - 1) + std::abs(y - 2 * wish.pe.y - 1),
        y,
        2 * problem.height - y,
        2 * problem.width - x,
        x};
    sum += (wish.words > 0 ? wish.words : words * wish.weight) *
           distances[size_t(wish.target)];
  }
  return sum;
}

/// Words across each line, half a column or row after the other: a word that
/// goes from one place to another crosses all lines between.
int64_t loadOf(const PlacementProblem &problem, const Placement &placement) {
  const int64_t width = 2 * problem.width, height = 2 * problem.height;
  std::vector<int64_t> columns(size_t(width), 0), rows(size_t(height), 0);
  auto cross = [](std::vector<int64_t> &lines, int64_t a, int64_t b,
                  int64_t words) {
    for (int64_t line = 0; line < int64_t(lines.size()); ++line)
      if ((a <= line) != (b <= line))
        lines[size_t(line)] += words;
  };
  auto middle = [&](size_t region) {
    const PlacedShape &its = placement.regions[region];
    const CandidateShape &shape = problem.shapesOf(region)[its.shape];
    return std::make_pair(2 * its.at.x + shape.columns,
                          2 * its.at.y + shape.rows);
  };
  auto flow = [&](std::pair<int64_t, int64_t> a, std::pair<int64_t, int64_t> b,
                  int64_t words) {
    cross(columns, a.first, b.first, words);
    cross(rows, a.second, b.second, words);
  };
  for (const PlacementEdge &edge : problem.edges)
    flow(middle(edge.from), middle(edge.to), edge.words);
  for (const NearWish &wish : problem.wishes) {
    if (wish.words == 0)
      continue;
    const auto [x, y] = middle(wish.region);
    const std::array<std::pair<int64_t, int64_t>, 6> ends = {
        middle(wish.other),
        std::make_pair(2 * wish.pe.x + 1, 2 * wish.pe.y + 1),
        std::make_pair(x, int64_t(0)),
        std::make_pair(x, height),
        std::make_pair(width, y),
        std::make_pair(int64_t(0), y)};
    flow({x, y}, ends[size_t(wish.target)], wish.words);
  }
  columns.insert(columns.end(), rows.begin(), rows.end());
  return *std::max_element(columns.begin(), columns.end());
}

/// What a region costs that is alone: by the score, then the slower of it and
/// its channel, channels lost, its cost, nearness to what it is to be near, and
/// hops.
using Key = std::tuple<double, double, int64_t, double, int64_t, int64_t>;

Key keyOf(const PlacementProblem &problem, const PlacedShape &placed) {
  const auto &[number, at] = placed;
  const CandidateShape &shape = problem.shapesOf(0)[number];
  const int64_t wire = wishesOf(problem, shape, at);
  const double slowest = std::max(shape.cost, shape.stream);
  return {
      problem.throughputWeight * slowest + problem.latencyWeight * shape.cost +
          problem.wireWeight * double(wire) / 2,
      slowest,
      mostChannels(problem, shape.rows) - channelsAt(problem, shape.rows, at.y),
      shape.cost,
      wire,
      (at.x + at.y) * shape.columns * shape.rows};
}

/// Calls `use` with all places of a region, in all its shapes.
template <typename Use>
void forAllPlaces(const PlacementProblem &problem, size_t region, Use use) {
  for (size_t shape = 0; shape < problem.shapesOf(region).size(); ++shape)
    for (int64_t y = 0; y < problem.height; ++y)
      for (int64_t x = 0; x < problem.width; ++x)
        use(PlacedShape{shape, {x, y}});
}

/// A region that is alone lies where it costs least, or has no place.
void checkOptimum(const PlacementProblem &problem, const std::string &error,
                  const Placement &placement, Tally &tally) {
  std::optional<Key> best;
  forAllPlaces(problem, 0, [&](PlacedShape placed) {
    if (brokenRules(problem, {{placed}}).empty()) {
      const Key key = keyOf(problem, placed);
      best = best ? std::min(*best, key) : key;
    }
  });
  tally.expect(best.has_value() == error.empty(), "solver: '" + error + "'");
  tally.expect(!error.empty() || keyOf(problem, placement.regions[0]) == *best,
               "the region does not lie where it costs least");
  tally.met("regions where they cost least", best.has_value());
}

/// Changes the placement, or the pins, so that the rule is probably broken.
void breakRule(int rule, PlacementProblem &problem, Placement &placement,
               Random &random) {
  const size_t i = size_t(random.below(int64_t(problem.regions.size())));
  RegionRequest &region = problem.regions[i];
  PlacedOrigin &at = placement.regions[i].at;
  auto anyRow = [&] {
    return problem.channelRows.empty() ? random.below(problem.height)
                                       : random.of(problem.channelRows);
  };
  switch (rule) {
  case 1:
    if (random.oneIn(4))
      placement.regions.resize(size_t(random.below(7)));
    else if (random.oneIn(4))
      placement.regions[i].shape = size_t(random.below(5));
    else if (random.oneIn(2))
      region.pin = {random.below(problem.width), anyRow()};
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
  case 6:
    at = {random.below(problem.width), anyRow()};
    return;
  case 7:
    problem.mostAbreast = random.between(1, 2);
    return;
  }
}

/// Two regions that are said not to fit have no two places.
void checkNoRoom(const PlacementProblem &problem, Tally &tally) {
  bool missed = false;
  forAllPlaces(problem, 0, [&](PlacedShape first) {
    forAllPlaces(problem, 1, [&](PlacedShape second) {
      missed |= problem.verify({{first, second}}).empty();
    });
  });
  tally.expect(!missed, "the solver misses a placement");
  tally.met("pairs of regions that do not fit");
}

/// Nothing falls below a bound; annealing, which may begin at any row, is held
/// to the same rules.
void checkBounds(PlacementProblem problem, Placement placement, Random &random,
                 Tally &tally) {
  for (bool annealed : {false, true}) {
    if (annealed) {
      problem.channelRows.clear();
      problem.mostAbreast.reset();
      for (RegionRequest &region : problem.regions)
        region.group.reset();
      AnnealingOptions options;
      options.changes = 600;
      options.seed = uint64_t(random.below(1000));
      if (!anneal(problem, options, placement).empty())
        return;
      tally.met("annealed placements");
    }
    tally.expect(brokenRules(problem, placement).empty() &&
                     problem.verify(placement).empty(),
                 "annealing breaks a rule");
    const PlacementCost cost = problem.cost(placement);
    tally.expect(cost.throughput >= throughputBound(problem),
                 "throughput below its bound");
    tally.expect(cost.score >= scoreBound(problem) * (1 - 1e-9),
                 "score below its bound");
  }
}

/// Groups from one on, with regions of so many rows: each south of the one
/// before, its regions one behind the other in their order.
bool lieInOrder(const PlacementProblem &problem, size_t group, int64_t from,
                int64_t rows) {
  if (group > *problem.regions.back().group)
    return true;
  for (int64_t y : problem.channelRows) {
    if (y < from || y + rows > problem.height)
      continue;
    int64_t x = 0, placed = 0, wanted = 0;
    for (size_t i = 0; i < problem.regions.size(); ++i) {
      if (problem.regions[i].group != group)
        continue;
      ++wanted;
      const int64_t columns = problem.shapesOf(i)[0].columns;
      for (int64_t free = 0; free < columns && x < problem.width; ++x) {
        bool isKept = false;
        for (int64_t row = y; row < y + rows; ++row)
          isKept |= isKeptOut(problem, x, row);
        free = isKept ? 0 : free + 1;
        placed += free == columns;
      }
    }
    if (placed == wanted && lieInOrder(problem, group + 1, y + rows, rows))
      return true;
  }
  return false;
}

/// Many groups between keep-outs: they have places where they have some in
/// their order.
void checkRows(Random &random, Tally &tally) {
  PlacementProblem problem;
  problem.width = random.between(4, 12);
  problem.height = random.between(6, 24);
  for (int64_t row = 0; row < problem.height; ++row)
    if (!random.oneIn(4))
      problem.channelRows.push_back(row);
  addKeepOuts(problem, random);
  addKeepOuts(problem, random);
  const int64_t rows = random.between(1, 5), groups = random.between(1, 5);
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t i = random.between(1, 3); i > 0; --i) {
      problem.add("region @r" + std::to_string(group) + "_" + std::to_string(i),
                  {{random.between(1, 4), rows}});
      problem.regions.back().group = size_t(group);
    }
  if (problem.channelRows.empty())
    return;
  tally.expect(problem.check().empty(), problem.check());
  Placement placement;
  const std::string error = solvePlacement(problem, {}, placement);
  const bool exists = lieInOrder(problem, 0, 0, rows);
  tally.expect(error.empty() || !exists, "the solver misses rows: " + error);
  tally.expect(!error.empty() || brokenRules(problem, placement).empty(),
               "rows break a rule");
  tally.met("groups in rows", error.empty());
  tally.met("groups that have no rows", !error.empty());
}

void run(Random &random, Tally &tally) {
  if (random.oneIn(8))
    return checkRows(random, tally);
  const PlacementProblem problem = randomProblem(random);
  tally.expect(problem.check().empty(), problem.check());
  Placement placement;
  const std::string error = solvePlacement(problem, {}, placement);
  const bool breaksRule =
      error.size() > 1 && error[0] == 'P' && error[2] == ':';
  if (problem.regions.size() == 1 && !problem.regions[0].pin)
    checkOptimum(problem, error, placement, tally);
  if (error.empty())
    tally.expect(problem.cost(placement).load == loadOf(problem, placement),
                 "link load");
  tally.met("problems without a placement", !error.empty() && !breaksRule);
  tally.met("problems with impossible pins", breaksRule);
  const bool anyPin =
      std::any_of(problem.regions.begin(), problem.regions.end(),
                  [](const RegionRequest &region) { return !!region.pin; });
  if (!error.empty() && problem.regions.size() == 2)
    checkNoRoom(problem, tally);
  if (breaksRule) {
    // What is wrong with a solution is wrong with the pins alone.
    tally.expect(anyPin, "the solver breaks a rule");
    return tally.judge(error, brokenRules(problem, placement));
  }
  if (!error.empty())
    return;
  tally.met("placements");
  tally.expect(brokenRules(problem, placement).empty(),
               "the solver breaks a rule");
  checkBounds(problem, placement, random, tally);
  for (int rule : {1, 2, 3, 4, 5, 6, 7}) {
    PlacementProblem changed = problem;
    Placement moved = placement;
    breakRule(rule, changed, moved, random);
    tally.judge(changed.verify(moved), brokenRules(changed, moved));
  }
}

} // namespace

Phase wsec::test::placements() { return {"place", complaints, run}; }
