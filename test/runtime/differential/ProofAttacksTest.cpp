// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that hang on the stepping engine and differ in one place from ones
// that are free: a proof with a hole would call them free, too.
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/proof/DeadlockChecker.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/ExampleFile.h"

#include <gtest/gtest.h>

#include <optional>

namespace wsec::runtime::test {
namespace {

using namespace program;

class ProofAttacks : public testing::Test {
protected:
  /// A stream of `lines` lines of `block` words for each column.
  uint32_t stream(ProgramBuilder &builder, Direction direction, int color,
                  std::vector<Channel> channels, int lines, int block) {
    const bool in = direction == Direction::In;
    const std::string number = std::to_string(builder.source.streams.size());
    const uint32_t index = builder.stream("s" + number, direction, color, {});
    HostStreamT &made = *builder.source.streams[index];
    made.channels = std::move(channels);
    addTensor(builder, "t" + number,
              in ? TensorRole::Input : TensorRole::Output, {1024});
    made.segments.push_back(makeSegment(index, lines, block, {block}, {1}, 0));
    return index;
  }

  /// Hangs and is not free, or ends and is.
  void expect(ProgramBuilder &builder, VectorHost &host, bool hangs) {
    stateCodeBytes(builder);
    const Program &finished = builder.finish();
    checkProgram(finished);
    const DeadlockProof phases = provePhases(finished);
    const DeadlockProof proof = proveDeadlockFree(finished);
    std::optional<ErrorClass> error;
    try {
      WaveletEngine(finished).run(host);
    } catch (const Error &problem) {
      error = problem.errorClass();
    }
    if (hangs) {
      EXPECT_EQ(error, ErrorClass::Deadlock);
      EXPECT_NE(phases.verdict, Verdict::Free);
      EXPECT_NE(proof.verdict, Verdict::Free);
    } else {
      EXPECT_EQ(error, std::nullopt);
      EXPECT_EQ(phases.verdict, Verdict::Free) << phases.reason;
    }
  }
};

/// On 2 x 2 PEs the channel of row y serves column y, whose PE in that row
/// takes its words; with `passed` PE (0, 1) wants those that pass it.
struct HostColumns {
  HostColumns(bool passed) : builder(2, 2) {
    using enum Port;
    builder.route(1, 0, 1, 0, 1, West, {Ramp});
    builder.route(1, 0, 1, 1, 2, West, {East});
    builder.route(1, 1, 2, 1, 2, West, {Ramp});
    ClassBuilder pes = builder.addClass("pes", 0, 2, 0, 2);
    Scalar x = pes.px(), y = pes.py();
    Scalar head = pes.scalar(ScalarOp::Equal, y.index, x.index);
    Scalar other = pes.both(pes.equal(x, 0), pes.equal(y, 1));
    const uint16_t a = pes.buffer("a", 64);
    BodyBuilder body = pes.routine(0);
    auto &take = body.add(Opcode::Mov, {2, 2}, memory(a, {2, 1}), fabric(1, 2));
    take.guard = int16_t(head.index);
    take.thread = 0;
    if (passed) {
      auto &more =
          body.add(Opcode::Mov, {2, 2}, memory(a, {2, 1}), fabric(1, 2));
      more.guard = int16_t(other.index);
      more.thread = 0;
    }
    body.await(1);
  }
  ProgramBuilder builder;
};

TEST_F(ProofAttacks, WordsOfTheHostPassAPeThatWantsThem) {
  for (bool passed : {false, true}) {
    HostColumns columns(passed);
    const uint32_t in =
        stream(columns.builder, Direction::In, 1, {{0, 0, 1}, {1, 1, 2}}, 2, 2);
    columns.builder.launch(0, {in});
    VectorHost host;
    host.feed(in, 0, std::vector<float>(4, 1));
    host.feed(in, 1, std::vector<float>(4, 1));
    expect(columns.builder, host, passed);
  }
}

/// The PE that sends to an output sends south instead.
TEST_F(ProofAttacks, WordsOfAnOutputGoElsewhere) {
  for (bool turned : {false, true}) {
    using enum Port;
    ProgramBuilder builder(2, 2);
    if (turned)
      builder.route(1, 1, 2, 0, 1, Ramp, {South});
    else
      builder.route(1, 1, 2, 0, 1, Ramp, {East});
    builder.route(1, 1, 2, 1, 2, turned ? North : Ramp, {Ramp});
    ClassBuilder pes = builder.addClass("pes", 0, 2, 0, 2);
    Scalar x = pes.px(), y = pes.py();
    Scalar from = pes.both(pes.equal(x, 1), pes.equal(y, 0));
    Scalar to = pes.both(pes.equal(x, 1), pes.equal(y, 1));
    const uint16_t a = pes.buffer("a", 64);
    BodyBuilder body = pes.routine(0);
    body.add(Opcode::Mov, {4}, memory(a, {1}), immediate(1));
    auto &send = body.add(Opcode::Mov, {4}, fabric(1), memory(a, {1}));
    send.guard = int16_t(from.index);
    if (turned)
      body.add(Opcode::Mov, {4}, memory(a, {1}), fabric(1)).guard =
          int16_t(to.index);
    const uint32_t out = stream(builder, Direction::Out, 1, {{0, 0, 1}}, 1, 2);
    // One block for each column.
    builder.launch(0, {out});
    VectorHost host;
    host.expect(out, 0, 4);
    expect(builder, host, turned);
  }
}

/// Two segments of two lines, taken by relays of parts of them.
TEST_F(ProofAttacks, RelaysOfPartsOfASegment) {
  struct Case {
    std::vector<int> relays;
    bool hangs;
  };
  for (const Case &each : std::vector<Case>{{{3, 1}, false},
                                            {{1, 3}, false},
                                            {{1, 1, 2}, false},
                                            {{3, 2}, true},
                                            {{1, 4}, true}}) {
    using enum Port;
    ProgramBuilder builder(1, 1);
    builder.route(1, 0, 1, 0, 1, West, {Ramp});
    ClassBuilder pes = builder.addClass("pes", 0, 1, 0, 1);
    const uint16_t a = pes.buffer("a", 64);
    BodyBuilder body = pes.routine(0);
    for (int lines : each.relays) {
      body.add(Opcode::Mov, {lines, 8}, memory(a, {8, 1}), fabric(1, 2))
          .thread = 0;
      body.await(1);
    }
    const uint32_t in = stream(builder, Direction::In, 1, {{0, 0, 1}}, 2, 8);
    HostStreamT &made = *builder.source.streams[in];
    made.segments.push_back(makeSegment(in, 2, 8, {8}, {1}, 16));
    builder.launch(0, {in});
    VectorHost host;
    host.feed(in, 0, std::vector<float>(32, 1));
    expect(builder, host, each.hangs);
  }
}

/// Microthreads hand words on around 2 x 2 PEs, in another direction in each
/// row and each column; or the first sends them and the third takes them.
TEST_F(ProofAttacks, ChainsThatCloseInACircle) {
  for (bool closed : {false, true}) {
    using enum Port;
    ProgramBuilder builder(2, 2);
    builder.route(1, 0, 1, 0, 1, Ramp, {East});
    builder.route(1, 1, 2, 0, 1, West, {Ramp});
    builder.route(2, 1, 2, 0, 1, Ramp, {South});
    builder.route(2, 1, 2, 1, 2, North, {Ramp});
    builder.route(3, 1, 2, 1, 2, Ramp, {West});
    builder.route(3, 0, 1, 1, 2, East, {Ramp});
    builder.route(4, 0, 1, 1, 2, Ramp, {North});
    builder.route(4, 0, 1, 0, 1, South, {Ramp});
    ClassBuilder pes = builder.addClass("pes", 0, 2, 0, 2);
    const Scalar x = pes.px(), y = pes.py();
    const uint16_t a = pes.buffer("a", 64);
    BodyBuilder body = pes.routine(0);
    body.add(Opcode::Mov, {4}, memory(a, {1}), immediate(1));
    auto add = [&](int column, int row, const test::Operand &to,
                   const test::Operand &from) {
      auto &made = body.add(Opcode::Mov, {4}, to, from);
      made.guard =
          int16_t(pes.both(pes.equal(x, column), pes.equal(y, row)).index);
      made.thread = 0;
    };
    add(0, 0, fabric(1), closed ? fabric(4) : memory(a, {1}));
    add(1, 0, fabric(2), fabric(1));
    add(1, 1, closed ? fabric(3) : memory(a, {1}), fabric(2));
    if (closed)
      add(0, 1, fabric(4), fabric(3));
    body.await(1);
    builder.launch(0);
    VectorHost host;
    expect(builder, host, closed);
  }
}

/// Conditions whose parts are shared 200 times over are looked at once.
TEST_F(ProofAttacks, ConditionsThatShareParts) {
  for (bool mixed : {false, true}) {
    using enum Port;
    ProgramBuilder builder(2, 2);
    builder.route(1, 0, 1, 0, 2, Ramp, {East});
    builder.route(1, 1, 2, 0, 2, West, {Ramp});
    ClassBuilder pes = builder.addClass("pes", 0, 2, 0, 2);
    Scalar x = pes.px(), y = pes.py();
    Scalar all =
        pes.less(mixed ? pes.scalar(ScalarOp::Add, x.index, y.index) : x, 3);
    for (int i = 0; i < 200; ++i)
      all = pes.both(all, all);
    const uint16_t a = pes.buffer("a", 64);
    BodyBuilder body = pes.routine(0);
    body.add(Opcode::Mov, {4}, memory(a, {1}), immediate(1));
    body.add(Opcode::Mov, {4}, fabric(1), memory(a, {1})).guard =
        int16_t(pes.both(pes.equal(x, 0), all).index);
    body.add(Opcode::Mov, {4}, memory(a, {1}), fabric(1)).guard =
        int16_t(pes.both(pes.equal(x, 1), all).index);
    builder.launch(0);
    stateCodeBytes(builder);
    const DeadlockProof proof = provePhases(builder.finish());
    EXPECT_LT(proof.steps, 100000) << proof.reason;
  }
}

} // namespace
} // namespace wsec::runtime::test
