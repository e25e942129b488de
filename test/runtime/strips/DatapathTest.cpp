// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How microthreads make instructions of the main thread longer.
#include "runtime/strips/Datapath.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

TEST(DatapathTest, AloneNothingGetsLonger) {
  Datapath datapath(2);
  EXPECT_EQ(datapath.share(10, {10}), 0);
}

TEST(DatapathTest, FreeCyclesServeMicrothreadsFirst) {
  Datapath datapath(1);
  datapath.owe(0, -1, 8);
  EXPECT_EQ(datapath.share(15, {10}), 3);
  EXPECT_EQ(datapath.share(10, {10}), 0); // All was done.
}

TEST(DatapathTest, AnInstructionTakesAtMostTwiceItsWork) {
  Datapath datapath(1);
  datapath.owe(0, -1, 25);
  EXPECT_EQ(datapath.share(10, {10}), 10);
  EXPECT_EQ(datapath.share(10, {10}), 10);
  EXPECT_EQ(datapath.share(10, {10}), 5);
  EXPECT_EQ(datapath.share(10, {10}), 0);
}

TEST(DatapathTest, MicrothreadsAddUpInAPe) {
  Datapath datapath(2);
  datapath.owe(0, 0, 4);
  datapath.owe(1, 0, 3);
  EXPECT_EQ(datapath.share(20, {20}), 7);
}

TEST(DatapathTest, WhatAllWereGivenAndWhatOneWasAddUp) {
  Datapath datapath(3);
  datapath.owe(0, -1, 4);
  datapath.owe(1, 2, 3);
  EXPECT_EQ(datapath.share(20, {20}), 7);
  datapath.owe(0, -1, 4);
  EXPECT_EQ(datapath.share(20, {20}), 4);
}

TEST(DatapathTest, TheSlowestPeCounts) {
  Datapath datapath(2);
  datapath.owe(0, 0, 4);
  datapath.owe(1, 1, 6);
  EXPECT_EQ(datapath.share(20, {20}), 6);
  EXPECT_EQ(datapath.share(20, {20}), 0); // Lane 0 had these six cycles, too.
}

TEST(DatapathTest, AMicrothreadAtWorkHoldsUpOnlyItsPe) {
  Datapath datapath(2);
  datapath.owe(0, 0, 4);
  EXPECT_EQ(datapath.share(20, {0, 20}), 0);
}

TEST(DatapathTest, WhatIsAwaitedIsDone) {
  Datapath datapath(1);
  datapath.owe(0, -1, 4);
  datapath.owe(3, -1, 2);
  datapath.settle(0);
  EXPECT_EQ(datapath.share(10, {10}), 2);
}

TEST(DatapathTest, WhatComesBackIsSentNoFasterThanItIsHeard) {
  Datapath datapath(2);
  datapath.owe(0, -1, 10, /*echo=*/5);
  EXPECT_EQ(datapath.share(10, {10}), 0); // Nothing was heard.
  datapath.take(8, -1, 6, 8, false);      // Of another color.
  datapath.take(7, 1, 5, 4, false);       // One PE.
  datapath.taken(8);
  datapath.taken(7);
  EXPECT_EQ(datapath.share(10, {10}), 4);
  datapath.take(7, -1, 5, 100, false);
  datapath.taken(7);
  EXPECT_EQ(datapath.share(100, {100}), 10); // The other PE has all to send.
  EXPECT_EQ(datapath.share(100, {100}), 0);
}

TEST(DatapathTest, WhatAMicrothreadHasHeardWasSent) {
  Datapath datapath(1);
  datapath.owe(0, -1, 30, /*echo=*/5);
  datapath.take(4, -1, 5, 10, true);
  EXPECT_EQ(datapath.share(6, {6}), 6); // Four are left.
  datapath.taken(4);
  EXPECT_EQ(datapath.share(6, {6}), 0);
  datapath.take(4, -1, 5, 20, true);
  EXPECT_EQ(datapath.share(50, {50}), 20);
}

TEST(DatapathTest, WaitingServesMicrothreads) {
  Datapath datapath(1);
  datapath.owe(0, -1, 8);
  EXPECT_EQ(datapath.share(5, {0}), 0);
  EXPECT_EQ(datapath.share(10, {10}), 3);
}

TEST(DatapathTest, OfWordsBetweenThoseOfOthersSomeComeMeanwhile) {
  Datapath datapath(1);
  // 30 words in 90 cycles. Of these an instruction has the datapath for 20, and
  // for each word of these it waits a cycle.
  datapath.owe(0, -1, 30, -1, /*apart=*/3);
  EXPECT_EQ(datapath.share(48, {40}, 0.5), 10);
  datapath.owe(0, -1, 30, -1, /*apart=*/3);
  EXPECT_EQ(datapath.share(0, {0}), 0);
  Datapath atOnce(1);
  atOnce.owe(0, -1, 28);
  EXPECT_EQ(atOnce.share(48, {40}, 0.5), 20);
}

TEST(DatapathTest, WorkOfTheMainThreadHoldsUpWords) {
  Datapath datapath(1);
  datapath.receive(4, -1, 100, 20, {2, 2});
  EXPECT_EQ(datapath.received(4), 120);
  datapath.share(30, {30});
  EXPECT_EQ(datapath.received(4), 135); // 15 words passed in 30 cycles.
  datapath.share(1000, {1000});
  EXPECT_EQ(datapath.received(4), 140); // All took twice as long.
  datapath.settle(4);
  EXPECT_EQ(datapath.received(4), 0);
}

TEST(DatapathTest, WorkOfTheMainThreadAndOfOthersHoldsUpWords) {
  Datapath datapath(8);
  datapath.owe(0, 6, 20); // Words that it sends, of one lane alone.
  datapath.receive(4, 6, 100, 80, {2, 4});
  datapath.receive(5, 1, 100, 80, {2, 4});
  // While they are sent, for 20 cycles, half as many words come.
  EXPECT_EQ(datapath.received(4), 190);
  EXPECT_EQ(datapath.received(5), 180);
  datapath.share(10, {10});
  // For 20 cycles a quarter, for the other 10 half of them.
  EXPECT_EQ(datapath.received(4), 200);
  EXPECT_EQ(datapath.received(5), 185);
  datapath.share(1000, {1000});
  EXPECT_EQ(datapath.received(4), 420); // All took four times as long.
}

TEST(DatapathTest, WhoHearsWhatItRelaysHoldsUpThoseWhoListen) {
  Datapath datapath(1);
  // A word comes in two cycles, and in four while the main thread works.
  datapath.owe(0, -1, 40, /*echo=*/7, /*apart=*/4, /*idle=*/2);
  datapath.receiveEcho(4, 100, /*color=*/7, 20);
  datapath.receiveEcho(5, 100, /*color=*/8, 20);
  EXPECT_EQ(datapath.received(4), 140);
  EXPECT_EQ(datapath.received(5), 0); // Others send these.
  datapath.share(30, {30}, 0.5);
  EXPECT_EQ(datapath.received(4), 155); // It had the datapath for 15 cycles.
  datapath.share(1000, {1000});
  EXPECT_EQ(datapath.received(4), 180); // All took twice as long.
}

TEST(DatapathTest, WhoSendsAndWhoReceivesTakeTurns) {
  Datapath datapath(2);
  datapath.compete(0, 0, 100, 40, Datapath::Use::Sends);
  datapath.compete(6, 0, 110, 60, Datapath::Use::Receives);
  EXPECT_EQ(datapath.competed(0), 170); // 30 of its cycles were left.
  EXPECT_EQ(datapath.competed(6), 200);
  datapath.compete(4, 1, 100, 40, Datapath::Use::Receives); // Another PE.
  EXPECT_EQ(datapath.competed(4), 140);
  datapath.compete(5, 0, 110, 10, Datapath::Use::Receives);
  EXPECT_EQ(datapath.competed(6), 200); // Those who receive do not compete,
  datapath.compete(7, 0, 120, 300, Datapath::Use::Row);   // but for words of a
  datapath.compete(3, 0, 130, 50, Datapath::Use::Passes); // row and others.
  datapath.compete(2, 0, 440, 90, Datapath::Use::Passes);
  EXPECT_EQ(datapath.competed(7), 500);
  EXPECT_EQ(datapath.competed(3), 230);
  EXPECT_EQ(datapath.competed(6), 200);
  datapath.settle(6);
  EXPECT_EQ(datapath.competed(6), 0);
}

} // namespace
} // namespace wsec::runtime
