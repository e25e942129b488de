// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small files that ask their reader for years of work, or all of its memory.
#include "runtime/memoryx/MemoryX.h"
#include "runtime/program/Errors.h"
#include "runtime/program/facts/Facts.h"
#include "runtime/program/facts/Residency.h"
#include "runtime/program/proof/DeadlockChecker.h"
#include "test/runtime/ExampleFile.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using namespace test;
using program::Direction;
using program::Opcode;
using program::Port;
using program::ScalarOp;

/// The largest mesh there may be.
constexpr int side = 2048;
static_assert(int64_t(side) * side == largestMeshPEs);

class HostileTest : public testing::Test {
protected:
  HostileTest()
      : builder(side, side), pes(builder.addClass("all", 0, side, 0, side)) {
    pes.routine(0).add(Opcode::Mov, {1}, memory(pes.buffer("b", 1), {1}),
                       immediate(0));
    builder.launch(0);
  }

  /// Everything that reads a program, as tools do before they run it.
  std::string refusal() {
    stateCodeBytes(builder);
    std::vector<uint8_t> file = makeFile(builder);
    EXPECT_LT(file.size(), 2u << 20);
    try {
      auto loaded = LoadedProgram::fromBytes(std::move(file));
      proveDeadlockFree(loaded->program());
      weightResidency(loaded->program());
      streamedWeightBytes(loaded->program());
      TensorStore store(loaded);
      MemoryX memory(store);
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  }
  void expectRefused(const std::string &message) {
    const std::string found = refusal();
    EXPECT_NE(found.find(message), std::string::npos) << found;
  }

  ProgramBuilder builder;
  ClassBuilder pes;
};

TEST_F(HostileTest, TheMeshAloneIsHarmless) { EXPECT_EQ(refusal(), ""); }

/// 4 million PEs x 32,000 scalars: which of them divides by 0 shows only when
/// it is tried.
TEST_F(HostileTest, DivisorsThatHaveToBeTried) {
  Scalar x = pes.px(), y = pes.py();
  Scalar sum = pes.scalar(ScalarOp::Add, x.index, y.index);
  while (pes.source->scalars.size() < largestScalarList - 2)
    sum = pes.scalar(ScalarOp::Min, sum.index, sum.index);
  Scalar one = pes.constant(5000);
  pes.scalar(ScalarOp::Div, one.index,
             pes.scalar(ScalarOp::Sub, sum.index, one.index).index);
  pes.source->scalars.resize(largestScalarList - 1);
  pes.source->scalars.push_back({ScalarOp::Div, 0, int(sum.index), 0});
  expectRefused("WorkLimit: class 'all': to try whether a divisor is 0 in any "
                "PE takes 4194304 times 32767 steps; all of a program may take "
                "at most 2147483648: shorten its lists, or use a smaller mesh");
}

/// Along one axis there is not much to try.
TEST_F(HostileTest, DivisorsAlongAnAxisAreTried) {
  Scalar x = pes.px();
  Scalar before = pes.scalar(ScalarOp::Sub, x.index, pes.constant(100).index);
  pes.scalar(ScalarOp::Div, x.index, before.index);
  expectRefused(
      "BadProgram: class 'all': scalar 3 divides by zero in PE (100, 0)");
}

/// Each of these is twice the one before: a recursion without memory would
/// visit 2^40 nodes, and one with memory be 32,000 calls deep.
TEST_F(HostileTest, ScalarsThatAreBuiltOnOneAnother) {
  builder.source.machine->sram_bytes = 1 << 20;
  for (bool mixed : {true, false}) {
    pes.source->scalars.clear();
    Scalar x = pes.px(), y = pes.py();
    Scalar sum = pes.scalar(ScalarOp::Min, x.index, mixed ? y.index : x.index);
    while (pes.source->scalars.size() < largestScalarList)
      sum = pes.scalar(ScalarOp::Max, sum.index, sum.index);
    pes.source->routines[0]->body[0]->kind.AsInstruction()->extents[0] =
        Value(sum).build();
    pes.source->routines[0]->body[0]->kind.AsInstruction()->guard =
        int16_t(sum.index);
    EXPECT_EQ(refusal(), "");
    DeadlockProof proof = proveDeadlockFree(builder.finish());
    EXPECT_LT(proof.steps, int64_t(1) << 26);
  }
}

/// A stream out of all PEs, with many scalars.
class HostileOutStreamTest : public HostileTest {
protected:
  HostileOutStreamTest() {
    addTensor(builder, "y", program::TensorRole::Output, {4});
    uint32_t index = builder.stream("out", Direction::Out, 0, {});
    out = builder.source.streams[index].get();
    out->channels = {{0, 0, side}};
    for (uint32_t i = 0; i < 3998; ++i)
      addScalar(*out, ScalarOp::Px);
  }

  program::HostStreamT *out;
};

TEST_F(HostileOutStreamTest, IsEvaluatedInColumnsAndRows) {
  const Scalar last = addScalar(*out, ScalarOp::Py);
  out->segments.push_back(makeSegment(0, 1, 0, {4}, {1}, Value(last).times(0)));
  EXPECT_EQ(refusal(), "");
}

TEST_F(HostileOutStreamTest, IsEvaluatedEverywhereIfItAsksForBoth) {
  const Scalar y = addScalar(*out, ScalarOp::Py);
  const Scalar both = addScalar(*out, ScalarOp::Mul, 0, y.index);
  out->segments.push_back(makeSegment(0, 1, 0, {4}, {1}, Value(both).times(0)));
  expectRefused("WorkLimit: stream 'out': to plan its words takes 4194304 "
                "times 4003 steps");
}

/// Blocks that do not lie side by side are kept one by one.
TEST_F(HostileTest, BlocksOfManyColumns) {
  addTensor(builder, "x", program::TensorRole::Input, {1 << 20});
  uint32_t index = builder.stream("in", Direction::In, 0, {});
  program::HostStreamT &in = *builder.source.streams[index];
  in.channels = {{0, 0, side}};
  Scalar x = addScalar(in, ScalarOp::Px);
  for (int i = 0; i < 1100; ++i)
    in.segments.push_back(makeSegment(0, 1, 0, {2}, {2}, Value(x).times(3)));
  expectRefused("WorkLimit: stream 'in' and those before it bring more than "
                "2097152 blocks that do not lie side by side");
}

/// 65,537 words, and 65,536 less than 2^64: one, if numbers go round.
TEST_F(HostileTest, SegmentsThatAreTooLongTogether) {
  addTensor(builder, "x", program::TensorRole::Input, {1});
  const uint32_t index = builder.stream("in", Direction::In, 0, {0});
  program::HostStreamT &in = *builder.source.streams[index];
  in.segments.push_back(makeSegment(0, 65537, 0, {1}, {0}, 0));
  in.segments.push_back(
      makeSegment(0, 65536, 0, {(int64_t(1) << 48) - 1}, {0}, 0));
  expectRefused("BadProgram: stream 'in' is too long");
}

/// A row of them would reach 2^100 elements far.
TEST_F(HostileTest, ExtentsTimesStridesBeyondNumbers) {
  addTensor(builder, "x", program::TensorRole::Input, {4});
  const uint32_t index = builder.stream("in", Direction::In, 0, {0});
  builder.source.streams[index]->segments.push_back(
      makeSegment(0, 1, 0, {2, int64_t(1) << 47}, {1, int64_t(1) << 53}, 0));
  expectRefused("OutOfBounds: stream 'in' touches an element far away of "
                "tensor 'x', which has 4");
}

TEST_F(HostileTest, LongListsInSmallPlaces) {
  auto &extent =
      *pes.source->routines[0]->body[0]->kind.AsInstruction()->extents[0];
  pes.constant(0);
  extent.terms.assign(257, {program::TermKind::Scalar, 0, 1});
  expectRefused("extent 0: has 257 terms, at most 256");
  extent.terms.clear();
  addTensor(builder, "x", program::TensorRole::Input,
            std::vector<int64_t>(65, 1));
  expectRefused("tensor 'x': has 65 dimensions, at most 64");
  builder.source.tensors.clear();
  uint32_t index = builder.stream("in", Direction::In, 0, {});
  builder.source.streams[index]->channels.assign(side + 1, {0, 0, 0});
  expectRefused("stream 'in': has 2049 channels, the mesh has 2048 rows");
}

/// 16,384 copies of a buffer that 1,000 classes have, in steps without a
/// common divisor.
TEST(HostileCopiesTest, AreNotHeldAgainstEveryPosition) {
  constexpr int size = 8192, classes = 500;
  ProgramBuilder builder(size, classes);
  builder.source.launch_color = noLaunchColor;
  builder.source.routes.clear();
  for (int c = 0; c < classes; ++c) {
    ClassBuilder pes =
        builder.addClass("c" + std::to_string(c), 0, size, c, c + 1);
    pes.buffer("b", 1);
    pes.routine(0);
  }
  builder.launch(0);
  addTensor(builder, "x", program::TensorRole::Input,
            {(size + 12) / 13 * ((classes + 6) / 7)});
  stateCodeBytes(builder);
  for (uint32_t i = 0; i < largestCopyList; ++i) {
    auto copy = std::make_unique<program::HostCopyT>();
    copy->buffer = "b";
    copy->rect = std::make_unique<program::Rect>(0, size, 13, 0, classes, 7);
    copy->elements = 1;
    builder.source.entries[0]->copies.push_back(std::move(copy));
  }
  EXPECT_NO_THROW(checkProgram(builder.finish()));
  builder.source.entries[0]->copies[0]->rect =
      std::make_unique<program::Rect>(0, size, 13, 0, classes, 8);
  EXPECT_THROW(checkProgram(builder.finish()), Error);
}

/// An output that nobody writes takes no memory, and is refused in the end.
TEST(HostileOutputTest, IsNotShownUnwritten) {
  std::vector<float> bundle = countUp(3);
  ProgramBuilder builder = makeNegation(3, bundle);
  addTensor(builder, "huge", program::TensorRole::Output, {int64_t(1) << 31});
  TensorStore store(LoadedProgram::fromBytes(makeFile(builder, bundle)));
  const float input[3] = {};
  store.bindInput(0, reinterpret_cast<const uint8_t *>(input), nullptr);
  try {
    store.clearOutputs();
    MemoryX memory(store);
    float words[3] = {};
    for (uint64_t taken = 0; taken < memory.words(0, 0);)
      taken += memory.next(0, 0, 100).words();
    memory.store(1, 0, {words, 1, 3, 3, nullptr});
    memory.finish();
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.message(), "output 'huge' has 2147483648 elements, the "
                               "program's streams write 0");
  } catch (const std::bad_alloc &) {
    // Where memory is not lent on trust.
  }
}

} // namespace
} // namespace wsec::runtime
