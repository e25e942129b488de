// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/StripsEngine.h"
#include "test/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

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
  StripsEngine alone(program, {.threads = 1}),
      together(program, {.threads = 8});
  const double expected = cycles(alone);
  for (int run = 0; run < 1000; ++run)
    ASSERT_EQ(cycles(together), expected) << run;
}

} // namespace
} // namespace wsec::runtime
