// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains of receive-add-forward between neighbours in a row.
#include "runtime/strips/StripsEngine.h"
#include "test/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Direction;
using program::Opcode;
using program::Port;

/// Sums a vector over the columns of each row; column 0 sends the sums over
/// row_east-like wires out at the east. Neighbour links alternate two colors
/// by the parity of the sender.
class RowReduce {
public:
  static constexpr int exit = 4;

  RowReduce(int width, int height, int words)
      : width(width), height(height), words(words), builder(width, height) {
    for (int parity = 0; parity < 2; ++parity) {
      builder.route(parity, parity, width, 0, height, Port::Ramp, {Port::West},
                    2);
      builder.route(parity, 1 - parity, width, 0, height, Port::East,
                    {Port::Ramp}, 2);
    }
    builder.route(exit, 0, 1, 0, height, Port::Ramp, {Port::East});
    builder.route(exit, 1, width, 0, height, Port::West, {Port::East});
    ClassBuilder pes = builder.addClass("pe", 0, width, 0, height);
    Scalar x = pes.px(), y = pes.py();
    Scalar sends = pes.parity(x);
    Scalar receives = pes.negate(sends);
    Scalar first = pes.equal(x, 0), last = pes.equal(x, width - 1);
    Scalar inner = pes.both(pes.negate(first), pes.negate(last));
    uint16_t part = pes.buffer("part", uint32_t(words));
    uint16_t sum = pes.buffer("sum", uint32_t(words));
    (void)y;
    BodyBuilder body = pes.routine(0);
    // part = 1, 2, 3, ... in every PE
    body.add(Opcode::Mov, {1}, memory(part, {1}), immediate(1));
    body.add(Opcode::Add, {words - 1}, memory(part, {1}, 1), memory(part, {1}),
             immediate(1));
    body.add(Opcode::Mov, {words}, fabric(sends), memory(part, {1})).guard =
        int16_t(last.index);
    body.add(Opcode::Add, {words}, fabric(sends), fabric(receives),
             memory(part, {1}))
        .guard = int16_t(inner.index);
    body.add(Opcode::Add, {words}, memory(sum, {1}), fabric(receives),
             memory(part, {1}))
        .guard = int16_t(first.index);
    BodyBuilder output = pes.routine(1);
    output.add(Opcode::Mov, {words}, fabric(exit), memory(sum, {1})).guard =
        int16_t(first.index);
    out = builder.stream("out", Direction::Out, exit, {});
    for (int row = 0; row < height; ++row) {
      builder.source.streams[out]->channels.push_back({row, 0, width});
      host.expect(out, uint32_t(row), uint64_t(words));
    }
    builder.launch(0);
    builder.launch(1, {out});
  }

  RunResult run(EngineOptions options) {
    host.rewind();
    return StripsEngine(builder.finish(), options).run(host);
  }

  int width, height, words;
  ProgramBuilder builder;
  VectorHost host;
  uint32_t out;
};

TEST(RowChainTest, SumsOverFiveColumns) {
  RowReduce reduce(5, 3, 40);
  reduce.run({});
  for (uint32_t row = 0; row < 3; ++row) {
    const std::vector<float> &sum = reduce.host.outputs.at({reduce.out, row});
    ASSERT_EQ(sum.size(), 40u);
    for (size_t i = 0; i < sum.size(); ++i)
      EXPECT_EQ(sum[i], 5 * float(i + 1));
  }
}

TEST(RowChainTest, AStageCostsOneHopTwoRampsAndACycle) {
  // Luczynski 2024: chain of P PEs and B words takes B + (2 T_R + 2)(P - 1).
  // A stage that arrives at its add later than its predecessor's first word
  // by the time of the launch wavelet is the same in both.
  RowReduce small(32, 1, 256), large(64, 1, 256);
  LaunchTime a = small.run({}).launches[0], b = large.run({}).launches[0];
  EXPECT_NEAR((b.end - a.end) / 32, 6 + 1, 0.2); // + command hop
}

TEST(RowChainTest, ThreadsChangeNeitherValuesNorCycles) {
  RowReduce reduce(9, 17, 3000);
  RunResult one = reduce.run({1});
  auto values = reduce.host.outputs;
  for (unsigned threads : {2u, 5u}) {
    // Small queues make senders wait often.
    for (size_t queueWords : {size_t(64), size_t(1) << 18}) {
      RunResult other = reduce.run({threads, queueWords});
      EXPECT_EQ(reduce.host.outputs, values);
      EXPECT_EQ(other.cycles, one.cycles);
      EXPECT_EQ(other.vectorInstructions, one.vectorInstructions);
      EXPECT_EQ(other.operations, one.operations);
    }
    StripsEngine replaying(reduce.builder.finish(),
                           {.threads = threads, .replay = true});
    for (bool replayed : {false, true}) {
      reduce.host.rewind();
      EXPECT_EQ(replaying.run(reduce.host).replayed, replayed);
      EXPECT_EQ(reduce.host.outputs, values);
    }
  }
}

TEST(RowChainTest, KernelCyclesAddUpToTheTotal) {
  RowReduce reduce(4, 2, 10);
  RunResult result = reduce.run({});
  ASSERT_EQ(result.kernelCycles.size(), 2u);
  EXPECT_DOUBLE_EQ(result.kernelCycles[0] + result.kernelCycles[1],
                   result.cycles);
  EXPECT_EQ(result.hostWordsOut, 20u);
  EXPECT_EQ(result.classes[0].pes, 8u);
  EXPECT_EQ(result.classes[0].highWaterBytes, 4176u + 64 + 16 + 80);
}

} // namespace
} // namespace wsec::runtime
