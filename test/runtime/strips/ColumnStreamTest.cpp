// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mechanisms that weight streaming is made of: lanes of the host, heads
// that relay their share into their column, chain gathers and casts.
#include "runtime/strips/StripsEngine.h"
#include "test/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Direction;
using program::Opcode;
using program::Port;

constexpr int lane = 0, column = 1, rowExit = 2;

/// A mesh whose only lane enters at `laneRow`; the heads (row `laneRow`) relay
/// words of the lane into their columns; every PE may send over the east edge.
void addRoutes(ProgramBuilder &builder, int width, int height, int laneRow) {
  builder.route(lane, 0, width - 1, laneRow, laneRow + 1, Port::West,
                {Port::East, Port::Ramp});
  builder.route(lane, width - 1, width, laneRow, laneRow + 1, Port::West,
                {Port::Ramp});
  std::vector<Port> head{Port::Ramp};
  if (laneRow > 0)
    head.push_back(Port::North);
  if (laneRow < height - 1)
    head.push_back(Port::South);
  builder.route(column, 0, width, laneRow, laneRow + 1, Port::Ramp, head);
  for (int y = 0; y < height; ++y) {
    if (y == laneRow)
      continue;
    std::vector<Port> ports{Port::Ramp};
    if (y < laneRow && y > 0)
      ports.push_back(Port::North);
    if (y > laneRow && y < height - 1)
      ports.push_back(Port::South);
    builder.route(column, 0, width, y, y + 1,
                  y < laneRow ? Port::South : Port::North, ports);
  }
}

/// Lines of `width * share` words; column x keeps words [x * share, ...) of
/// each; PE y keeps word y % share of each line, as a window of its own.
struct Load {
  static constexpr int width = 4, height = 3, share = 3, lines = 50;

  Load() : builder(width, height) {
    addRoutes(builder, width, height, 1);
    builder.route(rowExit, width - 1, width, 0, height, Port::Ramp,
                  {Port::East});
    ClassBuilder pes = builder.addClass("pe", 0, width, 0, height);
    Scalar x = pes.px(), y = pes.py();
    Scalar isHead = pes.equal(y, 1), isLast = pes.equal(x, width - 1);
    uint16_t kept = pes.buffer("kept", lines);
    BodyBuilder body = pes.routine(0);
    auto &relay =
        body.add(Opcode::Mov, {lines, share}, fabric(column, 2),
                 fabric(lane, 2).window(Value(x).times(share), width * share));
    relay.guard = int16_t(isHead.index);
    relay.thread = 0;
    body.add(Opcode::Mov, {lines, 1}, memory(kept, {1, 0}),
             fabric(column, 2).window(y, share));
    body.await(1);
    body.add(Opcode::Mov, {lines}, fabric(rowExit), memory(kept, {1})).guard =
        int16_t(isLast.index);
    in = builder.stream("in", Direction::In, lane, {1});
    out = builder.stream("out", Direction::Out, rowExit, {0, 1, 2});
    builder.launch(0, {in, out});
    for (uint32_t row = 0; row < height; ++row)
      host.expect(out, row, lines);
  }

  void feed(size_t lineLength) {
    std::vector<float> words(size_t(lines * width * share));
    for (size_t i = 0; i < words.size(); ++i)
      words[i] = float(i);
    host.feed(in, 0, words, lineLength);
  }

  void check() {
    for (uint32_t row = 0; row < height; ++row) {
      const std::vector<float> &got = host.outputs.at({out, row});
      ASSERT_EQ(got.size(), size_t(lines));
      for (int i = 0; i < lines; ++i)
        EXPECT_EQ(got[size_t(i)],
                  float(i * width * share + (width - 1) * share + int(row)));
    }
  }

  ProgramBuilder builder;
  VectorHost host;
  uint32_t in, out;
};

TEST(ColumnStreamTest, HeadsRelayTheirShareAndPEsKeepTheirWindow) {
  Load load;
  load.feed(Load::width * Load::share);
  RunResult result = StripsEngine(load.builder.finish()).run(load.host);
  load.check();
  EXPECT_EQ(result.hostWordsIn,
            uint64_t(Load::lines * Load::width * Load::share));
}

/// The same words in views that do not end where lines end.
TEST(ColumnStreamTest, WindowsDoNotDependOnTheHostsViews) {
  for (size_t length : {size_t(0), size_t(1), size_t(5), size_t(7)}) {
    Load load;
    load.feed(length);
    StripsEngine emulator(load.builder.finish(),
                          {.threads = 2, .replay = true});
    for (bool replayed : {false, true}) {
      load.host.rewind();
      EXPECT_EQ(emulator.run(load.host).replayed, replayed);
      load.check();
    }
  }
}

TEST(ColumnStreamTest, FirstWordWaitsForTheStore) {
  Load load;
  load.feed(0);
  RunResult result = StripsEngine(load.builder.finish()).run(load.host);
  // All words pass the lane one by one, and come by their heads a second time:
  // of three in turn two hold up the next.
  double words = Load::lines * Load::width * Load::share;
  EXPECT_GT(result.cycles, 1700 + words * 5 / 3);
  EXPECT_LT(result.cycles, 1700 + words * 5 / 3 + 100);
}

/// Rows send their block north, each relays what comes from behind, the first
/// row multicasts everything to all: every PE ends with all blocks.
class ChainGatherTest : public testing::TestWithParam<int> {};

TEST_P(ChainGatherTest, GathersAndCastsWithinGroups) {
  const int group = GetParam(), height = 6, block = 2;
  const int north = 5, cast = 7;
  ProgramBuilder builder(1, height);
  for (int y = 0; y < height; ++y) {
    bool first = y % group == 0, last = y % group == group - 1;
    // Even and odd senders use two colors; the head of a group sends south.
    for (int parity = 0; parity < 2; ++parity) {
      bool sends = y % 2 == parity;
      if (sends && !first)
        builder.route(north + parity, 0, 1, y, y + 1, Port::Ramp,
                      {Port::North});
      else if (!sends && !last)
        builder.route(north + parity, 0, 1, y, y + 1, Port::South,
                      {Port::Ramp});
    }
    std::vector<Port> ports{Port::Ramp};
    if (!last)
      ports.push_back(Port::South);
    builder.route(cast, 0, 1, y, y + 1, first ? Port::Ramp : Port::North,
                  ports);
  }
  const int exit = 10;
  builder.route(exit, 0, 1, 0, height, Port::Ramp, {Port::East});
  ClassBuilder pes = builder.addClass("pe", 0, 1, 0, height);
  Scalar y = pes.py();
  Scalar groupSize = pes.constant(group);
  Scalar position =
      pes.scalar(program::ScalarOp::Mod, y.index, groupSize.index);
  Scalar isHead = pes.equal(position, 0);
  Scalar parity = pes.parity(y), other = pes.negate(parity);
  // color = head ? cast : north + parity
  Scalar notHead = pes.negate(isHead);
  Scalar sendColor = pes.scalar(
      program::ScalarOp::Add,
      pes.scalar(program::ScalarOp::Mul, isHead.index,
                 pes.constant(cast - north).index)
          .index,
      pes.scalar(program::ScalarOp::Mul, notHead.index, parity.index).index);
  // Words behind: (group - 1 - position) * block
  Scalar behind = pes.scalar(program::ScalarOp::Sub,
                             pes.constant(group - 1).index, position.index);
  uint16_t own = pes.buffer("own", block);
  uint16_t all = pes.buffer("all", uint32_t(group * block));
  const int in = 11;
  builder.route(in, 0, 1, 0, height, Port::West, {Port::Ramp});
  BodyBuilder body = pes.routine(0);
  body.add(Opcode::Mov, {block}, memory(own, {1}), fabric(in));
  body.add(Opcode::Mov, {block}, fabric(Value(sendColor) + north),
           memory(own, {1}))
      .thread = 1;
  body.await(2);
  body.add(Opcode::Mov, {Value(behind).times(block)},
           fabric(Value(sendColor) + north), fabric(Value(other) + north))
      .thread = 1;
  body.add(Opcode::Mov, {group * block}, memory(all, {1}), fabric(cast));
  body.await(2);
  body.add(Opcode::Mov, {group * block}, fabric(exit), memory(all, {1}));
  uint32_t inStream = builder.stream("in", Direction::In, in, {});
  uint32_t outStream = builder.stream("out", Direction::Out, exit, {});
  VectorHost host;
  for (int row = 0; row < height; ++row) {
    builder.source.streams[inStream]->channels.push_back({row, 0, 1});
    builder.source.streams[outStream]->channels.push_back({row, 0, 1});
    host.feed(inStream, uint32_t(row), {float(10 * row), float(10 * row + 1)});
    host.expect(outStream, uint32_t(row), uint64_t(group * block));
  }
  builder.launch(0, {inStream, outStream});
  double cycles = 0;
  for (unsigned threads : {1u, 3u}) {
    host.rewind();
    RunResult result = StripsEngine(builder.finish(), {threads}).run(host);
    EXPECT_TRUE(cycles == 0 || cycles == result.cycles);
    cycles = result.cycles;
    StripsEngine replaying(builder.finish(),
                           {.threads = threads, .replay = true});
    for (bool replayed : {false, true}) {
      host.rewind();
      EXPECT_EQ(replaying.run(host).replayed, replayed);
    }
    for (int row = 0; row < height; ++row) {
      std::vector<float> expected;
      for (int r = row / group * group; r < row / group * group + group; ++r)
        for (int i = 0; i < block; ++i)
          expected.push_back(float(10 * r + i));
      EXPECT_EQ(host.outputs.at({outStream, uint32_t(row)}), expected)
          << "row " << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, ChainGatherTest, testing::Values(1, 2, 3, 6));

/// Synchronous instructions whose colors differ from row to row.
TEST(ColumnStreamTest, ChainNorthWithinAStrip) {
  const int height = 5, words = 4, exit = 10;
  ProgramBuilder builder(1, height);
  for (int parity = 0; parity < 2; ++parity) {
    builder.route(parity, 0, 1, parity, height, Port::Ramp, {Port::North}, 1,
                  2);
    builder.route(parity, 0, 1, 1 - parity, height, Port::South, {Port::Ramp},
                  1, 2);
  }
  builder.route(exit, 0, 1, 0, 1, Port::Ramp, {Port::East});
  ClassBuilder pes = builder.addClass("pe", 0, 1, 0, height);
  Scalar y = pes.py();
  Scalar sends = pes.parity(y), receives = pes.negate(sends);
  Scalar first = pes.equal(y, 0), last = pes.equal(y, height - 1);
  Scalar inner = pes.both(pes.negate(first), pes.negate(last));
  uint16_t part = pes.buffer("part", words);
  BodyBuilder body = pes.routine(0);
  body.add(Opcode::Mov, {words}, memory(part, {1}), immediate(1));
  body.add(Opcode::Mov, {words}, fabric(sends), memory(part, {1})).guard =
      int16_t(last.index);
  body.add(Opcode::Add, {words}, fabric(sends), fabric(receives),
           memory(part, {1}))
      .guard = int16_t(inner.index);
  body.add(Opcode::Add, {words}, memory(part, {1}), fabric(receives),
           memory(part, {1}))
      .guard = int16_t(first.index);
  body.add(Opcode::Mov, {words}, fabric(exit), memory(part, {1})).guard =
      int16_t(first.index);
  uint32_t out = builder.stream("out", Direction::Out, exit, {0});
  builder.launch(0, {out});
  VectorHost host;
  host.expect(out, 0, words);
  StripsEngine(builder.finish()).run(host);
  EXPECT_EQ(host.outputs.at({out, 0}), std::vector<float>(words, height));
}

} // namespace
} // namespace wsec::runtime
