// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Scheduler.h"

#include "runtime/program/Errors.h"

#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace wsec::runtime {

void Scheduler::wake(Actor &actor) {
  using State = Actor::State;
  State state = actor.state.load();
  for (;;) {
    if (state == State::Queued || state == State::RunAgain)
      return;
    State next = state == State::Idle ? State::Queued : State::RunAgain;
    if (!actor.state.compare_exchange_weak(state, next))
      continue;
    if (next == State::RunAgain)
      return;
    break;
  }
  std::lock_guard<std::mutex> guard(lock);
  awake.push_back(&actor);
  changed.notify_one();
}

void Scheduler::countStripQueueBytes(ptrdiff_t change) {
  ptrdiff_t now = queueBytes.fetch_add(change) + change;
  ptrdiff_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now)) {
  }
}

void Scheduler::runOne(Actor &actor) {
  using State = Actor::State;
  actor.state = State::Running;
  actor.run();
  State expected = State::Running;
  if (actor.state.compare_exchange_strong(expected, State::Idle))
    return;
  actor.state = State::Queued;
  std::lock_guard<std::mutex> guard(lock);
  awake.push_back(&actor);
}

void Scheduler::note(Failure its) {
  if (!failure.thrown ||
      std::tie(its.order, its.text) < std::tie(failure.order, failure.text))
    failure = std::move(its);
}

void Scheduler::work() {
  std::unique_lock<std::mutex> guard(lock);
  for (;;) {
    changed.wait(guard, [&] { return !awake.empty() || running == 0; });
    if (awake.empty()) {
      changed.notify_all();
      return;
    }
    Actor *actor = awake.front();
    awake.pop_front();
    ++running;
    guard.unlock();
    Failure its{actor->order, {}, nullptr};
    bool stop = false;
    try {
      runOne(*actor);
    } catch (const Error &error) {
      its.text = error.what();
      stop = error.errorClass() == ErrorClass::WorkLimit;
      its.thrown = std::current_exception();
    } catch (...) { // no memory, or an observer ends the run
      its = {-1, {}, std::current_exception()};
      stop = true;
    }
    guard.lock();
    --running;
    if (its.thrown)
      note(std::move(its));
    stopped |= stop;
    if (stopped)
      awake.clear();
    if (running == 0 && awake.empty())
      changed.notify_all();
  }
}

void Scheduler::runUntilIdle(unsigned threads) {
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back([this] { work(); });
  work();
  for (std::thread &thread : others)
    thread.join();
  if (failure.thrown)
    std::rethrow_exception(failure.thrown);
}

} // namespace wsec::runtime
