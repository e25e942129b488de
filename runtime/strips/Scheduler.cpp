// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Scheduler.h"

#include "hwy/cache_control.h"
#include "runtime/program/Errors.h"

#include <tuple>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Ends the list of a group that a thread has, or that waits for one.
class Busy : public Actor {
  void run() override {}
};
static Busy busy;

thread_local Scheduler::Worker *Scheduler::current = nullptr;

void Scheduler::wake(Actor &actor) {
  if (actor.isAwake.exchange(true))
    return;
  ActorGroup &group = *actor.group;
  Actor *before = group.awake.load();
  do
    actor.next = before;
  while (!group.awake.compare_exchange_weak(before, &actor));
  // From now on the actor may run.
  if (!before)
    add(group);
}

/// Lets a worker run the group: this one, or before the start the first.
void Scheduler::add(ActorGroup &group) {
  Worker &worker = current ? *current : workers[0];
  size_t count;
  {
    std::lock_guard<SpinLock> guard(worker.lock);
    worker.awake.push_back(&group);
    worker.count = count = worker.awake.size();
  }
  if (count >= plenty && asleep > 0) {
    std::lock_guard<std::mutex> guard(lock);
    changed.notify_one();
  }
}

void Scheduler::countStripQueueBytes(ptrdiff_t change) {
  ptrdiff_t now = queueBytes.fetch_add(change) + change;
  ptrdiff_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now)) {
  }
}

/// Those of a group that are awake; null, and the group is free, if there are
/// none. In turns the first woken is the first and the last: where words are
/// passed on along the PEs of a strip, whichever way, every second time those
/// who send run before those who receive, who then find all words there.
Actor *Scheduler::take(ActorGroup &group) {
  Actor *last = &busy;
  if (group.awake.compare_exchange_strong(last, nullptr))
    return nullptr;
  last = group.awake.exchange(&busy);
  group.lastFirst = !group.lastFirst;
  if (group.lastFirst)
    return last;
  Actor *first = &busy;
  while (last && last != &busy) {
    Actor *before = std::exchange(last->next, first);
    first = std::exchange(last, before);
  }
  return first;
}

void Scheduler::run(ActorGroup &group) {
  while (Actor *actor = take(group))
    while (actor && actor != &busy) {
      Actor &current = *std::exchange(actor, actor->next);
      current.isAwake = false;
      if (!current.failed && !stopped)
        runOne(current);
    }
}

void Scheduler::runOne(Actor &actor) {
  Failure its{actor.order, {}, nullptr};
  bool stop = false;
  try {
    return actor.run();
  } catch (const Error &error) {
    its.text = error.what();
    stop = error.errorClass() == ErrorClass::WorkLimit;
    its.thrown = std::current_exception();
  } catch (...) { // no memory, or an observer ends the run
    its = {-1, {}, std::current_exception()};
    stop = true;
  }
  actor.failed = true;
  std::lock_guard<std::mutex> guard(lock);
  note(std::move(its));
  if (stop)
    stopped = true;
}

void Scheduler::note(Failure its) {
  if (!failure.thrown ||
      std::tie(its.order, its.text) < std::tie(failure.order, failure.text))
    failure = std::move(its);
}

ActorGroup *Scheduler::next(Worker &worker) {
  std::lock_guard<SpinLock> guard(worker.lock);
  if (worker.awake.empty())
    return nullptr;
  ActorGroup *group = worker.awake.front();
  worker.awake.pop_front();
  worker.count = worker.awake.size();
  return group;
}

/// Takes half of what another worker has, if that is at least `least`.
bool Scheduler::takeFrom(Worker &other, Worker &worker, size_t least) {
  if (other.count < least)
    return false;
  std::vector<ActorGroup *> taken;
  {
    std::lock_guard<SpinLock> guard(other.lock);
    for (size_t half = (other.awake.size() + 1) / 2; taken.size() < half;) {
      taken.push_back(other.awake.front());
      other.awake.pop_front();
    }
    other.count = other.awake.size();
  }
  std::lock_guard<SpinLock> guard(worker.lock);
  worker.awake.insert(worker.awake.end(), taken.begin(), taken.end());
  worker.count = worker.awake.size();
  return !taken.empty();
}

bool Scheduler::takeFromOthers(Worker &worker, size_t least) {
  for (size_t i = 0; i < active; ++i)
    if (&workers[i] != &worker && takeFrom(workers[i], worker, least))
      return true;
  return false;
}

/// Waits until there is something to run; false if nothing will be: all workers
/// wait, for only they wake actors, each its own. Where each actor wakes the
/// next before it does its own work, as launches go from column to column, a
/// worker never has more than one that waits: that is taken, too, once it is
/// clear that the other is busy.
bool Scheduler::await(Worker &worker) {
  constexpr unsigned patience = 2000, untilBusy = 16;
  for (unsigned tries = 0; tries < patience && active > 1; ++tries) {
    if (takeFromOthers(worker, tries < untilBusy ? 2 : 1))
      return true;
    hwy::Pause();
  }
  std::unique_lock<std::mutex> guard(lock);
  if (++idle == active) {
    done = true;
    changed.notify_all();
  }
  ++asleep;
  changed.wait(guard, [&] { return done || takeFromOthers(worker, 1); });
  --asleep;
  if (done)
    return false;
  --idle;
  return true;
}

void Scheduler::work(unsigned index) {
  Worker &worker = workers[index];
  current = &worker;
  do
    while (ActorGroup *group = next(worker))
      run(*group);
  while (await(worker));
  current = nullptr;
}

void Scheduler::runUntilIdle(bool alone) {
  active = alone ? 1 : workers.size();
  idle = 0;
  done = false;
  pool.run(unsigned(active), [this](unsigned index) { work(index); });
  if (failure.thrown)
    std::rethrow_exception(failure.thrown);
}

} // namespace wsec::runtime
