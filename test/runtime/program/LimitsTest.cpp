// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that need more of something than the machine has, or send where
// there is no route.
#include "runtime/program/Errors.h"
#include "test/runtime/ExampleFile.h"
#include "test/runtime/TaskProgram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Direction;
using program::Opcode;
using program::Port;
using program::TaskKind;
using testing::HasSubstr;

class LimitsTest : public testing::Test {
protected:
  /// Two PEs of one class.
  LimitsTest() : builder(2, 1), pes(builder.pes("pes", 0, 2, 0, 1)) {
    buffer = pes.buffer("b", 16);
    builder.launch(0);
  }

  program::MachineT &machine() { return *builder.source.machine; }
  TaskBody routine() { return pes.body(0); }
  /// A color that each PE sends to itself.
  void loop(int color, int x0 = 0, int x1 = 2) {
    builder.route(color, x0, x1, 0, 1, Port::Ramp, {Port::Ramp});
  }
  program::InstructionT &send(BodyBuilder body, const Value &color,
                              int thread = -1) {
    program::InstructionT &added =
        body.add(Opcode::Mov, {4}, fabric(color), memory(buffer, {1}));
    added.thread = int8_t(thread);
    return added;
  }
  program::InstructionT &receive(BodyBuilder body, const Value &color,
                                 int thread = -1) {
    program::InstructionT &added =
        body.add(Opcode::Mov, {4}, memory(buffer, {1}), fabric(color));
    added.thread = int8_t(thread);
    return added;
  }

  void expectAccepted() {
    stateCodeBytes(builder);
    EXPECT_NO_THROW(checkProgram(builder.finish()));
  }
  void expectRefused(ErrorClass errorClass, const std::string &message) {
    stateCodeBytes(builder);
    try {
      checkProgram(builder.finish());
      FAIL() << "accepted; expected " << message;
    } catch (const Error &error) {
      EXPECT_EQ(error.errorClass(), errorClass);
      EXPECT_EQ(error.message(), message);
    }
  }

  TaskProgram builder;
  TaskClass pes;
  uint16_t buffer = 0;
};

// ------------------------------------------------------------------ routes

constexpr const char *noRoute =
    ", where no route of the color receives from the ramp: add one, or do not "
    "send there";

TEST_F(LimitsTest, SendOnColorWithoutRules) {
  loop(3, 0, 1);
  send(routine(), 3);
  expectRefused(ErrorClass::MissingRoute,
                std::string("class 'pes', routine 0, statement 0: sends on "
                            "color 3 in PE (1, 0)") +
                    noRoute);
}

TEST_F(LimitsTest, SendOnRouteFromANeighbour) {
  builder.route(3, 0, 2, 0, 1, Port::West, {Port::Ramp});
  TaskBody body = routine();
  receive(body, 3);
  body.control(3, {program::SwitchCommand::Advance});
  expectRefused(ErrorClass::MissingRoute,
                std::string("class 'pes', routine 0, statement 1: sends on "
                            "color 3 in PE (0, 0)") +
                    noRoute);
}

TEST_F(LimitsTest, SendOnRouteThatSwitchesToTheRamp) {
  builder.route(3, 0, 2, 0, 1, Port::West, {Port::Ramp});
  builder.switching({TaskProgram::from(Port::Ramp)});
  send(routine(), 3);
  expectAccepted();
}

/// Colors, guards, extents, loops and branches are as each PE has them.
TEST_F(LimitsTest, SendsOfOnePe) {
  loop(3, 0, 1);
  loop(4, 1, 2);
  const Scalar x = pes.px();
  const Scalar isSecond = pes.equal(x, 1);
  TaskBody body = routine();
  send(body, Value(3) + Value(x));
  send(body, 4).guard = int16_t(isSecond.index);
  body.add(Opcode::Mov, {x}, fabric(4), memory(buffer, {1}));
  body.repeat(x, [&](TaskBody inner) { send(inner, 4); });
  body.branch(
      x, [&](TaskBody then) { send(then, 4); },
      [&](TaskBody otherwise) { send(otherwise, 3); });
  expectAccepted();
  send(body, 4).guard = int16_t(x.index);
  body.branch(isSecond, [&](TaskBody then) { send(then, 3); }, nullptr);
  expectRefused(ErrorClass::MissingRoute,
                std::string("class 'pes', routine 0, statement 6, then, "
                            "statement 0: sends on color 3 in PE (1, 0)") +
                    noRoute);
}

/// Tasks are code like any other; what data decides is left to the run.
TEST_F(LimitsTest, SendsOfTasksAndBranchesOnData) {
  TaskBody body = routine();
  body.load(0, buffer, 0);
  body.branch(local(0), [&](TaskBody then) { send(then, 3); });
  expectAccepted();
  send(pes.taskBody(pes.task("t", TaskKind::Local, 1)), 3);
  expectRefused(ErrorClass::MissingRoute,
                std::string("class 'pes', task 't', statement 0: sends on "
                            "color 3 in PE (0, 0)") +
                    noRoute);
}

TEST_F(LimitsTest, RoutesThatCodeSets) {
  TaskBody body = routine();
  body.setRoute(3, Port::Ramp, {Port::East});
  send(body, 3);
  expectAccepted();
}

// ---------------------------------------------------------------- channels

class ChannelsTest : public testing::Test {
protected:
  ChannelsTest() : builder(makeEverything(countUp(70))) {}

  void expectRefused(const std::string &message) {
    try {
      checkProgram(builder.finish());
      FAIL() << "accepted; expected " << message;
    } catch (const Error &error) {
      EXPECT_EQ(error.errorClass(), ErrorClass::MachineLimit);
      EXPECT_EQ(error.message(), message);
    }
  }

  ProgramBuilder builder; // in by rows 1 and 3, out by 0 and 2
};

TEST_F(ChannelsTest, LaunchesTakeAChannel) {
  builder.source.machine->channels = 3;
  EXPECT_NO_THROW(checkProgram(builder.finish()));
  builder.source.machine->channels = 2;
  expectRefused("stream 'rows', channel 1: row 3 is one more channel of the "
                "west edge than the 2 of the machine: use rows that are in "
                "use, such as 0, and let their words go on inside the mesh");
}

TEST_F(ChannelsTest, RowsOfStreamsAddUp) {
  builder.source.machine->channels = 3;
  auto &streams = builder.source.streams;
  for (int row : {2, 1, 3}) {
    auto twin = std::make_unique<program::HostStreamT>(*streams[1]);
    twin->name = "twin" + std::to_string(row);
    twin->channels = {{row, 0, 4}};
    streams.push_back(std::move(twin));
  }
  expectRefused("stream 'twin3', channel 0: row 3 is one more channel of the "
                "east edge than the 3 of the machine: use rows that are in "
                "use, such as 0, and let their words go on inside the mesh");
}

// ------------------------------------------------------------------- tasks

TEST_F(LimitsTest, TasksOfTheHostRuntime) {
  machine().reserved_tasks = {0, 29};
  machine().local_tasks = 31;
  pes.task("mine", TaskKind::Local, 28);
  pes.task("control", TaskKind::Control, 29);
  routine();
  expectAccepted();
  machine().local_tasks = 4;
  pes.source->tasks[0]->id = 0;
  machine().reserved_tasks = {0, 2};
  expectRefused(ErrorClass::MachineLimit,
                "class 'pes', task 'mine': has id 0, which belongs to the host "
                "runtime: local tasks may be 1, 3");
}

TEST_F(LimitsTest, ReservedTaskThatIsNone) {
  machine().reserved_tasks = {31};
  routine();
  expectRefused(ErrorClass::BadProgram,
                "machine: reserved_tasks[0] is 31, expected a number from 0 to "
                "30");
}

// ------------------------------------------------------------------ queues

class QueuesTest : public LimitsTest {
protected:
  QueuesTest() {
    for (int color = 0; color < 12; ++color)
      loop(color);
    machine().microthreads_queue = true;
  }
  void expectExcess(const std::string &where, const std::string &colors,
                    const std::string &kind, int queues) {
    expectRefused(ErrorClass::MachineLimit,
                  "class 'pes'" + where + ": colors " + colors + " need an " +
                      kind + " queue each at the same time, a PE has " +
                      std::to_string(queues) +
                      " for them: await microthreads before, or use fewer data "
                      "tasks");
  }
};

TEST_F(QueuesTest, NinthColorToReceive) {
  TaskBody body = routine();
  for (int i = 0; i < 7; ++i)
    receive(body, i, i);
  receive(body, 8);
  receive(body, 9);
  expectAccepted();
  receive(body, 7, 7);
  receive(body, 10);
  expectExcess(", routine 0, statement 10", "0, 1, 2, 3, 4, 5, 6, 7, 10",
               "input", 8);
}

TEST_F(QueuesTest, AwaitedMicrothreadsHoldNone) {
  TaskBody body = routine();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 8; ++i)
      receive(body, i + round, i);
    body.await(0xff);
  }
  receive(body, 10);
  expectAccepted();
}

/// One that gets more work has done what it was given before.
TEST_F(QueuesTest, MicrothreadsHoldWhatTheyDo) {
  TaskBody body = routine();
  for (int i = 0; i < 12; ++i)
    receive(body, i, i % 4);
  expectAccepted();
}

TEST_F(QueuesTest, SeventhColorToSend) {
  TaskBody body = routine();
  for (int i = 0; i < 5; ++i)
    send(body, i, i);
  body.control(6, {});
  expectAccepted();
  send(body, 5, 5);
  send(body, 6);
  expectExcess(", routine 0, statement 7", "0, 1, 2, 3, 4, 5, 6", "output", 6);
}

/// A second turn of a loop finds what the first has left.
TEST_F(QueuesTest, LeftByALoop) {
  routine().repeat(2, [&](TaskBody inner) {
    send(inner, 6);
    for (int i = 0; i < 6; ++i)
      send(inner, i, i);
  });
  expectExcess(", routine 0, statement 0, statement 0", "0, 1, 2, 3, 4, 5, 6",
               "output", 6);
}

TEST_F(QueuesTest, DataTasksAndBindingsHoldTheirs) {
  for (int i = 0; i < 5; ++i)
    pes.task("t" + std::to_string(i), TaskKind::Data, i);
  pes.queue(5, false, 7);
  TaskBody body = routine();
  receive(body, 6, 0);
  receive(body, 7);
  expectAccepted();
  receive(body, 8, 1);
  expectAccepted();
  receive(body, 9);
  expectExcess(", routine 0, statement 3", "0, 1, 2, 3, 4, 5, 6, 8, 9", "input",
               8);
}

TEST_F(QueuesTest, LaunchesHoldOne) {
  builder.source.launch_color = 12;
  loop(12);
  TaskBody body = routine();
  for (int i = 0; i < 8; ++i)
    receive(body, i, i);
  expectExcess(", routine 0, statement 7", "0, 1, 2, 3, 4, 5, 6, 7, 12",
               "input", 8);
}

TEST_F(QueuesTest, QueuesOfTheHostRuntime) {
  machine().reserved_input_queues = 2;
  for (int i = 0; i < 7; ++i)
    pes.task("t" + std::to_string(i), TaskKind::Data, i);
  routine();
  expectExcess("", "0, 1, 2, 3, 4, 5, 6", "input", 6);
  pes.source->tasks.clear();
  pes.queue(5, false, 1);
  expectRefused(
      ErrorClass::MachineLimit,
      "class 'pes', queue binding 0: binds input queue 1, the first 2 "
      "belong to the host runtime: use one above");
}

/// Where guards tell PEs apart, the run finds out.
TEST_F(QueuesTest, GuardsAreLeftToTheRun) {
  const Scalar x = pes.px();
  TaskBody body = routine();
  for (int i = 0; i < 7; ++i)
    send(body, i, i).guard = int16_t(x.index);
  expectAccepted();
}

// ------------------------------------------------------------- descriptors

TEST_F(LimitsTest, DescriptorsOfInstructionsInFlight) {
  machine().descriptors = 5;
  loop(3);
  TaskBody body = routine();
  send(body, 3, 0);
  body.add(Opcode::Add, {4}, memory(buffer, {1}), memory(buffer, {1}),
           immediate(1));
  body.add(Opcode::Add, {4}, memory(buffer, {1}), memory(buffer, {1}),
           memory(buffer, {1}));
  expectAccepted();
  machine().descriptors = 4;
  expectRefused(ErrorClass::MachineLimit,
                "class 'pes', routine 0, statement 2: instructions in flight "
                "hold 5 descriptor registers, a PE has 4: await microthreads "
                "before");
}

} // namespace
} // namespace wsec::runtime
