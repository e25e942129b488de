// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/StripQueue.h"

#include "runtime/strips/FabricSource.h"
#include "runtime/strips/Scheduler.h"

#include <gtest/gtest.h>

#include <memory>

namespace wsec::runtime {
namespace {

constexpr int lanes = 3, everyLane = -1;

/// Reads what waits for a lane, or for all, and then waits.
class Reader : public Actor {
public:
  Reader(StripQueue &queue, int lane) : queue(queue), lane(lane) {}
  void run() override {
    ++runs;
    Chunk chunk;
    while (lane < 0 ? queue.front(chunk, *this)
                    : queue.front(chunk, lane, *this)) {
      words += chunk.words();
      if (lane < 0)
        queue.pop(chunk.words());
      else
        queue.pop(chunk.words(), lane);
    }
  }

  int runs = 0;
  size_t words = 0;

private:
  StripQueue &queue;
  const int lane;
};

class StripQueueTest : public testing::TestWithParam<int> {
protected:
  void runAll() { scheduler.runUntilIdle(/*alone=*/true); }

  WorkerPool pool{1};
  Scheduler scheduler{pool};
  StripQueue queue{scheduler, lanes, 1 << 10, /*recording=*/nullptr,
                   /*reader=*/0};
  Reader sender{queue, 0}; // It is never woken.
  Demand demand;
};

/// Who relays words that nobody paces does not ask for them: once somebody does
/// pace them, he has to hear of it, or both wait for ever.
TEST_P(StripQueueTest, ReadersThatWaitAreWokenWhenTheQueueIsFirstAsked) {
  Reader reader(queue, GetParam());
  scheduler.wake(reader);
  runAll();
  EXPECT_EQ(reader.runs, 1);
  EXPECT_FALSE(queue.isAsked());

  EXPECT_EQ(queue.asked(0, lanes, sender, demand), 0u);
  EXPECT_TRUE(queue.isAsked());
  runAll();
  EXPECT_EQ(reader.runs, 2);

  EXPECT_EQ(queue.asked(0, lanes, sender, demand), 0u);
  runAll();
  EXPECT_EQ(reader.runs, 2) << "it is told once";
}

/// It waits as before, so words that come later wake it.
TEST_P(StripQueueTest, WordsWakeReadersThatWereToldSo) {
  Reader reader(queue, GetParam());
  scheduler.wake(reader);
  runAll();
  queue.asked(0, lanes, sender, demand);
  runAll();
  const auto words = std::make_shared<float[]>(4);
  Chunk chunk;
  chunk.data = words.get();
  chunk.rows = 1;
  chunk.length = 4;
  chunk.owner = words;
  queue.push(chunk, 0, lanes);
  runAll();
  EXPECT_EQ(reader.words, 4u);
}

INSTANTIATE_TEST_SUITE_P(, StripQueueTest, testing::Values(everyLane, 1));

/// What one lane takes as it is: whole chunks until there are enough, and none
/// that has more words than are wanted. Who finds none is woken by the next.
TEST(StripQueueTakeTest, WholeChunksUntilThereAreEnough) {
  WorkerPool pool(1);
  Scheduler scheduler(pool);
  StripQueue queue(scheduler, lanes, 1 << 10, nullptr, 0);
  const auto words = std::make_shared<float[]>(8);
  for (size_t length : {2, 3, 8}) {
    Chunk chunk;
    chunk.data = words.get();
    chunk.rows = 1;
    chunk.length = length;
    chunk.owner = words;
    queue.push(chunk, 1, 1);
  }
  std::vector<Chunk> taken;
  Reader reader(queue, 1);
  EXPECT_EQ(queue.take(1, 9, 1, taken, SIZE_MAX, reader), 2u);
  EXPECT_EQ(queue.take(9, 9, 1, taken, SIZE_MAX, reader), 3u);
  EXPECT_EQ(queue.take(9, 7, 1, taken, SIZE_MAX, reader), 0u);
  EXPECT_EQ(taken.size(), 2u);
  EXPECT_EQ(queue.lanesWithWords(), std::vector<int>{1});

  // One that senders wait for comes alone.
  Chunk chunk = taken[0];
  queue.push(chunk, 1, 1);
  EXPECT_EQ(queue.take(99, 99, 1, taken, 4, reader), 8u);
  EXPECT_EQ(queue.take(99, 99, 1, taken, 4, reader), 2u);
  EXPECT_EQ(queue.take(99, 99, 1, taken, 4, reader), std::nullopt);
  queue.push(chunk, 1, 1);
  scheduler.runUntilIdle(true);
  EXPECT_EQ(reader.runs, 1);
}

/// Two lanes that each take two words of eight, which lie three apart.
class LaneWindowsTest : public testing::Test {
protected:
  LaneWindowsTest() { ticket.sender = &reader; }

  /// Words [from, to), which come one a cycle from 100 + from on.
  void push(size_t from, size_t to) {
    Chunk chunk;
    chunk.data = values.data() + from;
    chunk.rows = 1;
    chunk.length = to - from;
    chunk.first = 100 + double(from);
    chunk.last = 99 + double(to);
    queue.push(chunk, 0, 2, {&ticket, 0, 0});
  }
  void expectWords() {
    Chunk words;
    ASSERT_TRUE(source.peek(words, reader));
    ASSERT_EQ(words.words(), 2u);
    for (size_t i = 0; i < 2; ++i)
      for (int lane : {0, 1})
        EXPECT_EQ(words.at(i)[lane * words.laneStride],
                  values[i + 1 + 3 * size_t(lane)]);
    source.pop(2);
  }

  std::vector<float> values{0, 1, 2, 3, 4, 5, 6, 7};
  WorkerPool pool{1};
  Scheduler scheduler{pool};
  StripQueue queue{scheduler, 2, 1 << 10, nullptr, 0};
  FabricSource source{queue, 2, -1, {1, 8, 1, 2, {1, 4}}};
  Reader reader{queue, 1};
  Ticket ticket;
};

TEST_F(LaneWindowsTest, OfOneInstructionAllTakeTheSame) {
  push(0, 8);
  expectWords();
  EXPECT_EQ(ticket.when, 107);
}

} // namespace
} // namespace wsec::runtime
