// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/LaunchOrder.h"

#include <algorithm>
#include <deque>
#include <tuple>

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
  std::vector<double> ends;                 // of each kernel
  std::vector<std::vector<double>> work;    // that is left, of [entry][region]
  std::vector<bool> isLaunched;
  std::vector<size_t> left; // kernels of each entry
  size_t entry = 0;         // whose kernels are launched
};

} // namespace

Launches::Launches(const SchedulingProblem &problem)
    : problem(problem), partsOf(problem.kernels.size()),
      ends(problem.kernels.size(), 0),
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
  free.assign(waiting.size(), 0);
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
    start = std::max(start, free[region]);
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
}

std::vector<size_t> Launches::run() {
  std::vector<size_t> order;
  while (order.size() < problem.kernels.size()) {
    while (left[entry] == 0)
      ++entry;
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

std::vector<size_t> wsec::orderLaunches(const SchedulingProblem &problem) {
  return Launches(problem).run();
}
