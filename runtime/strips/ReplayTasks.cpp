// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan of a replay: tasks, what they wait for, and who executes them when.
#include "runtime/strips/Replay.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace wsec::runtime {

namespace {

using Operation = Recording::Operation;
using Kind = Recording::Operation::Kind;
using Buffer = Recording::Buffer;

/// Nanoseconds, roughly.
double estimateCost(const Recording &recording, const Operation &operation) {
  if (operation.kind == Kind::Interleave) {
    const InterleaveProblem &its =
        recording.interleaved[operation.index].problem;
    return 20 + 0.3 * double(its.rows * its.columns * its.sources);
  }
  if (operation.kind == Kind::Expect)
    return 5;
  if (operation.kind != Kind::Compute)
    return operation.kind == Kind::Launch ? 0 : 200;
  return recording.nests[operation.index].estimateNanoseconds();
}

/// Cuts the operations into tasks, in the order of the recording except that
/// words are taken from the host shortly before their use.
class TaskMaker {
public:
  explicit TaskMaker(const Recording &recording)
      : recording(recording), resources(recording.buffers.size()),
        nextOf(recording.views.size()) {}

  std::vector<ReplayTask> make() {
    for (uint32_t i = 0; i < recording.operations.size(); ++i) {
      const Operation &operation = recording.operations[i];
      if (operation.kind == Kind::Next) {
        nextOf[operation.index] = i;
        channels[channelOf(operation)].waiting.push_back(i);
      }
    }
    for (uint32_t i = 0; i < recording.operations.size(); ++i) {
      const Operation &operation = recording.operations[i];
      if (operation.kind == Kind::Next)
        continue;
      startTask(operation);
      forEachSource(
          recording, operation,
          [&](const Recording::Operand &source) { takeView(source); });
      add(i);
    }
    for (auto &[key, channel] : channels)
      if (channel.taken < channel.waiting.size())
        takeUntil(channel, channel.waiting.back());
    for (ReplayTask &task : tasks)
      takeFirst(task);
    return std::move(tasks);
  }

private:
  /// What tasks must use one after the other: a buffer, a channel of the host.
  struct Resource {
    int writer = -1;
    std::vector<uint32_t> readers; ///< since it was written
  };
  struct Channel {
    std::vector<uint32_t> waiting; ///< Next operations
    size_t taken = 0;
    Resource resource;
  };

  /// Long enough to be worth handing to another worker, short enough that
  /// others do not wait for its end.
  static constexpr double longest = 15e3;

  std::pair<uint32_t, uint32_t> channelOf(const Operation &operation) const {
    const Recording::View &view = recording.views[operation.index];
    return {view.stream, view.channel};
  }

  /// Words that no operation of the call stores are taken before anything is
  /// computed, so that their memory can be asked for them in time.
  void takeFirst(ReplayTask &task) const {
    std::vector<uint32_t> taken, others;
    for (uint32_t index : task.operations) {
      const Operation &operation = recording.operations[index];
      const bool first = operation.kind == Kind::Next &&
                         recording.passing[channelOf(operation).first].empty();
      (first ? taken : others).push_back(index);
    }
    taken.insert(taken.end(), others.begin(), others.end());
    task.operations = std::move(taken);
  }

  void startTask(const Operation &operation) {
    bool fits = !tasks.empty() && tasks.back().cost < longest &&
                (tasks.back().actor == operation.actor ||
                 operation.kind == Kind::Launch);
    joined = joins(operation) ? joined + 1 : 0;
    if (!fits && joined == 0)
      tasks.push_back({{}, {}, 0, operation.actor});
  }

  /// Whether a product is run as one with those before it, whose accumulators
  /// then stay in registers.
  bool joins(const Operation &operation) const {
    if (tasks.empty() || tasks.back().operations.empty() ||
        operation.kind != Kind::Compute)
      return false;
    const Operation &last =
        recording.operations[tasks.back().operations.back()];
    const PreparedNest &nest = recording.nests[operation.index];
    return last.kind == Kind::Compute && last.actor == operation.actor &&
           last.index == operation.index && last.dst == operation.dst &&
           nest.joins() && (joined + 2) * nest.terms() <= termsAtOnce;
  }

  void takeView(const Recording::Operand &operand) {
    const Buffer &buffer = recording.buffers[operand.buffer];
    if (buffer.kind != Buffer::Kind::View)
      return;
    uint32_t next = nextOf[buffer.viewIndex];
    takeUntil(channels[channelOf(recording.operations[next])], next);
  }

  /// Adds the operations of a channel up to `last`, if they are not yet there.
  void takeUntil(Channel &channel, uint32_t last) {
    while (channel.taken < channel.waiting.size() &&
           channel.waiting[channel.taken] <= last) {
      if (tasks.empty())
        tasks.emplace_back();
      add(channel.waiting[channel.taken++]);
    }
  }

  void add(uint32_t index) {
    const Operation &operation = recording.operations[index];
    ReplayTask &task = tasks.back();
    task.operations.push_back(index);
    task.cost += estimateCost(recording, operation);
    forEachSource(recording, operation,
                  [&](const Recording::Operand &source) { read(source); });
    if (operation.dst.buffer != Recording::nothing)
      write(resources[operation.dst.buffer]);
    if (operation.kind != Kind::Next && operation.kind != Kind::Store)
      return;
    write(channels[channelOf(operation)].resource);
    for (uint32_t tensor : recording.passing[channelOf(operation).first])
      if (operation.kind == Kind::Next)
        read(passing[tensor]);
      else
        write(passing[tensor]);
  }

  void after(uint32_t other) {
    std::vector<uint32_t> &before = tasks.back().before;
    if (other + 1 != tasks.size() &&
        std::find(before.begin(), before.end(), other) == before.end())
      before.push_back(other);
  }

  void read(const Recording::Operand &operand) {
    if (recording.buffers[operand.buffer].kind < Buffer::Kind::Sram)
      return;
    read(resources[operand.buffer]);
  }

  void read(Resource &resource) {
    uint32_t self = uint32_t(tasks.size() - 1);
    if (resource.writer >= 0)
      after(uint32_t(resource.writer));
    if (resource.readers.empty() || resource.readers.back() != self)
      resource.readers.push_back(self);
  }

  void write(Resource &resource) {
    if (resource.writer >= 0)
      after(uint32_t(resource.writer));
    for (uint32_t reader : resource.readers)
      after(reader);
    resource.readers.clear();
    resource.writer = int(tasks.size() - 1);
  }

  const Recording &recording;
  size_t joined = 0; ///< products before the last one that it is run with
  std::vector<Resource> resources;
  std::map<uint32_t, Resource> passing; ///< tensors
  std::vector<uint32_t> nextOf;         ///< the operation that takes a view
  std::map<std::pair<uint32_t, uint32_t>, Channel> channels;
  std::vector<ReplayTask> tasks;
};

/// Each step starts the task that can start first; of several the one that
/// came first in the recording.
class TaskScheduler {
public:
  TaskScheduler(std::vector<ReplayTask> &tasks, unsigned workers)
      : tasks(tasks), clocks(workers), missing(tasks.size()),
        after(tasks.size()) {}

  std::vector<uint32_t> schedule() {
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      missing[i] = tasks[i].before.size();
      for (uint32_t other : tasks[i].before)
        after[other].push_back(i);
      if (missing[i] == 0)
        available.insert(i);
    }
    std::vector<uint32_t> order;
    while (!available.empty())
      order.push_back(startNext());
    return order;
  }

private:
  static constexpr int looksAt = 24;       ///< available tasks
  static constexpr double handOver = 300;  ///< ns from worker to worker
  static constexpr double coldCache = 2e3; ///< ns, for a strip that moves

  double startOn(uint32_t index, unsigned worker) const {
    double start = clocks[worker];
    for (uint32_t other : tasks[index].before)
      start =
          std::max(start, tasks[other].end +
                              (tasks[other].worker == worker ? 0 : handOver));
    return start;
  }

  double penalty(uint32_t index, unsigned worker) const {
    auto home = homes.find(tasks[index].actor);
    return home == homes.end() || home->second == worker ? 0 : coldCache;
  }

  uint32_t startNext() {
    uint32_t best = 0;
    unsigned bestWorker = 0;
    double bestStart = 0, bestKey = -1;
    int looked = 0;
    for (uint32_t index : available) {
      if (looked++ == looksAt)
        break;
      for (unsigned worker = 0; worker < clocks.size(); ++worker) {
        double start = startOn(index, worker);
        double key = start + penalty(index, worker);
        if (bestKey >= 0 && key >= bestKey)
          continue;
        best = index;
        bestWorker = worker;
        bestStart = start;
        bestKey = key;
      }
    }
    available.erase(best);
    ReplayTask &task = tasks[best];
    task.worker = bestWorker;
    task.start = bestStart;
    task.end = clocks[bestWorker] = bestStart + task.cost;
    homes[task.actor] = bestWorker;
    for (uint32_t later : after[best])
      if (--missing[later] == 0)
        available.insert(later);
    return best;
  }

  std::vector<ReplayTask> &tasks;
  std::vector<double> clocks;
  std::vector<size_t> missing;
  std::vector<std::vector<uint32_t>> after;
  std::set<uint32_t> available;
  std::map<uint32_t, unsigned> homes; ///< of actors
};

} // namespace

std::vector<ReplayTask> makeTasks(const Recording &recording) {
  return TaskMaker(recording).make();
}

std::vector<uint32_t> scheduleTasks(std::vector<ReplayTask> &tasks,
                                    unsigned workers) {
  if (workers > 1)
    return TaskScheduler(tasks, workers).schedule();
  std::vector<uint32_t> order(tasks.size());
  double clock = 0;
  for (uint32_t i = 0; i < tasks.size(); ++i) {
    order[i] = i;
    tasks[i].start = clock;
    tasks[i].end = clock += tasks[i].cost;
  }
  return order;
}

} // namespace wsec::runtime
