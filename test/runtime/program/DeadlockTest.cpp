// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is proved about deadlock, and each condition broken once.
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Intervals.h"
#include "runtime/program/proof/DeadlockChecker.h"
#include "test/runtime/ExchangeProgram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;
using namespace program;
using testing::HasSubstr;

class DeadlockTest : public testing::Test {
protected:
  DeadlockProof prove() {
    const Program &finished = program.finish();
    checkProgram(finished);
    return proveDeadlockFree(finished);
  }
  void expectUndecided(const std::string &why) {
    const Program &finished = program.finish();
    checkProgram(finished);
    DeadlockProof proof = provePhases(finished);
    EXPECT_EQ(proof.verdict, Verdict::Undecided);
    EXPECT_THAT(proof.reason, HasSubstr(why));
  }
  InstructionT &instruction(ExchangeProgram::Routine routine, size_t index) {
    return program.instruction(routine, index);
  }
  auto &body(ExchangeProgram::Routine routine) { return program.body(routine); }
  void swap(ExchangeProgram::Routine routine, size_t a, size_t b) {
    std::swap(body(routine)[a], body(routine)[b]);
  }
  void erase(ExchangeProgram::Routine routine, size_t index) {
    body(routine).erase(body(routine).begin() + long(index));
  }
  RouteRuleT &rule(int color, int x, int y) {
    for (auto &rule : program.source().routes)
      if (rule->color == color && rule->rect->x0() <= x &&
          x < rule->rect->x1() && rule->rect->y0() <= y && y < rule->rect->y1())
        return *rule;
    throw std::logic_error("no such rule");
  }

  ExchangeProgram program;
};

using P = ExchangeProgram;

TEST_F(DeadlockTest, ExchangesAreFree) {
  DeadlockProof proof = prove();
  EXPECT_EQ(proof.verdict, Verdict::Free) << proof.reason;
}

TEST_F(DeadlockTest, EqualRoutinesAreProvedOnce) {
  DeadlockProof once = prove();
  auto &routines = program.source().classes[0]->routines;
  for (size_t i = 0, count = routines.size(); i < count; ++i) {
    auto copy = std::make_unique<RoutineT>(*routines[i]);
    copy->id = uint32_t(routines.size());
    routines.push_back(std::move(copy));
  }
  DeadlockProof twice = prove();
  EXPECT_EQ(twice.verdict, Verdict::Free) << twice.reason;
  EXPECT_LT(twice.steps, once.steps + once.steps / 4);
}

TEST_F(DeadlockTest, D1MoreSentThanReceived) {
  instruction(P::AllReduce, 1).extents[0]->constant += 1;
  expectUndecided("routine 0: color 2: more words are sent than received");
}

// The product of its extents does not fit 64 bits.
TEST_F(DeadlockTest, D1MoreWordsThanCanBeCounted) {
  InstructionT &send = instruction(P::AllReduce, 1);
  // Of scalars whose range does not show what they are.
  auto &scalars = program.source().classes[0]->scalars;
  scalars.push_back({ScalarOp::Constant, 1 << 30, 0, 0});
  const int constant = int(scalars.size()) - 1;
  scalars.push_back({ScalarOp::BitOr, constant, constant, 0});
  send.extents[0]->terms = {{TermKind::Scalar, uint16_t(constant + 1), 1}};
  send.extents.push_back(std::make_unique<AffineT>(*send.extents[0]));
  send.dst->depth = 2;
  send.a->strides = {0, 0};
  expectUndecided("routine 0: color 2: statement 1: instructions of more "
                  "than 2^40 words");
}

TEST_F(DeadlockTest, D1MoreReceivedThanSent) {
  instruction(P::AllReduce, 5).extents[0]->constant += 1;
  expectUndecided("routine 0: color 3: more words are received than sent");
}

TEST_F(DeadlockTest, D1ReceivedWhereNobodySends) {
  erase(P::AllReduce, 4);
  expectUndecided("routine 0: color 3: more words are received than sent");
}

TEST_F(DeadlockTest, D1SentPastTheReceiver) {
  rule(P::Cast, 1, 0).transmit = 1 << int(Port::East);
  expectUndecided("routine 0: color 3: received by a PE that it passes");
}

TEST_F(DeadlockTest, D1SentAlongATurn) {
  rule(P::Cast, 1, 0).transmit |= 1 << int(Port::South);
  expectUndecided("routine 0: color 3: sent to a PE that does not hear it");
}

TEST_F(DeadlockTest, D1Switches) {
  rule(P::Cast, 0, 0).positions.emplace_back(int8_t(-1), uint8_t(1));
  expectUndecided("color 3: has switch positions");
}

TEST_F(DeadlockTest, D2MainThreadsThatMulticast) {
  // Column 0 would wait for itself.
  instruction(P::AllReduce, 4).thread = -1;
  expectUndecided("hears a multicast of main threads");
}

TEST_F(DeadlockTest, D2MainThreadThatRelaysAMicrothreadsWords) {
  // The last column sends on what it hears of the multicast.
  auto &statements = body(P::AllReduce);
  statements.insert(statements.begin() + 6,
                    std::make_unique<StatementT>(*statements[5]));
  instruction(P::AllReduce, 5).guard = instruction(P::Store, 0).guard;
  auto &last = instruction(P::AllReduce, 6);
  last.guard = instruction(P::AllReduce, 1).guard;
  last.dst = fabric(P::Exit).build();
  expectUndecided("is of a main thread, hears a microthread and sends");
}

TEST_F(DeadlockTest, D2SumsOutOfStep) {
  // All words of a window in before the last is out.
  auto &inner = instruction(P::AllReduce, 2);
  inner.b->window_offset = Value(0).build();
  inner.b->window_total = Value(P::words).build();
  expectUndecided("does not send one word for each that it receives");
}

TEST_F(DeadlockTest, D3ChainOnTwoMicrothreads) {
  instruction(P::ChainGather, 3).thread = 3;
  body(P::ChainGather).back()->kind.AsAwait()->threads = 1 | 4 | 8;
  expectUndecided(
      "routine 1: phases wait for one another in a cycle: statement "
      "1 (to color 3), before statement 3 (from color 1/2");
}

TEST_F(DeadlockTest, D3OwnWordsAndOthersOnTwoMicrothreads) {
  instruction(P::ChainGather, 6).thread = 3;
  body(P::ChainGather).back()->kind.AsAwait()->threads = 1 | 4 | 8;
  expectUndecided("is part of a chain that another microthread is part of");
}

// The first column multicasts with the instructions that the others send to
// their neighbours with.
TEST_F(DeadlockTest, D3ColorByPlace) {
  for (size_t index : {1, 3}) {
    InstructionT &send = instruction(P::ChainGather, index);
    send.dst->color =
        std::make_unique<AffineT>(*instruction(P::ChainGather, 4).dst->color);
    send.dst->color->terms.emplace_back(TermKind::Scalar, uint16_t(send.guard),
                                        int32_t(P::Cast - P::Even));
    send.guard = -1;
  }
  for (int others = 0; others < 3; ++others)
    erase(P::ChainGather, 4);
  DeadlockProof proof = prove();
  EXPECT_EQ(proof.verdict, Verdict::Free) << proof.reason;
}

// The main thread of the first column takes its neighbour's own words, and a
// microthread what comes behind.
TEST_F(DeadlockTest, D3ReceiversOfTwoKindsOnOneColor) {
  InstructionT &relay = instruction(P::ChainGather, 3);
  relay.extents[0]->constant -= P::words;
  instruction(P::ChainGather, 0).extents[0]->constant -= P::words;
  auto &statements = body(P::ChainGather);
  auto taken = std::make_unique<StatementT>(*statements[3]);
  InstructionT &take = *taken->kind.AsInstruction();
  take.thread = -1;
  take.extents[0] = Value(P::words).build();
  take.dst = std::make_unique<OperandT>(*instruction(P::AllReduce, 5).dst);
  statements.insert(statements.begin() + 3, std::move(taken));
  expectUndecided("is heard by main threads and by microthreads");
}

TEST_F(DeadlockTest, D4MicrothreadHearsMainThreadAndSends) {
  // Relays of a funnel hear what main threads send first.
  instruction(P::Store, 0).thread = -1;
  expectUndecided("is a microthread that hears a main thread and sends");
}

TEST_F(DeadlockTest, D5CycleOfPhasesIsNamed) {
  // The sum comes after what becomes of it.
  auto &statements = body(P::AllReduce);
  std::rotate(statements.begin() + 1, statements.begin() + 5,
              statements.begin() + 6);
  expectUndecided("phases wait for one another in a cycle: statement");
}

TEST_F(DeadlockTest, D6AwaitBeforeTheWordsAreTaken) {
  swap(P::AllReduce, 5, 6);
  expectUndecided("phases wait for one another in a cycle: statement");
}

TEST_F(DeadlockTest, D6NeverAwaited) {
  erase(P::AllReduce, 6);
  expectUndecided("statement 4 (to color 3) is never awaited");
}

TEST_F(DeadlockTest, D6IssuedTooLate) {
  // The words of the gather are sent after those that they become have come.
  auto &statements = body(P::ChainGather);
  statements.insert(statements.begin() + 1,
                    std::make_unique<StatementT>(*statements.back()));
  expectUndecided("phases wait for one another in a cycle: statement");
}

/// The main thread waits until a microthread can take more work.
TEST_F(DeadlockTest, D6PartsOfAMulticastBeforeItsReceivers) {
  auto &statements = body(P::AllReduce);
  statements.insert(statements.begin() + 5,
                    std::make_unique<StatementT>(*statements[4]));
  instruction(P::AllReduce, 6).extents[0]->constant *= 2;
  expectUndecided("phases wait for one another in a cycle: statement");
}

// -------------------------------------------------------------------- branches

/// Puts statements into a branch on a scalar.
class BranchTest : public DeadlockTest {
protected:
  IfT &wrap(ExchangeProgram::Routine routine, size_t first, size_t last,
            const Value &condition, bool otherwise = false) {
    IfT branch;
    branch.condition = condition.build();
    auto &list = body(routine);
    for (size_t i = first; i < last; ++i)
      (otherwise ? branch.otherwise : branch.then)
          .push_back(std::move(list[i]));
    list.erase(list.begin() + long(first) + 1, list.begin() + long(last));
    list[first] = std::make_unique<StatementT>();
    list[first]->kind.Set(std::move(branch));
    return *list[first]->kind.AsIf();
  }
  /// The guard of a statement becomes the condition of a branch around it.
  void branchOnGuard(ExchangeProgram::Routine routine, size_t index,
                     int scale) {
    const auto guard = uint16_t(instruction(routine, index).guard);
    instruction(routine, index).guard = -1;
    wrap(routine, index, index + 1, Value(Scalar{guard}).times(scale));
  }
  void expectBranchesLikeGuards(int scale) {
    for (size_t i = 1; i < 5; ++i)
      branchOnGuard(P::AllReduce, i, scale);
    for (size_t i : {1, 3, 4, 6})
      branchOnGuard(P::ChainGather, i, scale);
    const DeadlockProof proof = prove();
    EXPECT_EQ(proof.verdict, Verdict::Free) << proof.reason;
  }
};

TEST_F(BranchTest, BranchesInsteadOfGuards) { expectBranchesLikeGuards(1); }

/// 2 * scalar is no scalar.
TEST_F(BranchTest, BranchesOnFunctions) { expectBranchesLikeGuards(2); }

/// What one kind of PE does, and the others: a block for each.
TEST_F(BranchTest, BothArms) {
  const auto isFirst = uint16_t(instruction(P::AllReduce, 4).guard);
  instruction(P::AllReduce, 4).guard = -1;
  auto copy = std::make_unique<StatementT>(*body(P::AllReduce)[5]);
  IfT &branch = wrap(P::AllReduce, 4, 6, Scalar{isFirst});
  branch.otherwise.push_back(std::move(copy));
  const DeadlockProof proof = prove();
  EXPECT_EQ(proof.verdict, Verdict::Free) << proof.reason;
  EXPECT_EQ(provePhases(program.finish()).verdict, Verdict::Free);
  // Now nobody sends.
  body(P::AllReduce)[4]->kind.AsIf()->then.erase(
      body(P::AllReduce)[4]->kind.AsIf()->then.begin());
  expectUndecided("routine 0: color 3: more words are received than sent");
}

TEST_F(BranchTest, BranchOnALoop) {
  auto &list = body(P::Partial);
  LoopT &loop = *list[1]->kind.AsLoop();
  IfT branch;
  branch.condition = Value::loop(0).build();
  branch.then = std::move(loop.body);
  loop.body.clear();
  loop.body.push_back(std::make_unique<StatementT>());
  loop.body[0]->kind.Set(std::move(branch));
  expectUndecided("routine 3: color 3: more words are received than sent");
  loop.count->constant = 3;
  EXPECT_EQ(provePhases(program.finish()).verdict, Verdict::Free);
}

TEST_F(BranchTest, BranchOnData) {
  LoadT load;
  load.offset = Value(0).build();
  IfT &branch = wrap(P::AllReduce, 4, 7, 1);
  branch.condition->terms = {{TermKind::Local, 0, 1}};
  auto statement = std::make_unique<StatementT>();
  statement->kind.Set(std::move(load));
  auto &list = body(P::AllReduce);
  list.insert(list.begin() + 4, std::move(statement));
  expectUndecided("routine 0: branches, which may depend on data");
}

// -------------------------------------------------------------------- threads

TEST_F(DeadlockTest, D7ColorOfTwoThreads) {
  // The second turn of the sum sends what the first left to a microthread.
  auto &own = body(P::AllReduce);
  auto copy = std::make_unique<StatementT>();
  copy->kind.Set(InstructionT(instruction(P::AllReduce, 4)));
  copy->kind.AsInstruction()->thread = 1;
  own.insert(own.begin() + 5, std::move(copy));
  instruction(P::AllReduce, 6).extents[0]->constant *= 2;
  own.back()->kind.AsAwait()->threads = 3;
  expectUndecided("uses a color that a microthread still uses");
}

TEST_F(DeadlockTest, D8ChannelBringsMore) {
  program.source().streams[0]->segments[0]->lines->constant += 1;
  program.source().tensors[0]->shape[0] += 1;
  expectUndecided(
      "routine 2: segments of the host and relays differ in number");
}

TEST_F(DeadlockTest, D8ChannelServesOtherColumns) {
  program.source().streams[0]->channels = {{0, 0, 3}, {1, 3, 4}};
  expectUndecided(
      "the channel of row 0 is heard by other columns than it serves");
}

TEST_F(DeadlockTest, D8ColumnsStopAtDifferentLines) {
  // Where px is odd two lines are taken first, elsewhere one.
  auto &first = instruction(P::Host, 1), &second = instruction(P::Host, 2);
  first.extents[0] = (Value(4) + Value(Scalar{3}).times(4)).build();
  second.extents[0] = (Value(4) + Value(Scalar{3}).times(-1)).build();
  expectUndecided("routine 2: columns stop at different lines of the host");
}

TEST_F(DeadlockTest, D8GuardsOfColumnsStopAtDifferentLines) {
  // The same by guards, in columns that are followed at once: sizes are equal.
  auto &scalars = program.source().classes[0]->scalars;
  const int16_t isOdd = 3, isEven = int16_t(scalars.size());
  scalars.push_back({ScalarOp::Not, isOdd, 0, 0});
  auto &list = body(P::Host);
  for (const size_t at : {1, 3}) {
    auto copy = std::make_unique<StatementT>(*list[at]);
    list[at]->kind.AsInstruction()->guard = isEven;
    copy->kind.AsInstruction()->guard = isOdd;
    list.insert(list.begin() + long(at) + 1, std::move(copy));
  }
  EXPECT_EQ(prove().verdict, Verdict::Free);
  instruction(P::Host, 2).extents[0]->constant -= P::block;
  instruction(P::Host, 4).extents[0]->constant += 1;
  expectUndecided("routine 2: columns stop at different lines of the host");
}

TEST_F(DeadlockTest, D8LinesThatAreSplit) {
  instruction(P::Host, 1).extents[0]->constant = 6;
  instruction(P::Host, 2).extents[0]->constant = 1;
  instruction(P::Host, 2).extents[1]->constant = 14;
  expectUndecided("routine 2: a line of the host's words is split");
}

TEST_F(DeadlockTest, D8OutputThatIsShort) {
  program.source().streams[1]->segments[0]->extents[0]->constant -= 1;
  expectUndecided("routine 4: row 0 sends 48 words to output 'out', which "
                  "takes 44");
}

/// Words of the last column with code go past two columns without, whether or
/// not a stream takes them.
TEST(DeadlockExitTest, D8WordsThatNoRouteLeadsOffTheMesh) {
  auto prove = [](int begin, int end, Port from) {
    ProgramBuilder builder(4, 2);
    ClassBuilder pes = builder.addClass("pes", 0, 2, 0, 2);
    builder.route(1, 1, 2, 0, 2, Port::Ramp, {Port::East});
    if (begin < end)
      builder.route(1, begin, end, 0, 2, from, {Port::East});
    const uint16_t buffer = pes.buffer("v", 32);
    BodyBuilder body = pes.routine(0);
    body.add(Opcode::Mov, {8}, memory(buffer, {1}), immediate(1));
    body.add(Opcode::Mov, {8}, fabric(1), memory(buffer, {1})).guard =
        int16_t(pes.equal(pes.px(), 1).index);
    builder.launch(0);
    return provePhases(builder.finish());
  };
  EXPECT_EQ(prove(2, 4, Port::West).verdict, Verdict::Free);
  for (const DeadlockProof &lost :
       {prove(0, 0, Port::West), prove(2, 3, Port::West),
        prove(3, 4, Port::West), prove(2, 4, Port::Ramp)}) {
    EXPECT_EQ(lost.verdict, Verdict::Undecided);
    EXPECT_THAT(lost.reason, HasSubstr("sent to a PE that does not hear it"));
  }
}

TEST_F(DeadlockTest, D8StreamThatIsMissing) {
  program.source().entries[0]->launches[3]->streams.clear();
  expectUndecided("routine 2: words of the host that no stream brings");
}

// -------------------------------------------------------------- what is stored

class StoredProofTest : public DeadlockTest {
protected:
  StoredProofTest() {
    program.source().proof = std::make_unique<ProofT>();
    stored().verdict = Verdict::Free;
  }
  ProofT &stored() { return *program.source().proof; }
  void expectRefused(const std::string &why) {
    try {
      checkProof(program.finish());
      FAIL() << "accepted; expected " << why;
    } catch (const Error &error) {
      EXPECT_EQ(error.errorClass(), ErrorClass::BadProgram);
      EXPECT_THAT(error.message(), HasSubstr(why));
    }
  }
};

TEST_F(StoredProofTest, Accepted) {
  EXPECT_NO_THROW(checkProof(program.finish()));
}

TEST_F(StoredProofTest, AbsentOrUndecidedClaimsNothing) {
  stored().verdict = Verdict::Undecided;
  EXPECT_NO_THROW(checkProof(program.finish()));
  program.source().proof.reset();
  EXPECT_NO_THROW(checkProof(program.finish()));
}

TEST_F(StoredProofTest, FreeThatIsNot) {
  erase(P::AllReduce, 4);
  expectRefused("says Free, which does not hold: ");
}

TEST_F(StoredProofTest, DeadlockThatIsNone) {
  stored().verdict = Verdict::Deadlock;
  expectRefused("says Deadlock, which does not hold: the program is free");
}

TEST_F(StoredProofTest, UnknownVerdict) {
  stored().verdict = Verdict(9);
  expectRefused("has an unknown verdict");
}

} // namespace
} // namespace wsec::runtime
