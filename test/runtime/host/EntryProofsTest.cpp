// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which entries and arguments the checker accepts, and what is proved of their
// calls.
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/proof/DeadlockChecker.h"
#include "test/runtime/host/CacheProgram.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;

// ------------------------------------------------------------------ checker

class EntryChecks : public testing::Test {
protected:
  program::EntryT &entry(size_t index) {
    return *builder.source.entries[index];
  }
  program::PEClassT &peClass() { return *builder.source.classes[0]; }
  void expectRefused(const std::string &message) {
    try {
      checkProgram(builder.finish());
      FAIL() << "accepted; expected " << message;
    } catch (const Error &error) {
      EXPECT_EQ(std::string(error.what()), "BadProgram: " + message);
    }
  }
  ProgramBuilder builder = makeCache(countUp(2 * width), true);
};

TEST_F(EntryChecks, AcceptTheCache) {
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}
TEST_F(EntryChecks, NoEntry) {
  builder.source.entries.clear();
  expectRefused("program: has 0 entries, expected 1 to 256");
}
TEST_F(EntryChecks, TwoOfOneName) {
  entry(1).name = "load";
  expectRefused("entry 'load': has the name of another one");
}
TEST_F(EntryChecks, EmptyRange) {
  entry(2).arguments[0]->from = 9;
  expectRefused("entry 'attend', argument 'row': has no value from 9 to 8");
}
TEST_F(EntryChecks, LengthOfNoNumber) {
  entry(2).arguments[0]->length_tensor = 0;
  entry(2).arguments[0]->length_parts = 0;
  expectRefused("entry 'attend', argument 'row': is a length, from 1 on, whose "
                "tensor is no input of one integer");
}
TEST_F(EntryChecks, NameThatIsNoIdentifier) {
  entry(2).arguments[0]->name = "a b";
  expectRefused("entry 'attend', argument 'a b': has a name that is no "
                "identifier: letters, digits and _");
}
TEST_F(EntryChecks, CoordinateInAnEntry) {
  entry(2).scalars[0] = {ScalarOp::Px, 0, 0, 0};
  expectRefused("entry 'attend': scalar 0 is a coordinate of a PE; an entry is "
                "called for all of them");
}
TEST_F(EntryChecks, ArgumentThatTheEntryDoesNotHave) {
  entry(2).scalars[0] = {ScalarOp::Argument, 1, 0, 0};
  expectRefused("entry 'attend': scalar 0 is argument 1 of 1");
}
TEST_F(EntryChecks, ArgumentInAClass) {
  peClass().scalars[0] = {ScalarOp::Argument, 0, 0, 0};
  expectRefused("class 'pes': scalar 0 is argument 0 of 0");
}
TEST_F(EntryChecks, ArgumentThatAStreamsLaunchDoesNotCarry) {
  builder.source.streams[1]->scalars[0] = {ScalarOp::Argument, 1, 0, 0};
  expectRefused("stream 'appended': scalar 0 is argument 1 of 1");
}
TEST_F(EntryChecks, OneStreamOfTwoLaunchesWithTheSameArguments) {
  addLaunch(entry(1), 1, 1);
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}
TEST_F(EntryChecks, OneStreamOfTwoLaunchesWithOtherArguments) {
  entry(1).scalars.push_back({ScalarOp::Constant, 3, 0, 0});
  addLaunch(entry(1), 1, 1).arguments = {1};
  expectRefused("entry 'append', launch 1: feeds on stream 1, which has "
                "arguments, and carries others than an earlier launch that "
                "does; give it a stream of its own");
}
TEST_F(EntryChecks, OtherNumberThanTheRoutineTakes) {
  entry(2).launches[0]->arguments = {0, 0};
  expectRefused("entry 'attend', launch 0: carries 2 arguments, routine 2 "
                "takes 1");
}
TEST_F(EntryChecks, ScalarThatDoesNotExist) {
  entry(2).launches[0]->arguments = {7};
  expectRefused(
      "entry 'attend', launch 0: carries scalar 7 of its entry, which "
      "does not exist");
}
TEST_F(EntryChecks, MoreThanAWaveletHolds) {
  entry(2).scalars.push_back({ScalarOp::Constant, INT32_MAX, 0, 0});
  entry(2).scalars.push_back({ScalarOp::Add, 0, 1, 0});
  entry(2).launches[0]->arguments = {2};
  expectRefused("entry 'attend', launch 0: carries scalar 2, which may be "
                "2147483648 to 2147483655: a wavelet has 32 bits");
}
TEST_F(EntryChecks, DivisionByAnArgumentThatMayBeZero) {
  entry(1).scalars.push_back({ScalarOp::Div, 0, 0, 0});
  expectRefused("entry 'append': scalar 1 may divide by zero, or tile over no "
                "parts, for some arguments");
}
TEST_F(EntryChecks, LocalThatHoldsAnArgument) {
  program::LoadT load;
  load.local = 0;
  load.buffer = 1;
  load.offset = Value(0).build();
  auto statement = std::make_unique<program::StatementT>();
  statement->kind.Set(std::move(load));
  peClass().routines[1]->body.push_back(std::move(statement));
  stateCodeBytes(builder);
  expectRefused(
      "class 'pes', routine 1, statement 1: sets local 0, which holds "
      "an argument");
}
TEST_F(EntryChecks, PersistentBufferThatSharesBytes) {
  peClass().buffers[1]->address = peClass().buffers[0]->address + 4;
  expectRefused("class 'pes', buffer 'cache': is persistent, and shares bytes "
                "with buffer 'sum' at " +
                std::to_string(peClass().buffers[1]->address) +
                "; a persistent buffer has its own");
}

// -------------------------------------------------------------------- proofs

class EntryProofs : public EntryChecks {};

TEST_F(EntryProofs, AllEntriesAreFree) {
  const DeadlockProof proof = proveDeadlockFree(builder.finish());
  EXPECT_EQ(proof.verdict, program::Verdict::Free) << proof.reason;
}

/// Arguments that decide how many words flow are tried one by one.
TEST_F(EntryProofs, TriesTheArgumentsThatMatter) {
  auto &receive = *peClass().routines[1]->body[0]->kind.AsInstruction();
  receive.a->window_total.reset();
  receive.a->window_offset.reset();
  receive.dst->strides = {0};
  receive.dst->offset = Value(0).build();
  receive.extents[0] = argument(0, 4).build();
  auto &stream = *builder.source.streams[1];
  stream.segments[0]->extents[0] = Value(Scalar{0}).times(4).build();
  stream.segments[0]->offset = Value(0).build();
  EXPECT_EQ(proveDeadlockFree(builder.finish()).verdict,
            program::Verdict::Free);
  // One word short, for one of them.
  stream.scalars.push_back({ScalarOp::Constant, 7, 0, 0});
  stream.scalars.push_back({ScalarOp::Less, 0, 1, 0});
  stream.scalars.push_back({ScalarOp::Not, 2, 0, 0});
  stream.segments[0]->extents[0] =
      (Value(Scalar{0}).times(4) + Value(Scalar{3}).times(-1)).build();
  DeadlockProof proof = proveDeadlockFree(builder.finish());
  EXPECT_EQ(proof.verdict, program::Verdict::Undecided);
  EXPECT_EQ(proof.reason.substr(0, 48),
            "entry 'append' with row = 7 ends in a deadlock: ");
  // Too many to be tried.
  stream.segments[0]->extents[0] = Value(Scalar{0}).times(4).build();
  entry(1).arguments[0]->to = 64;
  proof = proveDeadlockFree(builder.finish());
  EXPECT_EQ(proof.verdict, program::Verdict::Undecided);
  EXPECT_EQ(proof.reason,
            "entry 'append': how many words its streams have depends on "
            "arguments; its arguments have more values than the 64 that are "
            "tried");
}

/// Of two arguments with 8,192 values each none has to be tried, if they decide
/// where operands lie, how many elements are computed, and loops and branches
/// around that.
TEST_F(EntryProofs, ArgumentsThatDecideNoWords) {
  program::EntryT &append = entry(1);
  append.arguments[0]->to = 8191;
  auto length = std::make_unique<program::ArgumentT>();
  length->name = "length";
  length->to = 8191;
  append.arguments.push_back(std::move(length));
  append.scalars.push_back({ScalarOp::Argument, 1, 0, 0});
  append.launches[0]->arguments = {0, 1};
  program::RoutineT &routine = *peClass().routines[1];
  routine.arguments = 2;
  TaskBody body(routine.body);
  auto add = [&](TaskBody to, const Value &count, const Value &offset) {
    to.add(Opcode::Add, {count, 4}, memory(0, {4, 1}, offset),
           memory(0, {4, 1}, offset), immediate(1));
  };
  body.compute(2, ScalarOp::Min, argument(1), 7);
  add(body, local(2), argument(0));
  body.repeat(argument(1), [&](TaskBody turn) { add(turn, 1, argument(0)); });
  auto send = [&](TaskBody to, uint16_t buffer, int words) {
    to.add(Opcode::Mov, {words}, fabric(3), memory(buffer, {1}));
  };
  // Both arms send as many words, whatever else they do.
  body.branch(
      argument(1),
      [&](TaskBody then) {
        send(then, 0, 3);
        add(then, 1, 0);
      },
      [&](TaskBody otherwise) { send(otherwise, 1, 3); });
  body.add(Opcode::Mov, {3}, memory(1, {1}), fabric(3));
  builder.route(3, 0, 1, 0, height, Port::Ramp, {Port::Ramp});
  DeadlockProof proof = proveDeadlockFree(builder.finish());
  EXPECT_EQ(proof.verdict, program::Verdict::Free) << proof.reason;
  // One more in one of them.
  auto &branch = *routine.body[routine.body.size() - 2]->kind.AsIf();
  branch.otherwise[0]->kind.AsInstruction()->extents[0] = Value(4).build();
  proof = proveDeadlockFree(builder.finish());
  EXPECT_EQ(proof.verdict, program::Verdict::Undecided);
  EXPECT_NE(proof.reason.find("branches, which may depend on data"),
            std::string::npos)
      << proof.reason;
}

} // namespace
} // namespace wsec::runtime
