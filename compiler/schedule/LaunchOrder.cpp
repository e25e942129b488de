// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/LaunchOrder.h"
#include "runtime/program/CommandRoom.h"

#include <algorithm>
#include <deque>
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
               std::vector<size_t>::iterator end)
      : problem(problem), begin(begin), end(end),
        commands(problem.commandsAhead) {}

  /// Moves single ones as long as the last ends earlier for it, or all of them
  /// in sum.
  void improve();

private:
  using Rank = std::pair<double, double>;
  Rank rank();
  bool moves(size_t from, size_t to);

  /// Launches that are tried out, times regions: about a second of a core.
  static constexpr size_t mostSteps = 100'000'000;

  const SchedulingProblem &problem;
  const std::vector<size_t>::iterator begin, end;
  runtime::CommandLine commands;
  std::vector<double> free;
  Rank best;
};

} // namespace

/// When the last region is done, and the sum of all ends.
FreeLaunches::Rank FreeLaunches::rank() {
  commands.clear();
  free.assign(problem.commandsAhead.size(), 0);
  double sum = 0;
  for (auto kernel = begin; kernel != end; ++kernel) {
    const KernelMemory &its = problem.kernels[*kernel];
    double &when = free[its.region];
    when = std::max(when, commands.reaches(its.region)) + its.cycles;
    sum += when;
    commands.give(free);
  }
  return {*std::max_element(free.begin(), free.end()), sum};
}

bool FreeLaunches::moves(size_t from, size_t to) {
  auto move = [&](size_t from, size_t to) {
    const auto first = begin + long(std::min(from, to)),
               last = begin + long(std::max(from, to)) + 1;
    std::rotate(first, from < to ? first + 1 : last - 1, last);
  };
  move(from, to);
  const Rank its = rank();
  if (its < best) {
    best = its;
    return true;
  }
  move(to, from);
  return false;
}

void FreeLaunches::improve() {
  const size_t count = size_t(end - begin);
  size_t left = mostSteps / (count * problem.commandsAhead.size());
  best = rank();
  std::vector<double> work(problem.commandsAhead.size(), 0);
  for (auto kernel = begin; kernel != end; ++kernel)
    work[problem.kernels[*kernel].region] += problem.kernels[*kernel].cycles;
  // No region is done before it has done all that is its own.
  const double least = *std::max_element(work.begin(), work.end());
  auto goesOn = [&] { return left > 0 && best.first > least * (1 + 1e-9); };
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
