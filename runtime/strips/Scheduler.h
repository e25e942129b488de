// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Actors and the worker threads that run them. An actor runs until it waits
// for words, for room or for another actor; nobody but the scheduler decides
// when, and nothing an actor computes depends on it (a Kahn network). Those of
// a group, such as the threads of a strip, take turns on one worker until all
// of them wait.
#ifndef RUNTIME_STRIPS_SCHEDULER_H
#define RUNTIME_STRIPS_SCHEDULER_H

#include "runtime/strips/SpinLock.h"
#include "runtime/strips/WorkerPool.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

namespace wsec::runtime {

class Actor;

/// Actors that one host thread at a time runs, one after the other: what only
/// they touch needs no lock.
class ActorGroup {
private:
  friend class Scheduler;
  /// Actors that are awake, the last woken first; `busy` behind them while a
  /// thread has the group or it waits for one. Null: none is.
  std::atomic<Actor *> awake{nullptr};
  bool lastFirst = false; ///< the order in which they ran the last time
};

/// Something that makes progress when its inputs are there.
class Actor {
public:
  /// An actor that shares nothing, or one of a group.
  Actor() : group(&own) {}
  explicit Actor(ActorGroup &group) : group(&group) {}
  virtual ~Actor() = default;
  Actor(const Actor &) = delete;
  Actor &operator=(const Actor &) = delete;
  /// Runs until it must wait, having told whom it waits for to wake it.
  virtual void run() = 0;

  /// Among the errors of a run, that of the lowest actor is reported.
  int64_t order = 0;

private:
  friend class Scheduler;
  ActorGroup own;
  ActorGroup *const group;
  std::atomic<bool> isAwake{false};
  bool failed = false;
  Actor *next = nullptr; ///< of those that are awake
};

/// Each worker runs the groups that its actors wake, the first woken first; one
/// that has none takes half of another's.
class Scheduler {
public:
  explicit Scheduler(WorkerPool &pool) : pool(pool), workers(pool.size()) {}

  /// Makes the actor run, again if it is running now.
  void wake(Actor &actor);

  /// Runs actors on the pool, or on the caller's thread alone, until none is
  /// awake. An actor that throws does not run again; the others go on until
  /// they wait for it, so that the errors do not depend on who came first.
  /// Throws that of the lowest actor (of two, the lower text). WorkLimit and
  /// what is no Error end everything at once.
  void runUntilIdle(bool alone);

  /// Notes that queues hold so many bytes more, and the most so far.
  void countStripQueueBytes(ptrdiff_t change);
  size_t peakQueueBytes() const { return size_t(peak.load()); }

private:
  /// What an actor threw.
  struct Failure {
    int64_t order = 0;
    std::string text;
    std::exception_ptr thrown;
  };
  struct alignas(64) Worker {
    SpinLock lock;
    std::deque<ActorGroup *> awake;
    std::atomic<size_t> count{0}; ///< of `awake`, to look at
  };
  /// What it has before it wakes another worker, and what that one leaves.
  static constexpr size_t plenty = 2;

  void work(unsigned index);
  void add(ActorGroup &group);
  ActorGroup *next(Worker &worker);
  bool takeFrom(Worker &other, Worker &worker, size_t least);
  bool takeFromOthers(Worker &worker, size_t least);
  bool await(Worker &worker);
  void run(ActorGroup &group);
  Actor *take(ActorGroup &group);
  void runOne(Actor &actor);
  void note(Failure failure);

  static thread_local Worker *current; ///< that this thread is

  WorkerPool &pool;
  std::vector<Worker> workers;
  size_t active = 1; ///< of the workers
  std::mutex lock;
  std::condition_variable changed;
  unsigned idle = 0;               ///< workers that have found nothing to run
  std::atomic<unsigned> asleep{0}; ///< of them
  std::atomic<bool> done{false};
  Failure failure; ///< the one to report
  std::atomic<bool> stopped{false};
  /// Written often, apart from what is read often.
  alignas(64) std::atomic<ptrdiff_t> queueBytes{0};
  std::atomic<ptrdiff_t> peak{0};
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_SCHEDULER_H
