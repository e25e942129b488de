// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds the proof about deadlock against the stepping engine: programs whose
// code was changed at random. None that is proved free may hang.
#include "runtime/program/Checker.h"
#include "runtime/program/proof/DeadlockChecker.h"
#include "test/runtime/ExchangeProgram.h"
#include "test/runtime/wavelet/RunError.h"

#include <gtest/gtest.h>

#include <random>

namespace wsec::runtime {
namespace {

using namespace test;
using namespace program;

/// Changes the code of an ExchangeProgram.
class Mutator {
public:
  explicit Mutator(uint32_t seed) : random(seed) {}

  void mutate(ExchangeProgram &program) {
    for (int i = below(3); i >= 0; --i)
      change(program, program.body(ExchangeProgram::Routine(below(5))));
  }

private:
  using Body = std::vector<std::unique_ptr<StatementT>>;

  int below(int count) { return int(random() % unsigned(count)); }

  void change(ExchangeProgram &program, Body &body) {
    size_t at = size_t(below(int(body.size())));
    if (LoopT *loop = body[at]->kind.AsLoop(); loop && below(4))
      return change(program, loop->body);
    switch (below(6)) {
    case 0:
      return std::swap(body[at], body[size_t(below(int(body.size())))]);
    case 1:
      if (body.size() > 1)
        body.erase(body.begin() + long(at));
      return;
    case 2:
      body.insert(body.begin() + below(int(body.size())),
                  std::make_unique<StatementT>(*body[at]));
      return;
    default:
      if (InstructionT *instruction = body[at]->kind.AsInstruction())
        return change(*instruction);
      if (AwaitT *await = body[at]->kind.AsAwait())
        await->threads = uint8_t(1 + below(7));
    }
  }

  void change(InstructionT &instruction) {
    switch (below(5)) {
    case 0:
      instruction.thread = int8_t(below(4) - 1);
      return;
    case 1:
      instruction.extents[0]->constant += below(2) ? 1 : -1;
      return;
    case 2: // 0 to 11 are the scalars that are conditions, and others
      instruction.guard = int16_t(below(12) - 1);
      return;
    case 3:
      if (instruction.dst->kind == OperandKind::Fabric)
        instruction.dst->color->constant += below(2) ? 1 : -1;
      return;
    case 4:
      for (auto *operand : {&instruction.a, &instruction.b})
        if (*operand && (*operand)->kind == OperandKind::Fabric)
          (*operand)->color->constant += below(2) ? 1 : -1;
    }
  }

  std::mt19937 random;
};

TEST(DeadlockOracle, ExchangesRun) {
  ExchangeProgram program;
  EXPECT_EQ(runError(program.finish(), program.makeHost()), "");
}

/// Issues the multicast of a sum in two parts. The second waits for the first,
/// and that for who gets no further.
TEST(DeadlockOracle, QueuedMicrothreadsHang) {
  ExchangeProgram program;
  program.source().machine->microthreads_queue = true;
  auto &body = program.body(ExchangeProgram::AllReduce);
  body.insert(body.begin() + 5, std::make_unique<StatementT>(*body[4]));
  program.instruction(ExchangeProgram::AllReduce, 6).extents[0]->constant *= 2;
  const Program &finished = program.finish();
  EXPECT_NE(proveDeadlockFree(finished).verdict, Verdict::Free);
  EXPECT_EQ(runError(finished, program.makeHost()), "Deadlock");
}

TEST(DeadlockOracle, NoProgramThatIsFreeHangs) {
  VerdictTally tally;
  for (uint32_t seed = 0; seed < 6000; ++seed) {
    ExchangeProgram program;
    program.source().machine->microthreads_queue = seed / 2 % 2;
    Mutator(seed).mutate(program);
    const Program &finished = program.finish();
    try {
      checkProgram(finished);
    } catch (const Error &) {
      continue;
    }
    bool proved = proveDeadlockFree(finished).verdict == Verdict::Free;
    tally.add(proved, seed,
              [&] { return runError(finished, program.makeHost()); });
  }
  tally.expectEnough();
}

} // namespace
} // namespace wsec::runtime
