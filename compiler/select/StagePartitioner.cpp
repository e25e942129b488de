// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The answer is the cycles of some stage: one of kernels x kernels x widths
// numbers, sorted. Whether all stages can be that fast is decided from left to
// right, by the fewest columns for the first k kernels in s stages; so the
// least is found by bisection, and is exact.

#include "compiler/select/StagePartitioner.h"

#include <algorithm>
#include <limits>

using namespace wsec;

namespace {

constexpr int64_t none = std::numeric_limits<int64_t>::max();

class Partitioner {
public:
  explicit Partitioner(const StageProblem &problem);

  std::optional<StagePlan> run();

private:
  /// Sums over [begin, end), with what crosses at both ends.
  double cyclesOf(size_t width, size_t begin, size_t end) const {
    const std::vector<double> &sums = cycleSums[width];
    double all = sums[end] - sums[begin];
    if (begin > 0)
      all += problem.entering[width][begin];
    return end < count ? all + problem.leaving[width][end] : all;
  }
  bool fits(size_t width, size_t begin, size_t end) const {
    return byteSums[width][end] - byteSums[width][begin] +
               mostWorking[width][begin][end - begin - 1] <=
           problem.room;
  }
  bool canCut(size_t at) const {
    return at == 0 || at == count ||
           problem.entering[0][at] < std::numeric_limits<double>::infinity();
  }
  /// The narrowest region on which [begin, end) takes no more than `limit`;
  /// the number of widths if there is none.
  size_t narrowest(size_t begin, size_t end, double limit) const;
  /// Fills `fewest` and `last`; the fewest stages, 0 if it cannot be done.
  size_t solve(double limit);
  StagePlan plan(size_t stages) const;

  const StageProblem &problem;
  const size_t count;
  std::vector<size_t> cuts; // 0, where stages may begin, and the end
  std::vector<std::vector<double>> cycleSums;
  std::vector<std::vector<int64_t>> byteSums;
  /// Of [begin, begin + 1), [begin, begin + 2) ..., [width][begin].
  std::vector<std::vector<std::vector<int64_t>>> mostWorking;
  // Of the first stages that end at a cut, [stages][cut].
  std::vector<std::vector<int64_t>> fewest;
  std::vector<std::vector<Stage>> last;
  std::vector<std::vector<size_t>> before; // the cut that `last` begins at
};

} // namespace

template <typename Number>
static std::vector<std::vector<Number>>
sumsOf(const std::vector<std::vector<Number>> &table) {
  std::vector<std::vector<Number>> sums;
  for (const std::vector<Number> &row : table) {
    std::vector<Number> &its = sums.emplace_back(1, Number(0));
    for (Number number : row)
      its.push_back(its.back() + number);
  }
  return sums;
}

Partitioner::Partitioner(const StageProblem &problem)
    : problem(problem), count(problem.kernelCount()),
      cycleSums(sumsOf(problem.cycles)), byteSums(sumsOf(problem.bytes)) {
  for (const std::vector<int64_t> &row : problem.working) {
    auto &its = mostWorking.emplace_back();
    for (auto begin = row.begin(); begin != row.end(); ++begin) {
      int64_t most = 0;
      its.emplace_back();
      std::for_each(begin, row.end(), [&](int64_t bytes) {
        its.back().push_back(most = std::max(most, bytes));
      });
    }
  }
  for (size_t at = 0; at <= count; ++at)
    if (canCut(at))
      cuts.push_back(at);
}

size_t Partitioner::narrowest(size_t begin, size_t end, double limit) const {
  size_t width = 0;
  while (width < problem.widths.size() &&
         (cyclesOf(width, begin, end) > limit || !fits(width, begin, end)))
    ++width;
  return width;
}

size_t Partitioner::solve(double limit) {
  const size_t stages = std::min(problem.mostStages, count);
  fewest.assign(stages + 1, std::vector<int64_t>(cuts.size(), none));
  last.assign(stages + 1, std::vector<Stage>(cuts.size()));
  before.assign(stages + 1, std::vector<size_t>(cuts.size(), 0));
  fewest[0][0] = 0;
  // The width of a stage is the same whichever it is.
  constexpr size_t notYet = std::numeric_limits<size_t>::max();
  std::vector<size_t> widths(cuts.size() * cuts.size(), notYet);
  for (size_t s = 1; s <= stages; ++s) {
    for (size_t from = 0; from < cuts.size(); ++from) {
      if (fewest[s - 1][from] == none)
        continue;
      for (size_t to = from + 1; to < cuts.size(); ++to) {
        size_t &width = widths[from * cuts.size() + to];
        if (width == notYet)
          width = narrowest(cuts[from], cuts[to], limit);
        if (width == problem.widths.size())
          continue;
        int64_t columns = fewest[s - 1][from] + problem.widths[width];
        if (columns > problem.columns || columns >= fewest[s][to])
          continue;
        fewest[s][to] = columns;
        last[s][to] = {cuts[from], cuts[to], width};
        before[s][to] = from;
      }
    }
    if (fewest[s].back() != none)
      return s;
  }
  return 0;
}

StagePlan Partitioner::plan(size_t stages) const {
  StagePlan plan;
  size_t cut = cuts.size() - 1;
  for (size_t s = stages; s > 0; --s) {
    plan.stages.push_back(last[s][cut]);
    cut = before[s][cut];
  }
  std::reverse(plan.stages.begin(), plan.stages.end());
  for (const Stage &stage : plan.stages)
    plan.cycles = std::max(plan.cycles, problem.cyclesOf(stage));
  return plan;
}

std::optional<StagePlan> Partitioner::run() {
  std::vector<double> limits;
  for (size_t from = 0; from < cuts.size(); ++from)
    for (size_t to = from + 1; to < cuts.size(); ++to)
      for (size_t width = 0; width < problem.widths.size(); ++width)
        if (problem.widths[width] <= problem.columns)
          limits.push_back(cyclesOf(width, cuts[from], cuts[to]));
  if (limits.empty() ||
      solve(*std::max_element(limits.begin(), limits.end())) == 0)
    return std::nullopt;
  // The least is one of [low, high]; the others are not put in order.
  size_t low = 0, high = limits.size() - 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    std::nth_element(limits.begin() + int64_t(low),
                     limits.begin() + int64_t(middle),
                     limits.begin() + int64_t(high) + 1);
    if (solve(limits[middle]))
      high = middle;
    else
      low = middle + 1;
  }
  return plan(solve(limits[low]));
}

std::optional<StagePlan> wsec::partitionStages(const StageProblem &problem) {
  return Partitioner(problem).run();
}
