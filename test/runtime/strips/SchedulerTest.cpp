// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Scheduler.h"

#include "runtime/program/Errors.h"
#include "test/runtime/NoMoreThreads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace wsec::runtime {
namespace {

constexpr unsigned threads = 4;

struct Shared {
  ActorGroup group;
  std::atomic<bool> taken{false};
};

/// Takes what others have given it, and gives as much to actors at random as
/// long as it has some to give.
class Giver : public Actor {
public:
  Giver(Shared &shared, Scheduler &scheduler, std::vector<Giver *> &all,
        unsigned seed)
      : Actor(shared.group), shared(shared), scheduler(scheduler), all(all),
        random(seed) {}

  void run() override {
    EXPECT_FALSE(shared.taken.exchange(true)) << "two threads have the group";
    taken += given.exchange(0);
    for (int i = 0; i < 3 && left > 0; ++i, --left) {
      Giver &other = *all[random() % all.size()];
      ++other.given;
      scheduler.wake(other);
    }
    if (left > 0)
      scheduler.wake(*this);
    shared.taken = false;
  }

  std::atomic<int> given{0};
  int taken = 0, left = 2000;

private:
  Shared &shared;
  Scheduler &scheduler;
  std::vector<Giver *> &all;
  std::minstd_rand random;
};

TEST(SchedulerTest, NoWakeIsLostAndAGroupIsOnOneThread) {
  WorkerPool pool(threads);
  Scheduler scheduler(pool);
  std::vector<std::unique_ptr<Shared>> groups;
  std::vector<std::unique_ptr<Giver>> givers;
  std::vector<Giver *> all;
  for (int g = 0; g < 20; ++g) {
    groups.push_back(std::make_unique<Shared>());
    for (int i = 0; i < 3; ++i) {
      givers.push_back(std::make_unique<Giver>(*groups.back(), scheduler, all,
                                               unsigned(givers.size() + 1)));
      all.push_back(givers.back().get());
    }
  }
  int expected = 0, taken = 0;
  for (Giver *giver : all) {
    expected += giver->left;
    scheduler.wake(*giver);
  }
  scheduler.runUntilIdle(/*alone=*/false);
  for (Giver *giver : all) {
    EXPECT_EQ(giver->left, 0);
    EXPECT_EQ(giver->given, 0);
    taken += giver->taken;
  }
  EXPECT_EQ(taken, expected);
}

/// Is done once the other is, which it wakes.
class Waiter : public Actor {
public:
  Waiter(Scheduler &scheduler, Waiter *other)
      : scheduler(scheduler), other(other) {}
  void run() override {
    if (other)
      scheduler.wake(*other);
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (other && !other->done && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    done = !other || other->done;
  }
  std::atomic<bool> done{false};

private:
  Scheduler &scheduler;
  Waiter *const other;
};

TEST(SchedulerTest, TheOnlyActorThatWaitsIsTakenFromABusyWorker) {
  WorkerPool pool(2);
  Scheduler scheduler(pool);
  Waiter woken(scheduler, nullptr), waker(scheduler, &woken);
  scheduler.wake(waker);
  scheduler.runUntilIdle(/*alone=*/false);
  EXPECT_TRUE(waker.done);
}

/// Throws when it is run the first time.
class Thrower : public Actor {
public:
  Thrower(ActorGroup &group, int64_t its) : Actor(group) { order = its; }
  void run() override {
    ++runs;
    throw Error(ErrorClass::DataRace, "actor " + std::to_string(order));
  }
  int runs = 0;
};

TEST(SchedulerTest, ReportsTheErrorOfTheLowestActor) {
  WorkerPool pool(threads);
  Scheduler scheduler(pool);
  ActorGroup group;
  Thrower second(group, 2), first(group, 1);
  scheduler.wake(second);
  scheduler.wake(first);
  try {
    scheduler.runUntilIdle(/*alone=*/false);
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "DataRace: actor 1");
  }
  EXPECT_EQ(first.runs, 1);
  EXPECT_EQ(second.runs, 1);
  scheduler.wake(first); // It has failed: it does not run again.
  EXPECT_THROW(scheduler.runUntilIdle(/*alone=*/false), Error);
  EXPECT_EQ(first.runs, 1);
}

TEST(WorkerPoolTest, CallsEachWorkerOnceInEveryTurn) {
  WorkerPool pool(threads);
  for (unsigned turn = 0; turn < 50; ++turn) {
    const unsigned count = turn % threads + 1;
    std::vector<std::atomic<int>> calls(threads);
    pool.run(count, [&](unsigned index) { ++calls[index]; });
    for (unsigned i = 0; i < threads; ++i)
      EXPECT_EQ(calls[i], i < count ? 1 : 0);
  }
}

TEST(WorkerPoolTest, NamesTheWorkerThatGetsNoThread) {
  WorkerPool pool(threads);
  std::atomic<int> calls{0};
  const auto work = [&](unsigned) { ++calls; };
  pool.run(2, work);
  try {
    const test::NoMoreThreads here;
    pool.run(threads, work);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(std::string(error.what()),
              "HostLimit: worker 3 of 4 gets no thread of the host (Resource "
              "temporarily unavailable); take fewer threads or systems, or "
              "allow more of them (ulimit -u, and the memory of their stacks)");
  }
  EXPECT_EQ(calls, 2);
  pool.run(threads, work);
  EXPECT_EQ(calls, 2 + int(threads));
}

} // namespace
} // namespace wsec::runtime
