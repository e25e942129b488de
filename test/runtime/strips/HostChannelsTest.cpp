// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/StripsEngine.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>
#include <numeric>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Direction;
using program::Opcode;
using program::Port;

constexpr int channel = 0, down = 1, up = 2, out = 3;

/// A channel for each of some rows of two PEs, which both take its words. The
/// east one asks for them once the west one of the next row, or the row before,
/// has got two of its own: all channels wait, and go on without them.
struct Crossed {
  static constexpr int height = 16, words = 40;

  Crossed() : builder(2, height) {
    builder.route(channel, 0, 1, 0, height, Port::West,
                  {Port::East, Port::Ramp});
    builder.route(channel, 1, 2, 0, height, Port::West, {Port::Ramp});
    builder.route(out, 1, 2, 0, height, Port::Ramp, {Port::East});
    std::vector<uint32_t> streams{
        builder.stream("in", Direction::In, channel, {}),
        builder.stream("out", Direction::Out, out, {})};
    for (int y = 0; y < height; ++y) {
      const bool even = y % 2 == 0;
      const int sent = even ? down : up, heard = even ? up : down;
      builder.route(sent, 0, 1, y, y + 1, Port::Ramp, {Port::East});
      builder.route(sent, 1, 2, y, y + 1, Port::West,
                    {even ? Port::South : Port::North});
      builder.route(heard, 1, 2, y, y + 1, even ? Port::South : Port::North,
                    {Port::Ramp});
      ClassBuilder west =
          builder.addClass("west" + std::to_string(y), 0, 1, y, y + 1);
      const uint16_t kept = west.buffer("kept", words);
      BodyBuilder first = west.routine(0);
      first.add(Opcode::Mov, {2}, memory(kept, {1}), fabric(channel));
      first.add(Opcode::Mov, {1}, fabric(sent), memory(kept, {1}));
      first.add(Opcode::Mov, {words - 2}, memory(kept, {1}), fabric(channel));
      ClassBuilder east =
          builder.addClass("east" + std::to_string(y), 1, 2, y, y + 1);
      const uint16_t got = east.buffer("got", words);
      BodyBuilder then = east.routine(0);
      then.add(Opcode::Mov, {1}, memory(got, {1}), fabric(heard));
      then.add(Opcode::Mov, {words}, memory(got, {1}), fabric(channel));
      then.add(Opcode::Mov, {words}, fabric(out), memory(got, {1}));
      for (uint32_t stream : streams)
        builder.source.streams[stream]->channels.push_back({y, 0, 1});
      host.feed(streams[0], uint32_t(y), std::vector<float>(words));
      host.expect(streams[1], uint32_t(y), words);
    }
    builder.launch(0, streams);
  }

  ProgramBuilder builder;
  VectorHost host;
};

TEST(HostChannelsTest, GoOnTogetherInTheSameCyclesWhoeverRunsFirst) {
  Crossed crossed;
  const auto cycles = [&](StripsEngine &engine) {
    crossed.host.rewind();
    return engine.run(crossed.host).cycles;
  };
  const program::Program &program = crossed.builder.finish();
  StripsEngine alone(program, {.threads = 1}), two(program, {.threads = 2}),
      many(program, {.threads = 8});
  const double expected = cycles(alone);
  for (int run = 0; run < 1000; ++run) {
    ASSERT_EQ(cycles(two), expected) << run;
    ASSERT_EQ(cycles(many), expected) << run;
  }
}

/// Two channels of one row, each for one of two PEs. The west one works long on
/// what it got, so it should be served first.
struct SharedRow {
  static constexpr int words = 500;
  static constexpr int first = 1, second = 2, out = 3, seen = 4;

  /// The slots of the west PE's channel and of the east one's.
  explicit SharedRow(std::optional<std::pair<uint32_t, uint32_t>> slots)
      : builder(2, 1) {
    builder.route(first, 0, 1, 0, 1, Port::West, {Port::Ramp});
    builder.route(second, 0, 1, 0, 1, Port::West, {Port::East});
    builder.route(second, 1, 2, 0, 1, Port::West, {Port::Ramp});
    builder.route(out, 0, 1, 0, 1, Port::Ramp, {Port::East});
    builder.route(out, 1, 2, 0, 1, Port::West, {Port::East});
    std::vector<uint32_t> streams{
        builder.stream("first", Direction::In, first, {0}),
        builder.stream("second", Direction::In, second, {0}),
        builder.stream("out", Direction::Out, out, {0})};
    ClassBuilder west = builder.addClass("west", 0, 1, 0, 1);
    const uint16_t kept = west.buffer("kept", words);
    BodyBuilder body = west.routine(0);
    body.add(Opcode::Mov, {words}, memory(kept, {1}), fabric(first));
    for (int i = 0; i < 4; ++i)
      body.add(Opcode::Add, {words}, memory(kept, {1}), memory(kept, {1}),
               memory(kept, {1}));
    body.add(Opcode::Mov, {1}, fabric(out), memory(kept, {1}));
    builder.route(seen, 1, 2, 0, 1, Port::Ramp, {Port::East});
    streams.push_back(builder.stream("seen", Direction::Out, seen, {0}));
    ClassBuilder east = builder.addClass("east", 1, 2, 0, 1);
    const uint16_t got = east.buffer("got", words);
    BodyBuilder then = east.routine(0);
    then.add(Opcode::Mov, {words}, memory(got, {1}), fabric(second));
    then.add(Opcode::Mov, {words}, fabric(seen), memory(got, {1}));
    host.feed(streams[0], 0, std::vector<float>(words, 1));
    std::vector<float> numbers(words);
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    host.feed(streams[1], 0, std::move(numbers));
    host.expect(streams[2], 0, 1);
    host.expect(streams[3], 0, words);
    builder.launch(0, streams);
    if (slots)
      builder.source.entries[0]->launches[0]->slots = {{slots->first, 0, 0, 0},
                                                       {slots->second, 0, 0, 0},
                                                       {9, 0, 0, 0},
                                                       {10, 0, 0, 0}};
  }

  /// Of strips and of wavelet.
  std::pair<double, double> cycles() {
    const program::Program &program = builder.finish();
    VectorHost its = host;
    StripsEngine engine(program, {.replay = true});
    const double strips = engine.run(its).cycles;
    const double stepped = WaveletEngine(program, {}).run(host).cycles;
    EXPECT_EQ(its.outputs, host.outputs);
    its.rewind();
    EXPECT_TRUE(engine.run(its).replayed);
    EXPECT_EQ(its.outputs, host.outputs);
    return {strips, stepped};
  }

  ProgramBuilder builder;
  VectorHost host;
};

TEST(HostChannelsTest, ShareARowInTheOrderOfTheirSlots) {
  const auto [early, earlyStepped] = SharedRow({{0, 1}}).cycles();
  const auto [late, lateStepped] = SharedRow({{1, 0}}).cycles();
  const auto [turns, turnsStepped] = SharedRow({}).cycles();
  EXPECT_GT(lateStepped - earlyStepped, 490);
  EXPECT_NEAR(early, earlyStepped, 0.01 * earlyStepped);
  EXPECT_NEAR(late, lateStepped, 0.01 * lateStepped);
  EXPECT_NEAR(turns, turnsStepped, 0.01 * turnsStepped);
}

/// Rows of two channels. The west PE takes a line of each in turn, the one of
/// the higher slot first; the east one all of a third channel, as fast as it
/// may.
struct Alternating {
  static constexpr int height = 8, line = 10, lines = 12;
  static constexpr int colors[3] = {1, 2, 3}, out = 4;

  Alternating() : builder(2, height) {
    std::vector<uint32_t> streams;
    for (int color : colors)
      streams.push_back(builder.stream("in" + std::to_string(color),
                                       Direction::In, color, {}));
    streams.push_back(builder.stream("out", Direction::Out, out, {}));
    builder.route(out, 1, 2, 0, height, Port::Ramp, {Port::East});
    for (int color : colors)
      if (color != colors[2])
        builder.route(color, 0, 1, 0, height, Port::West, {Port::Ramp});
    builder.route(colors[2], 0, 1, 0, height, Port::West, {Port::East});
    builder.route(colors[2], 1, 2, 0, height, Port::West, {Port::Ramp});
    for (int y = 0; y < height; ++y) {
      ClassBuilder west =
          builder.addClass("west" + std::to_string(y), 0, 1, y, y + 1);
      const uint16_t kept = west.buffer("kept", line);
      BodyBuilder body = west.routine(0);
      for (int i = 0; i < lines; ++i)
        for (int color : {colors[1], colors[0]})
          body.add(Opcode::Mov, {line}, memory(kept, {1}), fabric(color));
      ClassBuilder east =
          builder.addClass("east" + std::to_string(y), 1, 2, y, y + 1);
      const uint16_t got = east.buffer("got", line * lines);
      BodyBuilder then = east.routine(0);
      then.add(Opcode::Mov, {line * lines}, memory(got, {1}),
               fabric(colors[2]));
      then.add(Opcode::Mov, {1}, fabric(out), memory(got, {1}));
      for (uint32_t stream : streams)
        builder.source.streams[stream]->channels.push_back({y, 0, 1});
      for (int s = 0; s < 3; ++s)
        host.feed(streams[size_t(s)], uint32_t(y),
                  std::vector<float>(line * lines));
      host.expect(streams[3], uint32_t(y), 1);
    }
    builder.launch(0, streams);
    for (uint32_t slot = 0; slot < 4; ++slot)
      builder.source.entries[0]->launches[0]->slots.emplace_back(slot, 0, 0, 0);
  }

  ProgramBuilder builder;
  VectorHost host;
};

TEST(HostChannelsTest, WaitForLowerSlotsWhoeverRunsFirst) {
  Alternating program;
  const program::Program &built = program.builder.finish();
  VectorHost host = program.host;
  const double stepped = WaveletEngine(built, {}).run(host).cycles;
  for (unsigned threads : {1, 2, 8}) {
    StripsEngine engine(built, {.threads = threads});
    for (int run = 0; run < 30; ++run) {
      VectorHost its = program.host;
      const double cycles = engine.run(its).cycles;
      EXPECT_NEAR(cycles, stepped, 0.02 * stepped);
      static const double expected = cycles;
      ASSERT_EQ(cycles, expected) << threads << " " << run;
    }
  }
}

} // namespace
} // namespace wsec::runtime
