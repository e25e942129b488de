// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the machine would not do is refused, by name.
#include "runtime/program/Errors.h"
#include "runtime/program/Checker.h"
#include "runtime/strips/StripsEngine.h"
#include "test/runtime/TaskProgram.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Direction;
using program::Opcode;
using program::Port;
using program::ScalarOp;

/// A 2 x 2 mesh of one class with two buffers; color 0 goes from column 0 to
/// column 1.
class ErrorsTest : public testing::Test {
protected:
  ErrorsTest()
      : builder(2, 2), pes(builder.addClass("pe", 0, 2, 0, 2)),
        isWest(pes.equal(pes.px(), 0)), isEast(pes.negate(isWest)),
        a(pes.buffer("a", 8)), b(pes.buffer("b", 8)), body(pes.routine(0)) {
    builder.route(0, 0, 1, 0, 2, Port::Ramp, {Port::East});
    builder.route(0, 1, 2, 0, 2, Port::West, {Port::Ramp});
  }

  void expectError(ErrorClass expected, const std::string &message) {
    try {
      if (builder.source.entries[0]->launches.empty())
        builder.launch(0, {}, "fc1");
      StripsEngine(builder.finish(), options).run(host);
      FAIL() << "no error";
    } catch (const Error &error) {
      EXPECT_EQ(error.errorClass(), expected) << error.what();
      EXPECT_NE(error.message().find(message), std::string::npos)
          << error.what();
    }
  }

  TaskBody code() { return TaskBody(pes.source->routines[0]->body); }

  EngineOptions options{2};
  ProgramBuilder builder;
  ClassBuilder pes;
  Scalar isWest, isEast;
  uint16_t a, b;
  BodyBuilder body;
  VectorHost host;
};

TEST_F(ErrorsTest, SramOverflow) {
  pes.buffer("huge", 12000);
  expectError(ErrorClass::SramOverflow,
              "class 'pe' needs 52320 bytes of SRAM, a PE has 49152");
}

TEST_F(ErrorsTest, LoadBehindTheBuffer) {
  body.load(0, a, 8);
  expectError(ErrorClass::OutOfBounds, "element 8 of buffer 'a', which has 8");
}

TEST_F(ErrorsTest, LoadOfNothing) {
  body.add(Opcode::Mov, {3}, memory(a, {1}), immediate(1));
  body.load(0, a, 3);
  expectError(ErrorClass::UninitializedRead,
              "load reads element 3 of buffer 'a', which nothing has written");
}

TEST_F(ErrorsTest, LoadOfWhatAMicrothreadWrites) {
  body.add(Opcode::Mov, {8}, memory(a, {1}), immediate(1));
  body.add(Opcode::Mov, {4}, memory(a, {1}), immediate(2)).thread = 1;
  body.load(0, a, 4);
  body.load(0, a, 3);
  expectError(ErrorClass::DataRace,
              "load touches what microthread 1 writes, without an await "
              "between");
}

TEST_F(ErrorsTest, LoadedOffsetBehindTheBuffer) {
  body.add(Opcode::Mov, {8}, memory(a, {1}), immediate(7));
  body.load(0, a, 0);
  body.add(Opcode::Mov, {2}, memory(a, {1}, local(0)), immediate(1));
  expectError(ErrorClass::OutOfBounds, "touches elements 7 to 8 of buffer 'a'");
}

TEST_F(ErrorsTest, LoadedExtents) {
  body.add(Opcode::Mov, {8}, memory(a, {1}), immediate(7));
  body.load(0, a, 0);
  body.add(Opcode::Mov, {local(0)}, memory(b, {1}), immediate(1));
  expectError(
      ErrorClass::BadProgram,
      "the strips engine runs no programs with scalar code that decides "
      "more than where operands lie");
}

TEST_F(ErrorsTest, LoadedTurns) {
  body.add(Opcode::Mov, {8}, memory(a, {1}), immediate(7));
  body.load(0, a, 0);
  body.loop(local(0), [&](BodyBuilder inner) {
    inner.add(Opcode::Mov, {1}, memory(b, {1}), immediate(1));
  });
  expectError(ErrorClass::BadProgram, "scalar code that decides more than");
}

/// The row decides how many words a PE sends.
TEST_F(ErrorsTest, ComputedWords) {
  code().compute(0, ScalarOp::Py, 0);
  body.add(Opcode::Mov, {local(0)}, fabric(5), immediate(1));
  expectError(ErrorClass::BadProgram,
              "the strips engine runs no programs with scalar code that "
              "decides words or microthreads PE by PE");
}

/// ... or which PEs await their microthread.
TEST_F(ErrorsTest, ComputedBranchAroundAwait) {
  code().compute(0, ScalarOp::Less, Value(pes.py()), 1);
  code().branch(local(0), [&](TaskBody then) { then.await(1); });
  expectError(ErrorClass::BadProgram, "decides words or microthreads PE by PE");
}

TEST_F(ErrorsTest, ComputedDivisionByZero) {
  code().compute(0, ScalarOp::Py, 0);
  code().compute(1, ScalarOp::Mod, 7, local(0));
  expectError(ErrorClass::BadProgram,
              "PE (0, 0): a scalar computation divides by 0");
}

/// Only the PEs that take a branch fail in it.
TEST_F(ErrorsTest, ComputedOffsetBehindTheBuffer) {
  code().compute(0, ScalarOp::Py, 0);
  code().branch(local(0), [&](TaskBody then) {
    then.add(Opcode::Mov, {1}, memory(a, {1}, local(0, 8)), immediate(1));
  });
  expectError(ErrorClass::OutOfBounds,
              "PE (0, 1): mov touches elements 8 to 8");
}

TEST_F(ErrorsTest, WorkLimit) {
  body.loop(1 << 30, [&](BodyBuilder inner) {
    inner.add(Opcode::Mov, {8}, memory(a, {1}), immediate(1));
  });
  options.workLimit = 1 << 16;
  expectError(ErrorClass::WorkLimit,
              "more than the 65536 elements and statements");
}

/// The sources of an asynchronous instruction are looked at when it is issued:
/// not before their number is known to be allowed.
TEST_F(ErrorsTest, WorkLimitOfAsynchronousSources) {
  body.add(Opcode::Mov, {3}, memory(a, {2}), immediate(1));
  body.add(Opcode::Mov, {1 << 14, 1 << 14, 3}, memory(b, {0, 0, 1}),
           memory(a, {0, 0, 2}))
      .thread = 1;
  options.workLimit = 1 << 16;
  expectError(ErrorClass::WorkLimit,
              "more than the 65536 elements and statements");
}

/// Their product in 64 bits is 0, or small.
TEST_F(ErrorsTest, MoreElementsThanCanBeCounted) {
  constexpr int64_t large = int64_t(1) << 32;
  Scalar some = pes.scalar(program::ScalarOp::Mul, pes.constant(1 << 16).index,
                           pes.constant(1 << 16).index);
  body.add(Opcode::Mov, {Value(some) + Value(1), large}, memory(a, {0, 0}),
           immediate(1));
  expectError(ErrorClass::BadProgram,
              "mov has 4294967297 x 4294967296 elements, an instruction has at "
              "most 2147483648; put it into a loop");
}

TEST_F(ErrorsTest, MoreWindowWordsThanCanBeCounted) {
  body.add(Opcode::Mov, {4, 2}, memory(a, {2, 1}),
           fabric(0, 2).window(0, int64_t(1) << 62));
  expectError(ErrorClass::OutOfBounds, "2 words at 0 in 4611686018427387904");
}

TEST_F(ErrorsTest, BufferOverCode) {
  pes.source->buffers[0]->address = 4200;
  expectError(ErrorClass::SramOverflow, "overlaps the runtime and code");
}

TEST_F(ErrorsTest, OutOfBounds) {
  body.add(Opcode::Mov, {5}, memory(a, {2}), immediate(0));
  expectError(ErrorClass::OutOfBounds,
              "mov touches elements 0 to 8 of buffer 'a', which has 8");
}

TEST_F(ErrorsTest, WindowOutOfBounds) {
  body.add(Opcode::Mov, {4}, memory(a, {1}), fabric(0).window(3, 6)).guard =
      int16_t(isEast.index);
  expectError(ErrorClass::OutOfBounds, "a window of 4 words at 3 in 6");
}

TEST_F(ErrorsTest, UninitializedRead) {
  body.add(Opcode::Mov, {4}, memory(a, {1}), immediate(0));
  body.add(Opcode::Mov, {8}, memory(b, {1}), memory(a, {1}));
  expectError(ErrorClass::UninitializedRead,
              "kernel 'fc1', launch 0, class 'pe', PE (0, 0): mov reads "
              "element 4 of buffer 'a'");
}

/// What one PE of a column has written is not written in the others.
TEST_F(ErrorsTest, UninitializedReadOfOneRow) {
  const Scalar isNorth = pes.equal(pes.py(), 0);
  body.add(Opcode::Mov, {8}, memory(a, {1}), immediate(0)).guard =
      int16_t(isNorth.index);
  body.add(Opcode::Mov, {8}, memory(b, {1}), memory(a, {1}));
  expectError(ErrorClass::UninitializedRead,
              "PE (0, 1): mov reads element 0 of buffer 'a'");
}

/// Rows that write one after the other have, in the end, all written.
TEST_F(ErrorsTest, RowsWriteInTurns) {
  const Scalar isNorth = pes.equal(pes.py(), 0);
  for (Scalar row : {isNorth, pes.negate(isNorth)})
    body.add(Opcode::Mov, {8}, memory(a, {1}), immediate(0)).guard =
        int16_t(row.index);
  body.add(Opcode::Mov, {8}, memory(b, {1}), memory(a, {1}));
  builder.launch(0, {}, "fc1");
  StripsEngine(builder.finish(), options).run(host);
}

TEST_F(ErrorsTest, OfSeveralTheSameEveryTime) {
  body.loop(20000, [&](BodyBuilder inner) { // column 0 gets there last
    inner.add(Opcode::Mov, {8}, memory(b, {1}), immediate(0)).guard =
        int16_t(isWest.index);
  });
  body.add(Opcode::Mov, {8}, memory(b, {1}), memory(a, {1}));
  builder.launch(0, {}, "fc1");
  const program::Program &program = builder.finish();
  auto message = [&](unsigned threads) -> std::string {
    try {
      options.threads = threads;
      StripsEngine(program, options).run(host);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  };
  const std::string expected = message(1);
  EXPECT_NE(expected.find("UninitializedRead"), std::string::npos) << expected;
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(message(4), expected);
}

TEST_F(ErrorsTest, AccumulatorMustBeInitialised) {
  body.add(Opcode::Fmac, {4}, memory(a, {1}), immediate(1), immediate(2));
  expectError(ErrorClass::UninitializedRead, "fmac reads element 0");
}

TEST_F(ErrorsTest, MissingRoute) {
  body.add(Opcode::Mov, {4}, fabric(5), immediate(0));
  expectError(ErrorClass::MissingRoute, "color 5 at PE (0, 0)");
}

TEST_F(ErrorsTest, RouteConflict) {
  // East has the receive port of color 0 at its west side.
  body.add(Opcode::Mov, {4}, fabric(0), immediate(0));
  expectError(ErrorClass::RouteConflict, "color 0 at PE (1, 0)");
}

TEST_F(ErrorsTest, DeadlockNamesWhoWaits) {
  body.add(Opcode::Mov, {4}, memory(a, {1}), fabric(0)).guard =
      int16_t(isEast.index);
  expectError(ErrorClass::Deadlock,
              "kernel 'fc1', launch 0, class 'pe': mov waits for a word of "
              "color 0 at PEs x 1, y 0..1");
}

TEST_F(ErrorsTest, DeadlockOfAMicrothread) {
  auto &receive = body.add(Opcode::Mov, {4}, memory(a, {1}), fabric(0));
  receive.guard = int16_t(isEast.index);
  receive.thread = 3;
  expectError(ErrorClass::Deadlock, "mov (microthread 3) waits for a word");
}

TEST_F(ErrorsTest, UnreadTraffic) {
  body.add(Opcode::Mov, {4}, fabric(0), immediate(0)).guard =
      int16_t(isWest.index);
  body.add(Opcode::Mov, {3}, memory(a, {1}), fabric(0)).guard =
      int16_t(isEast.index);
  expectError(ErrorClass::UnreadTraffic, "color 0 at PEs x 1, y 0..1");
}

TEST_F(ErrorsTest, UnreadHostWords) {
  builder.route(1, 0, 1, 0, 1, Port::West, {Port::Ramp});
  uint32_t stream = builder.stream("in", Direction::In, 1, {0});
  host.feed(stream, 0, {1, 2, 3});
  builder.launch(0, {stream});
  expectError(ErrorClass::UnreadTraffic, "color 1 at PE (0, 0)");
}

TEST_F(ErrorsTest, MissingOutput) {
  builder.route(1, 1, 2, 0, 1, Port::Ramp, {Port::East});
  uint32_t stream = builder.stream("logits", Direction::Out, 1, {0});
  host.expect(stream, 0, 7);
  builder.launch(0, {stream});
  expectError(ErrorClass::Deadlock,
              "output stream 'logits' (color 1, row 0) has 0 of 7 words");
}

TEST_F(ErrorsTest, TouchesWhatAMicrothreadWrites) {
  auto &write = body.add(Opcode::Mov, {4}, memory(a, {1}), immediate(0));
  write.thread = 1;
  body.add(Opcode::Mov, {4}, memory(b, {1}), memory(a, {1}));
  expectError(ErrorClass::DataRace,
              "touches what microthread 1 writes, without an await between");
}

/// A microthread reads as it goes.
TEST_F(ErrorsTest, WritesWhatAMicrothreadReads) {
  body.add(Opcode::Mov, {8}, memory(a, {1}), immediate(0));
  body.add(Opcode::Mov, {4}, memory(b, {1}), memory(a, {2})).thread = 1;
  // Words between those that are read are nobody's.
  body.add(Opcode::Mov, {4}, memory(a, {2}, 1), immediate(1));
  body.await(2);
  body.add(Opcode::Mov, {1}, memory(a, {1}), immediate(1));
  builder.launch(0, {}, "fc1");
  StripsEngine(builder.finish(), options).run(host);
  body.add(Opcode::Mov, {4}, memory(b, {1}), memory(a, {2})).thread = 1;
  body.add(Opcode::Mov, {1}, memory(a, {1}, 6), immediate(1));
  expectError(ErrorClass::DataRace,
              "mov writes what microthread 1 reads, without an await between");
}

/// Nothing keeps what a microthread has no time for.
TEST_F(ErrorsTest, MicrothreadBusy) {
  for (uint16_t buffer : {a, b})
    body.add(Opcode::Mov, {4}, memory(buffer, {1}), immediate(0)).thread = 1;
  expectError(ErrorClass::MicrothreadBusy,
              "mov (microthread 1) is given to a microthread that may be at "
              "work: await it before");
  // The third generation makes the main thread wait.
  builder.source.machine->microthreads_queue = true;
  StripsEngine(builder.finish(), options).run(host);
}

TEST_F(ErrorsTest, TwoThreadsOnOneColor) {
  auto &relay = body.add(Opcode::Mov, {4}, fabric(0), immediate(0));
  relay.guard = int16_t(isWest.index);
  relay.thread = 2;
  body.add(Opcode::Mov, {4}, fabric(0), immediate(1)).guard =
      int16_t(isWest.index);
  body.add(Opcode::Mov, {8}, memory(a, {1}), fabric(0)).guard =
      int16_t(isEast.index);
  expectError(ErrorClass::DataRace,
              "mov sends on color 0 as microthread 2 does, without an await");
}

TEST_F(ErrorsTest, CommandDoesNotReachAPE) {
  builder.source.routes.erase(builder.source.routes.begin() + 1);
  body.add(Opcode::Mov, {4}, memory(a, {1}), immediate(0));
  expectError(ErrorClass::MissingRoute, "color 20 at PE (1, 0)");
}

TEST_F(ErrorsTest, OverlappingClasses) {
  builder.addClass("other", 1, 2, 1, 2);
  expectError(ErrorClass::BadProgram, "PE (1, 1) belongs to two classes");
}

TEST_F(ErrorsTest, UnsupportedElementType) {
  test::Operand word = fabric(0);
  word.type = program::ElementType::F16;
  body.add(Opcode::Mov, {4}, word, immediate(0));
  expectError(ErrorClass::BadProgram,
              "runs no programs with wavelets of 16 bits");
}

/// Of a word that has two elements one has been written.
TEST_F(ErrorsTest, UninitializedHalf) {
  pes.source->buffers[0]->type = program::ElementType::F16;
  body.add(Opcode::Mov, {5}, memory(a, {1}), immediate(1));
  body.add(Opcode::Mov, {8}, memory(b, {1}), memory(a, {1}));
  expectError(ErrorClass::UninitializedRead,
              "mov reads element 5 of buffer 'a', which nothing has written");
}

TEST_F(ErrorsTest, Unsupported) {
  builder.source.launch_color = noLaunchColor;
  expectError(ErrorClass::BadProgram,
              "runs no programs with launches by calls of the host; take "
              "--engine=wavelet");
}

TEST_F(ErrorsTest, UnsupportedSwitches) {
  builder.source.routes[0]->positions.push_back({int8_t(Port::North), 0});
  expectError(ErrorClass::BadProgram,
              "runs no programs with switches and control wavelets");
}

#ifndef TEST_RUNTIME_WAVELET_ALLENGINES_H // Others have the queues of the
                                          // machine.
/// East takes the words of color 0 after that of color 1, which west sends
/// last.
TEST_F(ErrorsTest, HostLimit) {
  builder.route(1, 0, 1, 0, 2, Port::Ramp, {Port::East});
  builder.route(1, 1, 2, 0, 2, Port::West, {Port::Ramp});
  auto where = [](program::InstructionT &instruction, Scalar guard) {
    instruction.guard = int16_t(guard.index);
  };
  for (int color : {0, 1})
    body.loop(64, [&](BodyBuilder inner) {
      where(inner.add(Opcode::Mov, {16}, fabric(color), immediate(1)), isWest);
    });
  for (int color : {1, 0})
    where(body.add(Opcode::Mov, {1024}, memory(a, {0}), fabric(color)), isEast);
  options.queueWords = 16;
  builder.launch(0, {}, "fc1");
  StripsEngine(builder.finish(), options).run(host);
  options.queueBytes = 256;
  expectError(ErrorClass::HostLimit, "allowed are 256");
}
#endif

} // namespace
} // namespace wsec::runtime
