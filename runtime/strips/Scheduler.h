// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Actors and the worker threads that run them. An actor runs until it waits
// for words, for room or for another actor; nobody but the scheduler decides
// when, and nothing an actor computes depends on it (a Kahn network).
#ifndef RUNTIME_STRIPS_SCHEDULER_H
#define RUNTIME_STRIPS_SCHEDULER_H

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>

namespace wsec::runtime {

/// Something that makes progress when its inputs are there.
class Actor {
public:
  virtual ~Actor() = default;
  /// Runs until it must wait, having told whom it waits for to wake it.
  virtual void run() = 0;

  /// Among the errors of a run, that of the lowest actor is reported.
  int64_t order = 0;

private:
  friend class Scheduler;
  enum class State { Idle, Queued, Running, RunAgain };
  std::atomic<State> state{State::Idle};
};

class Scheduler {
public:
  /// Makes the actor run, again if it is running now.
  void wake(Actor &actor);

  /// Runs actors on `threads` threads until none is awake. An actor that throws
  /// does not run again; the others go on until they wait for it, so that the
  /// errors do not depend on who came first. Throws that of the lowest actor
  /// (of two, the lower text). WorkLimit and what is no Error end everything at
  /// once.
  void runUntilIdle(unsigned threads);

  /// Bytes waiting in queues, and the largest value so far.
  void countStripQueueBytes(ptrdiff_t change);
  size_t waitingBytes() const { return size_t(queueBytes.load()); }
  size_t peakQueueBytes() const { return peak; }

private:
  /// What an actor threw.
  struct Failure {
    int64_t order = 0;
    std::string text;
    std::exception_ptr thrown;
  };

  void work();
  void runOne(Actor &actor);
  void note(Failure failure);

  std::mutex lock;
  std::condition_variable changed;
  std::deque<Actor *> awake;
  unsigned running = 0;
  Failure failure; ///< the one to report
  bool stopped = false;
  std::atomic<ptrdiff_t> queueBytes{0};
  std::atomic<ptrdiff_t> peak{0};
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_SCHEDULER_H
