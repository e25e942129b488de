// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What annealing lowers is the score with the limit in place of the largest
// cost, and a price for each PE by which the regions stick out of their rooms.
// A whole row of PEs more would let every region cost a little less: the price
// begins at what that is worth, and ends far above it.
#include "tools/place/AnnealingPlacer.h"
#include "tools/place/AnnealingSetup.h"
#include "tools/place/Grow.h"
#include "tools/place/Slide.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <system_error>
#include <thread>
#include <tuple>

using namespace wsec;

constexpr size_t startsUsed = 4, runsAtLast = 2, mostColumns = 12;
/// Of the price, while a run lasts, and of the temperature.
constexpr double priceGrowth = 8, cooling = 0.02;
constexpr double infinite = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Starts
//===----------------------------------------------------------------------===//

namespace {
using Columns = SlicingTree::Columns;

/// Columns of blocks in the order of the flow, as narrow as they can be within
/// a limit on the cost.
class Boustrophedons {
public:
  Boustrophedons(const SlicingProblem &problem, const ShapeCurves &curves)
      : problem(problem), curves(curves) {}

  /// In the only room, one number of columns each, the fewest first; empty
  /// where there is none.
  std::vector<Columns> within(size_t limit) const {
    const PlacedRegion &room = problem.rooms[0];
    const auto steps = stepsFrom(0, limit, room);
    std::vector<Columns> orders;
    for (size_t columns = 1; columns < steps.size(); ++columns)
      orders.push_back(steps[columns].back().width <= room.columns
                           ? columnsOf(steps, columns, problem.order.size())
                           : Columns());
    return orders;
  }

  /// One room after the other; empty if they do not hold all blocks.
  std::vector<Columns> throughRooms(size_t limit) const {
    std::vector<Columns> rooms;
    size_t from = 0;
    for (const PlacedRegion &room : problem.rooms) {
      const auto steps = stepsFrom(from, limit, room);
      size_t columns = 0, end = from;
      for (size_t i = 1; i < steps.size(); ++i)
        for (size_t reached = end + 1; reached < steps[i].size(); ++reached)
          if (steps[i][reached].width <= room.columns)
            columns = i, end = reached;
      rooms.push_back(columnsOf(steps, columns, end));
      from = end;
    }
    return from == problem.order.size() ? rooms : std::vector<Columns>();
  }

private:
  struct Step {
    int32_t width = 1 << 20; ///< of the columns so far
    size_t from = 0;         ///< first block of the last one
  };

  /// For each number of columns, up to each block.
  std::vector<std::vector<Step>> stepsFrom(size_t first, size_t limit,
                                           const PlacedRegion &room) const {
    const size_t count = problem.order.size();
    const auto ends = columnEnds(limit, room);
    std::vector<std::vector<Step>> steps(1, std::vector<Step>(count + 1));
    steps[0][first].width = 0;
    for (size_t columns = 1; columns <= std::min(mostColumns, count);
         ++columns) {
      const std::vector<Step> &before = steps.back();
      std::vector<Step> next(count + 1);
      for (size_t from = 0; from < count; ++from)
        for (int32_t w = 1; w + before[from].width <= room.columns; ++w) {
          Step &step = next[ends[w][from]];
          if (ends[w][from] > from && before[from].width + w < step.width)
            step = {before[from].width + w, from};
        }
      steps.push_back(std::move(next));
    }
    return steps;
  }

  /// Where a column ends that begins with a block, for each width.
  std::vector<std::vector<size_t>> columnEnds(size_t limit,
                                              const PlacedRegion &room) const {
    const size_t count = problem.order.size();
    std::vector<std::vector<size_t>> ends(room.columns + 1,
                                          std::vector<size_t>(count, 0));
    for (int64_t w = 1; w <= room.columns; ++w) {
      int64_t height = 0;
      size_t end = 0;
      for (size_t from = 0; from < count; ++from) {
        for (; end < count; ++end) {
          const int64_t more = heightOf(end, limit, w);
          if (height + more > room.rows)
            break;
          height += more;
        }
        ends[w][from] = end;
        if (end > from)
          height -= heightOf(from, limit, w);
        else
          ++end;
      }
    }
    return ends;
  }

  int64_t heightOf(size_t i, size_t limit, int64_t width) const {
    return curves.heights(limit, problem.sets[problem.order[i]])[width];
  }

  /// Up one column, down the next.
  Columns columnsOf(const std::vector<std::vector<Step>> &steps, size_t count,
                    size_t end) const {
    Columns columns(count);
    for (size_t i = count; i > 0; --i) {
      const size_t from = steps[i][end].from;
      columns[i - 1].assign(problem.order.begin() + from,
                            problem.order.begin() + end);
      if (i % 2 == 0)
        std::reverse(columns[i - 1].begin(), columns[i - 1].end());
      end = from;
    }
    return columns;
  }

  const SlicingProblem &problem;
  const ShapeCurves &curves;
};

/// A tree and what annealing makes of it.
struct Run {
  SlicingTree::Plan plan;
  double score = infinite; ///< of the plan, which has no overflow
  double heat = 1;         ///< first temperature, in average costs of an edge
  uint64_t seed = 0;
  size_t number = 0; ///< for the order of equals
};
} // namespace

static void sortByScore(std::vector<Run> &runs) {
  for (size_t i = 0; i < runs.size(); ++i)
    runs[i].number = i;
  std::sort(runs.begin(), runs.end(), [](const Run &a, const Run &b) {
    return std::tie(a.score, a.number) < std::tie(b.score, b.number);
  });
}

static double costOf(const AnnealingSetup &setup, const ShapeCurves &curves,
                     size_t limit) {
  return setup.costWeight * std::max(setup.leastCost, curves.limits()[limit]);
}

static double scoreOf(const AnnealingSetup &setup, const ShapeCurves &curves,
                      SlicingTree &tree) {
  return costOf(setup, curves, tree.limit()) + setup.layoutCost(tree);
}

/// The best boustrophedon order of each number of columns, the best first.
/// Where rooms hold none, all blocks in the largest one, which sticks out.
static std::vector<Run> startsOf(const AnnealingSetup &setup,
                                 const ShapeCurves &curves) {
  const SlicingProblem &slicing = setup.slicing;
  const Boustrophedons orders(slicing, curves);
  std::vector<Run> runs(mostColumns);
  SlicingTree tree(slicing, curves);
  auto enter = [&](const std::vector<Columns> &rooms, size_t limit, Run &run) {
    tree.buildColumns(rooms, limit);
    const double score = scoreOf(setup, curves, tree);
    if (tree.overflow() == 0 && score < run.score)
      run = {tree.plan(), score};
  };
  const size_t limits = curves.limits().size();
  for (size_t limit = 0; limit < limits; limit += 1 + limits / 128) {
    if (slicing.rooms.size() > 1) {
      if (const auto rooms = orders.throughRooms(limit); !rooms.empty())
        enter(rooms, limit, runs[0]);
      continue;
    }
    const auto columns = orders.within(limit);
    for (size_t i = 0; i < columns.size(); ++i)
      if (!columns[i].empty())
        enter({columns[i]}, limit, runs[i]);
  }
  sortByScore(runs);
  while (!runs.empty() && runs.back().score == infinite)
    runs.pop_back();
  if (runs.empty()) {
    std::vector<Columns> rooms(slicing.rooms.size());
    auto largest = std::max_element(
        slicing.rooms.begin(), slicing.rooms.end(), [](auto &a, auto &b) {
          return a.columns * a.rows < b.columns * b.rows;
        });
    rooms[largest - slicing.rooms.begin()] = {slicing.order};
    tree.buildColumns(rooms, limits - 1);
    runs.push_back({tree.plan()});
  }
  return runs;
}

//===----------------------------------------------------------------------===//
// Annealing
//===----------------------------------------------------------------------===//

namespace {
/// Metropolis' rule: -ln u of 1024 evenly spaced u.
class Threshold {
public:
  Threshold() {
    for (int i = 0; i < 1024; ++i)
      values[i] = std::round(-std::log((i + 0.5) / 1024) * 65536) / 65536;
  }
  double draw(RandomNumbers &random) const {
    return values[random.below(1024)];
  }

private:
  double values[1024];
};

class Annealer {
public:
  Annealer(const AnnealingSetup &setup, const ShapeCurves &curves)
      : setup(setup), curves(curves), tree(setup.slicing, curves) {}

  void anneal(Run &run, int64_t changes) {
    RandomNumbers random(run.seed);
    tree.restore(run.plan);
    const double start = edgeCost();
    double energy = infinite, temperature = 0;
    for (int64_t i = 0; i < changes; ++i) {
      if (i % 1024 == 0) {
        const double done = double(i) / double(changes);
        temperature = start * run.heat * std::pow(cooling, done);
        price = priceAt(done);
        energy = energyNow(infinite);
        layoutCost = lastLayoutCost;
      }
      const double bar = energy + temperature * threshold.draw(random);
      if (!tryOne(random)) {
        tree.undo();
        continue;
      }
      const double changed = energyNow(bar);
      if (!(changed <= bar)) {
        tree.undo();
        continue;
      }
      tree.keep();
      energy = changed;
      layoutCost = lastLayoutCost;
      if (sticksOut == 0 && energy < run.score) {
        run.score = energy;
        run.plan = tree.plan();
      }
    }
  }

private:
  bool tryOne(RandomNumbers &random) {
    if (random.below(32))
      return tree.change(random);
    const int64_t limits = int64_t(curves.limits().size());
    int64_t step = 1 + random.below(random.below(4) ? 3 : 24);
    if (random.below(2))
      step = -step;
    const int64_t limit = int64_t(tree.limit()) + step;
    if (limit < 0 || limit >= limits)
      return false;
    tree.changeLimit(size_t(limit));
    return true;
  }

  /// Infinite if there is no layout, or it is plain that none is below `bar`:
  /// a change that shortens all wires, and latency, by a quarter is not waited
  /// for.
  double energyNow(double bar) {
    sticksOut = tree.overflow();
    const double rest =
        costOf(setup, curves, tree.limit()) + price * double(sticksOut);
    if (sticksOut >= curves.reach() || !(rest + 0.75 * layoutCost <= bar))
      return infinite;
    lastLayoutCost = setup.layoutCost(tree);
    return rest + lastLayoutCost;
  }

  double edgeCost() {
    const size_t wires =
        setup.slicing.edges.size() + setup.slicing.pulls.size();
    const double cost = costOf(setup, curves, tree.limit());
    if (wires == 0 || setup.wireWeight == 0)
      return cost / 256;
    return setup.wireWeight * tree.layOut() / double(wires);
  }

  double priceAt(double done) {
    double side = 1;
    for (const PlacedRegion &room : setup.slicing.rooms)
      side = std::max(side, double(std::min(room.columns, room.rows)));
    const double row =
        costOf(setup, curves, tree.limit()) / side + 2 * setup.wireWeight;
    return row * std::pow(priceGrowth, done);
  }

  const AnnealingSetup &setup;
  const ShapeCurves &curves;
  SlicingTree tree;
  Threshold threshold;
  double price = 0, layoutCost = 0, lastLayoutCost = 0;
  int32_t sticksOut = 0;
};
} // namespace

/// Anneals all of `runs`, which do not depend on one another.
static void annealAll(std::vector<Run> &runs, const AnnealingSetup &setup,
                      const ShapeCurves &curves, int64_t changes, int threads,
                      const std::function<void(size_t)> &told) {
  std::atomic<size_t> next{0};
  auto work = [&](bool tells) {
    Annealer annealer(setup, curves);
    for (size_t i; (i = next++) < runs.size();) {
      annealer.anneal(runs[i], changes);
      if (tells)
        told(i);
    }
  };
  std::vector<std::thread> others;
  // Where the system has no more threads, fewer do the same.
  try {
    for (int i = 1; i < std::min(threads, int(runs.size())); ++i)
      others.emplace_back(work, false);
  } catch (const std::system_error &) {
  }
  work(true);
  for (std::thread &other : others)
    other.join();
  sortByScore(runs);
}

/// Different starts, each at different heats: which ones do well differs from
/// problem to problem.
static std::vector<Run> firstRuns(const std::vector<Run> &starts) {
  std::vector<Run> runs;
  for (double heat : {2., 1., 0.5, 0.25})
    for (size_t i = 0; i < startsUsed; ++i) {
      runs.push_back(starts[i % starts.size()]);
      runs.back().heat = heat;
    }
  return runs;
}

/// The setup whose first start is best: pinned regions that may cost more are
/// smaller.
static std::string chooseSetup(const PlacementProblem &problem,
                               const ShapeCurves &curves, AnnealingSetup &setup,
                               std::vector<Run> &starts) {
  const bool chooses = std::any_of(
      problem.regions.begin(), problem.regions.end(), [&](auto &region) {
        return region.pin && problem.shapeSets[region.shapeSet].size() > 1;
      });
  const size_t limits = curves.limits().size();
  std::string error;
  double best = infinite;
  // Without a limit first, then from the largest down.
  const size_t step = 1 + limits / 16;
  for (size_t tried = 0; tried * step < (chooses ? limits : 1); ++tried) {
    AnnealingSetup its;
    const double limit =
        tried ? curves.limits()[limits - 1 - tried * step] : infinite;
    std::string here = setUp(problem, limit, its);
    if (here.empty() && its.slicing.rooms.empty() && !its.regions.empty())
      here = "keep-outs and pinned regions leave no room for another region";
    if (tried == 0)
      error = here;
    if (!here.empty())
      continue;
    std::vector<Run> runs;
    if (!its.regions.empty())
      runs = startsOf(its, curves);
    const double score =
        runs.empty() ? its.costWeight * its.leastCost : runs[0].score;
    if (setup.fixed.regions.empty() || (score <= best && score < infinite)) {
      best = score;
      setup = std::move(its);
      starts = std::move(runs);
    }
  }
  return setup.fixed.regions.empty() ? error : "";
}

/// Of each block the cheapest shape that its room in the layout holds.
static void placeAsIn(const SlicingTree &tree, const PlacementProblem &problem,
                      const AnnealingSetup &setup, Placement &placement) {
  for (size_t block = 0; block < setup.regions.size(); ++block) {
    const PlacedRegion room = tree.cellsOf(int32_t(block));
    const std::vector<CandidateShape> &shapes =
        problem.shapesOf(setup.regions[block]);
    PlacedShape &placed = placement.regions[setup.regions[block]];
    placed.at = {room.x, room.y};
    double cost = infinite;
    for (size_t i = 0; i < shapes.size(); ++i)
      if (shapes[i].cost < cost && shapes[i].columns <= room.columns &&
          shapes[i].rows <= room.rows) {
        cost = shapes[i].cost;
        placed.shape = i;
      }
  }
}

/// Anneals the starts; the best run first.
static std::vector<Run> search(const AnnealingSetup &setup,
                               const ShapeCurves &curves,
                               const std::vector<Run> &starts,
                               const AnnealingOptions &options) {
  // A change takes longer the more blocks there are.
  const int64_t changes =
      options.changes ? options.changes
                      : 800'000'000 / int64_t(setup.regions.size() + 44);
  std::vector<Run> runs = firstRuns(starts);
  RandomNumbers seeds(options.seed);
  int rounds = 1;
  for (size_t left = runs.size(); left > runsAtLast; left /= 2)
    ++rounds;
  for (int round = 0; round < rounds; ++round) {
    for (Run &run : runs)
      run.seed = seeds.next();
    const double best = runs[0].score, count = double(runs.size());
    annealAll(runs, setup, curves, changes / rounds / int64_t(runs.size()),
              options.threads, [&](size_t i) {
                if (options.progress)
                  options.progress((round + double(i + 1) / count) / rounds,
                                   best);
              });
    if (round + 1 < rounds)
      runs.resize(runs.size() / 2);
  }
  return runs;
}

/// Empty if the free PEs are as many as the smallest shapes have together.
static std::string lacksPes(const PlacementProblem &problem) {
  int64_t pes = 0;
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    int64_t fewest = INT64_MAX;
    for (const CandidateShape &shape : problem.shapesOf(i))
      if (problem.fits(shape))
        fewest = std::min(fewest, shape.columns * shape.rows);
    if (fewest == INT64_MAX)
      return problem.regions[i].name + " has no shape that fits the mesh of " +
             std::to_string(problem.width) + "x" +
             std::to_string(problem.height);
    pes += fewest;
  }
  const int64_t free = problem.freePes();
  if (pes <= free)
    return "";
  return "the smallest shapes of all regions together have " +
         std::to_string(pes) + " PEs, " + std::to_string(free) +
         " are free; a larger mesh or fewer keep-outs leave more";
}

/// Why annealing ended without a placement, as far as it is known.
static std::string noneFound(const PlacementProblem &problem,
                             const AnnealingSetup &setup) {
  const bool isCut = !problem.keepOuts.empty() ||
                     setup.regions.size() < problem.regions.size();
  std::string error =
      "no placement was found " +
      std::string(isCut ? "in what keep-outs and pinned regions leave"
                        : "that fills the mesh so far") +
      "; with more changes, or on a larger mesh, there may be one";
  if (setup.roomsLeftEmpty > 0)
    error += "; " + std::to_string(setup.roomsLeftEmpty) + " of the " +
             std::to_string(setup.slicing.rooms.size() + setup.roomsLeftEmpty) +
             " rooms between keep-outs and pinned regions, the smallest, were "
             "left empty";
  return error;
}

std::string wsec::anneal(const PlacementProblem &problem,
                         const AnnealingOptions &options,
                         Placement &placement) {
  if (std::string error = lacksPes(problem); !error.empty())
    return error;
  const ShapeCurves curves(problem);
  AnnealingSetup setup;
  std::vector<Run> runs;
  std::string error = chooseSetup(problem, curves, setup, runs);
  if (!error.empty())
    return error;
  placement = setup.fixed;
  if (setup.regions.empty())
    return "";
  runs = search(setup, curves, runs, options);
  if (runs[0].score == infinite)
    return noneFound(problem, setup);
  SlicingTree tree(setup.slicing, curves);
  tree.restore(runs[0].plan);
  tree.layOut();
  placeAsIn(tree, problem, setup, placement);
  slide(problem, placement);
  if (setup.latencyWeight > 0)
    grow(problem, placement);
  return "";
}
