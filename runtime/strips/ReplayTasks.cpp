// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan of a replay: tasks, what they wait for, and who executes them when.
#include "runtime/strips/OperationOrder.h"
#include "runtime/strips/Replay.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
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

/// Cuts the operations into tasks. An actor goes on until it needs what another
/// has not done yet or its task is long enough, so that it finds its SRAM in
/// the cache: in the recording actors take turns much more often. Of several
/// workers, its task ends soon after what others wait for already, and what
/// only brings words of others into its SRAM may be done later. Words are
/// taken from the host shortly before their use; where many are there that
/// others still have to use, who takes more waits for these.
class TaskMaker {
public:
  TaskMaker(const Recording &recording, unsigned workers,
            const ConstantWords *constant)
      : longest(workers > 1 ? 15e3 : 60e3), recording(recording),
        constant(constant), before(recording),
        taskOf(recording.operations.size(), none),
        uses(recording.views.size()) {
    if (workers > 1)
      delays.emplace(recording);
  }

  std::vector<ReplayTask> make() {
    fillQueues();
    for (uint32_t actor = 0; actor < actors.size(); ++actor)
      wake(actor, false);
    while (!awake.empty() || !held.empty()) {
      // Nobody else can go on, or others have used what there was.
      const bool last = awake.empty();
      if (last || (!held.empty() && fits(held.begin()->first, mostTaken / 2))) {
        const uint32_t actor = held.begin()->second;
        held.erase(held.begin());
        follows = freed;
        run(actor, last);
        follows = none;
        continue;
      }
      const uint32_t actor = awake.front();
      awake.pop_front();
      actors[actor].isAwake = false;
      run(actor, false);
    }
    for (auto &[key, channel] : channels)
      if (channel.taken < channel.waiting.size()) {
        if (tasks.empty())
          tasks.emplace_back();
        takeUntil(channel, channel.waiting.back());
      }
    for (ReplayTask &task : tasks)
      takeFirst(task);
    return std::move(tasks);
  }

private:
  static constexpr uint32_t none = UINT32_MAX;
  /// An operation that was put off when its actor had started so many tasks.
  struct Late {
    uint32_t operation;
    unsigned started;
    Delays::Ranges ranges;
  };
  struct Actor {
    std::vector<uint32_t> operations;
    size_t done = 0;
    bool isAwake = false;
    uint32_t last = none; ///< of its tasks
    /// Actors that need what it does, and the operation.
    std::vector<std::pair<uint32_t, uint32_t>> waiting;
    std::vector<Late> late;
    double lateCost = 0;
    unsigned started = 0; ///< tasks
  };
  struct Channel {
    std::vector<uint32_t> waiting; ///< Next operations
    size_t taken = 0;
  };

  /// Long enough to be worth handing to another worker, short enough that
  /// others do not wait for its end; who is alone goes on for as long as words
  /// stay in the cache.
  const double longest;
  /// Cost of what a task may have behind an operation that others wait for.
  static constexpr double mostBehind = 2e3;
  /// Words that were taken and are still to be used, in bytes.
  static constexpr uint64_t mostTaken = 1 << 26;

  /// Launches go with the operation behind them.
  void fillQueues() {
    std::vector<uint32_t> launches;
    auto queue = [&](uint32_t actor) -> std::vector<uint32_t> & {
      if (actor >= actors.size())
        actors.resize(actor + 1);
      return actors[actor].operations;
    };
    for (uint32_t i = 0; i < recording.operations.size(); ++i) {
      const Operation &operation = recording.operations[i];
      forEachView(i, [&](uint32_t view) { ++uses[view]; });
      if (operation.kind == Kind::Next) {
        channels[channelOf(recording, operation)].waiting.push_back(i);
      } else if (operation.kind == Kind::Launch) {
        launches.push_back(i);
      } else {
        std::vector<uint32_t> &its = queue(operation.actor);
        its.insert(its.end(), launches.begin(), launches.end());
        its.push_back(i);
        launches.clear();
      }
    }
    std::vector<uint32_t> &its = queue(0);
    its.insert(its.end(), launches.begin(), launches.end());
  }

  template <class Visit>
  void forEachView(uint32_t operation, const Visit &visit) const {
    forEachSource(recording, recording.operations[operation],
                  [&](const Recording::Operand &source) {
                    const Buffer &buffer = recording.buffers[source.buffer];
                    if (buffer.kind == Buffer::Kind::View)
                      visit(buffer.viewIndex);
                  });
  }
  uint64_t bytesOf(uint32_t view) const {
    return recording.views[view].rows * recording.views[view].length *
           sizeof(float);
  }

  /// Whether an operation takes no words, or so many are not there then.
  bool fits(uint32_t operation, uint64_t most) const {
    uint64_t more = 0;
    for (uint32_t other : before.of(operation)) {
      if (recording.operations[other].kind != Kind::Next ||
          taskOf[other] != none)
        continue;
      const Channel &its =
          channels.at(channelOf(recording, recording.operations[other]));
      for (size_t i = its.taken;
           i < its.waiting.size() && its.waiting[i] <= other; ++i)
        more += bytesOf(recording.operations[its.waiting[i]].index);
    }
    return more == 0 || taken + more <= most;
  }

  /// Who reads what was just computed goes on before others.
  void wake(uint32_t actor, bool first = true) {
    if (std::exchange(actors[actor].isAwake, true))
      return;
    if (first)
      awake.push_front(actor);
    else
      awake.push_back(actor);
  }

  /// A task of an actor, if it can go on; the first operation in any case
  /// where nobody else can. Behind it comes one of what was put off, if that
  /// is much, or long ago.
  void run(uint32_t index, bool last) {
    Actor &actor = actors[index];
    const size_t begin = actor.done;
    uint32_t missing = none;
    bool waits = false, started = false;
    std::optional<double> awaited; // the cost up to what others wait for
    size_t joined = 0; // Products before the last one that it is run with.
    for (; actor.done < actor.operations.size(); ++actor.done) {
      const uint32_t next = actor.operations[actor.done];
      missing = missingFor(next);
      if (missing == none && delays && delays->allowed(next)) {
        if (isMuch(actor))
          break;
        putOff(actor, next);
        continue;
      }
      waits = missing == none && !fits(next, mostTaken) && !(last && !started);
      if (missing != none || waits)
        break;
      joined = started && joins(next, joined) ? joined + 1 : 0;
      if (!std::exchange(started, true))
        startTask(index);
      else if (joined == 0 && (tasks.back().cost >= longest ||
                               (awaited && tasks.back().cost + costOf(next) >
                                               *awaited + mostBehind)))
        break;
      addLate(actor, next);
      takeViews(next);
      add(next);
      if (delays && !awaited && isAwaited(actor, next))
        awaited = tasks.back().cost;
    }
    if (missing != none)
      actors[recording.operations[missing].actor].waiting.push_back(
          {index, missing});
    else if (waits)
      held.emplace(actor.operations[actor.done], index);
    else if (actor.done < actor.operations.size())
      wake(index, false);
    if (isMuch(actor) || isOld(actor) || actor.done == actor.operations.size())
      addLateTask(index);
    if (actor.done > begin)
      for (const auto &[other, operation] : std::exchange(actor.waiting, {}))
        wake(other);
  }

  static bool isAwaited(const Actor &actor, uint32_t operation) {
    return std::any_of(
        actor.waiting.begin(), actor.waiting.end(),
        [&](const auto &other) { return other.second == operation; });
  }

  /// It follows the one before it of its actor.
  void startTask(uint32_t actor) {
    tasks.push_back({{}, {}, 0, actor});
    after(std::exchange(actors[actor].last, uint32_t(tasks.size() - 1)));
    after(std::exchange(follows, none));
    ++actors[actor].started;
  }

  void putOff(Actor &actor, uint32_t operation) {
    actor.late.push_back(
        {operation, actor.started, delays->rangesOf(operation)});
    actor.lateCost += costOf(operation);
  }
  /// Whether what an actor has put off is worth a task.
  bool isMuch(const Actor &actor) const {
    constexpr size_t most = 64;
    return actor.lateCost >= longest || actor.late.size() >= most;
  }
  /// Whether it has been put off for long enough that others have done their
  /// part.
  static bool isOld(const Actor &actor) {
    constexpr unsigned most = 3; // tasks
    return !actor.late.empty() &&
           actor.late.front().started + most <= actor.started;
  }

  /// Of what an actor has put off, what the next operation must come behind.
  void addLate(Actor &actor, uint32_t next) {
    if (actor.late.empty())
      return;
    const Delays::Ranges ranges = delays->rangesOf(next);
    const auto end = std::find_if(actor.late.rbegin(), actor.late.rend(),
                                  [&](const Late &its) {
                                    return its.ranges.conflict(ranges);
                                  })
                         .base();
    addLate(actor, size_t(end - actor.late.begin()));
  }
  /// The first `count` of them.
  void addLate(Actor &actor, size_t count) {
    const auto end = actor.late.begin() + ptrdiff_t(count);
    for (auto its = actor.late.begin(); its != end; ++its) {
      add(its->operation);
      actor.lateCost -= costOf(its->operation);
    }
    actor.late.erase(actor.late.begin(), end);
  }
  /// All of them.
  void addLateTask(uint32_t index) {
    if (actors[index].late.empty())
      return;
    startTask(index);
    addLate(actors[index], actors[index].late.size());
  }

  double costOf(uint32_t operation) const {
    return estimateCost(recording, recording.operations[operation]);
  }

  /// What has to be done by another actor first, if anything.
  uint32_t missingFor(uint32_t operation) const {
    for (uint32_t other : before.of(operation)) {
      if (taskOf[other] != none)
        continue;
      if (recording.operations[other].kind != Kind::Next)
        return other;
      const Channel &channel =
          channels.at(channelOf(recording, recording.operations[other]));
      for (size_t i = channel.taken;
           i < channel.waiting.size() && channel.waiting[i] <= other; ++i)
        for (uint32_t store : before.of(channel.waiting[i]))
          if (taskOf[store] == none)
            return store;
    }
    return none;
  }

  /// Words that an operation needs, and those before them.
  void takeViews(uint32_t operation) {
    for (uint32_t other : before.of(operation))
      if (recording.operations[other].kind == Kind::Next)
        takeUntil(
            channels.at(channelOf(recording, recording.operations[other])),
            other);
  }

  /// Words that no operation of the call stores are taken before anything is
  /// computed, so that their memory can be asked for them in time; behind them
  /// come those that make constant words.
  void takeFirst(ReplayTask &task) const {
    std::vector<uint32_t> taken, made, others;
    for (uint32_t index : task.operations) {
      const Operation &operation = recording.operations[index];
      const bool first =
          operation.kind == Kind::Next &&
          recording.passing[channelOf(recording, operation).first].empty();
      (makesConstant(index) ? made : first ? taken : others).push_back(index);
    }
    taken.insert(taken.end(), made.begin(), made.end());
    taken.insert(taken.end(), others.begin(), others.end());
    task.operations = std::move(taken);
  }

  /// Whether a product is run as one with those before it, whose accumulators
  /// then stay where they are.
  bool joins(uint32_t index, size_t joined) const {
    const Operation &operation = recording.operations[index];
    if (operation.kind != Kind::Compute)
      return false;
    const Operation &last =
        recording.operations[tasks.back().operations.back()];
    const PreparedNest &nest = recording.nests[operation.index];
    return last.kind == Kind::Compute && last.index == operation.index &&
           last.dst == operation.dst && nest.joins() &&
           joined + 2 <= PreparedNest::mostJoined;
  }

  /// Adds the operations of a channel up to `last`, if they are not yet there.
  void takeUntil(Channel &channel, uint32_t last) {
    for (; channel.taken < channel.waiting.size() &&
           channel.waiting[channel.taken] <= last;
         ++channel.taken) {
      after(channel.taken == 0 ? none
                               : taskOf[channel.waiting[channel.taken - 1]]);
      add(channel.waiting[channel.taken]);
    }
  }

  void add(uint32_t index) {
    ReplayTask &task = tasks.back();
    task.operations.push_back(index);
    if (!makesConstant(index))
      task.cost += costOf(index);
    taskOf[index] = uint32_t(tasks.size() - 1);
    if (recording.operations[index].kind == Kind::Next &&
        uses[recording.operations[index].index] > 0)
      taken += bytesOf(recording.operations[index].index);
    forEachView(index, [&](uint32_t view) {
      if (--uses[view] > 0)
        return;
      taken -= bytesOf(view);
      freed = uint32_t(tasks.size() - 1);
    });
    for (uint32_t other : before.of(index))
      after(taskOf[other]);
  }

  void after(uint32_t other) {
    std::vector<uint32_t> &its = tasks.back().before;
    if (other != none && other + 1 != tasks.size() &&
        std::find(its.begin(), its.end(), other) == its.end())
      its.push_back(other);
  }

  bool makesConstant(uint32_t operation) const {
    return constant && constant->operations[operation];
  }

  const Recording &recording;
  const ConstantWords *const constant; ///< or null
  const Dependencies before;
  std::optional<Delays> delays; ///< none: for one worker
  std::vector<uint32_t> taskOf; ///< of operations
  std::vector<Actor> actors;
  std::deque<uint32_t> awake;
  /// Actors that wait for others to use words, by the operation that is next.
  std::set<std::pair<uint32_t, uint32_t>> held;
  std::vector<uint32_t> uses; ///< of views, still to come
  uint64_t taken = 0;         ///< bytes of those that have some
  uint32_t freed = none;      ///< the last task that used up some
  uint32_t follows = none;    ///< what the next task waits for besides
  std::map<ChannelKey, Channel> channels;
  std::vector<ReplayTask> tasks;
};

/// Each step starts the task that can start first; of several the one that
/// was made first.
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

std::vector<ReplayTask> makeTasks(const Recording &recording, unsigned workers,
                                  const ConstantWords *constant) {
  return TaskMaker(recording, workers, constant).make();
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
