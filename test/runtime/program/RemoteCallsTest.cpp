// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Breaks one rule at a time of a valid program that is launched by remote
// calls.
#include "runtime/program/Errors.h"
#include "test/runtime/RemoteExample.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;
using namespace program;

class RemoteCallsTest : public testing::Test {
protected:
  RemoteCallsTest() : builder(makeRemoteCalls()) {}

  ProgramT &source() { return builder.source; }
  PEClassT &peClass() { return *source().classes[0]; }
  RouteRuleT &rule() { return *source().routes[0]; }
  HostCopyT &copyIn() { return *source().entries[0]->copies[0]; }
  std::vector<std::unique_ptr<StatementT>> &body() {
    return peClass().routines[0]->body;
  }
  template <class Kind>
  Kind &statement(size_t index) {
    return *static_cast<Kind *>(body()[index]->kind.value);
  }
  InstructionT &send() { return statement<InstructionT>(0); }
  IfT &branch() { return statement<IfT>(3); }

  void expectRefused(const std::string &message) {
    try {
      checkProgram(builder.finish());
      FAIL() << "accepted; expected " << message;
    } catch (const Error &error) {
      EXPECT_EQ(std::string(error.what()), message);
    }
  }
  void expectRefusedIn(const std::string &place, const std::string &message) {
    expectRefused("BadProgram: class 'pes', " + place + ": " + message);
  }
  void expectRefusedAt(int index, const std::string &message) {
    expectRefusedIn("routine 0, statement " + std::to_string(index), message);
  }

  ProgramBuilder builder;
};

TEST_F(RemoteCallsTest, AcceptsTheExample) {
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}

TEST_F(RemoteCallsTest, CodeSize) {
  EXPECT_EQ(codeBytes(*builder.finish().classes()->Get(0)),
            4u * (1 + (2 + 6) + 2 + 1 + (2 + 2 + 1) + 2 + 2 + 2 // routine
                  + 2 + (2 + 1) + (2 + 6)));                    // tasks
}

// ------------------------------------------------- launched by command
// wavelets

class LaunchColorTest : public RemoteCallsTest {
protected:
  LaunchColorTest() { source().launch_color = 0; }
};

/// All of the language is open to both ways of launching.
TEST_F(LaunchColorTest, AcceptsTheExample) {
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}

TEST_F(LaunchColorTest, CopyBetweenLaunches) {
  builder.launch(0);
  expectRefused(
      "BadProgram: copy 1: comes before launch 1 of 2, which wavelets "
      "of color 0 start: they overlap, so the host copies before the "
      "first and after the last only; launch by calls of the host to "
      "copy between them");
}

TEST_F(LaunchColorTest, DataTaskOfCommands) {
  addTask(peClass(), "word", TaskKind::Data, 0);
  stateCodeBytes(builder);
  expectRefusedIn("task 'word'", "is of color 0, whose words are launches");
}

TEST_F(LaunchColorTest, FilterOfCommands) {
  peClass().filters[0]->color = 0;
  expectRefusedIn("filter 0", "is of color 0, whose words are launches");
}

TEST_F(LaunchColorTest, InstructionSendsCommands) {
  send().dst->color = Value(0).build();
  expectRefusedIn("routine 0, statement 0, destination, color",
                  "is 0, whose words are launches");
}

// --------------------------------------------------------- machine and routes

TEST_F(RemoteCallsTest, NoQueues) {
  source().machine->output_queue_words.clear();
  expectRefused(
      "BadProgram: machine: the number of output_queue_words is 0, expected a "
      "number from 1 to 256");
}

TEST_F(RemoteCallsTest, QueueOfNoWords) {
  source().machine->input_queue_words[3] = 0;
  expectRefused(
      "BadProgram: machine: input_queue_words[3] is 0, expected a number from "
      "1 to 65536");
}

TEST_F(RemoteCallsTest, RouterWithoutBuffer) {
  source().machine->router_buffer_words = 0;
  expectRefused(
      "BadProgram: machine: router_buffer_words is 0, expected a number from 1 "
      "to 65536");
}

TEST_F(RemoteCallsTest, SwitchWithoutPositions) {
  source().machine->switch_positions = 0;
  expectRefused(
      "BadProgram: machine: switch_positions is 0, expected a number from 1 to "
      "256");
}

TEST_F(RemoteCallsTest, ControlWithoutCommands) {
  source().machine->control_commands = 0;
  expectRefused(
      "BadProgram: machine: control_commands is 0, expected a number from 1 "
      "to 65536");
}

TEST_F(RemoteCallsTest, NoTasks) {
  source().machine->local_tasks = 300;
  expectRefused(
      "BadProgram: machine: local_tasks is 300, expected a number from 1 to "
      "256");
}

TEST_F(RemoteCallsTest, TooManyPositions) {
  rule().positions.resize(4, SwitchPosition(int8_t(Port::Ramp), 0));
  expectRefused("BadProgram: route rule 0: has 5 positions, a switch has at "
                "most 4");
}

TEST_F(RemoteCallsTest, PositionOfBothKinds) {
  rule().positions[1] = SwitchPosition(int8_t(Port::Ramp), 1);
  expectRefused("BadProgram: route rule 0, position 2: replaces not exactly "
                "one of the receive port and the transmit ports");
}

TEST_F(RemoteCallsTest, PositionOfNeitherKind) {
  rule().positions[0] = SwitchPosition(-1, 0);
  expectRefused("BadProgram: route rule 0, position 1: replaces not exactly "
                "one of the receive port and the transmit ports");
}

TEST_F(RemoteCallsTest, PositionSendsBack) {
  // Position 1 sends to the east, so position 2 does, too.
  rule().positions[0] = SwitchPosition(-1, 1 << int(Port::East));
  rule().positions[1] = SwitchPosition(int8_t(Port::East), 0);
  expectRefused("BadProgram: route rule 0, position 2: sends back where it "
                "receives from");
}

TEST_F(RemoteCallsTest, PositionOnUnknownPort) {
  rule().positions[0] = SwitchPosition(7, 0);
  expectRefused("BadProgram: route rule 0, position 1: receives on the unknown "
                "port 7");
}

TEST_F(RemoteCallsTest, InitialPosition) {
  rule().initial = 3;
  expectRefused("BadProgram: route rule 0: starts in position 3 of 3");
}

TEST_F(RemoteCallsTest, PopMode) {
  rule().pop = program::PopMode(9);
  expectRefused("BadProgram: route rule 0: pops commands in an unknown way");
}

// -------------------------------------------------------------- class members

TEST_F(RemoteCallsTest, BufferForTheHost) {
  peClass().buffers[1]->type = ElementType::Bool;
  expectRefusedIn("buffer 'halves'",
                  "has elements of a type that is for tensors of the host");
}

TEST_F(RemoteCallsTest, BuffersOfOneName) {
  peClass().buffers[1]->name = "counts";
  copyIn().buffer = "counts";
  expectRefused("BadProgram: copy 0: class 'pes' has two buffers 'counts'");
}

TEST_F(RemoteCallsTest, UnknownQueue) {
  peClass().queues[0]->queue = 6;
  expectRefused("MachineLimit: class 'pes', queue binding 0: binds queue 6, a "
                "PE has 6: use one below");
}

TEST_F(RemoteCallsTest, QueueOfReservedColor) {
  peClass().queues[0]->color = 21;
  expectRefusedIn("queue binding 0", "color 21 is reserved or does not exist, "
                                     "usable colors are 0..20");
}

TEST_F(RemoteCallsTest, ColorWithTwoQueues) {
  auto twin = std::make_unique<QueueBindingT>(*peClass().queues[0]);
  twin->queue = 3;
  peClass().queues.push_back(std::move(twin));
  expectRefusedIn("queue binding 1", "binds color 1 a second time");
}

TEST_F(RemoteCallsTest, QueueWithTwoColors) {
  auto twin = std::make_unique<QueueBindingT>(*peClass().queues[0]);
  twin->color = 3;
  peClass().queues.push_back(std::move(twin));
  expectRefusedIn("queue binding 1", "binds queue 2 a second time");
}

TEST_F(RemoteCallsTest, FilterOfLocals) {
  peClass().filters[0]->max = localValue(0).build();
  expectRefusedIn("filter 0, maximum",
                  "refers to local 0, which does not exist");
}

TEST_F(RemoteCallsTest, CounterWithoutLimit) {
  peClass().filters[0]->limit.reset();
  expectRefusedIn("filter 0", "is a counter without a limit");
}

TEST_F(RemoteCallsTest, RangeWithLimit) {
  peClass().filters[0]->kind = FilterKind::Range;
  expectRefusedIn("filter 0", "has a limit, but is no counter");
}

TEST_F(RemoteCallsTest, UnknownFilter) {
  peClass().filters[0]->kind = FilterKind(2);
  expectRefusedIn("filter 0", "is of unknown kind");
}

TEST_F(RemoteCallsTest, TwoFilters) {
  auto twin = std::make_unique<FilterT>();
  twin->color = 2;
  twin->min = Value(0).build();
  twin->max = Value(1).build();
  peClass().filters.push_back(std::move(twin));
  expectRefusedIn("filter 1", "color 2 has two filters");
}

TEST_F(RemoteCallsTest, TaskIds) {
  peClass().tasks[0]->id = 31;
  expectRefused(
      "MachineLimit: class 'pes', task 'done': has id 31, a PE has 31 "
      "tasks of its kind: use an id below");
}

TEST_F(RemoteCallsTest, ControlTaskIds) {
  peClass().tasks[2]->id = 64;
  expectRefused("MachineLimit: class 'pes', task 'end': has id 64, a PE has 64 "
                "tasks of its kind: use an id below");
}

TEST_F(RemoteCallsTest, DataTaskOfReservedColor) {
  peClass().tasks[1]->id = 23;
  expectRefusedIn("task 'receive'", "color 23 is reserved or does not exist, "
                                    "usable colors are 0..20");
}

TEST_F(RemoteCallsTest, UnknownTaskKind) {
  peClass().tasks[0]->kind = TaskKind(3);
  expectRefusedIn("task 'done'", "is of unknown kind");
}

TEST_F(RemoteCallsTest, TwoTasksOfOneId) {
  addTask(peClass(), "twin", TaskKind::Local, 3);
  stateCodeBytes(builder);
  expectRefusedIn("task 'twin'", "has the kind and id of another task");
}

TEST_F(RemoteCallsTest, LocalTaskStoresAWavelet) {
  peClass().tasks[0]->word_buffer = 0;
  expectRefusedIn("task 'done'", "stores a wavelet, but none starts it");
}

TEST_F(RemoteCallsTest, WaveletInUnknownBuffer) {
  peClass().tasks[1]->index_buffer = 3;
  expectRefusedIn("task 'receive'",
                  "stores a wavelet in buffer 3, which does not exist");
}

TEST_F(RemoteCallsTest, WaveletInEmptyBuffer) {
  peClass().buffers[2]->bytes = 0;
  expectRefusedIn("task 'receive'",
                  "stores a wavelet in the empty buffer 'index'");
}

TEST_F(RemoteCallsTest, TasksAreCode) {
  peClass().tasks[1]->body[0]->kind.AsSetTask()->task = 9;
  expectRefusedIn("task 'receive', statement 0",
                  "refers to task 9, which does not exist");
}

// ---------------------------------------------------------------- scalar code

TEST_F(RemoteCallsTest, LocalOfAnotherBody) {
  // Set in the `then`, used behind it.
  auto load = LoadT();
  load.local = 7;
  load.offset = Value(0).build();
  addStatement(branch().then, std::move(load));
  statement<SendControlT>(4).data = localValue(7).build();
  stateCodeBytes(builder);
  expectRefusedIn("routine 0, statement 4, data",
                  "refers to local 7, which does not exist");
}

TEST_F(RemoteCallsTest, LocalBeforeItIsSet) {
  statement<LoadT>(1).offset = localValue(1).build();
  expectRefusedIn("routine 0, statement 1, offset",
                  "refers to local 1, which does not exist");
}

TEST_F(RemoteCallsTest, LocalOfABodyAround) {
  auto load = LoadT();
  load.local = 1;
  load.offset = Value(0).build();
  addStatement(branch().then, std::move(load));
  stateCodeBytes(builder);
  expectRefusedIn("routine 0, statement 3, then, statement 1",
                  "sets local 1 of a body around it");
}

TEST_F(RemoteCallsTest, TooManyLocals) {
  statement<LoadT>(1).local = 1024;
  expectRefusedAt(1, "sets local 1024, there are 1024");
}

TEST_F(RemoteCallsTest, UnknownComputation) {
  statement<ComputeT>(2).op = ScalarOp(99);
  expectRefusedAt(2, "has the unknown operation 99");
}

TEST_F(RemoteCallsTest, ComputationWithoutOperand) {
  statement<ComputeT>(2).b.reset();
  expectRefusedIn("routine 0, statement 2, operand 1", "is missing");
}

TEST_F(RemoteCallsTest, DividesByZero) {
  statement<ComputeT>(2).b = Value(0).build();
  expectRefusedAt(2, "divides by zero");
}

TEST_F(RemoteCallsTest, OverflowsInAnAffineFunction) {
  statement<ComputeT>(2).a = localValue(0, INT32_MAX).build();
  expectRefusedIn("routine 0, statement 2, operand 0", "may overflow");
}

TEST_F(RemoteCallsTest, LoadsFromUnknownBuffer) {
  statement<LoadT>(1).buffer = 8;
  expectRefusedAt(1, "refers to buffer 8, which does not exist");
}

TEST_F(RemoteCallsTest, LoadsOutsideItsBuffer) {
  statement<LoadT>(1).offset = Value(2).build();
  expectRefused("OutOfBounds: class 'pes', routine 0, statement 1: touches "
                "element 2 of buffer 'counts', which has 2");
}

TEST_F(RemoteCallsTest, StoreUnderAConditionIsLeftToTheRun) {
  branch().then[0]->kind.AsStore()->offset = Value(2).build();
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}

TEST_F(RemoteCallsTest, ClockInFloats) {
  statement<ReadClockT>(5).buffer = 1;
  expectRefusedAt(5, "stores the cycle counter in buffer 'halves', which does "
                     "not hold i32");
}

TEST_F(RemoteCallsTest, UnknownTaskAction) {
  branch().otherwise[0]->kind.AsSetTask()->action = TaskAction(4);
  expectRefusedIn("routine 0, statement 3, otherwise, statement 0",
                  "does something unknown to a task");
}

TEST_F(RemoteCallsTest, ActivatesADataTask) {
  branch().otherwise[0]->kind.AsSetTask()->action = TaskAction::Activate;
  expectRefusedIn("routine 0, statement 3, otherwise, statement 0",
                  "activates task 'receive', which is not local");
}

// ---------------------------------------------------------- control and routes

TEST_F(RemoteCallsTest, TooManyCommands) {
  statement<SendControlT>(4).commands.resize(9);
  expectRefusedAt(4, "has 9 commands, a control wavelet holds at most 8");
}

TEST_F(RemoteCallsTest, UnknownCommand) {
  statement<SendControlT>(4).commands[0] = SwitchCommand(4);
  expectRefusedAt(4, "has an unknown command");
}

TEST_F(RemoteCallsTest, UnknownControlTask) {
  statement<SendControlT>(4).task = 64;
  expectRefusedAt(4, "starts control task 64 of 64");
}

TEST_F(RemoteCallsTest, ColorOfALocal) {
  statement<SendControlT>(4).color = localValue(0).build();
  expectRefusedIn("routine 0, statement 4, color",
                  "refers to local 0, which does not exist");
}

TEST_F(RemoteCallsTest, RouteOfReservedColor) {
  statement<SetRouteT>(6).color = Value(22).build();
  expectRefusedIn("routine 0, statement 6, color",
                  "22, usable colors are 0..20");
}

TEST_F(RemoteCallsTest, RouteBack) {
  statement<SetRouteT>(6).receive = Port::East;
  expectRefusedAt(6, "sends back where it receives from");
}

// --------------------------------------------------------- vector instructions

TEST_F(RemoteCallsTest, ActivatesWithoutThread) {
  send().thread = -1;
  expectRefusedAt(0, "activates or unblocks a task, but is not asynchronous");
}

TEST_F(RemoteCallsTest, ActivatesUnknownTask) {
  send().activate = 3;
  expectRefusedAt(0, "refers to task 3, which does not exist");
}

TEST_F(RemoteCallsTest, ActivatesControlTask) {
  send().activate = 2;
  expectRefusedAt(0, "activates task 'end', which is not local");
}

TEST_F(RemoteCallsTest, UnblocksUnknownTask) {
  send().unblock = -2;
  expectRefusedAt(0, "refers to task -2, which does not exist");
}

TEST_F(RemoteCallsTest, AdvancesWithoutSending) {
  send().dst = memory(1, {1}).build();
  expectRefusedAt(0, "advances a switch, but sends nothing");
}

TEST_F(RemoteCallsTest, EndsWithoutReceiving) {
  send().on_control = OnControl::End;
  expectRefusedAt(0, "ends at a control wavelet, but receives nothing");
}

TEST_F(RemoteCallsTest, UnknownEnd) {
  send().on_control = OnControl(2);
  expectRefusedAt(0, "does something unknown at a control wavelet");
}

TEST_F(RemoteCallsTest, WordsThatDoNotTravel) {
  send().dst->type = ElementType::I64;
  expectRefusedIn("routine 0, statement 0, destination",
                  "is of an element type that does not travel");
}

TEST_F(RemoteCallsTest, PairOfWords) {
  send().dst->type = ElementType::F32;
  expectRefusedIn("routine 0, statement 0, destination",
                  "has a pair or an index in a wavelet whose elements are not "
                  "of 16 bits");
}

TEST_F(RemoteCallsTest, PairWithIndex) {
  send().dst->index = Value(0).build();
  expectRefusedIn("routine 0, statement 0, destination",
                  "has an index beside a pair");
}

TEST_F(RemoteCallsTest, UnknownPacking) {
  send().dst->packing = Packing(2);
  expectRefusedIn("routine 0, statement 0, destination",
                  "packs elements in an unknown way");
}

TEST_F(RemoteCallsTest, BitsOfFloats) {
  send().op = Opcode::BitOr;
  send().b = memory(1, {1}).build();
  stateCodeBytes(builder);
  expectRefusedAt(0, "combines the bits of elements that are no integers");
}

// --------------------------------------------------------------------- copies

TEST_F(RemoteCallsTest, CopyOfUnknownTensor) {
  copyIn().tensor = 2;
  expectRefused("BadProgram: copy 0: refers to tensor 2, which does not exist");
}

TEST_F(RemoteCallsTest, CopyReadsAnOutput) {
  copyIn().tensor = 1;
  expectRefused("BadProgram: copy 0: reads tensor 'y', which is an output");
}

TEST_F(RemoteCallsTest, CopyWritesAnInput) {
  copyIn().direction = Direction::Out;
  expectRefused(
      "BadProgram: copy 0: writes tensor 'x', which is not an output");
}

TEST_F(RemoteCallsTest, CopyOfPartOfATensor) {
  copyIn().rect = std::make_unique<Rect>(0, 3, 1, 0, 2, 1);
  expectRefused("BadProgram: copy 0: copies 24 elements, tensor 'x' has 32");
}

TEST_F(RemoteCallsTest, CopyToAnAlias) {
  source().tensors[1]->alias = 0;
  source().tensors[1]->type = ElementType::F16;
  source().tensors[1]->shape = {4, 2, 4};
  expectRefused("BadProgram: copy 1: writes output 'y', which equals another "
                "tensor");
}

TEST_F(RemoteCallsTest, CopyOutsideTheMesh) {
  copyIn().rect = std::make_unique<Rect>(0, 8, 1, 0, 1, 1);
  expectRefused("BadProgram: copy 0: the rectangle x 0..7, y 0 is none: "
                "expected PEs of the 4x2 mesh, in steps of 1 to 16384");
}

TEST_F(RemoteCallsTest, CopyBeyondItsBuffer) {
  copyIn().elements = 8;
  source().tensors[0]->shape = {64};
  expectRefused("OutOfBounds: copy 0: copies 8 elements of buffer 'halves' of "
                "class 'pes', which has 4");
}

TEST_F(RemoteCallsTest, CopyOfOtherElements) {
  source().tensors[0]->type = ElementType::BF16;
  expectRefused("BadProgram: copy 0: buffer 'halves' of class 'pes' has other "
                "elements than tensor 'x'");
}

TEST_F(RemoteCallsTest, CopyToPEsWithoutTheBuffer) {
  peClass().rects = {Rect(0, 4, 2, 0, 2, 1), Rect(1, 2, 1, 0, 2, 1)};
  expectRefused("BadProgram: copy 0: buffer 'halves' is in 6 of the 8 PEs "
                "x 0..3, y 0..1; a copy takes all of a rectangle");
}

TEST_F(RemoteCallsTest, CopyToABufferNobodyHas) {
  copyIn().buffer = "halfs";
  expectRefused("BadProgram: copy 0: buffer 'halfs' is in 0 of the 8 PEs "
                "x 0..3, y 0..1; there is 'halves', 'counts', 'index'");
}

TEST_F(RemoteCallsTest, CopyToAStridedPart) {
  peClass().rects = {Rect(0, 4, 2, 0, 2, 1), Rect(1, 2, 1, 0, 2, 1)};
  copyIn().rect = std::make_unique<Rect>(0, 4, 2, 0, 2, 1);
  source().tensors[0]->shape = {16};
  source().entries[0]->copies.pop_back();
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}

TEST_F(RemoteCallsTest, CopyBeforeUnknownLaunch) {
  copyIn().launch = 2;
  expectRefused(
      "BadProgram: copy 0: comes before launch 2, which does not exist");
}

TEST_F(RemoteCallsTest, CopyInUnknownOrder) {
  copyIn().order = CopyOrder(2);
  expectRefused("BadProgram: copy 0: has an unknown order");
}

TEST_F(RemoteCallsTest, CopyInUnknownDirection) {
  copyIn().direction = Direction(2);
  expectRefused("BadProgram: copy 0: has an unknown direction");
}

} // namespace
} // namespace wsec::runtime
