// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Published times of single PEs and of one message, and deadlocks of full
// queues.
#include "runtime/program/Errors.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/TaskProgram.h"

#include <gtest/gtest.h>

namespace wsec::runtime::test {
namespace {

using program::Direction;
using program::ElementType;
using program::Opcode;
using program::Port;
using program::TaskKind;

/// Cycles from one dispatch to the next of an instruction with F16 operands on
/// the third generation (published for its vendor's simulator).
int64_t dispatch(Opcode op, int n, bool secondSource) {
  TaskProgram program(1, 1);
  program.source.machine->copy_rate_16 = 8;
  TaskClass its = program.pes("pe", 0, 1, 0, 1);
  const uint16_t x = its.typed("x", ElementType::F16, 2048);
  const uint16_t y = its.typed("y", ElementType::F16, 2048);
  const uint16_t t = its.typed("t", ElementType::I32, 2);
  TaskBody body = its.body(0);
  body.add(Opcode::Mov, {2048}, memory(x, {1}), immediate(1));
  body.add(Opcode::Mov, {2048}, memory(y, {1}), immediate(1));
  body.clock(t, 0);
  body.add(op, {n}, memory(y, {1}), memory(x, {1}),
           secondSource ? memory(y, {1}) : Operand{});
  body.clock(t, 1);
  program.launch(0);
  const uint32_t times =
      program.copy(Direction::Out, "t", ElementType::I32, 2, 0, 1, 0, 1, 1);
  TensorHost host;
  host.room(times, 8);
  WaveletEngine(program.finish()).run(host);
  const auto read = host.get<int32_t>(times);
  return read[1] - read[0] - 1; // the reading itself takes a cycle
}

TEST(SinglePETest, ShortAddsOfF16) {
  EXPECT_EQ(dispatch(Opcode::Add, 8, true), 8);
  EXPECT_EQ(dispatch(Opcode::Add, 16, true), 10);
  EXPECT_EQ(dispatch(Opcode::Add, 64, true), 22);
}

TEST(SinglePETest, CopyOfF16) {
  EXPECT_EQ(dispatch(Opcode::Mov, 1024, false), 5 + 1024 / 8);
}

/// Eight words to a waiting neighbour in the east.
TEST(MessageTest, ArrivesAndCompletesWhenPublished) {
  TaskProgram program(2, 1);
  program.source.machine->hop_cycles = 2;
  program.source.machine->router_buffer_words = 4;
  program.source.machine->task_overhead = 0; // of the routines: dispatch is 0
  program.route(1, 0, 1, 0, 1, Port::Ramp, {Port::East});
  program.route(1, 1, 2, 0, 1, Port::West, {Port::Ramp});
  TaskClass sender = program.pes("sender", 0, 1, 0, 1);
  const uint16_t v = sender.typed("v", ElementType::F32, 8);
  sender.body(1).add(Opcode::Mov, {8}, memory(v, {1}), immediate(3));
  sender.body(0).add(Opcode::Mov, {8}, fabric(1), memory(v, {1}));
  TaskClass receiver = program.pes("receiver", 1, 2, 0, 1);
  const uint16_t w = receiver.typed("w", ElementType::F32, 8);
  const uint16_t t = receiver.typed("t", ElementType::I32, 2);
  const int done = receiver.task("done", TaskKind::Local, 8);
  receiver.taskBody(done).clock(t, 1);
  TaskBody body = receiver.body(0);
  body.clock(t, 0);
  auto &receive = body.add(Opcode::Mov, {8}, memory(w, {1}), fabric(1));
  receive.thread = 2;
  receive.activate = int16_t(done);
  program.launch(1);
  program.launch(0);
  const uint32_t times =
      program.copy(Direction::Out, "t", ElementType::I32, 2, 1, 2, 0, 1, 2);
  TensorHost host;
  host.room(times, 8);
  WaveletEngine(program.finish()).run(host);
  const auto read = host.get<int32_t>(times);
  // On the link at 7 = set-up 5 + ramp 2, at the neighbour's router at 9, the
  // last word 7 later, up the ramp and read in 3.
  EXPECT_EQ(read[1] - read[0], 7 + 2 + 7 + 3);
}

/// Two PEs that first send each other more than the queues hold.
TEST(DeadlockTest, FullQueues) {
  for (int words : {8, 100}) {
    TaskProgram program(2, 1);
    program.route(1, 0, 1, 0, 1, Port::Ramp, {Port::East});
    program.route(1, 1, 2, 0, 1, Port::West, {Port::Ramp});
    program.route(2, 1, 2, 0, 1, Port::Ramp, {Port::West});
    program.route(2, 0, 1, 0, 1, Port::East, {Port::Ramp});
    for (int x = 0; x < 2; ++x) {
      TaskClass its = program.pes("pe" + std::to_string(x), x, x + 1, 0, 1);
      const uint16_t v = its.typed("v", ElementType::F32, uint32_t(words));
      TaskBody body = its.body(0);
      body.add(Opcode::Mov, {words}, fabric(1 + x), immediate(1));
      body.add(Opcode::Mov, {words}, memory(v, {1}), fabric(2 - x));
    }
    program.launch(0);
    TensorHost host;
    WaveletEngine engine(program.finish());
    if (words == 8) {
      engine.run(host);
      continue;
    }
    try {
      engine.run(host);
      FAIL() << "no error";
    } catch (const Error &error) {
      EXPECT_EQ(error.errorClass(), ErrorClass::Deadlock) << error.what();
      EXPECT_NE(error.message().find(
                    "class 'pe0': mov waits to send on color 1 at PE (0, 0)"),
                std::string::npos)
          << error.what();
    }
  }
}

} // namespace
} // namespace wsec::runtime::test
