// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When launch wavelets reach strips that are at work.
#include "runtime/strips/CommandTree.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

class Reader : public Actor {
public:
  void run() override { ++runs; }
  int runs = 0;
};

/// Strip 0, whose routers pass words on to strip 1, three hops further. A PE
/// has room for 2 words, the routers between them for 6.
class CommandTreeTest : public testing::Test {
protected:
  CommandTreeTest() {
    tree.nodes = {{-1, 0, 0, 2, 0, {1}}, {0, 1, 3, 2, 6, {}}};
    tree.ofStrip = {{0}, {1}};
    tree.room = {2, 2};
  }

  std::optional<double> arrival(int strip, size_t word) {
    const auto time = commands().arrival(strip, word, readers[strip]);
    return time ? std::optional(time->when) : std::nullopt;
  }
  void take(int strip, double when) { commands().take(strip, when); }
  Commands &commands() {
    if (!its)
      its.emplace(tree, scheduler, 40);
    return *its;
  }

  CommandTree tree;
  WorkerPool pool{1};
  Scheduler scheduler{pool};
  Reader readers[2];
  std::optional<Commands> its;
};

TEST_F(CommandTreeTest, WordsFollowOneAnother) {
  EXPECT_EQ(arrival(0, 0), 2);
  EXPECT_EQ(arrival(0, 1), 3);
  EXPECT_EQ(arrival(1, 0), 5);
  EXPECT_EQ(arrival(1, 1), 6);
}

TEST_F(CommandTreeTest, AStripAtWorkHoldsUpThoseBehindIt) {
  take(1, 5);
  EXPECT_EQ(arrival(1, 2), std::nullopt); // Strip 0 has room for two.
  take(0, 100);
  EXPECT_EQ(arrival(0, 2), 103);
  EXPECT_EQ(arrival(1, 2), 106);
  EXPECT_TRUE(commands().arrival(1, 1, readers[1])->first);
  EXPECT_FALSE(commands().arrival(1, 2, readers[1])->first);
}

TEST_F(CommandTreeTest, RoutersBetweenHoldWordsToo) {
  for (int word = 0; word < 8; ++word) {
    ASSERT_TRUE(arrival(0, size_t(word))) << word;
    take(0, *arrival(0, size_t(word)));
  }
  EXPECT_EQ(arrival(0, 8), std::nullopt);
  take(1, 50);
  // At 51 there is room in the PE, three cycles later in front of the routers.
  EXPECT_EQ(arrival(0, 8), 56);
}

TEST_F(CommandTreeTest, ReadersAreWokenWhenMoreIsKnown) {
  EXPECT_EQ(arrival(1, 2), std::nullopt);
  take(0, 7);
  take(1, 5);
  scheduler.runUntilIdle(true);
  EXPECT_EQ(readers[1].runs, 1);
  EXPECT_EQ(readers[0].runs, 0);
  EXPECT_EQ(arrival(1, 2), 13);
}

/// Behind skipped layers strips find words as they did behind the first.
TEST_F(CommandTreeTest, SkippedWordsComeLater) {
  take(0, 20);
  take(1, 30);
  commands().skip(9, 1000);
  take(0, 1040);
  EXPECT_EQ(arrival(0, 9 + 2), 20 + 1 + 2 + 1000);
  EXPECT_EQ(arrival(0, 9 + 3), 1040 + 1 + 2);
  EXPECT_EQ(arrival(1, 9 + 2), 30 + 1 + 2 + 1000);
}

TEST_F(CommandTreeTest, ReleasedWordsWaitForNobody) {
  EXPECT_FALSE(commands().release());
  EXPECT_EQ(arrival(1, 30), std::nullopt);
  take(0, 100);
  EXPECT_TRUE(commands().release());
  EXPECT_EQ(arrival(1, 2), 106);
  EXPECT_EQ(arrival(1, 30), 134);
}

} // namespace
} // namespace wsec::runtime
