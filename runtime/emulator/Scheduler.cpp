// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/Scheduler.h"

#include <thread>
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

void Scheduler::countChannelBytes(ptrdiff_t change) {
  ptrdiff_t now = channelBytes.fetch_add(change) + change;
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

void Scheduler::work() {
  std::unique_lock<std::mutex> guard(lock);
  for (;;) {
    changed.wait(guard, [&] { return !awake.empty() || running == 0; });
    if (awake.empty() || error) {
      changed.notify_all();
      return;
    }
    Actor *actor = awake.front();
    awake.pop_front();
    ++running;
    guard.unlock();
    std::exception_ptr thrown;
    try {
      runOne(*actor);
    } catch (...) {
      thrown = std::current_exception();
    }
    guard.lock();
    --running;
    if (thrown && !error)
      error = thrown;
    if (error)
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
  if (error)
    std::rethrow_exception(error);
}

} // namespace wsec::runtime
