// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What annealing lowers is the score with the limit in place of the largest
// cost, and a price for each cell by which the blocks stick out of the area.
// A whole row of cells more would let every block cost a little less: the price
// begins at what that is worth, and ends far above it.
#include "compiler/place/FloorplanAnnealer.h"
#include "compiler/place/SlicingTree.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
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
/// Columns of blocks in the order of the flow, as narrow as they can be within
/// a limit on the cost.
class Snakes {
public:
  Snakes(const FloorplanProblem &problem, const ShapeCurves &curves)
      : problem(problem), curves(curves), order(problem.flowOrder()) {}

  /// One number of columns each, the fewest first; empty where there is none.
  std::vector<std::vector<std::vector<size_t>>> within(size_t limit) const {
    const size_t count = order.size();
    const int32_t width = int32_t(problem.width);
    const auto ends = columnEnds(limit);
    std::vector<std::vector<Step>> steps(1, std::vector<Step>(count + 1));
    steps[0][0].width = 0;
    std::vector<std::vector<std::vector<size_t>>> snakes;
    for (size_t columns = 1; columns <= std::min(mostColumns, count);
         ++columns) {
      const std::vector<Step> &before = steps.back();
      std::vector<Step> next(count + 1);
      for (size_t from = 0; from < count; ++from)
        for (int32_t w = 1; w + before[from].width <= width; ++w) {
          Step &step = next[ends[w][from]];
          if (ends[w][from] > from && before[from].width + w < step.width)
            step = {before[from].width + w, from};
        }
      // Columns that reach further do as well.
      steps.push_back(next);
      snakes.push_back(next[count].width <= width
                           ? columnsOf(steps)
                           : std::vector<std::vector<size_t>>());
    }
    return snakes;
  }

private:
  struct Step {
    int32_t width = 1 << 20; ///< of the columns so far
    size_t from = 0;         ///< first block of the last one
  };

  /// Where a column ends that begins with a block, for each width.
  std::vector<std::vector<size_t>> columnEnds(size_t limit) const {
    std::vector<std::vector<size_t>> ends(problem.width + 1,
                                          std::vector<size_t>(order.size(), 0));
    for (int64_t w = 1; w <= problem.width; ++w) {
      int64_t height = 0;
      size_t end = 0;
      for (size_t from = 0; from < order.size(); ++from) {
        for (; end < order.size(); ++end) {
          const int64_t more = heightOf(end, limit, w);
          if (height + more > problem.height)
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
    return curves.curve(limit, problem.blocks[order[i]].shapeSet)[width];
  }

  /// Up one column, down the next.
  std::vector<std::vector<size_t>>
  columnsOf(const std::vector<std::vector<Step>> &steps) const {
    std::vector<std::vector<size_t>> columns(steps.size() - 1);
    size_t end = order.size();
    for (size_t i = steps.size() - 1; i > 0; --i) {
      const size_t from = steps[i][end].from;
      columns[i - 1].assign(order.begin() + from, order.begin() + end);
      if (i % 2 == 0)
        std::reverse(columns[i - 1].begin(), columns[i - 1].end());
      end = from;
    }
    return columns;
  }

  const FloorplanProblem &problem;
  const ShapeCurves &curves;
  std::vector<size_t> order;
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

static double scoreOf(const FloorplanProblem &problem,
                      const ShapeCurves &curves, SlicingTree &tree) {
  return problem.costWeight * curves.limits()[tree.limit()] +
         problem.wireWeight * tree.layOut();
}

/// The best snake of each number of columns, the best first.
static std::vector<Run> startsOf(const FloorplanProblem &problem,
                                 const ShapeCurves &curves) {
  const Snakes snakes(problem, curves);
  std::vector<Run> runs(mostColumns);
  SlicingTree tree(problem, curves);
  const size_t limits = curves.limits().size();
  for (size_t limit = 0; limit < limits; limit += 1 + limits / 128) {
    const auto columns = snakes.within(limit);
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].empty())
        continue;
      tree.buildColumns(columns[i], limit);
      const double score = scoreOf(problem, curves, tree);
      if (tree.overflow() == 0 && score < runs[i].score)
        runs[i] = {tree.plan(), score};
    }
  }
  sortByScore(runs);
  while (!runs.empty() && runs.back().score == infinite)
    runs.pop_back();
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
  Annealer(const FloorplanProblem &problem, const ShapeCurves &curves)
      : problem(problem), curves(curves), tree(problem, curves) {}

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
        wireCost = lastWireCost;
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
      wireCost = lastWireCost;
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
  /// a change that shortens all wires by a quarter is not waited for.
  double energyNow(double bar) {
    sticksOut = tree.overflow();
    const double rest = problem.costWeight * curves.limits()[tree.limit()] +
                        price * double(sticksOut);
    if (sticksOut >= curves.reach() || !(rest + 0.75 * wireCost <= bar))
      return infinite;
    lastWireCost = problem.wireWeight * tree.layOut();
    return rest + lastWireCost;
  }

  double edgeCost() {
    const double cost = problem.costWeight * curves.limits()[tree.limit()];
    if (problem.edges.empty() || problem.wireWeight == 0)
      return cost / 256;
    return problem.wireWeight * tree.layOut() / double(problem.edges.size());
  }

  double priceAt(double done) {
    const double row = problem.costWeight * curves.limits()[tree.limit()] /
                           double(std::min(problem.width, problem.height)) +
                       2 * problem.wireWeight;
    return row * std::pow(priceGrowth, done);
  }

  const FloorplanProblem &problem;
  const ShapeCurves &curves;
  SlicingTree tree;
  Threshold threshold;
  double price = 0, wireCost = 0, lastWireCost = 0;
  int32_t sticksOut = 0;
};
} // namespace

/// Anneals all of `runs`, which do not depend on one another.
static void annealAll(std::vector<Run> &runs, const FloorplanProblem &problem,
                      const ShapeCurves &curves, int64_t changes, int threads,
                      const std::function<void(size_t)> &told) {
  std::atomic<size_t> next{0};
  auto work = [&](bool tells) {
    Annealer annealer(problem, curves);
    for (size_t i; (i = next++) < runs.size();) {
      annealer.anneal(runs[i], changes);
      if (tells)
        told(i);
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < std::min(threads, int(runs.size())); ++i)
    others.emplace_back(work, false);
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

std::string wsec::annealFloorplan(const FloorplanProblem &problem,
                                  const AnnealingOptions &options,
                                  Floorplan &floorplan) {
  std::string error = problem.check();
  if (!error.empty())
    return error;
  if (problem.costBound() == infinite)
    return "the smallest shapes of all blocks together have more cells than "
           "the area";
  const ShapeCurves curves(problem);
  std::vector<Run> runs = startsOf(problem, curves);
  if (runs.empty())
    return "no floorplan of columns was found to start from";
  // A change takes longer the more blocks there are.
  const int64_t changes =
      options.changes ? options.changes
                      : 400'000'000 / int64_t(problem.blocks.size() + 44);
  runs = firstRuns(runs);
  RandomNumbers seeds(options.seed);
  int rounds = 1;
  for (size_t left = runs.size(); left > runsAtLast; left /= 2)
    ++rounds;
  for (int round = 0; round < rounds; ++round) {
    for (Run &run : runs)
      run.seed = seeds.next();
    const double best = runs[0].score, count = double(runs.size());
    annealAll(runs, problem, curves, changes / rounds / int64_t(runs.size()),
              options.threads, [&](size_t i) {
                if (options.progress)
                  options.progress((round + double(i + 1) / count) / rounds,
                                   best);
              });
    if (round + 1 < rounds)
      runs.resize(runs.size() / 2);
  }
  SlicingTree tree(problem, curves);
  tree.restore(runs[0].plan);
  tree.layOut();
  floorplan = tree.floorplan();
  return problem.verify(floorplan);
}
