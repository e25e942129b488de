// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When senders learn that their words were taken.
#include "runtime/strips/Scheduler.h"
#include "runtime/strips/StripQueue.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

class Sender : public Actor {
public:
  void run() override { ++runs; }
  int runs = 0;
};

class TicketTest : public testing::Test {
protected:
  static constexpr int lanes = 2;

  TicketTest() { ticket.sender = &sender; }

  /// Words that wait where there is room for `room`.
  void give(size_t words, int from, int count, size_t room) {
    Chunk chunk;
    chunk.data = data;
    chunk.rows = 1;
    chunk.length = words;
    queue.push(chunk, from, count, {&ticket, room, 3});
  }
  void awake() { scheduler.runUntilIdle(true); }

  float data[64] = {};
  WorkerPool pool{1};
  Scheduler scheduler{pool};
  StripQueue queue{scheduler, lanes, 1000, nullptr, 0};
  Sender sender;
  Ticket ticket;
};

TEST_F(TicketTest, ATicketIsForAllButTheRoom) {
  give(10, 0, lanes, 4);
  queue.acknowledge(5, 100, 104, -1);
  EXPECT_EQ(ticket.open, 1);
  queue.acknowledge(5, 200, 204, -1);
  EXPECT_EQ(ticket.open, 0);
  EXPECT_EQ(ticket.when, 203);
  awake();
  EXPECT_EQ(sender.runs, 1);
}

TEST_F(TicketTest, WhatFitsIsWaitedForByNobody) {
  give(4, 0, lanes, 4);
  EXPECT_EQ(ticket.open, 0);
}

TEST_F(TicketTest, TheLastLaneCounts) {
  give(10, 0, lanes, 0);
  queue.acknowledge(10, 11, 20, 1);
  EXPECT_EQ(ticket.open, 1);
  queue.acknowledge(10, 1, 10, 0);
  EXPECT_EQ(ticket.open, 0);
  EXPECT_EQ(ticket.when, 23);
}

TEST_F(TicketTest, OthersWordsDoNotCount) {
  give(10, 1, 1, 20);
  give(3, 0, 1, 1);
  queue.acknowledge(2, 7, 8, 0);
  EXPECT_EQ(ticket.open, 0);
  EXPECT_EQ(ticket.when, 11);
}

TEST_F(TicketTest, WordsOfChunksThatFitDoNotFitTogether) {
  give(3, 1, 1, 4);
  queue.acknowledge(2, 10, 11, 1);
  give(3, 1, 1, 4);
  ++ticket.open; // until it has asked
  queue.await(1, 1, {&ticket, 4, 3});
  EXPECT_EQ(ticket.open, 1);
  EXPECT_EQ(ticket.when, 14); // The second was taken before it asked.
  give(3, 1, 1, 4);
  queue.await(1, 1, {&ticket, 4, 3});
  EXPECT_EQ(ticket.open, 2);
  queue.acknowledge(4, 20, 23, 1);
  EXPECT_EQ(ticket.open, 1);
  EXPECT_EQ(ticket.when, 25); // The fifth.
}

TEST_F(TicketTest, LanesThatDifferedAndTakeTogetherAgain) {
  give(10, 0, lanes, 99);
  queue.acknowledge(10, 1, 10, 0);
  queue.acknowledge(10, 31, 40, 1);
  give(60, 0, lanes, 99);
  queue.acknowledge(60, 101, 160, -1);
  const size_t before = queue.wordsTaken();
  ++ticket.open; // until it has asked
  queue.await(0, lanes, {&ticket, 60, 0});
  EXPECT_EQ(ticket.when, 40); // The tenth, of the second lane.
  give(10, 0, lanes, 99);
  queue.acknowledge(10, 201, 210, -1);
  EXPECT_EQ(queue.wordsTaken(), before + 10 * lanes);
  queue.await(0, lanes, {&ticket, 10, 0});
  EXPECT_EQ(ticket.when, 160);
  give(5, 1, 1, 0);
  EXPECT_EQ(ticket.open, 2);
  queue.acknowledge(5, 301, 305, 1);
  EXPECT_EQ(ticket.open, 1);
  EXPECT_EQ(ticket.when, 308);
}

TEST_F(TicketTest, ReleasedSendersWaitForNobody) {
  EXPECT_FALSE(queue.release());
  give(10, 0, lanes, 0);
  EXPECT_TRUE(queue.release());
  EXPECT_TRUE(ticket.released);
  EXPECT_EQ(ticket.open, 0);
  awake();
  EXPECT_EQ(sender.runs, 1);
}

} // namespace
} // namespace wsec::runtime
