// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers with states of their own: launches that differ in addresses, which
// strips remembers. Whatever the addresses are, values, cycles, states and
// errors are those of an engine that runs each launch.
#include "runtime/program/Errors.h"
#include "runtime/strips/StripsEngine.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/TaskProgram.h"

#include <gtest/gtest.h>
#include <optional>
#include <random>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Direction;
using program::Opcode;
using program::Port;
using program::ScalarOp;

constexpr int height = 5, layers = 7, stateWords = 96, in = 0, out = 1,
              down = 2;

/// A layer writes four words at `to` in a state, token `position`, and adds up
/// the tokens up to it, of at most two more than the row, from `from` on.
ProgramBuilder makeLayers(const std::vector<std::pair<int, int>> &addresses,
                          int filled, int tokens, bool mixes) {
  ProgramBuilder builder(1, height);
  builder.route(down, 0, 1, 0, 1, Port::Ramp, {Port::South});
  builder.route(down, 0, 1, 1, height - 1, Port::North,
                {Port::Ramp, Port::South});
  builder.route(down, 0, 1, height - 1, height, Port::North, {Port::Ramp});
  builder.route(in, 0, 1, 0, height, Port::West, {Port::Ramp});
  builder.route(out, 0, 1, 0, height, Port::Ramp, {Port::East});
  ClassBuilder pes = builder.addClass("pe", 0, 1, 0, height);
  const Scalar py = pes.py();
  const uint16_t x = pes.buffer("x", 4), y = pes.buffer("y", 4);
  const uint16_t state = pes.buffer("state", stateWords);
  pes.source->buffers[state]->persistent = true;
  BodyBuilder begin = pes.routine(0);
  begin.add(Opcode::Mov, {4}, memory(x, {1}), fabric(in));
  begin.add(Opcode::Mov, {filled}, memory(state, {1}), immediate(0.5));
  pes.routine(1);
  pes.source->routines.back()->arguments = 3;
  TaskBody layer(pes.source->routines.back()->body);
  layer.compute(3, ScalarOp::Mul, local(2), 4);
  layer.add(Opcode::Mul, {4}, memory(state, {1}, local(0, 4) + local(3)),
            memory(x, {1}), immediate(1.5));
  layer.add(Opcode::Mov, {4}, memory(y, {1}), immediate(0));
  layer.compute(4, ScalarOp::Min, local(2) + 1, Value(py) + 2);
  layer.add(Opcode::Add, {local(4), 4}, memory(y, {0, 1}), memory(y, {0, 1}),
            memory(state, {4, 1}, local(1, 4)));
  layer.add(Opcode::Mul, {4}, memory(x, {1}), memory(y, {1}), immediate(0.25));
  pes.routine(2).add(Opcode::Mov, {4}, fabric(out), memory(x, {1}));
  // What depends on no argument: words of the host, and of the first row, which
  // each row uses as often as it likes.
  const Scalar head = pes.equal(py, 0), others = pes.negate(head);
  BodyBuilder fixed = pes.routine(3);
  fixed.add(Opcode::Add, {4}, memory(x, {1}), memory(x, {1}), fabric(in));
  fixed.add(Opcode::Mov, {4}, fabric(down), memory(x, {1})).guard =
      int16_t(head.index);
  fixed.add(Opcode::Mov, {4}, memory(y, {1}), fabric(down)).guard =
      int16_t(others.index);
  fixed.loop(Value(py), [&](BodyBuilder turn) {
    turn.add(Opcode::Fmac, {4}, memory(x, {1}), memory(y, {1}),
             immediate(0.125));
  });
  const uint32_t from = builder.stream("in", Direction::In, in, {});
  const uint32_t to = builder.stream("out", Direction::Out, out, {});
  for (int row = 0; row < height; ++row) {
    builder.source.streams[from]->channels.push_back({row, 0, 1});
    builder.source.streams[to]->channels.push_back({row, 0, 1});
  }
  builder.launch(0, {from}, "begin");
  program::EntryT &entry = *builder.source.entries[0];
  entry.scalars = {{ScalarOp::Argument, 0, 0, 0}};
  auto argument = std::make_unique<program::ArgumentT>();
  argument->name = "position";
  argument->to = tokens - 1;
  entry.arguments.push_back(std::move(argument));
  for (const auto &[write, read] : addresses) {
    if (mixes) {
      const uint32_t own = builder.stream("own", Direction::In, in, {});
      for (int row = 0; row < height; ++row)
        builder.source.streams[own]->channels.push_back({row, 0, 1});
      builder.launch(3, {own}, "fixed");
      builder.launch(3, {own}, "fixed");
    }
    builder.launch(1, {}, "layer");
    const auto scalar = uint16_t(entry.scalars.size());
    entry.scalars.push_back({ScalarOp::Constant, write, 0, 0});
    entry.scalars.push_back({ScalarOp::Constant, read, 0, 0});
    entry.launches.back()->arguments = {scalar, uint16_t(scalar + 1), 0};
  }
  builder.launch(2, {to}, "end");
  return builder;
}

VectorHost makeHost(int salt) {
  VectorHost host;
  for (int row = 0; row < height; ++row) {
    for (int layer = 0; layer < layers; ++layer)
      host.feed(uint32_t(2 + layer), uint32_t(row),
                {float(layer - salt), 1, 0.5f * float(row), 2});
    host.feed(0, uint32_t(row),
              {float(salt + row), 2, float(3 * row), 0.5f * float(salt)});
    host.expect(1, uint32_t(row), 4);
  }
  return host;
}

struct Outcome {
  VectorHost host;
  std::optional<RunResult> result;
  std::string error;
};

template <class Run>
Outcome outcomeOf(int salt, const Run &run) {
  Outcome outcome{makeHost(salt), {}, {}};
  try {
    outcome.result = run(outcome.host);
  } catch (const Error &error) {
    outcome.error = error.what();
  }
  return outcome;
}

size_t remembered = 0, refused = 0;

void hold(const std::vector<std::pair<int, int>> &addresses, int filled,
          std::mt19937 &random, bool mixes = false,
          size_t recordingBytes = EngineOptions().recordingBytes) {
  const int tokens = 4;
  ProgramBuilder builder = makeLayers(addresses, filled, tokens, mixes);
  const program::Program &program = builder.finish();
  EngineOptions options;
  options.threads = 2;
  options.replay = true;
  options.recordingBytes = recordingBytes;
  StripsEngine strips(program, options);
  PersistentState kept(program), expected(program);
  for (int call = 0; call < 8; ++call) {
    const Call at(program, 0, {int64_t(random() % tokens)});
    const int salt = int(random() % 9);
    const Outcome its = outcomeOf(
        salt, [&](HostPort &host) { return strips.run(host, at, &kept); });
    const Outcome stepped = outcomeOf(salt, [&](HostPort &host) {
      return WaveletEngine(program).run(host, at, &expected);
    });
    ASSERT_EQ(its.error.substr(0, its.error.find(':')),
              stepped.error.substr(0, stepped.error.find(':')))
        << its.error << "\n"
        << stepped.error;
    refused += !its.error.empty();
    ASSERT_EQ(kept.pes(), expected.pes());
    if (!its.result)
      continue;
    ASSERT_EQ(its.host.outputs, stepped.host.outputs);
    EXPECT_NEAR(its.result->cycles, stepped.result->cycles, 2);
    remembered += its.result->rememberedLaunches;
  }
}

TEST(MovedOperandsTest, StatesSideBySide) {
  std::mt19937 random(1);
  remembered = 0;
  std::vector<std::pair<int, int>> addresses;
  for (int layer = 0; layer < 6; ++layer)
    addresses.push_back({4 * layer, 4 * layer});
  hold(addresses, stateWords, random);
  EXPECT_GE(remembered, 6u * 4); // All but the first two, and what varies not.
}

/// Launches between them that nothing of the call reaches are replayed in calls
/// with other arguments, too: after the first call all of these.
TEST(MovedOperandsTest, LaunchesThatVaryAndOthers) {
  std::mt19937 random(3);
  for (int program = 0; program < 40; ++program) {
    SCOPED_TRACE(program);
    std::vector<std::pair<int, int>> addresses;
    const int count = 2 + int(random() % 6);
    for (int layer = 0; layer < count; ++layer)
      addresses.push_back({3 * layer, int(random() % 3) * layer});
    remembered = 0;
    hold(addresses, stateWords, random, true);
    EXPECT_GT(remembered, size_t(7 * (count - 1)));
    if (HasFatalFailure())
      return;
  }
}

/// Where a recording has no room for a layer those behind it are run.
TEST(MovedOperandsTest, RecordingsThatDoNotFit) {
  std::mt19937 random(4);
  for (int program = 0; program < 40; ++program) {
    SCOPED_TRACE(program);
    std::vector<std::pair<int, int>> addresses;
    for (int layer = 0; layer < 6; ++layer)
      addresses.push_back({3 * layer, 3 * layer});
    hold(addresses, stateWords, random, random() % 2,
         size_t(1) << (8 + program / 4));
    if (HasFatalFailure())
      return;
  }
}

/// States that overlap, that nothing has written, that lie outside.
TEST(MovedOperandsTest, AnyAddresses) {
  std::mt19937 random(2);
  remembered = refused = 0;
  for (int program = 0; program < 150; ++program) {
    SCOPED_TRACE(program);
    std::vector<std::pair<int, int>> addresses;
    const bool same = random() % 2, apart = random() % 2;
    for (int layer = 0; layer < layers; ++layer) {
      const int to = apart ? 3 * layer : int(random() % 21);
      addresses.push_back({to, same ? to : int(random() % 21)});
    }
    if (random() % 8 == 0)
      addresses[random() % layers].first = 23;
    hold(addresses, random() % 2 ? stateWords : int(random() % stateWords),
         random);
    if (HasFatalFailure())
      return;
  }
  EXPECT_GT(remembered, 300u);
  EXPECT_GT(refused, 30u);
}

} // namespace
} // namespace wsec::runtime
