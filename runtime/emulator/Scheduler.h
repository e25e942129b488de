// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Actors and the worker threads that run them. An actor runs until it waits
// for words, for room or for another actor; nobody but the scheduler decides
// when, and nothing an actor computes depends on it (a Kahn network).
#ifndef RUNTIME_EMULATOR_SCHEDULER_H
#define RUNTIME_EMULATOR_SCHEDULER_H

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>

namespace wsec::runtime {

/// Something that makes progress when its inputs are there.
class Actor {
public:
  virtual ~Actor() = default;
  /// Runs until it must wait, having told whom it waits for to wake it.
  virtual void run() = 0;

private:
  friend class Scheduler;
  enum class State { Idle, Queued, Running, RunAgain };
  std::atomic<State> state{State::Idle};
};

class Scheduler {
public:
  /// Makes the actor run, again if it is running now.
  void wake(Actor &actor);

  /// Runs actors on `threads` threads until none is awake. Throws the first
  /// error that an actor threw.
  void runUntilIdle(unsigned threads);

  /// Bytes waiting in channels, and the largest value so far.
  void countChannelBytes(ptrdiff_t change);
  size_t waitingBytes() const { return size_t(channelBytes.load()); }
  size_t peakChannelBytes() const { return peak; }

private:
  void work();
  void runOne(Actor &actor);

  std::mutex lock;
  std::condition_variable changed;
  std::deque<Actor *> awake;
  unsigned running = 0;
  std::exception_ptr error;
  std::atomic<ptrdiff_t> channelBytes{0};
  std::atomic<ptrdiff_t> peak{0};
};

} // namespace wsec::runtime

#endif // RUNTIME_EMULATOR_SCHEDULER_H
