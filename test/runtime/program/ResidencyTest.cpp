// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/facts/Residency.h"
#include "runtime/program/facts/Facts.h"
#include "test/runtime/ExampleFile.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Direction;
using program::Opcode;
using program::Port;

constexpr int channel = 0, column = 1;
constexpr int words = 10;

/// Two PEs: an injector relays weights to itself and its neighbour.
struct Column {
  Column() : program(1, 2), pes(program.addClass("pe", 0, 1, 0, 2)) {
    program.route(channel, 0, 1, 0, 1, Port::West, {Port::Ramp});
    program.route(column, 0, 1, 0, 1, Port::Ramp, {Port::South, Port::Ramp});
    program.route(column, 0, 1, 1, 2, Port::North, {Port::Ramp});
    addBundle(program, countUp(words));
    addWeight(program, "w", {words});
    addTensor(program, "ids", program::TensorRole::Input, {2, 5},
              program::ElementType::I64);
    buffer = pes.buffer("kept", words);
    other = pes.buffer("other", words);
    pes.source->buffers[1]->onnx_node = "last";
  }

  /// A launch with weights on the channel; `fill` writes what PEs do with them.
  void launch(const std::function<void(BodyBuilder)> &fill, bool streams = true,
              bool gathered = false) {
    BodyBuilder body = pes.routine(next);
    if (streams)
      body.add(Opcode::Mov, {words}, fabric(column), fabric(channel)).thread =
          0;
    fill(body);
    std::vector<uint32_t> used;
    if (streams) {
      used.push_back(program.stream("weights", Direction::In, channel, {0}));
      auto segment = makeSegment(0, 1, 0, {words}, {1}, 0);
      if (gathered)
        segment->index_tensor = 1;
      program.source.streams.back()->segments.push_back(std::move(segment));
    }
    program.launch(next++, used);
  }

  void expect(uint64_t resident, uint64_t buffered) {
    WeightResidency result = weightResidency(program.finish());
    EXPECT_EQ(result.residentBytes, resident);
    EXPECT_EQ(result.bufferedBytes, buffered);
  }

  ProgramBuilder program;
  ClassBuilder pes;
  uint16_t buffer = 0, other = 0;
  uint32_t next = 0;
};

constexpr uint64_t bytes = words * 4 * 2; // of one buffer in both PEs

void keep(BodyBuilder body, uint16_t buffer) {
  body.add(Opcode::Mov, {words}, memory(buffer, {1}), fabric(column));
}

TEST(ResidencyTest, WeightsUsedOnArrivalTakeNoMemory) {
  Column program;
  program.launch([&](BodyBuilder body) {
    body.add(Opcode::Mov, {words}, memory(program.buffer, {1}), immediate(0));
    body.add(Opcode::Fmac, {words}, memory(program.buffer, {1}), fabric(column),
             immediate(2));
  });
  program.launch([&](BodyBuilder body) {
    body.add(Opcode::Neg, {words}, memory(program.other, {1}),
             memory(program.buffer, {1}));
  });
  program.expect(0, 0);
}

TEST(ResidencyTest, BuffersOfOneLaunchDoNotStay) {
  Column program;
  auto product = [&](BodyBuilder body) {
    keep(body, program.buffer);
    body.add(Opcode::Mul, {words}, memory(program.other, {1}),
             memory(program.buffer, {1}), immediate(2));
  };
  program.launch(product);
  program.launch(product);
  program.expect(0, bytes);
}

TEST(ResidencyTest, WhatALaterLaunchReadsStays) {
  Column program;
  program.launch([&](BodyBuilder body) { keep(body, program.buffer); });
  program.launch([](BodyBuilder) {}, /*streams=*/false);
  program.launch(
      [&](BodyBuilder body) {
        body.add(Opcode::Mul, {words}, memory(program.other, {1}),
                 memory(program.buffer, {1}), immediate(2));
      },
      /*streams=*/false);
  program.expect(bytes, bytes);
}

/// The first launch writes weights to one of two buffers, the second reads
/// there or in the other.
void expectPlaced(int32_t to, int32_t from, uint64_t resident,
                  uint64_t buffered) {
  Column program;
  // Behind the buffers of a Column.
  const uint16_t a = program.pes.buffer("a", words),
                 b = program.pes.buffer("b", words),
                 around = program.pes.buffer("around", 2 * words);
  auto &buffers = program.pes.source->buffers;
  ASSERT_EQ(buffers[a]->address + buffers[a]->bytes, buffers[b]->address);
  buffers[around]->address = buffers[a]->address;
  const Value place = local(0, words);
  program.launch([&](BodyBuilder body) {
    body.add(Opcode::Mov, {words}, memory(around, {1}, place), fabric(column));
  });
  program.launch(
      [&](BodyBuilder body) {
        body.add(Opcode::Neg, {words}, memory(program.other, {1}),
                 memory(around, {1}, place));
      },
      /*streams=*/false);
  program::EntryT &entry = *program.program.source.entries[0];
  for (int32_t number : {to, from})
    entry.scalars.push_back({program::ScalarOp::Constant, number, 0, 0});
  for (uint16_t l : {0, 1}) {
    entry.launches[l]->arguments = {l};
    program.pes.source->routines[l]->arguments = 1;
  }
  program.expect(resident, buffered);
}
TEST(ResidencyTest, WhatALaterLaunchReadsWhereItsNumbersSayStays) {
  expectPlaced(1, 1, bytes, bytes);
}
TEST(ResidencyTest, WhatItReadsElsewhereDoesNot) {
  expectPlaced(1, 0, 0, bytes);
}

TEST(ResidencyTest, CopiesStayToo) {
  Column program;
  program.launch([&](BodyBuilder body) {
    keep(body, program.buffer);
    body.add(Opcode::Mov, {words}, memory(program.other, {1}),
             memory(program.buffer, {1}));
  });
  program.launch(
      [&](BodyBuilder body) {
        for (uint16_t source : {program.other, program.buffer})
          body.add(Opcode::Neg, {words}, memory(source, {1}),
                   memory(source, {1}));
      },
      /*streams=*/false);
  program.expect(2 * bytes, 2 * bytes);
}

TEST(ResidencyTest, ABiasThatBecomesASumIsNoWeight) {
  Column program;
  program.launch([&](BodyBuilder body) {
    keep(body, program.buffer);
    body.add(Opcode::Fmac, {words}, memory(program.buffer, {1}),
             memory(program.other, {1}), immediate(2));
  });
  program.launch([&](BodyBuilder body) {
    body.add(Opcode::Neg, {words}, memory(program.other, {1}),
             memory(program.buffer, {1}));
  });
  program.expect(0, bytes);
}

TEST(ResidencyTest, AnOverwriteUnderACondition) {
  Column program;
  Scalar first = program.pes.equal(program.pes.py(), 0);
  program.launch([&](BodyBuilder body) {
    keep(body, program.buffer);
    body.add(Opcode::Mov, {words}, memory(program.buffer, {1}), immediate(0))
        .guard = int16_t(first.index);
  });
  program.launch(
      [&](BodyBuilder body) {
        body.add(Opcode::Neg, {words}, memory(program.other, {1}),
                 memory(program.buffer, {1}));
      },
      /*streams=*/false);
  program.expect(bytes, bytes);
}

TEST(ResidencyTest, RowsThatAnInputSelectsAreActivations) {
  Column program;
  program.launch([&](BodyBuilder body) { keep(body, program.buffer); },
                 /*streams=*/true, /*gathered=*/true);
  program.launch(
      [&](BodyBuilder body) {
        body.add(Opcode::Neg, {words}, memory(program.other, {1}),
                 memory(program.buffer, {1}));
      },
      /*streams=*/false);
  program.expect(0, 0);
  EXPECT_EQ(tokensPerRun(program.program.finish()), 10u);
}

TEST(ResidencyTest, RelaysByColorsThatDependOnThePlace) {
  // Column x sends on color 2 + x % 2 and reads from the other one.
  Column program;
  Scalar parity = program.pes.parity(program.pes.py());
  program.launch([&](BodyBuilder body) {
    body.add(Opcode::Mov, {words}, fabric(Value(parity) + Value(2)),
             fabric(column));
    body.add(Opcode::Mov, {words}, memory(program.buffer, {1}), fabric(3));
    body.add(Opcode::Mov, {words}, memory(program.other, {1}), fabric(4));
  });
  program.expect(0, bytes);
}

/// A launch by remote call whose weights the host copies to a buffer.
struct Copied {
  Copied() : program(1, 1), pes(program.addClass("pe", 0, 1, 0, 1)) {
    program.source.launch_color = 255;
    program.source.routes.clear();
    addBundle(program, countUp(words));
    addWeight(program, "w", {words});
    kept = pes.buffer("kept", words);
    other = pes.buffer("other", words);
    auto copy = std::make_unique<program::HostCopyT>();
    copy->tensor = 0;
    copy->buffer = "kept";
    copy->rect = std::make_unique<program::Rect>(0, 1, 1, 0, 1, 1);
    copy->elements = words;
    program.source.entries[0]->copies.push_back(std::move(copy));
  }

  void add(std::unique_ptr<program::TaskT> task) {
    task->name = "task";
    pes.source->tasks.push_back(std::move(task));
  }
  void expect(uint64_t resident, uint64_t buffered) {
    stateCodeBytes(program);
    const program::Program &finished = program.finish();
    checkProgram(finished);
    WeightResidency found = weightResidency(finished);
    EXPECT_EQ(found.residentBytes, resident);
    EXPECT_EQ(found.bufferedBytes, buffered);
  }

  ProgramBuilder program;
  ClassBuilder pes;
  uint16_t kept = 0, other = 0;
};

void negate(BodyBuilder body, uint16_t to, uint16_t from) {
  body.add(Opcode::Neg, {words}, memory(to, {1}), memory(from, {1}));
}

TEST(ResidencyTest, WhatTheHostCopiedStaysWhileItIsRead) {
  Copied program;
  negate(program.pes.routine(0), program.other, program.kept);
  program.program.launch(0);
  program.program.launch(0);
  program.expect(words * 4, words * 4);
}

TEST(ResidencyTest, AnOverwriteThatMayNotHappenEndsNothing) {
  Copied program;
  auto statement = std::make_unique<program::StatementT>();
  program::IfT decided;
  decided.condition = Value(1).build();
  BodyBuilder(decided.then)
      .add(Opcode::Mov, {words}, memory(program.kept, {1}), immediate(0));
  statement->kind.Set(std::move(decided));
  program.pes.routine(0);
  program.pes.source->routines[0]->body.push_back(std::move(statement));
  negate(program.pes.routine(1), program.other, program.kept);
  program.program.launch(0);
  program.program.launch(1);
  program.expect(words * 4, words * 4);
}

TEST(ResidencyTest, TasksMoveWeightsInAnyLaunch) {
  Copied program;
  auto task = std::make_unique<program::TaskT>();
  BodyBuilder(task->body)
      .add(Opcode::Mov, {words}, memory(program.other, {1}),
           memory(program.kept, {1}));
  program.add(std::move(task));
  program.pes.routine(0);
  program.program.launch(0);
  program.program.launch(0);
  program.expect(words * 4, 2 * words * 4);
}

TEST(FactsTest, PeakCountsRuntimeCodeAndBuffers) {
  Column program;
  program.launch([&](BodyBuilder body) { keep(body, program.buffer); });
  stateCodeBytes(program.program);
  const program::Program &built = program.program.finish();
  SramPeak peak = sramPeak(built);
  EXPECT_EQ(peak.bytes,
            4176 + built.classes()->Get(0)->code_bytes() + 2 * words * 4);
  EXPECT_EQ(peak.owner, "last");
  EXPECT_EQ(countPes(built), 2u);
  EXPECT_EQ(streamedWeightBytes(built), words * 4u);
  EXPECT_EQ(tokensPerRun(built), 0u);
  program.pes.source->buffers.clear();
  program.pes.source->routines.clear();
  peak = sramPeak(program.program.finish());
  EXPECT_EQ(peak.owner, "");
  EXPECT_EQ(peak.bytes, 4176u + program.pes.source->code_bytes);
}

/// The head of the column relays, as all PEs might: only what else it does, or
/// does not, tells whether it computes.
TEST(FactsTest, PesThatOnlyForwardDoNotCompute) {
  Column program;
  Scalar last = program.pes.equal(program.pes.py(), 1);
  program.launch([&](BodyBuilder body) {
    body.add(Opcode::Mov, {words}, memory(program.buffer, {1}), fabric(column))
        .guard = int16_t(last.index);
  });
  EXPECT_EQ(countPes(program.program.finish()), 2u);
  EXPECT_EQ(computingPes(program.program.finish()), 1u);
  program.launch([&](BodyBuilder) {});
  EXPECT_EQ(computingPes(program.program.finish()), 1u);
  program.launch([&](BodyBuilder body) { keep(body, program.buffer); });
  EXPECT_EQ(computingPes(program.program.finish()), 2u);
}

} // namespace
} // namespace wsec::runtime
