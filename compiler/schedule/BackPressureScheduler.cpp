// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/BackPressureScheduler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

using namespace wsec;

namespace {

/// Words of one stream, of all launches so far, and when PEs take them.
class Usage {
public:
  void add(int64_t words, double first, double last) {
    if (words > 0)
      pieces.push_back({count, words, first, last});
    count += words;
  }
  int64_t total() const { return count; }
  /// When word `index` is taken, 0 before the first.
  double taken(int64_t index) const {
    if (index < 0)
      return 0;
    auto piece = std::find_if(
        pieces.rbegin(), pieces.rend(),
        [&](const Piece &candidate) { return candidate.before <= index; });
    double share = double(index - piece->before + 1) / double(piece->words);
    return piece->first + share * (piece->last - piece->first);
  }

private:
  struct Piece {
    int64_t before, words;
    double first, last;
  };
  std::vector<Piece> pieces;
  int64_t count = 0;
};

class Scheduler {
public:
  explicit Scheduler(const FlowProblem &problem) : problem(problem) {
    schedule.transfers.resize(problem.transfers.size());
  }

  FlowSchedule run() {
    size_t next = 0;
    for (size_t l = 0; l < problem.launches.size(); ++l) {
      std::vector<size_t> its;
      for (; next < problem.transfers.size() &&
             problem.transfers[next].launch == l;
           ++next)
        its.push_back(next);
      launch(problem.launches[l], its);
    }
    return std::move(schedule);
  }

private:
  /// When the store has the first word of a transfer to the wafer.
  int64_t sendable(const HostTransfer &transfer) const {
    int64_t there = 0;
    for (size_t before : transfer.after)
      there = std::max(there, schedule.transfers[before].window.end);
    return there + problem.storeLatency;
  }
  void launch(const LaunchCost &cost, std::vector<size_t> its);
  int64_t enter(size_t index, double begin, double cycles);

  const FlowProblem &problem;
  FlowSchedule schedule;
  std::map<size_t, Usage> usage;                    // by stream
  std::map<size_t, int64_t> freeStream, freeRegion; // from when on
  int64_t slot = 0;
};

} // namespace

/// The end of a transfer whose launch begins at `begin`.
int64_t Scheduler::enter(size_t index, double begin, double cycles) {
  const HostTransfer &transfer = problem.transfers[index];
  TransferSlot &result = schedule.transfers[index];
  Usage &its = usage[transfer.stream];
  its.add(transfer.words, begin + transfer.firstUse * cycles,
          begin + transfer.lastUse * cycles);
  int64_t &from = result.window.begin;
  int64_t &free = freeStream[transfer.stream];
  from = std::max(sendable(transfer), free);
  double room = its.taken(its.total() - transfer.queue - 1);
  result.ahead = std::min(transfer.words, transfer.queue);
  result.window.end = std::max(from + transfer.words, int64_t(std::ceil(room)));
  if (transfer.words > result.ahead)
    result.window.end = std::max(
        result.window.end, int64_t(begin) + transfer.words - result.ahead);
  free = result.window.end;
  return result.window.end;
}

void Scheduler::launch(const LaunchCost &cost, std::vector<size_t> its) {
  auto middle = [&](size_t index) {
    return problem.transfers[index].firstUse + problem.transfers[index].lastUse;
  };
  std::sort(its.begin(), its.end(), [&](size_t a, size_t b) {
    return std::make_pair(middle(a), a) < std::make_pair(middle(b), b);
  });
  // It waits where it needs what the store does not have yet; it does not run
  // while another region still stores that.
  int64_t now = 0;
  for (size_t region : cost.regions)
    now = std::max(now, freeRegion[region]);
  for (size_t index : its)
    for (size_t before : problem.transfers[index].after)
      now = std::max(now, schedule.transfers[before].window.end);
  double begin = double(now) + cost.lead;
  for (size_t index : its)
    if (const HostTransfer &transfer = problem.transfers[index];
        transfer.in && !transfer.after.empty())
      begin = std::max(begin, double(sendable(transfer)) -
                                  transfer.firstUse * cost.cycles);
  int64_t end = std::llround(begin + cost.cycles);
  for (size_t index : its)
    if (problem.transfers[index].in)
      end = std::max(end, enter(index, begin, cost.cycles));
  for (size_t index : its) {
    TransferSlot &result = schedule.transfers[index];
    result.slot = slot++;
    if (problem.transfers[index].in)
      continue;
    end = std::max(end,
                   int64_t(std::ceil(begin)) + problem.transfers[index].words);
    int64_t &free = freeStream[problem.transfers[index].stream];
    result.window.begin = std::max(free, int64_t(std::ceil(begin)));
    result.window.end = free =
        std::max(end, result.window.begin + problem.transfers[index].words);
    end = result.window.end;
  }
  schedule.launches.push_back({now, end});
  for (size_t region : cost.regions)
    freeRegion[region] = end;
}

FlowSchedule wsec::scheduleByBackPressure(const FlowProblem &problem) {
  return Scheduler(problem).run();
}
