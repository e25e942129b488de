// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs that replay a recorded one: equal to runs that do not, on any data and
// number of threads.
#include "runtime/strips/Replay.h"
#include "runtime/program/Errors.h"
#include "runtime/strips/StripsEngine.h"
#include "test/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Direction;
using program::Opcode;
using program::Port;

std::vector<float> randomWords(std::mt19937 &random, size_t count) {
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> result(count);
  for (float &word : result)
    word = values(random);
  return result;
}

/// y = x W by columns: each PE takes its line of x from the west and keeps it,
/// multiplies it with the weights its column is sent, and sends the sums west
/// to east through a chain of adds, whose end is rooted and exponentiated.
class Product {
public:
  static constexpr int width = 4, height = 6, depth = 5, outputs = 70;
  static constexpr int x = 0, weights = 1, chain = 2, exit = 4;

  Product() : builder(width, height) {
    for (int y = 0; y < height; ++y) {
      builder.route(x, 0, width - 1, y, y + 1, Port::West,
                    {Port::East, Port::Ramp});
      builder.route(x, width - 1, width, y, y + 1, Port::West, {Port::Ramp});
    }
    builder.route(weights, 0, width - 1, 0, height, Port::West,
                  {Port::East, Port::Ramp});
    builder.route(weights, width - 1, width, 0, height, Port::West,
                  {Port::Ramp});
    for (int parity = 0; parity < 2; ++parity) {
      builder.route(chain + parity, parity, width - 1, 0, height, Port::Ramp,
                    {Port::East}, 2);
      builder.route(chain + parity, 1 - parity, width, 0, height, Port::West,
                    {Port::Ramp}, 2);
    }
    builder.route(exit, width - 1, width, 0, height, Port::Ramp, {Port::East});
    addCode();
    xStream = builder.stream("x", Direction::In, x, {});
    weightStream = builder.stream("w", Direction::In, weights, {});
    outStream = builder.stream("y", Direction::Out, exit, {});
    for (int row = 0; row < height; ++row)
      for (uint32_t stream : {xStream, weightStream, outStream})
        builder.source.streams[stream]->channels.push_back({row, 0, width});
    builder.launch(0, {xStream, weightStream, outStream});
  }

  /// New words, in views of `line` words.
  void feed(unsigned seed, size_t line = 0) {
    std::mt19937 random(seed);
    auto words = [&](size_t count) { return randomWords(random, count); };
    for (uint32_t row = 0; row < height; ++row) {
      host.feed(xStream, row, words(width * depth), line);
      host.feed(weightStream, row, words(width * depth * outputs), line);
      host.expect(outStream, row, outputs);
    }
    host.rewind();
  }

  ProgramBuilder builder;
  VectorHost host;
  uint32_t xStream, weightStream, outStream;

private:
  void addCode() {
    ClassBuilder pes = builder.addClass("pe", 0, width, 0, height);
    Scalar px = pes.px();
    Scalar sends = pes.parity(px), receives = pes.negate(sends);
    Scalar first = pes.equal(px, 0), last = pes.equal(px, width - 1);
    Scalar inner = pes.both(pes.negate(first), pes.negate(last));
    uint16_t line = pes.buffer("line", depth);
    uint16_t part = pes.buffer("part", outputs);
    BodyBuilder body = pes.routine(0);
    body.add(Opcode::Mov, {1, depth}, memory(line, {0, 1}),
             fabric(x, 2).window(Value(px).times(depth), width * depth));
    body.add(Opcode::Mov, {outputs}, memory(part, {1}), immediate(0.5f));
    body.add(
        Opcode::Fmac, {depth, outputs}, memory(part, {0, 1}),
        fabric(weights, 2).window(Value(px).times(outputs), width * outputs),
        memory(line, {1, 0}));
    auto &send = body.add(Opcode::Mov, {outputs}, fabric(Value(sends) + chain),
                          memory(part, {1}));
    send.guard = int16_t(first.index);
    send.thread = 1;
    auto &relay = body.add(Opcode::Add, {outputs}, fabric(Value(sends) + chain),
                           fabric(Value(receives) + chain), memory(part, {1}));
    relay.guard = int16_t(inner.index);
    relay.thread = 1;
    body.add(Opcode::Add, {outputs}, memory(part, {1}),
             fabric(Value(receives) + chain), memory(part, {1}))
        .guard = int16_t(last.index);
    body.await(2);
    body.add(Opcode::Exp, {outputs}, memory(part, {1}), memory(part, {1}));
    body.add(Opcode::Mov, {outputs}, fabric(exit), memory(part, {1})).guard =
        int16_t(last.index);
  }
};

TEST(ReplayTest, EqualsARunOnAnyDataAndThreads) {
  Product product;
  const program::Program &program = product.builder.finish();
  for (unsigned threads : {1u, 2u, 3u}) {
    StripsEngine replaying(program, {.threads = threads, .replay = true});
    for (unsigned seed = 0; seed < 4; ++seed) {
      product.feed(seed);
      RunResult expected =
          StripsEngine(program, {.threads = 1}).run(product.host);
      auto values = product.host.outputs;
      product.host.rewind();
      RunResult result = replaying.run(product.host);
      EXPECT_EQ(product.host.outputs, values);
      EXPECT_EQ(result.replayed, seed > 0);
      EXPECT_EQ(result.cycles, expected.cycles);
      EXPECT_EQ(result.operations, expected.operations);
      EXPECT_EQ(result.hostWordsIn, expected.hostWordsIn);
    }
  }
}

TEST(ReplayTest, NaNGoesWhereItGoesInARun) {
  Product product;
  const program::Program &program = product.builder.finish();
  product.feed(1);
  StripsEngine replaying(program, {.threads = 2, .replay = true});
  replaying.run(product.host);
  product.host.rewind();
  product.host.inputs.at({product.xStream, 2}).words[7] = NAN;
  replaying.run(product.host);
  for (uint32_t row = 0; row < Product::height; ++row)
    for (float value : product.host.outputs.at({product.outStream, row}))
      EXPECT_EQ(std::isnan(value), row == 2);
}

/// The host may hand out the same words in other pieces.
TEST(ReplayTest, WordsInOtherViewsAreTheSameWords) {
  Product product;
  const program::Program &program = product.builder.finish();
  product.feed(3);
  StripsEngine(program).run(product.host);
  auto values = product.host.outputs;
  for (size_t first : {size_t(0), size_t(1), size_t(10)})
    for (size_t second : {size_t(0), size_t(1), size_t(5)}) {
      StripsEngine replaying(program, {.threads = 2, .replay = true});
      product.feed(3, first);
      replaying.run(product.host);
      product.feed(3, second);
      EXPECT_TRUE(replaying.run(product.host).replayed);
      EXPECT_EQ(product.host.outputs, values) << first << " " << second;
    }
}

/// A column of PEs, each of which writes a word where another says, or where
/// the program does: at 4, first and last.
class Placed {
public:
  static constexpr int rows = 3, places = 8, words = 0, out = 1;

  explicit Placed(bool byProgram = false) : builder(1, rows) {
    builder.route(words, 0, 1, 0, rows, Port::West, {Port::Ramp});
    builder.route(out, 0, 1, 0, rows, Port::Ramp, {Port::East});
    ClassBuilder pes = builder.addClass("pe", 0, 1, 0, rows);
    const uint16_t pair = pes.buffer("pair", 2),
                   table = pes.buffer("table", places);
    BodyBuilder body = pes.routine(0);
    body.add(Opcode::Mov, {places}, memory(table, {1}), immediate(-1));
    body.loop(2, [&](BodyBuilder inner) {
      auto place = [&] {
        inner.add(Opcode::Mov, {1}, memory(pair, {1}), immediate(3));
        inner.add(Opcode::Add, {1}, memory(pair, {1}), memory(pair, {1}),
                  immediate(1));
      };
      if (!byProgram)
        place();
      inner.add(Opcode::Mov, {2}, memory(pair, {1}), fabric(words));
      if (byProgram)
        place();
      inner.load(0, pair, 0);
      inner.add(Opcode::Mov, {1}, memory(table, {1}, local(0)),
                memory(pair, {1}, Value(1)));
    });
    body.add(Opcode::Mov, {places}, fabric(out), memory(table, {1}));
    in = builder.stream("x", Direction::In, words, {});
    result = builder.stream("y", Direction::Out, out, {});
    for (int row = 0; row < rows; ++row)
      for (uint32_t stream : {in, result})
        builder.source.streams[stream]->channels.push_back({row, 0, 1});
    builder.launch(0, {in, result});
  }

  /// Two places of each row, and what is written there.
  void feed(const std::vector<int> &at, float value) {
    host.rewind();
    for (uint32_t row = 0; row < rows; ++row) {
      std::vector<float> its;
      for (size_t i : {0, 1}) {
        const int place = at[2 * row + i];
        its.insert(its.end(), {float(place), value + float(row)});
        expected[row].assign(places, -1);
      }
      for (size_t i : {0, 1})
        expected[row][size_t(at[2 * row + i])] = value + float(row);
      host.feed(in, row, its);
      host.expect(result, row, places);
    }
  }
  void check() {
    for (uint32_t row = 0; row < rows; ++row)
      EXPECT_EQ(host.outputs.at({result, row}), expected[row]) << row;
  }

  ProgramBuilder builder;
  VectorHost host;
  uint32_t in, result;
  std::vector<float> expected[rows];
};

/// Has nothing to give.
struct RefusingHost : VectorHost {
  WordView next(uint32_t, uint32_t, size_t) override {
    throw Error(ErrorClass::BadTensor, "an index is out of range");
  }
};

TEST(ReplayTest, WhatIsLoadedIsTheSameOrTheRunBeginsAnew) {
  const std::vector<int> one{0, 1, 2, 3, 4, 5}, same{6, 1, 6, 3, 6, 7},
      other{0, 1, 2, 7, 4, 5};
  for (unsigned threads : {1u, 2u})
    for (const std::vector<int> &first : {one, same}) {
      Placed placed;
      StripsEngine engine(placed.builder.finish(),
                          {.threads = threads, .replay = true});
      double cycles = 0;
      float value = 10;
      auto run = [&](const std::vector<int> &at, bool replayed) {
        placed.feed(at, ++value);
        const RunResult result = engine.run(placed.host);
        EXPECT_EQ(result.replayed, replayed);
        placed.check();
        cycles = cycles ? cycles : result.cycles;
        EXPECT_EQ(result.cycles, cycles);
      };
      run(first, false);
      run(first, true);
      RefusingHost refusing;
      EXPECT_THROW(engine.run(refusing), Error);
      run(first, true); // A call that fails is no other run.
      run(other, false);
      run(other, false); // It is not recorded any more.
    }
}

/// Gives its words once.
struct HostOfOneRun : VectorHost {
  bool rewind() override { return false; }
};

TEST(ReplayTest, WhatTheProgramPlacesIsTheSameInAllRuns) {
  const std::vector<int> one{0, 1, 2, 3, 4, 5}, other{7, 6, 5, 4, 3, 2};
  for (const bool byProgram : {false, true}) {
    Placed placed(byProgram);
    StripsEngine engine(placed.builder.finish(), {.replay = true});
    bool isFirst = true;
    for (const std::vector<int> &at : {one, other, one}) {
      placed.feed(at, isFirst ? 10 : 20);
      if (byProgram)
        for (uint32_t row = 0; row < placed.rows; ++row) {
          placed.expected[row].assign(placed.places, -1);
          placed.expected[row][4] = (isFirst ? 10 : 20) + float(row);
        }
      HostOfOneRun host;
      static_cast<VectorHost &>(host) = placed.host;
      EXPECT_EQ(engine.run(host).replayed, byProgram && !isFirst);
      placed.host.outputs = host.outputs;
      placed.check();
      isFirst = false;
    }
  }
}

/// Where a replay ends by a number, of a run or of launches in it, the error is
/// that of a run in which nothing is replayed.
TEST(ReplayTest, NumbersThatEndARunSayWhere) {
  constexpr int rows = 2, layers = 10, in = 0;
  ProgramBuilder builder(1, rows);
  builder.route(in, 0, 1, 0, rows, Port::West, {Port::Ramp});
  ClassBuilder pes = builder.addClass("pe", 0, 1, 0, rows);
  const uint16_t sum = pes.buffer("sum", 1);
  pes.source->buffers[sum]->type = program::ElementType::I32;
  Operand own = memory(sum, {1}), word = fabric(in);
  own.type = word.type = program::ElementType::I32;
  pes.routine(0).add(Opcode::Mov, {1}, own, immediate(0));
  pes.routine(1).add(Opcode::Add, {1}, own, own, word).no_wrap = true;
  const uint32_t stream = builder.stream("x", Direction::In, in, {0, 1});
  builder.source.streams[stream]->type = program::ElementType::I32;
  builder.launch(0, {}, "begin");
  for (int layer = 0; layer < layers; ++layer)
    builder.launch(1, {stream}, "layer");
  const program::Program &program = builder.finish();
  VectorHost small, large; // The sums of the latter leave i32 in launch 8.
  HostOfOneRun once;
  for (VectorHost *host : {&small, &large, static_cast<VectorHost *>(&once)})
    for (uint32_t row = 0; row < rows; ++row)
      host->feed(
          stream, row,
          {std::bit_cast<float>(int32_t(row && host != &small ? 1 << 28 : 7))});
  auto refusal = [&](StripsEngine &engine, VectorHost &host) -> std::string {
    try {
      engine.run(host);
    } catch (const Error &error) {
      EXPECT_EQ(error.errorClass(), ErrorClass::IntegerError);
      return error.what();
    }
    return "";
  };
  for (const bool replays : {false, true}) {
    StripsEngine engine(program, {.replay = replays});
    EXPECT_GT(engine.run(small).rememberedLaunches, 0u);
    EXPECT_NE(refusal(engine, large).find("launch 8, class 'pe', PE (0, 1)"),
              std::string::npos)
        << refusal(engine, large);
    EXPECT_NE(refusal(engine, once), "");
    EXPECT_EQ(engine.run(small).replayed, replays);
  }
}

/// A column of three PEs that all receive the same lines of weights: y = x W.
class OneColumn {
public:
  static constexpr int rows = 3, depth = 6, outputs = 20;
  static constexpr int weights = 0, x = 1, out = 2;

  OneColumn() : builder(1, rows) {
    builder.route(weights, 0, 1, 0, 1, Port::West, {Port::Ramp, Port::South});
    builder.route(weights, 0, 1, 1, 2, Port::North, {Port::Ramp, Port::South});
    builder.route(weights, 0, 1, 2, 3, Port::North, {Port::Ramp});
    builder.route(x, 0, 1, 0, rows, Port::West, {Port::Ramp});
    builder.route(out, 0, 1, 0, rows, Port::Ramp, {Port::East});
    ClassBuilder pes = builder.addClass("pe", 0, 1, 0, rows);
    uint16_t own = pes.buffer("own", depth), sums = pes.buffer("sums", outputs);
    BodyBuilder body = pes.routine(0);
    body.add(Opcode::Mov, {depth}, memory(own, {1}), fabric(x));
    body.add(Opcode::Mov, {outputs}, memory(sums, {1}), immediate(0.25f));
    body.add(Opcode::Fmac, {depth, outputs}, memory(sums, {0, 1}),
             fabric(weights, 2), memory(own, {1, 0}));
    body.add(Opcode::Mov, {outputs}, fabric(out), memory(sums, {1}));
    weightStream = builder.stream("w", Direction::In, weights, {});
    xStream = builder.stream("x", Direction::In, x, {});
    outStream = builder.stream("y", Direction::Out, out, {});
    builder.source.streams[weightStream]->channels.push_back({0, 0, 1});
    for (int row = 0; row < rows; ++row)
      for (uint32_t stream : {xStream, outStream})
        builder.source.streams[stream]->channels.push_back({row, 0, 1});
    builder.launch(0, {weightStream, xStream, outStream});
  }

  /// Lines of weights one by one, of one piece of memory or each of its own.
  void feed(unsigned seed, bool apart) {
    std::mt19937 random(seed);
    auto words = [&](size_t count) { return randomWords(random, count); };
    host.feed(weightStream, 0, words(depth * outputs), outputs);
    VectorHost::Input &lines = host.inputs.at({weightStream, 0});
    lines.owner = std::make_shared<int>();
    lines.apart = apart;
    lines.single = true;
    for (uint32_t row = 0; row < rows; ++row) {
      host.feed(xStream, row, words(depth));
      host.expect(outStream, row, outputs);
    }
    host.rewind();
  }

  ProgramBuilder builder;
  VectorHost host;
  uint32_t weightStream, xStream, outStream;
};

/// Lines of weights that lie evenly apart are one product; those of a later run
/// need not lie so.
TEST(ReplayTest, LinesThatWereJoinedMayLieApart) {
  OneColumn column;
  const program::Program &program = column.builder.finish();
  StripsEngine replaying(program, {.threads = 2, .replay = true});
  for (unsigned seed = 0; seed < 6; ++seed) {
    column.feed(seed, /*apart=*/true);
    StripsEngine(program).run(column.host);
    auto values = column.host.outputs;
    column.feed(seed, /*apart=*/seed % 2 != 0);
    EXPECT_EQ(replaying.run(column.host).replayed, seed > 0);
    EXPECT_EQ(column.host.outputs, values) << seed;
  }
}

/// Instructions that have one number in common are joined as if they were one.
TEST(ReplayTest, InstructionsMayShareAnImmediate) {
  constexpr int words = 24, in = 0, out = 1;
  ProgramBuilder builder(1, 2);
  builder.route(in, 0, 1, 0, 2, Port::West, {Port::Ramp});
  builder.route(out, 0, 1, 0, 2, Port::Ramp, {Port::East});
  ClassBuilder pes = builder.addClass("pe", 0, 1, 0, 2);
  uint16_t own = pes.buffer("own", words), sum = pes.buffer("sum", words);
  BodyBuilder body = pes.routine(0);
  body.add(Opcode::Mov, {words}, memory(own, {1}), fabric(in));
  body.add(Opcode::Mov, {words}, memory(sum, {1}), immediate(1));
  for (int i = 0; i < 3; ++i)
    body.add(Opcode::Fmac, {words}, memory(sum, {1}), memory(own, {1}),
             immediate(0.5f));
  body.add(Opcode::Mov, {words}, fabric(out), memory(sum, {1}));
  uint32_t inStream = builder.stream("in", Direction::In, in, {});
  uint32_t outStream = builder.stream("out", Direction::Out, out, {});
  VectorHost host;
  for (uint32_t row = 0; row < 2; ++row) {
    for (uint32_t stream : {inStream, outStream})
      builder.source.streams[stream]->channels.push_back({int(row), 0, 1});
    host.feed(inStream, row, std::vector<float>(words, float(2 + row)));
    host.expect(outStream, row, words);
  }
  builder.launch(0, {inStream, outStream});
  StripsEngine replaying(builder.finish(), {.threads = 2, .replay = true});
  for (int run = 0; run < 3; ++run) {
    host.rewind();
    EXPECT_EQ(replaying.run(host).replayed, run > 0);
    for (uint32_t row = 0; row < 2; ++row)
      EXPECT_EQ(host.outputs.at({outStream, row}),
                std::vector<float>(words, 1 + 1.5f * float(2 + row)));
  }
}

/// Fails on the lanes of `rows`.
class FailingHost : public VectorHost {
public:
  explicit FailingHost(Product &product) {
    product.feed(5);
    static_cast<VectorHost &>(*this) = product.host;
  }
  WordView next(uint32_t stream, uint32_t lane, size_t maxWords) override {
    if (lane >= failsFrom)
      throw Error(ErrorClass::BadTensor, "lane " + std::to_string(lane));
    return VectorHost::next(stream, lane, maxWords);
  }
  uint32_t failsFrom = UINT32_MAX;
};

TEST(ReplayTest, AnErrorOfTheHostEndsTheRunAndTheNextOneIsSound) {
  Product product;
  const program::Program &program = product.builder.finish();
  FailingHost host(product);
  StripsEngine replaying(program, {.threads = 2, .replay = true});
  replaying.run(host);
  auto values = host.outputs;
  host.rewind();
  host.failsFrom = 3;
  std::string message;
  for (int i = 0; i < 3; ++i) {
    host.rewind();
    try {
      replaying.run(host);
      FAIL() << "no error";
    } catch (const Error &error) {
      EXPECT_TRUE(message.empty() || message == error.what());
      message = error.what();
    }
  }
  EXPECT_EQ(message, "BadTensor: lane 3");
  host.failsFrom = UINT32_MAX;
  host.rewind();
  EXPECT_TRUE(replaying.run(host).replayed);
  EXPECT_EQ(host.outputs, values);
}

TEST(ReplayTest, ARunThatFailsIsNotRecorded) {
  Product product;
  const program::Program &program = product.builder.finish();
  FailingHost host(product);
  StripsEngine replaying(program, {.threads = 2, .replay = true});
  host.failsFrom = 0;
  EXPECT_THROW(replaying.run(host), Error);
  host.failsFrom = UINT32_MAX;
  for (int i = 0; i < 2; ++i) {
    host.rewind();
    EXPECT_FALSE(replaying.run(host).replayed);
  }
}

TEST(ReplayTest, ARunTooLongToRecordRunsAsEver) {
  Product product;
  const program::Program &program = product.builder.finish();
  product.feed(6);
  StripsEngine(program).run(product.host);
  auto values = product.host.outputs;
  StripsEngine replaying(
      program, {.threads = 2, .replay = true, .recordingBytes = 1 << 12});
  for (int i = 0; i < 3; ++i) {
    product.host.rewind();
    EXPECT_FALSE(replaying.run(product.host).replayed);
    EXPECT_EQ(product.host.outputs, values);
  }
}

} // namespace
} // namespace wsec::runtime
