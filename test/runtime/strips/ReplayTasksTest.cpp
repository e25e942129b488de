// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan of a replay, and who runs its tasks when.
#include "runtime/engine/HostPort.h"
#include "runtime/strips/Replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

/// What a nest reaches is no less than the corners of its loops.
TEST(ReplayTest, ReachesAreThoseOfAllElements) {
  std::mt19937 random(1);
  float memory[3];
  size_t products = 0, exact = 0;
  constexpr size_t count = 50000;
  for (size_t i = 0; i < count; ++i) {
    Nest nest;
    nest.op = std::array{Opcode::Add, Opcode::Fmac, Opcode::Mov}[random() % 3];
    nest.dimensions = 1 + int(random() % 5);
    nest.ordered = random() % 8 == 0;
    nest.dst.data = memory;
    nest.a.data = memory + 1;
    nest.b.data = nest.op == Opcode::Mov ? nullptr : memory + 2;
    const bool both = nest.op == Opcode::Mov && random() % 2;
    if (both)
      nest.types.a = {program::ElementType::BF16, HalfOf::Both};
    std::array<std::pair<ptrdiff_t, ptrdiff_t>, 3> corners;
    corners.fill({0, both ? 2 : 1});
    for (int d = 0; d < nest.dimensions; ++d) {
      nest.extent[d] = 1 + random() % 5;
      size_t operand = 0;
      for (ptrdiff_t *its :
           {&nest.dst.stride[d], &nest.a.stride[d], &nest.b.stride[d]}) {
        *its = std::array<ptrdiff_t, 5>{0, 0, 1, 40, -7}[random() % 5];
        const ptrdiff_t last = ptrdiff_t(nest.extent[d] - 1) * *its;
        auto &[low, high] = corners[operand++];
        (last < 0 ? low : high) += last;
      }
    }
    const PreparedNest prepared(nest);
    products += prepared.isProduct();
    const auto reaches = prepared.reaches();
    for (size_t operand = 0; operand < (nest.b.data ? 3 : 2); ++operand) {
      EXPECT_LE(reaches[operand].first, corners[operand].first);
      EXPECT_GE(reaches[operand].second, corners[operand].second);
    }
    exact += reaches[0] == corners[0] && reaches[1] == corners[1];
  }
  EXPECT_GT(products, count / 100);
  EXPECT_GT(exact, count * 3 / 4);
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

/// Sums, products and copies of some words each, some of them words of other
/// actors, in a recording and once more in any order that its tasks allow.
class Exchange {
public:
  explicit Exchange(unsigned seed) : random(seed) {
    const uint32_t move = recording.addMove({0, 1, {}});
    for (std::vector<float> &its : srams) {
      its.resize(words);
      for (float &word : its)
        word = float(random() % 7);
      const Recording::BufferId id = recording.addSram(its.data(), words);
      memory.push_back({id, &its});
      moving.push_back({recording.moving(id, move), &its});
    }
    initial = srams;
    for (int i = 0; i < 200; ++i)
      add();
    recorded = srams;
  }

  /// Any task that can begin may be the next.
  void check(unsigned workers) {
    const std::vector<ReplayTask> tasks = makeTasks(recording, workers);
    srams = initial;
    for (std::vector<float> &its : scratch)
      std::fill(its.begin(), its.end(), 0.0f);
    std::vector<bool> done(tasks.size());
    size_t operations = 0;
    auto canBegin = [&](uint32_t task) {
      return !done[task] &&
             std::all_of(tasks[task].before.begin(), tasks[task].before.end(),
                         [&](uint32_t its) { return done[its]; });
    };
    for (size_t left = tasks.size(); left > 0; --left) {
      std::vector<uint32_t> next;
      for (uint32_t task = 0; task < tasks.size(); ++task)
        if (canBegin(task))
          next.push_back(task);
      ASSERT_FALSE(next.empty());
      const uint32_t task =
          random() % 2 ? next.back() : next[random() % next.size()];
      for (uint32_t index : tasks[task].operations)
        run(recording.operations[index]);
      operations += tasks[task].operations.size();
      done[task] = true;
    }
    EXPECT_EQ(operations, recording.operations.size());
    EXPECT_EQ(srams, recorded);
  }

private:
  static constexpr uint32_t actors = 4;
  static constexpr size_t words = 300;
  using Place = std::pair<Recording::BufferId, std::vector<float> *>;

  /// Gives an operand strides, and a place in memory that has room for it.
  template <class Float>
  Recording::BufferId place(const Nest &nest, Strided<Float> &its,
                            uint32_t actor, bool isWritten) {
    ptrdiff_t low = 0, high = nest.types.a.half == HalfOf::Both ? 2 : 1;
    for (int d = 0; d < nest.dimensions; ++d) {
      its.stride[d] = ptrdiff_t(random() % 9) - 3;
      const ptrdiff_t last = ptrdiff_t(nest.extent[d] - 1) * its.stride[d];
      (last < 0 ? low : high) += last;
    }
    const Place found = where(actor, isWritten);
    its.data = found.second->data() - low +
               random() % (words - size_t(high - low) + 1);
    return found.first;
  }
  /// In the SRAM of the actor, or what was sent; two actors let others see
  /// theirs.
  Place where(uint32_t actor, bool isWritten) {
    const bool sent = random() % 10 < 3;
    if (sent && isWritten && (scratch.empty() || random() % 5)) {
      scratch.emplace_back(words);
      sends.push_back({recording.addScratch(scratch.back().data(), words),
                       &scratch.back()});
      return sends.back();
    }
    if (sent && !sends.empty())
      return sends[random() % sends.size()];
    if (random() % 12 == 0)
      actor = random() % 2;
    return (random() % 12 == 0 ? moving : memory)[actor];
  }

  void add() {
    const uint32_t actor = random() % actors;
    Nest nest;
    nest.op = std::array{Opcode::Add, Opcode::Fmac, Opcode::Mov}[random() % 3];
    if (nest.op == Opcode::Mov && random() % 2)
      nest.types.a = {program::ElementType::BF16, HalfOf::Both};
    nest.dimensions = 1 + int(random() % 3);
    nest.ordered = true;
    for (int d = 0; d < nest.dimensions; ++d)
      nest.extent[d] = 1 + random() % 4;
    const Recording::BufferId dst = place(nest, nest.dst, actor, true),
                              a = place(nest, nest.a, actor, false);
    Recording::BufferId b = Recording::nothing;
    if (nest.op != Opcode::Mov)
      b = place(nest, nest.b, actor, false);
    recording.compute(actor, nest, dst, a, b);
  }
  void run(const Recording::Operation &its) {
    auto at = [&](const Recording::Operand &operand) {
      return const_cast<float *>(recording.buffers[operand.buffer].base) +
             operand.offset;
    };
    recording.nests[its.index].run(
        at(its.dst), at(its.a),
        its.b.buffer == Recording::nothing ? nullptr : at(its.b));
  }

  std::mt19937 random;
  Recording recording{1 << 24};
  std::array<std::vector<float>, actors> srams, initial, recorded;
  std::deque<std::vector<float>> scratch;
  std::vector<Place> memory, moving, sends;
};

TEST(ReplayTest, TasksInAnyOrderTheyAllowGiveTheSameWords) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    Exchange exchange(seed);
    for (unsigned workers : {1u, 2u, 2u})
      exchange.check(workers);
  }
}

/// Actors with some words each, and what they send.
class Actors {
public:
  static constexpr size_t words = 9000; // A sum of them takes 1.8 us.
  Actors() {
    for (auto &its : srams)
      its = make(true);
  }
  struct Memory {
    Recording::BufferId id;
    float *data;
  };
  Memory sram(uint32_t actor) const { return srams[actor]; }
  Memory sent() { return make(false); }
  /// Adds up, and returns the number of the operation.
  uint32_t add(uint32_t actor, Memory dst, Memory a, Memory b) {
    Nest nest;
    nest.op = Opcode::Add;
    nest.dimensions = 1;
    nest.extent[0] = words;
    nest.dst = {dst.data, {1}};
    nest.a = {a.data, {1}};
    nest.b = {b.data, {1}};
    recording.compute(actor, nest, dst.id, a.id, b.id);
    return uint32_t(recording.operations.size() - 1);
  }
  /// Other words of the same memory.
  static Memory second(Memory its) { return {its.id, its.data + words}; }

  Recording recording{1 << 24};

private:
  Memory make(bool stays) {
    std::vector<float> &its = memory.emplace_back(2 * words);
    return {stays ? recording.addSram(its.data(), its.size())
                  : recording.addScratch(its.data(), its.size()),
            its.data()};
  }
  std::deque<std::vector<float>> memory;
  std::array<Memory, 2> srams;
};

/// Whether the task of an operation can begin before that of another is done.
bool canBeBefore(const std::vector<ReplayTask> &tasks, uint32_t operation,
                 uint32_t other) {
  auto taskOf = [&](uint32_t its) {
    return uint32_t(std::find_if(tasks.begin(), tasks.end(),
                                 [&](const ReplayTask &task) {
                                   return std::count(task.operations.begin(),
                                                     task.operations.end(),
                                                     its) > 0;
                                 }) -
                    tasks.begin());
  };
  std::vector<uint32_t> list{taskOf(operation)};
  for (size_t i = 0; i < list.size(); ++i)
    list.insert(list.end(), tasks[list[i]].before.begin(),
                tasks[list[i]].before.end());
  return std::count(list.begin(), list.end(), taskOf(other)) == 0;
}

/// Words go to another actor and come back, twice; nothing reads them there.
TEST(ReplayTest, WordsThatNothingNeedsYetHoldNobodyUp) {
  Actors its;
  const auto own = its.sram(0), others = its.sram(1);
  uint32_t sends = 0, returns = 0;
  for (bool again : {false, true}) {
    const auto there = its.sent(), back = its.sent();
    sends = its.add(0, there, own, own);
    const uint32_t returned = its.add(1, back, there, others);
    its.add(0, Actors::second(own), Actors::second(own), back);
    returns = again ? returns : returned;
  }
  EXPECT_FALSE(canBeBefore(makeTasks(its.recording, 1), sends, returns));
  EXPECT_TRUE(canBeBefore(makeTasks(its.recording, 2), sends, returns));
}

TEST(ReplayTest, WhoOnlyReceivesDoesNotWaitForTheEnd) {
  Actors its;
  const auto own = its.sram(0), others = its.sram(1);
  for (int i = 0; i < 100; ++i) {
    const auto there = its.sent();
    its.add(0, there, own, own);
    its.add(1, others, others, there);
  }
  std::vector<ReplayTask> tasks = makeTasks(its.recording, 2);
  double sum = 0, longest = 0, end = 0;
  scheduleTasks(tasks, 2);
  for (const ReplayTask &task : tasks) {
    sum += task.cost;
    longest = std::max(longest, task.cost);
    end = std::max(end, task.end);
  }
  EXPECT_LT(longest, 20e3);
  EXPECT_LT(end, 0.6 * sum);
}

TEST(ReplayTest, TasksEndSoonBehindWhatOthersWaitFor) {
  Actors its;
  const auto own = its.sram(0), others = its.sram(1);
  const auto first = its.sent(), there = its.sent();
  its.add(1, first, others, others); // Actor 0 waits, so 1 waits for it.
  its.add(0, own, own, first);
  const uint32_t sends = its.add(0, there, own, own);
  for (int i = 0; i < 6; ++i)
    its.add(0, Actors::second(own), Actors::second(own), Actors::second(own));
  its.add(1, Actors::second(others), others, there);
  for (const ReplayTask &task : makeTasks(its.recording, 2)) {
    const auto found =
        std::find(task.operations.begin(), task.operations.end(), sends);
    EXPECT_LE(task.operations.end() - found, 2);
  }
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
