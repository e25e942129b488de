// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When senders learn that their words were taken.
#include "runtime/strips/StripQueue.h"
#include "runtime/strips/Scheduler.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

class Sender : public Actor {
public:
  void run() override { ++runs; }
  int runs = 0;
};

class StripQueueTest : public testing::Test {
protected:
  static constexpr int lanes = 2;

  void give(size_t words, int from, int count) {
    Chunk chunk;
    chunk.data = data;
    chunk.rows = 1;
    chunk.length = words;
    queue.push(chunk, from, count);
  }
  std::optional<double> taken(Ticket &ticket) {
    return queue.tookAll(ticket, sender);
  }
  void awake() { scheduler.runUntilIdle(true); }

  float data[64] = {};
  WorkerPool pool{1};
  Scheduler scheduler{pool};
  StripQueue queue{scheduler, lanes, 1000, nullptr, 0};
  Sender sender;
};

TEST_F(StripQueueTest, ATicketIsForAllButTheRoom) {
  give(10, 0, lanes);
  Ticket ticket = queue.ticket(0, lanes, 4);
  queue.acknowledge(5, 100, 104, -1);
  EXPECT_EQ(taken(ticket), std::nullopt);
  queue.acknowledge(5, 200, 204, -1);
  EXPECT_EQ(taken(ticket), 200);
  awake();
  EXPECT_EQ(sender.runs, 1);
}

TEST_F(StripQueueTest, TheLastLaneCounts) {
  give(10, 0, lanes);
  Ticket ticket = queue.ticket(0, lanes, 0);
  queue.acknowledge(10, 1, 10, 1);
  EXPECT_EQ(taken(ticket), std::nullopt);
  queue.acknowledge(10, 11, 20, 0);
  EXPECT_EQ(taken(ticket), 20);
}

TEST_F(StripQueueTest, OthersWordsDoNotCount) {
  give(10, 1, 1);
  give(3, 0, 1);
  Ticket ticket = queue.ticket(0, 1, 1);
  queue.acknowledge(2, 7, 8, 0);
  EXPECT_EQ(taken(ticket), 8);
}

TEST_F(StripQueueTest, ReleasedSendersWaitForNobody) {
  give(10, 0, lanes);
  Ticket ticket = queue.ticket(0, lanes, 0);
  EXPECT_FALSE(queue.release()); // Nobody has asked.
  EXPECT_EQ(taken(ticket), std::nullopt);
  EXPECT_TRUE(queue.release());
  EXPECT_TRUE(ticket.released);
  EXPECT_EQ(taken(ticket), 0);
  awake();
  EXPECT_EQ(sender.runs, 1);
}

} // namespace
} // namespace wsec::runtime
