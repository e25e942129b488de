// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan of a replay, and who runs its tasks when.
#include "runtime/engine/HostPort.h"
#include "runtime/strips/Replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <random>
#include <thread>

namespace wsec::runtime {
namespace {

using program::Opcode;

/// Copies one word and notes it.
void recordCopy(Recording &recording, uint32_t actor, Recording::BufferId dst,
                Recording::BufferId from) {
  auto place = [&](Recording::BufferId buffer) {
    return const_cast<float *>(recording.buffers[buffer].base);
  };
  Nest nest;
  nest.op = Opcode::Mov;
  nest.dimensions = 1;
  nest.extent[0] = 1;
  nest.dst = {place(dst), {1}};
  nest.a = {place(from), {1}};
  recording.compute(actor, nest, dst, from, Recording::nothing);
}

TEST(ReplayTest, AnActorGoesOnUntilItNeedsAnother) {
  float words[6] = {};
  Recording recording(1 << 20);
  std::vector<Recording::BufferId> ids;
  for (float &word : words)
    ids.push_back(recording.addSram(&word, 1));
  for (int i = 0; i < 3; ++i) { // They take turns.
    recordCopy(recording, 0, ids[1], ids[0]);
    recordCopy(recording, 1, ids[3], ids[2]);
  }
  recordCopy(recording, 1, ids[4], ids[1]); // what actor 0 wrote
  recordCopy(recording, 0, ids[5], ids[4]); // what actor 1 wrote of it
  using List = std::vector<uint32_t>;
  const std::vector<ReplayTask> tasks = makeTasks(recording, 2);
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].operations, (List{0, 2, 4}));
  EXPECT_EQ(tasks[1].operations, (List{1, 3, 5, 6}));
  EXPECT_EQ(tasks[2].operations, (List{7}));
  EXPECT_EQ(tasks[0].before, List());
  EXPECT_EQ(tasks[1].before, (List{0}));
  EXPECT_EQ(tasks[2].before, (List{0, 1}));
}

/// Copies and sums of single words, some of them words of other actors, in a
/// recording and once more in any order that tasks allow.
class Exchange {
public:
  explicit Exchange(unsigned seed) : random(seed) {
    for (auto &its : srams) {
      for (float &word : its)
        word = float(random() % 100);
      ids.push_back(recording.addSram(its, words));
    }
    initial.assign(&srams[0][0], &srams[0][0] + actors * words);
    for (int i = 0; i < 150; ++i)
      add();
  }

  /// Tasks begin as soon as what they wait for is done, any of them first.
  void check(unsigned workers) {
    const std::vector<ReplayTask> tasks = makeTasks(recording, workers);
    std::vector<float> own = initial, sent(scratch.size());
    std::vector<bool> done(tasks.size());
    for (size_t left = tasks.size(); left > 0;) {
      const size_t task = random() % tasks.size();
      if (done[task] ||
          std::any_of(tasks[task].before.begin(), tasks[task].before.end(),
                      [&](uint32_t its) { return !done[its]; }))
        continue;
      for (uint32_t index : tasks[task].operations) {
        const Recording::Operation &its = recording.operations[index];
        at(its.dst, own, sent) =
            at(its.a, own, sent) +
            (its.b.buffer == Recording::nothing ? 0 : at(its.b, own, sent));
      }
      done[task] = true;
      --left;
    }
    EXPECT_EQ(own,
              std::vector<float>(&srams[0][0], &srams[0][0] + actors * words));
  }

private:
  static constexpr uint32_t actors = 4, words = 6;

  /// A word that an actor has, or that another one has sent. Half of the actors
  /// let others see their own.
  Recording::Operand any(uint32_t actor, bool others) {
    if (others && random() % 8 == 0)
      actor = random() % (actors / 2);
    else if (others && !scratch.empty())
      return {scratch[random() % scratch.size()].first, 0};
    return {ids[actor], ptrdiff_t(random() % words)};
  }
  void add() {
    const uint32_t actor = random() % actors;
    Recording::Operand dst = any(actor, false);
    const Recording::Operand a = any(actor, false),
                             b = any(actor, random() % 2);
    if (random() % 9 == 0) {
      dst = any(actor, true);
    } else if (random() % 3 == 0) {
      sums.push_back(0);
      scratch.push_back({recording.addScratch(&sums.back(), 1), &sums.back()});
      dst = {scratch.back().first, 0};
    }
    auto place = [&](const Recording::Operand &its) {
      return const_cast<float *>(recording.buffers[its.buffer].base) +
             its.offset;
    };
    Nest nest;
    nest.op = Opcode::Add;
    nest.dimensions = 1;
    nest.extent[0] = 1;
    nest.dst = {place(dst), {1}};
    nest.a = {place(a), {1}};
    nest.b = {place(b), {1}};
    recording.compute(actor, nest, dst.buffer, a.buffer, b.buffer);
  }
  float &at(const Recording::Operand &its, std::vector<float> &own,
            std::vector<float> &sent) {
    for (uint32_t i = 0; i < actors; ++i)
      if (its.buffer == ids[i])
        return own[i * words + size_t(its.offset)];
    for (size_t i = 0;; ++i)
      if (its.buffer == scratch[i].first)
        return sent[i];
  }

  std::mt19937 random;
  Recording recording{1 << 20};
  float srams[actors][words];
  std::deque<float> sums;
  std::vector<float> initial;
  std::vector<Recording::BufferId> ids;
  std::vector<std::pair<Recording::BufferId, float *>> scratch;
};

TEST(ReplayTest, TasksInAnyOrderTheyAllowGiveTheSameWords) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Exchange exchange(seed);
    for (unsigned workers : {1u, 2u, 2u, 2u})
      exchange.check(workers);
  }
}

/// Words go to another actor and come back, twice; nothing reads them there
/// before the end.
TEST(ReplayTest, WordsThatNothingNeedsYetHoldNobodyUp) {
  float own[3] = {1, 0, 0}, other = 1, ways[4] = {};
  Recording recording(1 << 20);
  const Recording::BufferId first = recording.addSram(own, 3),
                            second = recording.addSram(&other, 1);
  auto record = [&](uint32_t actor, float *dst, Recording::BufferId dstBuffer,
                    const float *a, Recording::BufferId aBuffer, const float *b,
                    Recording::BufferId bBuffer) {
    Nest nest;
    nest.op = Opcode::Add;
    nest.dimensions = 1;
    nest.extent[0] = 1;
    nest.dst = {dst, {1}};
    nest.a = {a, {1}};
    nest.b = {b, {1}};
    recording.compute(actor, nest, dstBuffer, aBuffer, bBuffer);
  };
  for (int i = 0; i < 2; ++i) {
    float *there = &ways[2 * i], *back = there + 1;
    const Recording::BufferId thereId = recording.addScratch(there, 1),
                              backId = recording.addScratch(back, 1);
    record(0, there, thereId, own, first, own, first);
    record(1, back, backId, there, thereId, &other, second);
    record(0, own + 1 + i, first, own + 1 + i, first, back, backId);
  }
  auto waits = [&](unsigned workers) {
    const std::vector<ReplayTask> tasks = makeTasks(recording, workers);
    uint32_t sends = 0, returns = 0; // tasks
    for (uint32_t i = 0; i < tasks.size(); ++i)
      for (uint32_t index : tasks[i].operations) {
        if (index == 1)
          returns = i;
        if (index == 3)
          sends = i;
      }
    const std::vector<uint32_t> &before = tasks[sends].before;
    return std::find(before.begin(), before.end(), returns) != before.end();
  };
  EXPECT_TRUE(waits(1));
  EXPECT_FALSE(waits(2));
  EXPECT_EQ(own[1], 3);
  EXPECT_EQ(own[2], 3);
}

/// Two actors read the same words of the host, one behind the other, of which
/// the second waits for a third.
TEST(ReplayTest, WordsAreNotTakenLongBeforeTheirLastUse) {
  constexpr size_t each = size_t(1) << 20, count = 200; // floats, views
  const std::vector<float> given(each);
  float sums[3] = {};
  Recording recording(size_t(1) << 24);
  recording.passing.resize(1);
  std::vector<Recording::BufferId> ids;
  for (float &sum : sums)
    ids.push_back(recording.addSram(&sum, 1));
  for (size_t i = 0; i < count; ++i) {
    const Recording::BufferId view = recording.addView(
        0, 0, 0, each, {given.data(), 1, each, each, nullptr});
    recordCopy(recording, 0, ids[0], view);
    recordCopy(recording, 2, ids[2], ids[2]);
    recordCopy(recording, 1, ids[1], ids[2]);
    recordCopy(recording, 1, ids[1], view);
  }
  size_t there = 0, most = 0;
  for (const ReplayTask &task : makeTasks(recording, 2))
    for (uint32_t index : task.operations) {
      const Recording::Operation &its = recording.operations[index];
      there += its.kind == Recording::Operation::Kind::Next;
      most = std::max(most, there);
      there -= its.actor == 1 && recording.buffers[its.a.buffer].kind ==
                                     Recording::Buffer::Kind::View;
    }
  EXPECT_EQ(there, 0u);
  EXPECT_GT(most, 1u);
  EXPECT_LE(most * each * sizeof(float), size_t(1) << 26);

  // Nor where workers start what can start, whoever takes them.
  for (unsigned workers : {2u, 5u}) {
    std::vector<ReplayTask> tasks = makeTasks(recording, workers);
    scheduleTasks(tasks, workers);
    std::multimap<double, int> changes; // of the views that are there
    for (const ReplayTask &task : tasks)
      for (uint32_t index : task.operations) {
        const Recording::Operation &its = recording.operations[index];
        if (its.kind == Recording::Operation::Kind::Next)
          changes.emplace(task.start, 1);
        else if (its.actor == 1 && recording.buffers[its.a.buffer].kind ==
                                       Recording::Buffer::Kind::View)
          changes.emplace(task.end, -1);
      }
    int views = 0, mostViews = 0;
    for (const auto &[time, change] : changes)
      mostViews = std::max(mostViews, views += change);
    EXPECT_EQ(views, 0);
    EXPECT_LE(mostViews * each * sizeof(float), size_t(1) << 26) << workers;
  }
}

TEST(ReplayTest, TasksStartAfterWhatTheyWaitFor) {
  std::mt19937 random(1);
  for (unsigned workers : {1u, 2u, 5u}) {
    std::vector<ReplayTask> tasks(200);
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      tasks[i].cost = double(random() % 1000);
      tasks[i].actor = random() % 7;
      for (uint32_t other = 0; other < i; ++other)
        if (random() % 40 == 0)
          tasks[i].before.push_back(other);
    }
    std::vector<uint32_t> order = scheduleTasks(tasks, workers);
    ASSERT_EQ(order.size(), tasks.size());
    std::vector<bool> started(tasks.size());
    std::vector<double> free(workers);
    for (uint32_t index : order) {
      const ReplayTask &task = tasks[index];
      EXPECT_FALSE(started[index]);
      started[index] = true;
      EXPECT_GE(task.start, free[task.worker]);
      free[task.worker] = task.end;
      for (uint32_t other : task.before) {
        EXPECT_TRUE(started[other]);
        EXPECT_GE(task.start, tasks[other].end);
      }
    }
  }
}

/// Whether `done` comes true, for which it waits.
bool comesTrue(const std::atomic<bool> &done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  return done;
}

/// Hands out a word once one has been stored.
class SlowHost : public HostPort {
public:
  uint64_t words(uint32_t, uint32_t) override { return 1; }
  WordView next(uint32_t, uint32_t, size_t) override {
    wasStored = comesTrue(stored);
    return {&word, 1, 1, 1, nullptr};
  }
  void store(uint32_t, uint32_t, const WordView &words) override {
    EXPECT_EQ(words.word(0), 5);
    stored = true;
  }

  const float word = 7;
  std::atomic<bool> stored{false};
  bool wasStored = false;
};

TEST(ReplayTest, AWorkerThatIsHeldUpHoldsUpNoTaskOfOthers) {
  float words[6] = {0, 0, 0, 0, 5, 0};
  SlowHost host;
  Recording recording(1 << 20);
  recording.passing.resize(2);
  std::vector<Recording::BufferId> ids;
  for (float &word : words)
    ids.push_back(recording.addSram(&word, 1));
  const Recording::BufferId view =
      recording.addView(0, 0, 0, 1, {&host.word, 1, 1, 1, nullptr});
  recordCopy(recording, 0, ids[1], view); // the first worker, which waits
  for (int i = 0; i < 100; ++i)           // the second, for longer as planned
    recordCopy(recording, 1, ids[3], ids[2]);
  recordCopy(recording, 2, ids[5], ids[4]); // the first again
  recording.store(2, 1, 0, {&words[5], 1, 1, 1, nullptr}, ids[5]);
  std::vector<ReplayTask> tasks = makeTasks(recording, 2);
  scheduleTasks(tasks, 2);
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].worker, tasks[2].worker);
  EXPECT_NE(tasks[0].worker, tasks[1].worker);

  WorkerPool pool(2);
  Replay(recording, pool, {}).run(host, nullptr);
  EXPECT_TRUE(host.wasStored);
  EXPECT_EQ(words[1], 7);
}

/// What one of them leaves in memory that both use is of no use to the other.
TEST(ReplayTest, ReplaysShareMemory) {
  constexpr size_t floats = 1000;
  float from = 7, to = 0;
  WorkerPool pool(1);
  Recording recording(1 << 20);
  recording.passing.resize(1);
  std::vector<float> scratch(floats);
  const Recording::BufferId source = recording.addSram(&from, 1),
                            between =
                                recording.addScratch(scratch.data(), floats),
                            target = recording.addSram(&to, 1);
  recordCopy(recording, 0, between, source);
  recordCopy(recording, 0, target, between);
  SlowHost host;
  auto first = std::make_unique<Replay>(recording, pool, Replay::Lasting());
  Replay second(recording, pool, {});
  EXPECT_GE(first->bytes(), second.bytes() + floats * sizeof(float));
  first->run(host, nullptr);
  EXPECT_EQ(to, 7);
  first.reset();
  from = 8;
  second.run(host, nullptr);
  EXPECT_EQ(to, 8);
}

} // namespace
} // namespace wsec::runtime
