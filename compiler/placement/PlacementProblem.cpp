// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/placement/PlacementProblem.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

using namespace wsec;

/// With these, sums of words times distances are exact.
static constexpr int64_t mostWords = int64_t(1) << 46, mostExtent = 1 << 13;
static constexpr int64_t mostWeight = 1000;

//===----------------------------------------------------------------------===//
// Words of messages
//===----------------------------------------------------------------------===//

static std::string size(int64_t columns, int64_t rows) {
  return std::to_string(columns) + "x" + std::to_string(rows);
}

static std::string text(PlacedOrigin origin) {
  return "(" + std::to_string(origin.x) + "," + std::to_string(origin.y) + ")";
}

static std::string text(const RegionRequest &region, const PlacedRegion &pes) {
  return region.name + ", " + size(pes.columns, pes.rows) + " at " +
         text(PlacedOrigin{pes.x, pes.y});
}

static std::string describe(const PlacedRegion &keepOut) {
  return "the keep-out of " + size(keepOut.columns, keepOut.rows) + " at " +
         text(PlacedOrigin{keepOut.x, keepOut.y});
}

//===----------------------------------------------------------------------===//
// The input
//===----------------------------------------------------------------------===//

static std::string checkMesh(const PlacementProblem &problem) {
  const auto &[width, height] = std::tie(problem.width, problem.height);
  if (width < 1 || height < 1)
    return "the mesh has " + size(width, height) + " PEs";
  if (width > mostExtent || height > mostExtent)
    return "a mesh of " + size(width, height) + " PEs is larger than " +
           size(mostExtent, mostExtent);
  const std::vector<int64_t> &rows = problem.channelRows;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i] < 0 || rows[i] >= height || (i > 0 && rows[i] <= rows[i - 1]))
      return "I/O channels must lie on ascending rows of the mesh, found row " +
             std::to_string(rows[i]) + " of " + std::to_string(height);
  for (const PlacedRegion &its : problem.keepOuts)
    if (its.x < 0 || its.y < 0 || its.columns < 1 || its.rows < 1 ||
        its.columns > width - its.x || its.rows > height - its.y)
      return describe(its) + " leaves the mesh of " + size(width, height);
  return "";
}

static std::string checkRegion(const PlacementProblem &problem,
                               const RegionRequest &region) {
  if (region.shapeSet >= problem.shapeSets.size() ||
      problem.shapeSets[region.shapeSet].empty())
    return region.name + " has no shapes";
  for (const CandidateShape &shape : problem.shapeSets[region.shapeSet]) {
    if (shape.columns < 1 || shape.rows < 1)
      return region.name + " has " + size(shape.columns, shape.rows) + " PEs";
    if (!std::isfinite(shape.cost) || shape.cost < 0)
      return region.name + " has no cost of at least 0 as " +
             size(shape.columns, shape.rows);
    if (!std::isfinite(shape.stream) || shape.stream < 0)
      return region.name + " has no stream of at least 0 as " +
             size(shape.columns, shape.rows);
  }
  return "";
}

static std::string checkWishes(const PlacementProblem &problem) {
  const size_t count = problem.regions.size();
  for (const NearWish &wish : problem.wishes) {
    if (wish.region >= count ||
        (wish.target == NearWish::Target::Region &&
         (wish.other >= count || wish.other == wish.region)))
      return "a region is to lie near one that does not exist, or itself";
    const std::string &name = problem.regions[wish.region].name;
    if (wish.weight < 1 || wish.weight > mostWeight)
      return name + " is to lie near something with a weight of " +
             std::to_string(wish.weight) + ", weights are 1 to " +
             std::to_string(mostWeight);
    if (wish.words < 0 || wish.words > mostWords)
      return std::to_string(wish.words) + " words flow to or from " + name +
             "; 1 to 2^46 can";
    if (wish.target == NearWish::Target::Pe &&
        (wish.pe.x < 0 || wish.pe.y < 0 || wish.pe.x >= problem.width ||
         wish.pe.y >= problem.height))
      return name + " is to lie near PE " + text(wish.pe) +
             ", which is not of the mesh of " +
             size(problem.width, problem.height);
  }
  for (const PlacementEdge &edge : problem.edges) {
    if (edge.from >= count || edge.to >= count)
      return "data flow from or to a region that does not exist";
    if (edge.words < 1 || edge.words > mostWords)
      return std::to_string(edge.words) + " words flow from " +
             problem.regions[edge.from].name + " to " +
             problem.regions[edge.to].name + "; 1 to 2^46 can";
  }
  int64_t left = mostWords;
  for (const PlacementEdge &edge : problem.edges)
    left = std::max<int64_t>(-1, left - edge.words);
  for (const NearWish &wish : problem.wishes)
    left = std::max<int64_t>(-1, left - problem.wordsOf(wish));
  return left < 0 ? "more than 2^46 words flow, or wishes weigh as much" : "";
}

size_t PlacementProblem::add(const std::string &name,
                             std::vector<CandidateShape> shapes,
                             std::optional<PlacedOrigin> pin) {
  regions.push_back({name, shapeSets.size(), pin});
  shapeSets.push_back(std::move(shapes));
  return regions.size() - 1;
}

std::string PlacementProblem::check() const {
  std::string error = checkMesh(*this);
  if (error.empty() && mostAbreast && *mostAbreast < 1)
    error = std::to_string(*mostAbreast) + " regions may have PEs in one row";
  for (size_t i = 0; i < regions.size() && error.empty(); ++i)
    error = checkRegion(*this, regions[i]);
  for (size_t i = 0; i < regions.size() && error.empty(); ++i)
    if (regions[i].group && channelRows.empty())
      error = regions[i].name + " shares out channels, and there are none";
  if (error.empty())
    error = checkWishes(*this);
  for (double weight : {throughputWeight, latencyWeight, wireWeight})
    if (error.empty() && !(weight >= 0 && std::isfinite(weight)))
      error = "weights of throughput, latency and wire are at least 0";
  return error;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// P1.
static std::string checkPlaces(const PlacementProblem &problem,
                               const Placement &placement) {
  if (placement.regions.size() != problem.regions.size())
    return "P1: expected places for " + std::to_string(problem.regions.size()) +
           " regions, found " + std::to_string(placement.regions.size());
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    const RegionRequest &region = problem.regions[i];
    if (placement.regions[i].shape >= problem.shapesOf(i).size())
      return "P1: " + region.name + " has " +
             std::to_string(problem.shapesOf(i).size()) + " shapes, found " +
             "number " + std::to_string(placement.regions[i].shape);
    if (region.pin && !(*region.pin == placement.regions[i].at))
      return "P1: " + text(region, problem.cellsOf(placement, i)) +
             ", is pinned to " + text(*region.pin);
  }
  return "";
}

/// P2.
static std::string checkInside(const PlacementProblem &problem,
                               const RegionRequest &region,
                               const PlacedRegion &pes) {
  if (pes.x < 0 || pes.y < 0 || pes.x > problem.width - pes.columns ||
      pes.y > problem.height - pes.rows)
    return "P2: " + text(region, pes) + ", leaves the mesh of " +
           size(problem.width, problem.height);
  return "";
}

/// P3.
static std::string checkChannel(const PlacementProblem &problem,
                                const RegionRequest &region,
                                const PlacedRegion &pes) {
  const std::vector<int64_t> &rows = problem.channelRows;
  auto next = std::lower_bound(rows.begin(), rows.end(), pes.y);
  if (rows.empty() || (next != rows.end() && *next == pes.y))
    return "";
  std::string error = "P3: " + text(region, pes) +
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
      const PlacedRegion a = problem.cellsOf(placement, j);
      const PlacedRegion b = problem.cellsOf(placement, i);
      about = {j, i};
      if (a.overlaps(b))
        return "P4: " + text(problem.regions[j], a) + ", and " +
               text(problem.regions[i], b) + ", overlap";
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
      if (its.overlaps(keepOut))
        return "P5: " + text(problem.regions[i], its) + ", has PEs of " +
               describe(keepOut);
    }
  return "";
}

/// P6.
static std::string checkShares(const PlacementProblem &problem,
                               const Placement &placement,
                               std::vector<size_t> &about) {
  for (size_t i = 0; i < problem.regions.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      about = {j, i};
      const PlacedRegion a = problem.cellsOf(placement, j);
      const PlacedRegion b = problem.cellsOf(placement, i);
      if (problem.mayShareRows(j, a, i, b))
        continue;
      return "P6: " + text(problem.regions[j], a) + ", and " +
             text(problem.regions[i], b) +
             (problem.regions[i].group == problem.regions[j].group
                  ? ", share out channels and begin at different rows"
                  : ", have a row in common and share out channels with other "
                    "regions each");
    }
  return "";
}

/// P7.
static std::string checkAbreast(const PlacementProblem &problem,
                                const Placement &placement,
                                std::vector<size_t> &about) {
  if (!problem.mostAbreast)
    return "";
  // The fullest row is the first of some region.
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    const int64_t row = placement.regions[i].at.y;
    about.clear();
    for (size_t j = 0; j < problem.regions.size(); ++j) {
      const PlacedRegion its = problem.cellsOf(placement, j);
      if (its.y <= row && row < its.y + its.rows)
        about.push_back(j);
    }
    if (int64_t(about.size()) > *problem.mostAbreast)
      return "P7: " + std::to_string(about.size()) +
             " regions have PEs in row " + std::to_string(row) + ", " +
             problem.regions[about.front()].name + " to " +
             problem.regions[about.back()].name + ", " +
             std::to_string(*problem.mostAbreast) + " may";
  }
  return "";
}

std::string PlacementProblem::verify(const Placement &placement,
                                     std::vector<size_t> *concerned) const {
  std::vector<size_t> none, &about = concerned ? *concerned : none;
  std::string error = checkPlaces(*this, placement);
  for (size_t i = 0; i < regions.size() && error.empty(); ++i) {
    const PlacedRegion pes = cellsOf(placement, i);
    about = {i};
    error = checkInside(*this, regions[i], pes);
    if (error.empty())
      error = checkChannel(*this, regions[i], pes);
  }
  if (error.empty())
    error = checkDisjoint(*this, placement, about);
  if (error.empty())
    error = checkKeepOuts(*this, placement, about);
  if (error.empty())
    error = checkShares(*this, placement, about);
  return error.empty() ? checkAbreast(*this, placement, about) : error;
}

bool PlacementProblem::mayShareRows(size_t i, const PlacedRegion &a, size_t j,
                                    const PlacedRegion &b) const {
  if (!regions[i].group || !regions[j].group)
    return true;
  return regions[i].group == regions[j].group
             ? a.y == b.y
             : a.y + a.rows <= b.y || b.y + b.rows <= a.y;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

static int64_t channelsIn(const std::vector<int64_t> &channelRows,
                          int64_t begin, int64_t end) {
  return std::lower_bound(channelRows.begin(), channelRows.end(), end) -
         std::lower_bound(channelRows.begin(), channelRows.end(), begin);
}

int64_t PlacementProblem::lostChannels(const PlacedRegion &pes) const {
  int64_t most = 0;
  for (int64_t row : channelRows)
    if (row + pes.rows <= height)
      most = std::max(most, channelsIn(channelRows, row, row + pes.rows));
  int64_t lost = most - channelsIn(channelRows, pes.y, pes.y + pes.rows);
  auto isMet = [&](const PlacedRegion &cells) {
    return std::any_of(
        keepOuts.begin(), keepOuts.end(),
        [&](const PlacedRegion &its) { return its.overlaps(cells); });
  };
  for (int64_t row : channelRows)
    if (row < pes.y || row >= pes.y + pes.rows)
      continue;
    else if (isMet({0, row, 1, 1}) || isMet({width - 1, row, 1, 1}))
      lost += int64_t(channelRows.size());
    else
      lost += isMet({0, row, width, 1});
  return lost;
}

int64_t PlacementProblem::distance(const PlacedRegion &a,
                                   const PlacedRegion &b) {
  return std::abs(2 * a.x + a.columns - 2 * b.x - b.columns) +
         std::abs(2 * a.y + a.rows - 2 * b.y - b.rows);
}

int64_t PlacementProblem::distance(const NearWish &wish,
                                   const Placement &placement) const {
  const PlacedRegion pes = cellsOf(placement, wish.region);
  const PlacedOrigin middle{2 * pes.x + pes.columns, 2 * pes.y + pes.rows};
  switch (wish.target) {
  case NearWish::Target::Region:
    return distance(pes, cellsOf(placement, wish.other));
  case NearWish::Target::Pe:
    return distance(pes, {wish.pe.x, wish.pe.y, 1, 1});
  case NearWish::Target::North:
    return middle.y;
  case NearWish::Target::South:
    return 2 * height - middle.y;
  case NearWish::Target::East:
    return 2 * width - middle.x;
  case NearWish::Target::West:
    return middle.x;
  }
  return 0;
}

int64_t PlacementProblem::wordsOf(const NearWish &wish) const {
  if (wish.words > 0)
    return wish.words;
  int64_t most = 1;
  for (const PlacementEdge &edge : edges)
    most = std::max(most, edge.words);
  return wish.weight * most;
}

/// The largest sum of costs along edges; of all regions of a cycle.
static double latencyOf(const PlacementProblem &problem,
                        const Placement &placement) {
  double latency = 0;
  std::vector<double> until(problem.regions.size(), 0);
  for (size_t region : problem.flowOrder()) {
    until[region] +=
        problem.shapesOf(region)[placement.regions[region].shape].cost;
    latency = std::max(latency, until[region]);
    for (const PlacementEdge &edge : problem.edges)
      if (edge.from == region)
        until[edge.to] = std::max(until[edge.to], until[region]);
  }
  return latency;
}

/// Where words of a wish end that begin at `middle`, along an axis, doubled: at
/// a side of the mesh they end in the same row or column.
static int64_t endOf(const PlacementProblem &problem, const NearWish &wish,
                     int64_t middle, int64_t other, bool rows) {
  switch (wish.target) {
  case NearWish::Target::Region:
    return other;
  case NearWish::Target::Pe:
    return 2 * (rows ? wish.pe.y : wish.pe.x) + 1;
  case NearWish::Target::North:
    return rows ? 0 : middle;
  case NearWish::Target::South:
    return rows ? 2 * problem.height : middle;
  case NearWish::Target::East:
    return rows ? middle : 2 * problem.width;
  case NearWish::Target::West:
    return rows ? middle : 0;
  }
  return middle;
}

int64_t PlacementProblem::load(const Placement &placement) const {
  int64_t most = 0;
  for (bool rows : {false, true}) {
    std::map<int64_t, int64_t> more; // words, from a line on; doubled
    auto middle = [&](size_t region) {
      const PlacedRegion its = cellsOf(placement, region);
      return rows ? 2 * its.y + its.rows : 2 * its.x + its.columns;
    };
    auto add = [&](int64_t from, int64_t to, int64_t words) {
      more[std::min(from, to)] += words;
      more[std::max(from, to)] -= words;
    };
    for (const PlacementEdge &edge : edges)
      add(middle(edge.from), middle(edge.to), edge.words);
    for (const NearWish &wish : wishes)
      if (wish.words > 0)
        add(middle(wish.region),
            endOf(*this, wish, middle(wish.region), middle(wish.other), rows),
            wish.words);
    int64_t words = 0;
    for (const auto &[line, change] : more)
      most = std::max(most, words += change);
  }
  return most;
}

int64_t PlacementProblem::abreast(const PlacedRegion &its,
                                  const Placement &placement,
                                  const std::vector<bool> &counted) const {
  std::vector<PlacedRegion> beside;
  for (size_t i = 0; i < regions.size(); ++i)
    if (counted[i])
      if (const PlacedRegion other = cellsOf(placement, i);
          other.y < its.y + its.rows && its.y < other.y + other.rows)
        beside.push_back(other);
  // The fullest row is the first of one of them, or of `its`.
  int64_t most = 1;
  auto count = [&](int64_t row) {
    int64_t here = 1;
    for (const PlacedRegion &other : beside)
      here += other.y <= row && row < other.y + other.rows;
    most = std::max(most, here);
  };
  count(its.y);
  for (const PlacedRegion &other : beside)
    if (other.y > its.y)
      count(other.y);
  return most;
}

double PlacementProblem::throughput(const Placement &placement,
                                    const std::vector<bool> &counted) const {
  double most = 0;
  for (size_t i = 0; i < regions.size(); ++i) {
    if (!counted[i])
      continue;
    most = std::max(most, shapesOf(i)[placement.regions[i].shape].cost);
    // The fullest channel is that of the first row of some region.
    const int64_t row = placement.regions[i].at.y;
    double stream = 0;
    for (size_t other = 0; other < regions.size(); ++other) {
      const PlacedRegion pes = cellsOf(placement, other);
      if (counted[other] && pes.y <= row && row < pes.y + pes.rows)
        stream += shapesOf(other)[placement.regions[other].shape].stream;
    }
    most = std::max(most, stream);
  }
  return most;
}

PlacementCost PlacementProblem::cost(const Placement &placement) const {
  PlacementCost sum;
  for (size_t i = 0; i < regions.size(); ++i) {
    const PlacedRegion pes = cellsOf(placement, i);
    sum.lost += lostChannels(pes);
    sum.hops += hopsTo(pes);
  }
  sum.throughput =
      throughput(placement, std::vector<bool>(regions.size(), true));
  for (const NearWish &wish : wishes)
    sum.wire += wordsOf(wish) * distance(wish, placement);
  for (const PlacementEdge &edge : edges)
    sum.wire += edge.words * distance(cellsOf(placement, edge.from),
                                      cellsOf(placement, edge.to));
  sum.latency = latencyOf(*this, placement);
  sum.load = load(placement);
  sum.score = throughputWeight * sum.throughput + latencyWeight * sum.latency +
              wireWeight * double(sum.wire) / 2;
  return sum;
}

std::vector<size_t> PlacementProblem::flowOrder() const {
  const size_t count = regions.size();
  std::vector<std::vector<size_t>> readers(count);
  std::vector<size_t> open(count, 0), order, stack;
  std::vector<bool> done(count, false);
  for (const PlacementEdge &edge : edges) {
    readers[edge.from].push_back(edge.to);
    ++open[edge.to];
  }
  auto visit = [&](size_t root) {
    stack.push_back(root);
    while (!stack.empty()) {
      const size_t region = stack.back();
      stack.pop_back();
      if (done[region])
        continue;
      done[region] = true;
      order.push_back(region);
      for (size_t reader : readers[region])
        if (--open[reader] == 0)
          stack.push_back(reader);
    }
  };
  for (size_t region = 0; region < count; ++region)
    if (open[region] == 0)
      visit(region);
  for (size_t region = 0; region < count; ++region)
    visit(region);
  return order;
}

int64_t PlacementProblem::freePes() const {
  std::vector<int64_t> rows{0, height};
  for (const PlacedRegion &its : keepOuts)
    rows.insert(rows.end(), {its.y, its.y + its.rows});
  std::sort(rows.begin(), rows.end());
  int64_t free = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    std::vector<std::pair<int64_t, int64_t>> spans;
    for (const PlacedRegion &its : keepOuts)
      if (its.y <= rows[i - 1] && rows[i - 1] < its.y + its.rows)
        spans.push_back({its.x, its.x + its.columns});
    std::sort(spans.begin(), spans.end());
    int64_t taken = 0, until = 0;
    for (const auto &[begin, end] : spans) {
      taken += std::max<int64_t>(0, end - std::max(begin, until));
      until = std::max(until, end);
    }
    free += (rows[i] - rows[i - 1]) * (width - taken);
  }
  return free;
}
