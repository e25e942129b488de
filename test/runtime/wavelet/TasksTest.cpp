// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What PEs can do, one thing at a time, on both engines.
#include "test/runtime/wavelet/RowProgram.h"

#include <algorithm>

namespace wsec::runtime::test {
namespace {

using program::ElementType;
using program::FilterKind;
using program::InstructionT;
using program::OnControl;
using program::Opcode;
using program::Port;
using program::ScalarOp;
using program::SwitchCommand;
using program::TaskKind;

TEST(TasksTest, ScalarCode) {
  Row row(1, false);
  TaskClass pe = row.pe(0);
  const uint16_t v = pe.typed("v", ElementType::I32, 6);
  TaskBody body = pe.body(0);
  body.compute(0, ScalarOp::Constant, 5);
  body.repeat(3, [&](TaskBody b) {
    b.compute(1, ScalarOp::Mul, local(0), Value::loop(0));
    b.store(v, Value::loop(0), local(1));
  });
  body.load(2, v, 2);
  body.compute(3, ScalarOp::Less, local(2), 11);
  body.branch(
      local(3), [&](TaskBody b) { b.store(v, 3, 1); },
      [&](TaskBody b) { b.store(v, 3, 2); });
  body.clock(v, 4);
  body.store(v, 5, local(2, 3) + Value(1));
  row.launch(0);
  const Ints result = run(row, row.result("v", 6, 0));
  EXPECT_EQ(Ints(result.begin(), result.begin() + 4), (Ints{0, 5, 10, 1}));
  EXPECT_GT(result[4], 20);
  EXPECT_EQ(result[5], 31);
}

TEST(TasksTest, InstructionsOfNoElements) {
  Row row(1, false);
  TaskClass pe = row.pe(0);
  const uint16_t v = pe.typed("v", ElementType::I32, 3);
  TaskBody body = pe.body(0);
  body.add(Opcode::Mov, {3}, memory(v, {1}), immediate(4));
  body.add(Opcode::Mov, {0}, memory(v, {1}), immediate(5));
  body.add(Opcode::Add, {3, 0}, memory(v, {1, 1}), memory(v, {1, 1}),
           immediate(5));
  body.add(Opcode::Mov, {0, 3}, memory(v, {1, 1}), immediate(5)).thread = 1;
  body.await(2);
  row.launch(0);
  EXPECT_EQ(run(row, row.result("v", 3, 0)), (Ints{4, 4, 4}));
}

TEST(TasksTest, LocalTasksRunByIdWhenTheyAreNotBlocked) {
  Row row(1, false);
  TaskClass pe = row.pe(0);
  const uint16_t v = pe.typed("v", ElementType::I32, 4);
  const int late = pe.task("late", TaskKind::Local, 7);
  const int early = pe.task("early", TaskKind::Local, 2);
  const int blocked = pe.task("blocked", TaskKind::Local, 1, true);
  auto append = [&](int task, int value) {
    TaskBody b = pe.taskBody(task);
    b.load(0, v, 0);
    b.compute(1, ScalarOp::Add, local(0), 1);
    b.store(v, 0, local(1));
    b.store(v, local(1), value);
  };
  append(late, 70);
  append(early, 20);
  append(blocked, 10);
  pe.taskBody(late).unblock(blocked);
  TaskBody body = pe.body(0);
  for (int i = 0; i < 4; ++i)
    body.store(v, i, 0);
  body.activate(late);
  body.activate(blocked);
  body.activate(early);
  body.activate(early);
  row.launch(0);
  EXPECT_EQ(run(row, row.result("v", 4, 0)), (Ints{3, 20, 70, 10}));
}

/// PE 0 sends 0, 1, .. with their numbers as index; the last sums in a task.
Row dataTask(int words, std::function<void(TaskClass &)> change = nullptr) {
  Row row(3);
  TaskClass first = row.pe(0);
  const uint16_t source = first.typed("s", ElementType::I16, uint32_t(words));
  TaskBody send = first.body(0);
  send.repeat(words, [&](TaskBody b) {
    b.store(source, Value::loop(0), Value::loop(0, 3));
  });
  Operand wire = fabric(0);
  wire.type = ElementType::I16;
  wire.indexed = true;
  send.add(Opcode::Mov, {words}, wire, memory(source, {1}));
  TaskClass last = row.pe(2);
  const uint16_t v = last.typed("v", ElementType::I32, 3);
  const uint16_t word = last.typed("word", ElementType::I16, 1);
  const uint16_t index = last.typed("index", ElementType::I16, 1);
  const int task = last.task("sum", TaskKind::Data, 0, false, word, index);
  TaskBody body = last.body(0);
  for (int i = 0; i < 3; ++i)
    body.store(v, i, 0);
  TaskBody b = last.taskBody(task);
  for (int i = 0; i < 2; ++i) {
    b.load(0, v, i);
    b.load(1, i == 0 ? word : index, 0);
    b.store(v, i, local(0) + local(1));
  }
  b.load(0, v, 2);
  b.store(v, 2, local(0) + Value(1));
  if (change)
    change(last);
  row.launch(0);
  return row;
}

TEST(TasksTest, DataTaskPerWord) {
  Row row = dataTask(20);
  EXPECT_EQ(run(row, row.result("v", 3, 2)), (Ints{570, 190, 20}));
}

TEST(TasksTest, RangeFilter) {
  Row row = dataTask(
      20, [](TaskClass &pe) { pe.filter(0, FilterKind::Range, 5, 7); });
  EXPECT_EQ(run(row, row.result("v", 3, 2)), (Ints{54, 18, 3}));
}

TEST(TasksTest, CounterFilter) {
  Row row = dataTask(12, [](TaskClass &pe) {
    pe.filter(0, FilterKind::Counter, 0, 1, Value(3));
  });
  // 0 and 1 of every four.
  EXPECT_EQ(run(row, row.result("v", 3, 2)), (Ints{81, 27, 6}));
}

TEST(TasksTest, BlockedDataTaskLeavesItsWords) {
  Row row =
      dataTask(3, [](TaskClass &pe) { pe.source->tasks[0]->blocked = true; });
  EXPECT_EQ(refusal(row), ErrorClass::UnreadTraffic);
}

TEST(TasksTest, ControlTaskGetsItsData) {
  Row row(2);
  TaskClass first = row.pe(0);
  first.body(0).control(0, {SwitchCommand::Nop}, 9, 1234);
  TaskClass last = row.pe(1);
  const uint16_t v = last.typed("v", ElementType::I32, 1);
  last.task("stop", TaskKind::Control, 9, false, v);
  last.body(0).store(v, 0, 0);
  row.launch(0);
  EXPECT_EQ(run(row, row.result("v", 1, 1)), (Ints{1234}));
}

TEST(TasksTest, MissingControlTask) {
  Row row(2);
  row.pe(0).body(0).control(0, {}, 9);
  TaskClass last = row.pe(1);
  last.task("other", TaskKind::Control, 8);
  last.body(0);
  row.launch(0);
  EXPECT_EQ(refusal(row), ErrorClass::MissingTask);
}

TEST(TasksTest, ControlEndsAnInstruction) {
  Row row(2);
  TaskClass first = row.pe(0);
  TaskBody send = first.body(0);
  send.add(Opcode::Mov, {3}, ints(0), immediate(4));
  send.control(0, {}, 0);
  send.add(Opcode::Mov, {1}, ints(0), immediate(6));
  TaskClass last = row.pe(1);
  const uint16_t v = last.typed("v", ElementType::I32, 8);
  TaskBody body = last.body(0);
  body.add(Opcode::Mov, {8}, memory(v, {1}), immediate(-1));
  body.add(Opcode::Mov, {8}, memory(v, {1}), ints(0)).on_control =
      OnControl::End;
  body.add(Opcode::Mov, {1}, memory(v, {1}, 7), ints(0));
  row.launch(0);
  EXPECT_EQ(run(row, row.result("v", 8, 1)),
            (Ints{4, 4, 4, -1, -1, -1, -1, 6}));
}

/// PE 0 and PE 2 send to PE 1 on one color; PE 1's switch lets one in first.
TEST(TasksTest, SwitchTakesTurns) {
  Row row(3, false);
  row.route(0, 0, 1, 0, 1, Port::Ramp, {Port::East});
  row.route(0, 1, 2, 0, 1, Port::East, {Port::Ramp});
  row.switching({TaskProgram::from(Port::West)}, true);
  row.route(0, 2, 3, 0, 1, Port::Ramp, {Port::West});
  for (int x : {0, 2}) {
    TaskBody send = row.pe(x).body(0);
    send.add(Opcode::Mov, {30}, ints(0), immediate(float(x + 1)));
    send.control(0, {SwitchCommand::Advance});
  }
  TaskClass middle = row.pe(1);
  const uint16_t v = middle.typed("v", ElementType::I32, 60);
  middle.body(0).add(Opcode::Mov, {60}, memory(v, {1}), ints(0));
  row.launch(0);
  Ints expected(60, 1);
  std::fill_n(expected.begin(), 30, 3);
  EXPECT_EQ(run(row, row.result("v", 60, 1)), expected);
}

TEST(TasksTest, TeardownUntilTheRouteIsSet) {
  Row row(2);
  // The sender's own router takes off the first command.
  row.source.routes[0]->pop = program::PopMode::Always;
  TaskBody send = row.pe(0).body(0);
  send.add(Opcode::Mov, {2}, ints(0), immediate(1));
  send.control(0, {SwitchCommand::Nop, SwitchCommand::Teardown}, 3);
  send.add(Opcode::Mov, {2}, ints(0), immediate(2));
  TaskClass last = row.pe(1);
  const uint16_t v = last.typed("v", ElementType::I32, 4);
  const int control = last.task("reopen", TaskKind::Control, 3);
  const int rest = last.task("rest", TaskKind::Local, 1);
  TaskBody body = last.body(0);
  body.add(Opcode::Mov, {2}, memory(v, {1}), ints(0));
  TaskBody reopen = last.taskBody(control);
  reopen.setRoute(0, Port::West, {Port::Ramp});
  reopen.activate(rest);
  last.taskBody(rest).add(Opcode::Mov, {2}, memory(v, {1}, 2), ints(0));
  row.launch(0);
  EXPECT_EQ(run(row, row.result("v", 4, 1)), (Ints{1, 1, 2, 2}));
}

TEST(TasksTest, TornDownRouteHoldsTraffic) {
  Row row(3);
  TaskBody send = row.pe(0).body(0);
  send.control(0, {SwitchCommand::Teardown}, -1);
  send.add(Opcode::Mov, {2}, ints(0), immediate(1));
  TaskClass last = row.pe(2);
  const uint16_t v = last.typed("v", ElementType::I32, 2);
  last.body(0).add(Opcode::Mov, {2}, memory(v, {1}), ints(0));
  row.launch(0);
  EXPECT_EQ(refusal(row), ErrorClass::Deadlock);
}

TEST(TasksTest, BothSendBeforeTheyReceive) {
  for (int words : {4, 200}) {
    Row row(2);
    row.route(1, 1, 2, 0, 1, Port::Ramp, {Port::West});
    row.route(1, 0, 1, 0, 1, Port::East, {Port::Ramp});
    for (int x : {0, 1}) {
      TaskClass pe = row.pe(x);
      const uint16_t v = pe.typed("v", ElementType::I32, uint32_t(words));
      TaskBody body = pe.body(0);
      body.add(Opcode::Mov, {words}, ints(x), immediate(1));
      body.add(Opcode::Mov, {words}, memory(v, {1}), ints(1 - x));
    }
    row.launch(0);
    if (words == 4) // The queues hold them.
      EXPECT_EQ(run(row, row.result("v", 4, 0)), Ints(4, 1));
    else
      EXPECT_EQ(refusal(row), ErrorClass::Deadlock);
  }
}

TEST(TasksTest, DeadlockNamesWhoWaitsForWhat) {
  Row row(4);
  row.pe(0).body(0);
  TaskClass last = row.pe(3);
  const uint16_t v = last.typed("v", ElementType::I32, 1);
  last.body(0).add(Opcode::Mov, {1}, memory(v, {1}), ints(0));
  row.launch(0);
  const program::Program &program = row.finish();
  TensorHost host;
  try {
    WaveletEngine(program).run(host);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.errorClass(), ErrorClass::Deadlock);
    EXPECT_EQ(error.message(),
              "nothing can go on:\n  kernel 'kernel', launch 0, class 'pe3': "
              "mov waits for a word of color 0 at PE (3, 0) (statement 0 of "
              "routine 0; its input queue is empty): the words come from PE "
              "(0, 0) (at rest)");
  }
}

/// Which of two PEs sends on seven colors at a time, guards say.
TEST(TasksTest, MoreQueuesThanThereAre) {
  for (int colors : {6, 7}) {
    Row row(2, false);
    TaskClass pes = row.pes("pes", 0, 2, 0, 1);
    const Scalar isSecond = pes.equal(pes.px(), 1);
    constexpr int words = 20;
    const uint16_t v = pes.typed("v", ElementType::I32, 7);
    TaskBody body = pes.body(0);
    for (int color = 0; color < colors; ++color) {
      row.route(color, 0, 2, 0, 1, Port::Ramp, {Port::Ramp});
      InstructionT &send =
          body.add(Opcode::Mov, {words}, ints(color), immediate(float(color)));
      send.thread = int8_t(color);
      send.guard = int16_t(isSecond.index);
    }
    for (int color = 0; color < colors; ++color)
      body.add(Opcode::Mov, {words}, memory(v, {0}, color), ints(color)).guard =
          int16_t(isSecond.index);
    row.launch(0);
    if (colors == 6)
      EXPECT_EQ(run(row, row.result("v", 6, 1)),
                (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
    else
      EXPECT_EQ(refusal(row), ErrorClass::MachineLimit);
  }
}

TEST(TasksTest, MicrothreadBusyOrQueued) {
  for (bool queues : {false, true}) {
    Row row(2);
    if (queues)
      row.source.machine->microthreads_queue = true;
    TaskBody send = row.pe(0).body(0);
    send.add(Opcode::Mov, {20}, ints(0), immediate(1)).thread = 2;
    send.add(Opcode::Mov, {20}, ints(0), immediate(2)).thread = 2;
    TaskClass last = row.pe(1);
    const uint16_t v = last.typed("v", ElementType::I32, 40);
    last.body(0).add(Opcode::Mov, {40}, memory(v, {1}), ints(0));
    row.launch(0);
    if (!queues) {
      EXPECT_EQ(refusal(row), ErrorClass::MicrothreadBusy);
      continue;
    }
    Ints expected(40, 2);
    std::fill_n(expected.begin(), 20, 1);
    EXPECT_EQ(run(row, row.result("v", 40, 1)), expected);
  }
}

/// Eight elements in v, and microthread 2 that adds to every other of them.
struct Race {
  Race() : row(2), pe(row.pe(0)), v(pe.typed("v", ElementType::I32, 8)) {
    w = pe.typed("w", ElementType::I32, 8);
    TaskBody body = start();
    body.add(Opcode::Mov, {8}, memory(v, {1}), immediate(1));
    body.add(Opcode::Mov, {8}, memory(w, {1}), immediate(2));
    body.add(Opcode::Add, {4}, memory(v, {2}), memory(v, {2}), memory(w, {1}))
        .thread = 2;
    row.launch(0);
  }
  TaskBody start() {
    return pe.source->routines.empty() ? pe.body(0)
                                       : TaskBody(pe.source->routines[0]->body);
  }
  /// Refused, unless the microthread is awaited before.
  void expectRace(const std::function<void(TaskBody)> &touch,
                  const std::string &message) {
    touch(start());
    EXPECT_EQ(refusal(row), ErrorClass::DataRace);
    try {
      TensorHost host;
      WaveletEngine(row.finish()).run(host);
    } catch (const Error &error) {
      EXPECT_NE(error.message().find(message), std::string::npos)
          << error.message();
      EXPECT_NE(error.message().find(
                    ": await it before, or go on in a task that it activates"),
                std::string::npos)
          << error.message();
    }
    Race awaited;
    awaited.start().await(4);
    touch(awaited.start());
    run(awaited.row, awaited.row.result("w", 8, 0));
  }

  Row row;
  TaskClass pe;
  uint16_t v, w;
};

TEST(TasksTest, WhatAMicrothreadWritesIsNotTouched) {
  Race().expectRace(
      [](TaskBody b) {
        b.add(Opcode::Neg, {1}, memory(1, {1}, 7), memory(0, {1}, 6));
      },
      "PE (0, 0): neg touches what microthread 2 writes, without an await "
      "between, in buffer 'v'");
  Race().expectRace(
      [](TaskBody b) { b.add(Opcode::Mov, {8}, memory(0, {1}), immediate(0)); },
      "mov touches what microthread 2 writes");
  Race().expectRace([](TaskBody b) { b.load(0, 0, 4); },
                    "load touches what microthread 2 writes");
  Race().expectRace([](TaskBody b) { b.clock(0, 2); },
                    "read_clock touches what microthread 2 writes");
}

TEST(TasksTest, WhatAMicrothreadReadsIsNotWritten) {
  Race().expectRace(
      [](TaskBody b) { b.store(1, 3, 0); },
      "store writes what microthread 2 reads, without an await between, in "
      "buffer 'w'");
  Race().expectRace(
      [](TaskBody b) {
        b.add(Opcode::Mov, {2}, memory(1, {-1}, 4), immediate(0)).thread = 1;
        b.await(2);
      },
      "mov (microthread 1) writes what microthread 2 reads");
}

TEST(TasksTest, ElementsBetweenThoseOfAMicrothreadAreFree) {
  Race race;
  TaskBody body = race.start();
  body.add(Opcode::Mov, {4}, memory(race.v, {2}, 1), immediate(5));
  body.add(Opcode::Mov, {4}, memory(race.v, {-2}, 7), immediate(6));
  body.store(race.v, 3, 7);
  body.load(0, race.w, 0);
  body.store(race.w, 4, local(0));
  EXPECT_EQ(run(race.row, race.row.result("v", 8, 0)),
            (Ints{3, 6, 3, 7, 3, 6, 3, 6}));
}

TEST(TasksTest, OneThreadAtATimeUsesAColor) {
  for (bool control : {false, true}) {
    Row row(2);
    TaskBody send = row.pe(0).body(0);
    send.add(Opcode::Mov, {20}, ints(0), immediate(1)).thread = 2;
    if (control)
      send.control(0, {SwitchCommand::Nop});
    else
      send.add(Opcode::Mov, {20}, ints(0), immediate(2)).thread = 3;
    row.launch(0);
    EXPECT_EQ(refusal(row), ErrorClass::DataRace);
  }
  Row row(2);
  TaskClass last = row.pe(1);
  const uint16_t v = last.typed("v", ElementType::I32, 4);
  TaskBody body = last.body(0);
  body.add(Opcode::Mov, {2}, memory(v, {1}), ints(0)).thread = 0;
  body.add(Opcode::Mov, {2}, memory(v, {1}, 2), ints(0));
  row.launch(0);
  EXPECT_EQ(refusal(row), ErrorClass::DataRace);
}

/// What reading the clock twice, with something in between, takes more than
/// without.
double cyclesOf(const std::function<void(TaskClass &, TaskBody)> &fill) {
  Row row(1, false);
  row.source.machine->scalar_cycles = 1;
  row.source.machine->load_cycles = 40;
  row.source.machine->branch_taken = 600;
  row.source.machine->branch_not_taken = 300;
  row.source.machine->store_cycles = 2000;
  row.source.machine->loop_overhead = 10000;
  TaskClass pe = row.pe(0);
  pe.px();        // scalar 0 is 0,
  pe.constant(1); // scalar 1 is 1
  const uint16_t v = pe.typed("v", ElementType::I32, 8);
  TaskBody body = pe.body(0);
  body.compute(0, ScalarOp::Constant, 1);
  body.clock(v, 0);
  fill(pe, body);
  body.clock(v, 1);
  row.launch(0);
  const Ints result = run(row, row.result("v", 2, 0));
  return result[1] - result[0] - row.source.machine->clock_cycles;
}

TEST(TasksTest, WhatIsComputedAtRunTimeTakesCycles) {
  const Value zero = Scalar{0}, one = Scalar{1};
  auto add = [](const Value &offset, const Value &extent, int guard = -1) {
    return [=](TaskClass &, TaskBody body) {
      body.add(Opcode::Mov, {extent}, memory(0, {1}, offset), immediate(1))
          .guard = int16_t(guard);
    };
  };
  const double plain = cyclesOf(add(2, 1));
  // Descriptors of constants and of scalars of the class are known at load;
  EXPECT_EQ(cyclesOf(add(one + Value(1), one)), plain);
  // what is added to them at run time is not.
  EXPECT_EQ(cyclesOf(add(local(0), 1)), plain + 1);
  EXPECT_EQ(cyclesOf(add(local(0) + local(0), local(0))), plain + 3);
  // A guard is loaded and branched on.
  EXPECT_EQ(cyclesOf(add(2, 1, 1)), plain + 40 + 300);
  EXPECT_EQ(cyclesOf(add(2, 1, 0)), 40 + 600);
}

TEST(TasksTest, ValuesOfScalarCodeTakeCycles) {
  auto cycles = [](const std::function<void(TaskBody)> &fill) {
    return cyclesOf([&](TaskClass &, TaskBody body) { fill(body); });
  };
  const Value one = Scalar{1};
  auto store = [&](const Value &value, const Value &offset = 3) {
    return cycles([&](TaskBody b) { b.store(0, offset, value); });
  };
  EXPECT_EQ(store(7), 2000);
  EXPECT_EQ(store(local(0)), 2000);            // a register,
  EXPECT_EQ(store(local(0, 3)), 2001);         // scaled,
  EXPECT_EQ(store(local(0) + local(0)), 2001); // the sum of two
  EXPECT_EQ(store(one), 2040);                 // loaded
  EXPECT_EQ(store(7, one), 2000);              // as an address it is known
  EXPECT_EQ(store(7, local(0)), 2001);
  auto branch = [&](const Value &condition) {
    return cycles([&](TaskBody b) { b.branch(condition, [](TaskBody) {}); });
  };
  EXPECT_EQ(branch(local(0)), 300);
  EXPECT_EQ(branch(local(0) + Value(-1)), 600);
  EXPECT_EQ(branch(one), 340);
  auto loop = [&](const Value &count) {
    return cycles([&](TaskBody b) { b.repeat(count, [](TaskBody) {}); });
  };
  EXPECT_EQ(loop(1), 10000);
  EXPECT_EQ(loop(one), 10040);
  EXPECT_EQ(
      cycles([&](TaskBody b) { b.compute(1, ScalarOp::Add, local(0), one); }),
      41);
}

TEST(TasksTest, UninitialisedRead) {
  Row row(1, false);
  TaskClass pe = row.pe(0);
  const uint16_t v = pe.typed("v", ElementType::F16, 4);
  TaskBody body = pe.body(0);
  body.store(v, 0, 1);
  body.add(Opcode::Neg, {2}, memory(v, {1}), memory(v, {1}));
  row.launch(0);
  EXPECT_EQ(refusal(row), ErrorClass::UninitializedRead);
}

} // namespace
} // namespace wsec::runtime::test
