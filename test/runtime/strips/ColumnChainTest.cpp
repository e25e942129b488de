// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums that go north, from row to row, through PEs of which every second does
// the same: those are strips whose rows lie apart.
#include "runtime/strips/StripsEngine.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Direction;
using program::Opcode;
using program::Port;

/// Says how often a run began anew.
struct CountingHost : VectorHost {
  bool rewind() override {
    ++rewinds;
    return VectorHost::rewind();
  }
  int rewinds = 0;
};

/// Each PE has ones; row 0 gets the sums over the column and sends them to the
/// host. PEs of odd rows have one element more of an instruction, which makes
/// them other strips than those of even rows.
class ColumnSum {
public:
  static constexpr int height = 7, words = 30, exit = 4;

  /// Whether an instruction that receives sums sends them on, or another.
  explicit ColumnSum(bool relays) : builder(1, height) {
    for (int parity = 0; parity < 2; ++parity) {
      builder.route(parity, 0, 1, 2 - parity, height, Port::Ramp, {Port::North},
                    1, 2);
      builder.route(parity, 0, 1, 1 - parity, height - 1, Port::South,
                    {Port::Ramp}, 1, 2);
    }
    builder.route(exit, 0, 1, 0, 1, Port::Ramp, {Port::East});
    ClassBuilder pes = builder.addClass("pe", 0, 1, 0, height);
    Scalar y = pes.py(), sends = pes.parity(y), receives = pes.negate(sends);
    Scalar first = pes.equal(y, 0), last = pes.equal(y, height - 1);
    Scalar others = pes.negate(first), above = pes.negate(last);
    Scalar inner = pes.both(others, above);
    uint16_t sum = pes.buffer("sum", words), more = pes.buffer("more", 2);
    BodyBuilder body = pes.routine(0);
    auto add = [&](Operand dst, Scalar guard) {
      body.add(Opcode::Add, {words}, dst, memory(sum, {1}), fabric(receives))
          .guard = int16_t(guard.index);
    };
    auto send = [&](Value color, Scalar guard) {
      body.add(Opcode::Mov, {words}, fabric(color), memory(sum, {1})).guard =
          int16_t(guard.index);
    };
    body.add(Opcode::Mov, {words}, memory(sum, {1}), immediate(1));
    body.add(Opcode::Mov, {sends + Value(1)}, memory(more, {1}), immediate(2));
    if (relays) {
      send(sends, last);
      add(fabric(sends), inner);
      add(memory(sum, {1}), first);
    } else {
      add(memory(sum, {1}), above);
      send(sends, others);
    }
    send(exit, first);
    out = builder.stream("out", Direction::Out, exit, {0});
    builder.launch(0, {out});
    host.expect(out, 0, words);
  }

  void check() const {
    EXPECT_EQ(host.outputs.at({out, 0}), std::vector<float>(words, height));
  }

  ProgramBuilder builder;
  CountingHost host;
  uint32_t out;
};

/// PEs of a strip may wait for one another within an instruction: each runs it
/// by itself.
TEST(ColumnChainTest, WordsOfAStripComeBackToItByWayOfOthers) {
  ColumnSum sum(true);
  const RunResult result = StripsEngine(sum.builder.finish()).run(sum.host);
  sum.check();
  EXPECT_EQ(sum.host.rewinds, 0);
  VectorHost host = sum.host;
  host.rewind();
  EXPECT_NEAR(result.cycles /
                  WaveletEngine(sum.builder.finish()).run(host).cycles,
              1, 0.02);
}

/// They do not where they wait for what others do later: then the run begins
/// anew, with strips that are not joined.
TEST(ColumnChainTest, StripsThatWaitForThemselvesAreTakenApart) {
  ColumnSum sum(false);
  StripsEngine engine(sum.builder.finish(), {.replay = true});
  for (const bool replayed : {false, true}) {
    EXPECT_EQ(engine.run(sum.host).replayed, replayed);
    sum.check();
    EXPECT_EQ(sum.host.rewinds, 1);
    sum.host.VectorHost::rewind();
  }
}

} // namespace
} // namespace wsec::runtime
