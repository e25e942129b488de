// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/LaunchOrder.h"
#include "runtime/program/facts/CommandRoom.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <tuple>
#include <utility>

using namespace wsec;

namespace {

/// Regions as they fill up, launch by launch.
class Launches {
public:
  explicit Launches(const SchedulingProblem &problem);

  std::vector<size_t> run();

private:
  bool isNext(size_t kernel) const;
  double startOf(size_t kernel) const;
  /// Which of the kernels that could be next it should be: the least.
  std::tuple<double, double, size_t> rankOf(size_t kernel) const;
  void launch(size_t kernel);

  const SchedulingProblem &problem;
  std::vector<std::vector<size_t>> partsOf; // regions of each kernel
  std::vector<std::deque<size_t>> waiting;  // kernels of each region
  std::vector<double> free;                 // when each region is
  runtime::CommandLine commands;            // of the entry
  std::vector<double> ends;                 // of each kernel
  std::vector<std::vector<double>> work;    // that is left, of [entry][region]
  std::vector<bool> isLaunched;
  std::vector<size_t> left; // kernels of each entry
  size_t entry = 0;         // whose kernels are launched
};

} // namespace

Launches::Launches(const SchedulingProblem &problem)
    : problem(problem), partsOf(problem.kernels.size()),
      commands(problem.commandsAhead), ends(problem.kernels.size(), 0),
      isLaunched(problem.kernels.size(), false) {
  for (size_t k = 0; k < problem.kernels.size(); ++k) {
    const KernelMemory &kernel = problem.kernels[k];
    std::vector<size_t> &parts = partsOf[k];
    parts.push_back(kernel.region);
    for (size_t operand : kernel.operands)
      parts.push_back(problem.kernels[operand].region);
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    waiting.resize(std::max(waiting.size(), parts.back() + 1));
    for (size_t region : parts)
      waiting[region].push_back(k);
    left.resize(std::max(left.size(), kernel.entry + 1));
    work.resize(left.size());
    ++left[kernel.entry];
    for (size_t region : parts) {
      work[kernel.entry].resize(
          std::max(work[kernel.entry].size(), region + 1));
      work[kernel.entry][region] += kernel.cycles;
    }
  }
  free.assign(std::max(waiting.size(), problem.commandsAhead.size()), 0);
}

bool Launches::isNext(size_t kernel) const {
  const KernelMemory &memory = problem.kernels[kernel];
  return memory.entry == entry &&
         std::all_of(partsOf[kernel].begin(), partsOf[kernel].end(),
                     [&](size_t region) {
                       return waiting[region].front() == kernel;
                     }) &&
         std::all_of(memory.after.begin(), memory.after.end(),
                     [&](size_t other) { return isLaunched[other]; });
}

double Launches::startOf(size_t kernel) const {
  double start = 0;
  for (size_t region : partsOf[kernel])
    start = std::max({start, free[region], commands.reaches(region)});
  for (size_t other : problem.kernels[kernel].after)
    start = std::max(start, ends[other]);
  return start;
}

std::tuple<double, double, size_t> Launches::rankOf(size_t kernel) const {
  double most = 0;
  for (size_t region : partsOf[kernel])
    most = std::max(most, work[entry][region]);
  return {startOf(kernel), -most, kernel};
}

void Launches::launch(size_t kernel) {
  ends[kernel] = startOf(kernel) + problem.kernels[kernel].cycles;
  isLaunched[kernel] = true;
  --left[problem.kernels[kernel].entry];
  for (size_t region : partsOf[kernel]) {
    work[entry][region] -= problem.kernels[kernel].cycles;
    free[region] = ends[kernel];
    waiting[region].pop_front();
  }
  commands.give(free);
}

std::vector<size_t> Launches::run() {
  std::vector<size_t> order;
  while (order.size() < problem.kernels.size()) {
    while (left[entry] == 0) {
      ++entry;
      commands.clear();
    }
    // The first kernel of the list that is left is always one that can start.
    size_t best = problem.kernels.size();
    for (const std::deque<size_t> &queue : waiting)
      if (!queue.empty() && isNext(queue.front()) &&
          (best == problem.kernels.size() ||
           rankOf(queue.front()) < rankOf(best)))
        best = queue.front();
    launch(best);
    order.push_back(best);
  }
  return order;
}

namespace {

/// Kernels of which none uses what another makes, in any order.
class FreeLaunches {
public:
  FreeLaunches(const SchedulingProblem &problem,
               std::vector<size_t>::iterator begin,
               std::vector<size_t>::iterator end);

  /// Moves single ones as long as the last ends earlier for it, or all of them
  /// in sum.
  void improve();

private:
  /// When the last region is done, and the sum of all ends.
  using Rank = std::pair<double, double>;
  /// After so many launches.
  struct Times {
    std::vector<double> free; ///< when each region is
    std::vector<double> left; ///< work of each region
    double sum = 0;           ///< of all ends
  };

  const KernelMemory &kernel(size_t place) const {
    return problem.kernels[begin[long(place)]];
  }
  const Times &after(size_t launches) const {
    return launches <= same ? best[launches] : tried[launches];
  }
  double reaches(size_t launches, size_t region) const;
  bool goesOnAsBest(size_t launches) const;
  Rank rankFrom(size_t first, size_t last);
  void accept(Rank rank);
  bool moves(size_t from, size_t to);

  /// Launches that are tried out, times regions: about a second of a core.
  static constexpr size_t mostSteps = 100'000'000;

  const SchedulingProblem &problem;
  const std::vector<size_t>::iterator begin;
  const size_t count, regions;
  size_t window = 0; ///< launches back that a command may wait for
  /// Of the best order, and of one that is tried, which begins with the same
  /// launches, and from `joined` on has them and their times but for sums.
  std::vector<Times> best, tried;
  size_t same = 0, joined = 0;
  Rank bestRank;
};

} // namespace

FreeLaunches::FreeLaunches(const SchedulingProblem &problem,
                           std::vector<size_t>::iterator begin,
                           std::vector<size_t>::iterator end)
    : problem(problem), begin(begin), count(size_t(end - begin)),
      regions(problem.commandsAhead.size()) {
  for (const std::vector<size_t> &row : problem.commandsAhead)
    for (size_t ahead : row)
      if (ahead < count)
        window = std::max(window, ahead);
  Times none{std::vector<double>(regions, 0), std::vector<double>(regions, 0)};
  for (size_t place = 0; place < count; ++place)
    none.left[kernel(place).region] += kernel(place).cycles;
  best.assign(count + 1, none);
  tried = best;
}

/// When the next command has reached the region, as runtime::CommandLine says.
double FreeLaunches::reaches(size_t launches, size_t region) const {
  double when = 0;
  for (size_t busy = 0; busy < regions; ++busy)
    if (const size_t ahead = problem.commandsAhead[busy][region];
        ahead < launches)
      when = std::max(when, after(launches - ahead).free[busy]);
  return when;
}

/// Whether all that equal launches behind so many depend on is as in the best
/// order.
bool FreeLaunches::goesOnAsBest(size_t launches) const {
  for (size_t back = 0; back <= std::min(window, launches); ++back)
    if (launches - back > same &&
        tried[launches - back].free != best[launches - back].free)
      return false;
  return true;
}

/// Of the order as it is, which differs from the best one in places [first,
/// last]; any that is worse where a region has more to do than time is left.
FreeLaunches::Rank FreeLaunches::rankFrom(size_t first, size_t last) {
  same = first;
  for (joined = first; joined < count; ++joined) {
    if (joined > last && goesOnAsBest(joined))
      break;
    Times &now = tried[joined + 1];
    now = after(joined);
    const KernelMemory &its = kernel(joined);
    double &when = now.free[its.region];
    when = std::max(when, reaches(joined, its.region)) + its.cycles;
    now.left[its.region] -= its.cycles;
    now.sum += when;
    constexpr double rounding = 1e-9;
    const double end = when + now.left[its.region];
    if (end > bestRank.first * (1 + rounding))
      return {end, 0};
  }
  double sum = after(joined).sum;
  for (size_t place = joined; place < count; ++place)
    sum += best[place + 1].free[kernel(place).region];
  const std::vector<double> &free = (joined < count ? best : tried).back().free;
  return {*std::max_element(free.begin(), free.end()), sum};
}

/// The order that was tried is the best.
void FreeLaunches::accept(Rank rank) {
  bestRank = rank;
  for (size_t launches = same + 1; launches <= joined; ++launches)
    best[launches] = tried[launches];
  for (size_t place = joined; place < count; ++place)
    best[place + 1].sum =
        best[place].sum + best[place + 1].free[kernel(place).region];
}

bool FreeLaunches::moves(size_t from, size_t to) {
  auto move = [&](size_t from, size_t to) {
    const auto first = begin + long(std::min(from, to)),
               last = begin + long(std::max(from, to)) + 1;
    std::rotate(first, from < to ? first + 1 : last - 1, last);
  };
  move(from, to);
  const Rank its = rankFrom(std::min(from, to), std::max(from, to));
  if (!(its < bestRank)) {
    move(to, from);
    return false;
  }
  accept(its);
  return true;
}

void FreeLaunches::improve() {
  size_t left = mostSteps / (count * regions);
  bestRank.first = std::numeric_limits<double>::infinity();
  accept(rankFrom(0, count));
  // No region is done before it has done all that is its own.
  const double least =
      *std::max_element(best[0].left.begin(), best[0].left.end());
  auto goesOn = [&] { return left > 0 && bestRank.first > least * (1 + 1e-9); };
  for (bool moved = true; moved && goesOn();) {
    moved = false;
    for (size_t from = 0; from < count; ++from)
      for (size_t to = 0; to < count && goesOn(); ++to)
        if (from != to) {
          --left;
          moved |= moves(from, to);
        }
  }
}

std::vector<size_t> wsec::orderLaunches(const SchedulingProblem &problem) {
  std::vector<size_t> order = Launches(problem).run();
  if (problem.commandsAhead.size() < 2)
    return order;
  auto entryOf = [&](size_t kernel) { return problem.kernels[kernel].entry; };
  for (auto begin = order.begin(); begin != order.end();) {
    const auto end = std::find_if(begin, order.end(), [&](size_t kernel) {
      return entryOf(kernel) != entryOf(*begin);
    });
    if (std::all_of(begin, end, [&](size_t kernel) {
          return problem.kernels[kernel].operands.empty() &&
                 problem.kernels[kernel].after.empty();
        }))
      FreeLaunches(problem, begin, end).improve();
    begin = end;
  }
  return order;
}
