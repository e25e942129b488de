// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns of PEs that compute, from their row and an argument of the call,
// which elements they work on, how many, how often and whether: strips and the
// stepping engine agree on every bit and on the cycles. Between these
// statements the first row sends words to the others.
#include "runtime/strips/StripsEngine.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/TaskProgram.h"
#include "test/runtime/differential/Choices.h"

#include <gtest/gtest.h>

namespace wsec::runtime::test {
namespace {

using program::Direction;
using program::Opcode;
using program::Port;
using program::ScalarOp;

class ColumnCode {
public:
  static constexpr int elements = 32;

  explicit ColumnCode(Choices &choices)
      : choices(choices), height(choices.between(1, 9)), builder(1, height),
        pes(builder.addClass("pe", 0, 1, 0, height)), py(pes.py()),
        head(pes.equal(py, 0)), others(pes.negate(head)),
        share(pes.scalar(ScalarOp::TileSize, pes.constant(13).index,
                         pes.constant(height).index, py.index)),
        x(pes.buffer("x", elements)), y(pes.buffer("y", elements)) {
    constexpr int in = 0, out = 1;
    builder.route(in, 0, 1, 0, height, Port::West, {Port::Ramp});
    builder.route(out, 0, 1, 0, height, Port::Ramp, {Port::East});
    if (height > 1) {
      builder.route(down, 0, 1, 0, 1, Port::Ramp, {Port::South});
      builder.route(down, 0, 1, height - 1, height, Port::North, {Port::Ramp});
    }
    if (height > 2)
      builder.route(down, 0, 1, 1, height - 1, Port::North,
                    {Port::Ramp, Port::South});
    pes.routine(0).add(Opcode::Mov, {elements}, memory(x, {1}), fabric(in));
    pes.routine(1).add(Opcode::Mov, {elements}, memory(y, {1}), immediate(1));
    BodyBuilder code = pes.routine(2);
    auto &routine = *pes.source->routines.back();
    routine.arguments = 1;
    values = {local(0)};
    write(TaskBody(routine.body), 0);
    code.add(Opcode::Add, {elements}, memory(y, {1}), memory(y, {1}),
             memory(x, {1}));
    pes.routine(3).add(Opcode::Mov, {elements}, fabric(out), memory(y, {1}));
    const uint32_t from = builder.stream("in", Direction::In, in, {});
    const uint32_t to = builder.stream("out", Direction::Out, out, {});
    for (int row = 0; row < height; ++row) {
      builder.source.streams[from]->channels.push_back({row, 0, 1});
      builder.source.streams[to]->channels.push_back({row, 0, 1});
    }
    builder.launch(0, {from});
    builder.launch(1);
    for (uint16_t scalar : {0, 2}) {
      builder.launch(2);
      builder.source.entries[0]->launches.back()->arguments = {scalar};
    }
    builder.launch(3, {to});
    program::EntryT &entry = *builder.source.entries[0];
    entry.scalars = {{ScalarOp::Argument, 0, 0, 0},
                     {ScalarOp::Constant, 3, 0, 0},
                     {ScalarOp::Add, 0, 1, 0}};
    auto argument = std::make_unique<program::ArgumentT>();
    argument->name = "position";
    argument->to = 20;
    entry.arguments.push_back(std::move(argument));
  }

  VectorHost host(int salt) const {
    VectorHost host;
    for (int row = 0; row < height; ++row) {
      std::vector<float> words;
      for (int i = 0; i < elements; ++i)
        words.push_back(float((row * 7 + i * 3 + salt) % 11) / 4);
      host.feed(0, uint32_t(row), words);
      host.expect(1, uint32_t(row), elements);
    }
    return host;
  }

  Choices &choices;
  const int height;
  ProgramBuilder builder;

private:
  static constexpr int down = 2;

  Value pick() {
    Value value = values[choices.draw(uint32_t(values.size()))];
    if (choices.draw(2))
      value = value.times(choices.between(-2, 2));
    return value + choices.between(-3, 3);
  }
  /// A local of this depth in [0, most], as the row or the argument has it.
  Value upTo(TaskBody body, int depth, int most) {
    const auto first = uint16_t(1 + 8 * depth), its = uint16_t(first + 1);
    static constexpr ScalarOp ops[] = {
        ScalarOp::Add, ScalarOp::Sub,   ScalarOp::Mul,      ScalarOp::Min,
        ScalarOp::Max, ScalarOp::Equal, ScalarOp::Less,     ScalarOp::And,
        ScalarOp::Or,  ScalarOp::Py,    ScalarOp::TileStart};
    const ScalarOp op = ops[choices.draw(std::size(ops))];
    body.compute(first, op, pick(), op == ScalarOp::TileStart ? 3 : pick(),
                 pick());
    values.push_back(local(first));
    body.compute(its, ScalarOp::Mod, local(first), most + 1);
    const auto result = uint16_t(first + 2 + choices.draw(4));
    body.compute(result, ScalarOp::Max, local(its), 0);
    return local(result);
  }

  void vector(TaskBody body, int depth) {
    const Value count = upTo(body, depth, 6);
    const bool twice = choices.draw(2);
    std::vector<Value> extents{count};
    if (twice)
      extents.insert(extents.begin(), Value(2));
    auto somewhere = [&](uint16_t buffer) {
      std::vector<int32_t> strides{choices.between(1, 2)};
      if (twice)
        strides.insert(strides.begin(), choices.between(0, 3));
      return memory(buffer, strides,
                    choices.draw(2) ? Value(choices.between(0, 8)) : place);
    };
    place = Value(choices.between(0, 8));
    if (choices.draw(2))
      place = upTo(body, depth, 8);
    const Operand dst = somewhere(y), a = somewhere(x), b = somewhere(y);
    body.add(choices.draw(2) ? Opcode::Fmac : Opcode::Add, extents, dst, a,
             choices.draw(2) ? b : immediate(0.5));
    place = 0;
  }

  void cast(TaskBody body) {
    if (height < 2)
      return;
    // As many words as the argument says, in all PEs.
    body.compute(40, ScalarOp::Min, local(0), 9);
    const Value words = choices.draw(2) ? local(40) + 1 : Value(5);
    body.add(Opcode::Mov, {words}, fabric(down), memory(y, {1})).guard =
        int16_t(head.index);
    body.add(Opcode::Mov, {words}, memory(y, {1}, 3), fabric(down)).guard =
        int16_t(others.index);
  }

  void write(TaskBody body, int depth) {
    const std::vector<Value> outer = values;
    values.push_back(Value(share));
    values.push_back(Value(py));
    for (int i = choices.between(1, 5); i > 0; --i)
      switch (choices.draw(depth < 2 ? 5 : 1)) {
      default:
        vector(body, depth);
        break;
      case 1:
        body.branch(
            upTo(body, depth, 2),
            [&](TaskBody then) { write(then, depth + 1); },
            [&](TaskBody otherwise) {
              if (choices.draw(2))
                write(otherwise, depth + 1);
            });
        break;
      case 2:
        body.repeat(upTo(body, depth, 3), [&](TaskBody turn) {
          values.push_back(Value::loop(uint16_t(loops++)));
          write(turn, depth + 1);
          values.pop_back();
          --loops;
        });
        break;
      case 3:
        if (depth == 0)
          cast(body);
        break;
      }
    values = outer;
  }

  ClassBuilder pes;
  const Scalar py, head, others, share;
  const uint16_t x, y;
  std::vector<Value> values;
  Value place;
  int loops = 0;
};

/// One call of each, and a replay on other numbers.
TEST(RowCodeTest, StripsAndWaveletAgree) {
  int differ = 0;
  double sum = 0, least = 0, most = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Choices choices(seed);
    ColumnCode code(choices);
    const program::Program &program = code.builder.finish();
    ASSERT_EQ(StripsEngine::unsupported(program), "");
    EngineOptions replaying;
    replaying.threads = 2;
    replaying.replay = true;
    StripsEngine strips(program, replaying);
    for (int64_t position : {0, 5, 20, 5})
      for (int salt : {1, 2}) {
        const Call call(program, 0, {position});
        VectorHost expected = code.host(salt), host = code.host(salt);
        const RunResult stepped = WaveletEngine(program).run(expected, call);
        const RunResult result = strips.run(host, call);
        ASSERT_EQ(host.outputs, expected.outputs) << "position " << position;
        EXPECT_EQ(result.vectorInstructions, stepped.vectorInstructions);
        EXPECT_EQ(result.operations, stepped.operations);
        const double off = result.cycles / stepped.cycles - 1;
        differ += std::abs(off) > 0.01;
        sum += off;
        least = std::min(least, off);
        most = std::max(most, off);
      }
  }
  // A strip is as late as the last of its PEs where words come or a launch
  // ends.
  EXPECT_LE(differ, 52);
  EXPECT_LE(std::abs(sum) / 1600, 0.0018);
  EXPECT_GE(least, -0.0025);
  EXPECT_LE(most, 0.134);
}

} // namespace
} // namespace wsec::runtime::test
