// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector instructions in a column of PEs: rows 0 and 1 of a 1 x 2 mesh form one
// strip, each row with its own lanes in and out.
#include "runtime/strips/StripsEngine.h"
#include "runtime/strips/World.h"
#include "test/runtime/ProgramBuilder.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Direction;
using program::Opcode;
using program::Port;

/// A column of `rows` PEs; each loads its input, runs what the test adds, and
/// sends a result.
class Column {
public:
  static constexpr int in = 0, out = 1;

  Column(int rows, int inputWords, int outputWords)
      : rows(rows), outputWords(outputWords), builder(1, rows),
        pes(builder.addClass("pe", 0, 1, 0, rows)) {
    builder.route(in, 0, 1, 0, rows, Port::West, {Port::Ramp});
    builder.route(out, 0, 1, 0, rows, Port::Ramp, {Port::East});
    input = pes.buffer("input", uint32_t(inputWords));
    output = pes.buffer("output", uint32_t(outputWords));
    body = std::make_unique<BodyBuilder>(pes.routine(0));
    body->add(Opcode::Mov, {inputWords}, memory(input, {1}), fabric(in));
  }

  std::vector<std::vector<float>>
  run(const std::vector<std::vector<float>> &inputs) {
    body->add(Opcode::Mov, {outputWords}, fabric(out), memory(output, {1}));
    uint32_t inStream = builder.stream("in", Direction::In, in, {});
    uint32_t outStream = builder.stream("out", Direction::Out, out, {});
    for (int row = 0; row < rows; ++row) {
      builder.source.streams[inStream]->channels.push_back({row, 0, 1});
      builder.source.streams[outStream]->channels.push_back({row, 0, 1});
      host.feed(inStream, uint32_t(row), inputs[size_t(row)]);
      host.expect(outStream, uint32_t(row), uint64_t(outputWords));
    }
    builder.launch(0, {inStream, outStream});
    result = StripsEngine(builder.finish(), {2}).run(host);
    std::vector<std::vector<float>> outputs;
    for (int row = 0; row < rows; ++row)
      outputs.push_back(host.outputs.at({outStream, uint32_t(row)}));
    return outputs;
  }

  int rows, outputWords;
  ProgramBuilder builder;
  ClassBuilder pes;
  std::unique_ptr<BodyBuilder> body;
  VectorHost host;
  RunResult result;
  uint16_t input, output;
};

using Rows = std::vector<std::vector<float>>;

TEST(InstructionTest, ElementwiseWithStrides) {
  Column column(2, 6, 3);
  // Every second element plus one.
  column.body->add(Opcode::Add, {3}, memory(column.output, {1}),
                   memory(column.input, {2}), immediate(1));
  EXPECT_EQ(column.run({{0, 1, 2, 3, 4, 5}, {10, 11, 12, 13, 14, 15}}),
            (Rows{{1, 3, 5}, {11, 13, 15}}));
}

/// Where an operand lies is in the first word of its PE.
TEST(InstructionTest, OffsetsAreLoaded) {
  for (float second : {1.f, 2.f}) { // the same in both PEs, or not
    Column column(2, 4, 2);
    column.body->add(Opcode::Mov, {2}, memory(column.output, {1}),
                     immediate(5));
    column.body->load(0, column.input, 0);
    column.body->add(Opcode::Fmac, {1}, memory(column.output, {1}, 1),
                     memory(column.input, {1}, local(0) + 1), immediate(2));
    EXPECT_EQ(column.run({{1, 10, 20, 30}, {second, 40, 50, 60}}),
              (Rows{{5, 45}, {5, second == 1 ? 105.f : 125.f}}));
  }
}

TEST(InstructionTest, LoadedOffsetsLeadToOthers) {
  Column column(2, 4, 1);
  column.body->load(0, column.input, 0);
  column.body->load(1, column.input, local(0));
  column.body->add(Opcode::Mov, {1}, memory(column.output, {1}),
                   memory(column.input, {1}, local(1)));
  EXPECT_EQ(column.run({{1, 2, 7, 0}, {2, 0, 3, 9}}), (Rows{{7}, {9}}));
}

/// Halves of words that nothing has read as such, and that something has.
TEST(InstructionTest, LoadsTakeHalves) {
  for (bool asElements : {false, true}) {
    Column column(2, 3, 2);
    column.pes.source->buffers.push_back(std::make_unique<program::BufferT>(
        *column.pes.source->buffers[column.input]));
    column.pes.source->buffers.back()->name = "halves";
    column.pes.source->buffers.back()->type = program::ElementType::I16;
    const auto halves = uint16_t(column.pes.source->buffers.size() - 1);
    column.body->add(Opcode::Mov, {2}, memory(column.output, {1}),
                     memory(asElements ? halves : column.input, {0}));
    column.body->load(0, halves, 1);
    column.body->add(Opcode::Mov, {1}, memory(column.output, {1}),
                     memory(column.input, {1}, local(0)));
    const float word = std::bit_cast<float>(uint32_t(2) << 16 | 3);
    const Rows rows = column.run({{word, 4, 6}, {word, 5, 7}});
    EXPECT_EQ(rows[0][0], 6);
    EXPECT_EQ(rows[1][0], 7);
    EXPECT_EQ(rows[0][1], asElements ? 3 : word);
  }
}

TEST(InstructionTest, StrideZeroReduces) {
  Column column(2, 6, 2);
  column.body->add(Opcode::Mov, {2}, memory(column.output, {1}), immediate(0));
  column.body->add(Opcode::Add, {2, 3}, memory(column.output, {1, 0}),
                   memory(column.output, {1, 0}), memory(column.input, {3, 1}));
  EXPECT_EQ(column.run({{1, 2, 3, 4, 5, 6}, {1, 1, 1, 2, 2, 2}}),
            (Rows{{6, 15}, {3, 6}}));
}

TEST(InstructionTest, MaximumOverTheOuterExtent) {
  Column column(1, 6, 2);
  column.body->add(Opcode::Mov, {2}, memory(column.output, {1}),
                   immediate(-1e30f));
  column.body->add(Opcode::Max, {3, 2}, memory(column.output, {0, 1}),
                   memory(column.output, {0, 1}), memory(column.input, {2, 1}));
  EXPECT_EQ(column.run({{1, 9, 7, 2, 3, 4}}), (Rows{{7, 9}}));
}

TEST(InstructionTest, ElementsAreComputedOneAfterTheOther) {
  Column column(2, 4, 5);
  // output[i + 1] = output[i] + input[i]
  column.body->add(Opcode::Mov, {1}, memory(column.output, {1}), immediate(0));
  column.body->add(Opcode::Add, {4}, memory(column.output, {1}, 1),
                   memory(column.output, {1}), memory(column.input, {1}));
  EXPECT_EQ(column.run({{1, 2, 3, 4}, {5, 5, 5, 5}}),
            (Rows{{0, 1, 3, 6, 10}, {0, 5, 10, 15, 20}}));
}

TEST(InstructionTest, SelectKeepsWhatIsNotChosen) {
  Column column(1, 4, 4);
  column.body->add(Opcode::Mov, {4}, memory(column.output, {1}), immediate(7));
  column.body->add(Opcode::Select, {4}, memory(column.output, {1}),
                   memory(column.input, {1}), immediate(1));
  EXPECT_EQ(column.run({{0, 1, 0, 2}}), (Rows{{7, 1, 7, 1}}));
}

TEST(InstructionTest, LoopsAndGuards) {
  Column column(2, 2, 4);
  Scalar first = column.pes.equal(column.pes.py(), 0);
  column.body->add(Opcode::Mov, {4}, memory(column.output, {1}), immediate(0));
  column.body->loop(2, [&](BodyBuilder body) {
    body.loop(2, [&](BodyBuilder inner) {
      inner.add(Opcode::Add, {1},
                memory(column.output, {1}, Value::loop(0, 2) + Value::loop(1)),
                memory(column.input, {1}, Value::loop(1)), immediate(1));
    });
  });
  column.body->add(Opcode::Mov, {1}, memory(column.output, {1}), immediate(50))
      .guard = int16_t(first.index);
  EXPECT_EQ(column.run({{1, 2}, {3, 4}}), (Rows{{50, 3, 2, 3}, {4, 5, 4, 5}}));
}

/// PEs are one strip where they differ only in what they do with their memory.
TEST(InstructionTest, ExtentsAndTurnsOfEachRow) {
  Column column(3, 3, 4);
  const Value row(column.pes.py());
  column.body->add(Opcode::Mov, {4}, memory(column.output, {1}), immediate(0));
  column.body->add(Opcode::Add, {row + Value(1)}, memory(column.output, {1}),
                   memory(column.input, {1}), immediate(10));
  column.body->loop(row, [&](BodyBuilder body) {
    body.add(Opcode::Add, {Value(4) + row.times(-1)},
             memory(column.output, {1}, row), memory(column.output, {1}, row),
             immediate(100));
  });
  EXPECT_EQ(column.run({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}),
            (Rows{{11, 0, 0, 0}, {14, 115, 100, 100}, {17, 18, 219, 200}}));
  EXPECT_EQ(ProgramImage(column.builder.finish(), true).strips.size(), 1u);
}

/// dst[n][v] += w * x[k][v] with the weights as a stream, in both orders.
class ProductTest : public testing::TestWithParam<bool> {};

TEST_P(ProductTest, EqualsThePlainLoop) {
  const bool kMajor = GetParam();
  const int rows = 2, K = 37, N = 5, V = 3, stride = 4, weights = 2;
  Column column(rows, K * stride, N * stride);
  ProgramBuilder &builder = column.builder;
  // Weights: one lane at row 0, multicast down the column.
  builder.route(weights, 0, 1, 0, 1, Port::West, {Port::Ramp, Port::South});
  builder.route(weights, 0, 1, 1, 2, Port::North, {Port::Ramp});
  column.body->add(Opcode::Mov, {N * stride}, memory(column.output, {1}),
                   immediate(0.25f));
  if (kMajor)
    column.body->add(Opcode::Fmac, {K, N, V},
                     memory(column.output, {0, stride, 1}), fabric(weights, 2),
                     memory(column.input, {stride, 0, 1}));
  else
    column.body->add(Opcode::Fmac, {N, K, V},
                     memory(column.output, {stride, 0, 1}), fabric(weights, 2),
                     memory(column.input, {0, stride, 1}));
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> w(size_t(K * N));
  for (float &value : w)
    value = uniform(generator);
  Rows x(rows, std::vector<float>(size_t(K * stride)));
  for (auto &row : x)
    for (float &value : row)
      value = uniform(generator);
  uint32_t stream = builder.stream("weights", Direction::In, weights, {0});
  column.host.feed(stream, 0, w);
  builder.launch(1, {stream}, "weights first");
  Rows got = column.run(x);
  for (int row = 0; row < rows; ++row)
    for (int n = 0; n < N; ++n)
      for (int v = 0; v < V; ++v) {
        float sum = 0.25f;
        for (int k = 0; k < K; ++k)
          sum = std::fma(w[size_t(kMajor ? k * N + n : n * K + k)],
                         x[size_t(row)][size_t(k * stride + v)], sum);
        EXPECT_EQ(got[size_t(row)][size_t(n * stride + v)], sum);
      }
}

INSTANTIATE_TEST_SUITE_P(Orders, ProductTest, testing::Bool());

/// Scores and values of attention: four extents, words reused inside.
TEST(InstructionTest, ProductsWithFourExtents) {
  const int keys = 3, heads = 2, size = 4, stream = 2;
  // input: q[h][d], output: score[j][h]
  Column column(1, heads * size, keys * heads);
  column.builder.route(stream, 0, 1, 0, 1, Port::West, {Port::Ramp});
  column.body->add(Opcode::Mov, {keys * heads}, memory(column.output, {1}),
                   immediate(0));
  column.body->add(Opcode::Fmac, {keys, heads, size, 1},
                   memory(column.output, {heads, 1, 0, 1}), fabric(stream, 3),
                   memory(column.input, {0, size, 1, 1}));
  std::vector<float> q(heads * size), k(keys * heads * size);
  for (size_t i = 0; i < q.size(); ++i)
    q[i] = float(i) - 2;
  for (size_t i = 0; i < k.size(); ++i)
    k[i] = float(i % 5) - 1;
  uint32_t s = column.builder.stream("keys", Direction::In, stream, {0});
  column.host.feed(s, 0, k);
  column.builder.launch(1, {s});
  Rows got = column.run({q});
  for (int j = 0; j < keys; ++j)
    for (int h = 0; h < heads; ++h) {
      float sum = 0;
      for (int d = 0; d < size; ++d)
        sum += k[size_t((j * heads + h) * size + d)] * q[size_t(h * size + d)];
      EXPECT_EQ(got[0][size_t(j * heads + h)], sum);
    }
}

TEST(InstructionTest, CyclesOfOneInstruction) {
  Column with(1, 64, 64), without(1, 64, 64);
  for (Column *column : {&with, &without})
    column->body->add(Opcode::Mov, {64}, memory(column->output, {1}),
                      immediate(0));
  with.body->add(Opcode::Add, {64}, memory(with.output, {1}),
                 memory(with.input, {1}), immediate(1));
  Rows x(1, std::vector<float>(64, 1));
  with.run(x);
  without.run(x);
  // copy_setup: one operand in, beside a constant.
  EXPECT_EQ(with.result.cycles - without.result.cycles, 5 + 64);
}

} // namespace
} // namespace wsec::runtime
