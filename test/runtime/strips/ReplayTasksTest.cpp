// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan of a replay, and who runs its tasks when.
#include "runtime/engine/HostPort.h"
#include "runtime/strips/Replay.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
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
