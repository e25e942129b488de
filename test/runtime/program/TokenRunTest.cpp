// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is decided word by word, and that it takes work by PEs in use and not by
// words or by the size of the wafer.
#include "runtime/program/Checker.h"
#include "runtime/program/proof/DeadlockChecker.h"
#include "test/runtime/ExampleFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wsec::runtime::test {
namespace {

using namespace program;
using testing::HasSubstr;

/// Words of PE (0, 0) for one PE that only takes them, one that sends them on
/// in turn, and one that keeps two of each four:
///
///     (0, 0) --1--> (1, 0)    sends on
///        |-----1--> (2, 0)    keeps two of four
///        `--1-->    (0, last) takes, before what (1, 0) sends it, or after
///
/// No proof by phases: a main thread multicasts.
class TokenRunTest : public testing::Test {
protected:
  DeadlockProof prove(int width, int height, int lines, bool takesSentFirst) {
    ProgramBuilder builder(width, height);
    builder.source.routes.clear();
    builder.source.launch_color = noLaunchColor;
    const int end = width - 1;
    builder.route(1, 0, 1, 0, 1, Port::Ramp, {Port::East, Port::South});
    builder.route(1, 1, 2, 0, 1, Port::West, {Port::East, Port::Ramp});
    builder.route(1, 2, 3, 0, 1, Port::West, {Port::Ramp});
    builder.route(1, 0, 1, 1, height - 1, Port::North, {Port::South});
    builder.route(1, 0, 1, height - 1, height, Port::North, {Port::Ramp});
    // Over the corners of the mesh.
    builder.route(2, 1, 2, 0, 1, Port::Ramp, {Port::South});
    builder.route(2, 1, 2, 1, height - 2, Port::North, {Port::South});
    builder.route(2, 1, 2, height - 2, height - 1, Port::North, {Port::East});
    builder.route(2, 2, end, height - 2, height - 1, Port::West, {Port::East});
    builder.route(2, end, end + 1, height - 2, height - 1, Port::West,
                  {Port::South});
    builder.route(2, end, end + 1, height - 1, height, Port::North,
                  {Port::West});
    builder.route(2, 1, end, height - 1, height, Port::East, {Port::West});
    builder.route(2, 0, 1, height - 1, height, Port::East, {Port::Ramp});

    const std::vector<Value> all{lines, 4};
    ClassBuilder source = builder.addClass("source", 0, 1, 0, 1);
    source.routine(0).add(Opcode::Mov, all, fabric(1, 2), immediate(1));
    ClassBuilder relay = builder.addClass("relay", 1, 2, 0, 1);
    relay.routine(0).add(Opcode::Mov, all, fabric(2, 2), fabric(1, 2));
    ClassBuilder keeps = builder.addClass("keeps", 2, 3, 0, 1);
    keeps.routine(0).add(Opcode::Mov, {lines, 2},
                         memory(keeps.buffer("v", 2), {0, 1}),
                         fabric(1, 2).window(1, 4));
    ClassBuilder takes = builder.addClass("takes", 0, 1, height - 1, height);
    const uint16_t sum = takes.buffer("v", 1);
    BodyBuilder body = takes.routine(0);
    for (int color : {takesSentFirst ? 2 : 1, takesSentFirst ? 1 : 2})
      body.add(Opcode::Mov, all, memory(sum, {0, 0}), fabric(color, 2)).thread =
          takesSentFirst ? -1 : color;
    if (!takesSentFirst)
      body.await(1 << 1 | 1 << 2);
    builder.launch(0);
    stateCodeBytes(builder);
    const Program &finished = builder.finish();
    checkProgram(finished);
    EXPECT_EQ(provePhases(finished).verdict, Verdict::Undecided);
    return proveDeadlockFree(finished);
  }
};

TEST_F(TokenRunTest, PesWithoutCodeAndRoutesAreNotFollowed) {
  const DeadlockProof proof = prove(750, 994, 3, false);
  EXPECT_EQ(proof.verdict, Verdict::Free) << proof.reason;
  EXPECT_LT(proof.steps, 2 * 750 * 994);
}

TEST_F(TokenRunTest, WordsThatNothingHoldsUpAreOneMove) {
  const DeadlockProof few = prove(4, 4, 3, false);
  EXPECT_EQ(few.verdict, Verdict::Free) << few.reason;
  const DeadlockProof many = prove(4, 4, 1 << 28, false);
  EXPECT_EQ(many.verdict, Verdict::Free) << many.reason;
  EXPECT_LT(many.steps, few.steps + 100);
}

/// Who waits for the second half of the words until it has taken the first.
TEST_F(TokenRunTest, MoreWordsThanQueuesHoldEndInADeadlock) {
  for (const auto &[size, lines] : {std::pair(4, 1 << 28), {64, 1000}}) {
    const DeadlockProof proof = prove(size, size, lines, true);
    EXPECT_EQ(proof.verdict, Verdict::Deadlock) << proof.reason;
    EXPECT_THAT(proof.reason,
                HasSubstr("(class 'takes'), where statement 0 of routine 0 "
                          "waits for a word of color 2"));
  }
}

/// The ways hold these.
TEST_F(TokenRunTest, WordsThatQueuesHoldPass) {
  EXPECT_EQ(prove(64, 64, 2, true).verdict, Verdict::Free);
}

/// It sends what it has yet to get.
TEST_F(TokenRunTest, ARingIsNotFollowedForEver) {
  ProgramBuilder builder(2, 1);
  builder.source.routes.clear();
  builder.source.launch_color = noLaunchColor;
  builder.route(1, 0, 1, 0, 1, Port::Ramp, {Port::East});
  builder.route(1, 1, 2, 0, 1, Port::West, {Port::Ramp});
  builder.route(2, 1, 2, 0, 1, Port::Ramp, {Port::West});
  builder.route(2, 0, 1, 0, 1, Port::East, {Port::Ramp});
  for (int x : {0, 1}) {
    ClassBuilder pe =
        builder.addClass("pe" + std::to_string(x), x, x + 1, 0, 1);
    BodyBuilder body = pe.routine(0);
    if (x == 0)
      body.add(Opcode::Mov, {1}, fabric(1), immediate(1));
    body.add(Opcode::Mov, {1000}, fabric(1 + x), fabric(2 - x));
    if (x == 0)
      body.add(Opcode::Mov, {1}, memory(pe.buffer("v", 1), {0}), fabric(2));
  }
  builder.source.classes[1]
      ->routines[0]
      ->body[0]
      ->kind.AsInstruction()
      ->extents[0] = Value(1001).build();
  builder.launch(0);
  stateCodeBytes(builder);
  const Program &finished = builder.finish();
  checkProgram(finished);
  const DeadlockProof proof = proveDeadlockFree(finished);
  EXPECT_EQ(proof.verdict, Verdict::Free) << proof.reason;
}

} // namespace
} // namespace wsec::runtime::test
