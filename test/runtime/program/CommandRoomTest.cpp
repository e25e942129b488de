// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/facts/CommandRoom.h"

#include <gtest/gtest.h>

#include <limits>

using namespace wsec::runtime;

namespace {

/// wse2: six words in the deepest queue, two on the ramp, two in a router.
const CommandQueues wse2 = {{6, 6, 4, 4, 2, 2, 2, 2}, 0, 2, 2, 1};

TEST(CommandRoom, BeforeAPe) {
  EXPECT_EQ(wse2.ofPe(), 8);
  EXPECT_EQ(wse2.ofRouter(), 2);
  // Where the host's runtime has queues of its own, the smallest counts.
  EXPECT_EQ((CommandQueues{{8, 8, 4}, 2, 2, 2, 1}.ofPe()), 6);
  EXPECT_EQ((CommandQueues{{}, 0, 0, 2, 3}.ofPe()), 4);
  EXPECT_EQ((CommandQueues{{}, 0, 0, 2, 3}.ofRouter()), 8);
}

TEST(CommandRoom, FurtherEast) {
  // They pass the busy region in its first row; below it lie 20 routers.
  EXPECT_EQ(
      commandsAhead(wse2, CommandPaths::Columns, {0, 0, 4, 19}, {4, 0, 8, 19}),
      8u);
  EXPECT_EQ(commandsAhead(wse2, CommandPaths::Columns, {0, 20, 4, 39},
                          {4, 20, 8, 39}),
            8u + 2 * 20);
}

TEST(CommandRoom, FurtherWest) {
  // Three routers more from column 3 to column 6.
  EXPECT_EQ(
      commandsAhead(wse2, CommandPaths::Columns, {6, 0, 8, 19}, {0, 0, 4, 19}),
      8u + 2 * 3);
  EXPECT_EQ(commandsAhead(wse2, CommandPaths::Columns, {6, 20, 8, 39},
                          {0, 20, 4, 39}),
            8u + 2 * (3 + 20));
}

TEST(CommandRoom, InTheSameColumns) {
  // Below the busy one, and above it, where row 18 is two routers away.
  EXPECT_EQ(
      commandsAhead(wse2, CommandPaths::Columns, {0, 0, 4, 19}, {0, 20, 4, 39}),
      8u);
  EXPECT_EQ(
      commandsAhead(wse2, CommandPaths::Columns, {0, 20, 4, 39}, {0, 0, 4, 19}),
      8u + 2 * 2);
}

TEST(CommandRoom, AlongRows) {
  // West and east change places with above and below.
  EXPECT_EQ(
      commandsAhead(wse2, CommandPaths::Rows, {0, 0, 4, 19}, {4, 0, 8, 19}),
      8u);
  EXPECT_EQ(
      commandsAhead(wse2, CommandPaths::Rows, {4, 0, 8, 19}, {0, 20, 4, 39}),
      8u + 2 * 4);
  EXPECT_EQ(
      commandsAhead(wse2, CommandPaths::Rows, {4, 20, 8, 39}, {0, 0, 4, 19}),
      8u + 2 * (2 + 4));
}

TEST(CommandRoom, WaysOnWhichFewerAreInTheWay) {
  // In one row of stages each is in the way of those further east.
  const CommandTarget a = {0, 0, 4, 19}, b = {4, 0, 8, 19}, c = {8, 0, 12, 19};
  EXPECT_EQ(commandPaths({a}), CommandPaths::Columns);
  EXPECT_EQ(commandPaths({a, b, c}), CommandPaths::Columns);
  // Those of a second row lie below two of the first.
  const CommandTarget d = {0, 20, 6, 39}, e = {6, 20, 12, 39};
  EXPECT_EQ(commandPaths({a, b, c, d, e}), CommandPaths::Rows);
}

TEST(CommandRoom, OfAllPairs) {
  const auto ahead = commandsAhead(wse2, {{0, 0, 4, 19}, {6, 0, 8, 19}});
  ASSERT_EQ(ahead.size(), 2u);
  EXPECT_EQ(ahead[0][1], 8u);
  EXPECT_EQ(ahead[1][0], 8u + 2 * 3);
  EXPECT_EQ(ahead[0][0], std::numeric_limits<size_t>::max());
}

TEST(CommandLine, WaitsForWhatIsBusy) {
  constexpr size_t any = std::numeric_limits<size_t>::max();
  CommandLine line({{any, 1}, {2, any}});
  EXPECT_EQ(line.reaches(1), 0);
  line.give({100, 0});           // region 0 is at work
  EXPECT_EQ(line.reaches(1), 0); // the one command that gets ahead
  line.give({100, 10});
  EXPECT_EQ(line.reaches(1), 100);
  EXPECT_EQ(line.reaches(0), 0);
  line.give({110, 10});
  EXPECT_EQ(line.reaches(0), 0);
  line.give({110, 20});
  EXPECT_EQ(line.reaches(0), 10);
  line.clear();
  EXPECT_EQ(line.reaches(1), 0);
}

} // namespace
