// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Breaks one rule of a valid program's machine, routes and classes at a time.
#include "test/runtime/program/CheckedProgram.h"

#include <cmath>
#include <limits>

namespace wsec::runtime {
namespace {

using namespace test;

class CheckerTest : public CheckedProgram {};

TEST_F(CheckerTest, AcceptsTheExample) {
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}

TEST_F(CheckerTest, CodeSize) {
  ProgramBuilder small(1, 1);
  ClassBuilder pes = small.addClass("c", 0, 1, 0, 1);
  pes.constant(1); // 1 word
  uint16_t buffer = pes.buffer("b", 4);
  BodyBuilder body = pes.routine(0); // 2
  body.add(program::Opcode::Mov, {4}, memory(buffer, {1}),
           fabric(0).window(0, 4));     // 2 + 2 + 3
  body.loop(2, [&](BodyBuilder inner) { // 3
    inner.add(program::Opcode::Fmac, {4}, memory(buffer, {1}),
              memory(buffer, {1}), immediate(2)); // 2 + 2 + 2
    inner.await(1);                               // 1
  });
  EXPECT_EQ(codeBytes(*small.finish().classes()->Get(0)),
            4u * (1 + 2 + 7 + 3 + 6 + 1));
}

/// A zero of either sign is stored, not left out as if it were the default.
TEST_F(CheckerTest, ImmediateZeros) {
  multiply().b = immediate(-0.0f).build();
  receive().b = immediate(0.0f).build();
  const auto &body =
      *builder.finish().classes()->Get(0)->routines()->Get(0)->body();
  const float zero = body.Get(0)->kind_as_Instruction()->b()->immediate();
  const float negative = body.Get(1)
                             ->kind_as_Loop()
                             ->body()
                             ->Get(0)
                             ->kind_as_Instruction()
                             ->b()
                             ->immediate();
  EXPECT_TRUE(zero == 0 && !std::signbit(zero));
  EXPECT_TRUE(negative == 0 && std::signbit(negative));
}

/// One copy of a software function for elements of 32 bits, one for those of
/// 16. test/compiler/emit/functions.mlir has all of them.
TEST_F(CheckerTest, CodeSizeOfFunctions) {
  ProgramBuilder small(1, 1);
  ClassBuilder pes = small.addClass("c", 0, 1, 0, 1);
  const uint16_t words = pes.buffer("w", 4), halves = pes.buffer("h", 2);
  pes.source->buffers[halves]->type = program::ElementType::F16;
  BodyBuilder body = pes.routine(0); // 2
  auto call = [&](BodyBuilder into, program::Opcode op, uint16_t buffer) {
    into.add(op, {4}, memory(buffer, {1}), memory(buffer, {1})); // 6
  };
  call(body, program::Opcode::Exp, words); // 40
  call(body, program::Opcode::Exp, words);
  call(body, program::Opcode::Exp, halves);     // 20
  body.loop(2, [&](BodyBuilder inner) {         // 3
    call(inner, program::Opcode::Rsqrt, words); // 32
  });
  EXPECT_EQ(codeBytes(*small.finish().classes()->Get(0)),
            4u * (2 + 4 * 6 + 3 + 40 + 20 + 32));
}

/// Of three buffers, one behind the other, the first two are persistent.
TEST_F(CheckerTest, ViewsOfPersistentBuffers) {
  ProgramBuilder small(1, 1);
  ClassBuilder pes = small.addClass("c", 0, 1, 0, 1);
  pes.routine(0);
  for (const char *name : {"a", "b", "other", "view"})
    pes.buffer(name, 4);
  auto &buffers = pes.source->buffers;
  buffers[0]->persistent = buffers[1]->persistent = true;
  auto check = [&](uint32_t firstWord, uint32_t words) -> std::string {
    buffers[3]->address = buffers[0]->address + 4 * firstWord;
    buffers[3]->bytes = 4 * words;
    try {
      checkProgram(small.finish());
    } catch (const Error &error) {
      return error.what();
    }
    return "accepted";
  };
  auto refused = [&](const std::string &name, uint32_t word) {
    return "BadProgram: class 'c', buffer '" + name +
           "': is persistent, and shares bytes with buffer 'view' at " +
           std::to_string(buffers[0]->address + 4 * word) +
           "; a persistent buffer has its own";
  };
  EXPECT_EQ(check(0, 4), "accepted");
  EXPECT_EQ(check(4, 4), "accepted");
  EXPECT_EQ(check(0, 8), "accepted");
  EXPECT_EQ(check(8, 4), "accepted");
  EXPECT_EQ(check(1, 3), refused("a", 1));
  EXPECT_EQ(check(1, 7), refused("a", 1));
  EXPECT_EQ(check(0, 7), refused("b", 4));
  EXPECT_EQ(check(4, 8), refused("b", 4));
}

/// Two buffers, one behind the other, hold something when a call begins.
TEST_F(CheckerTest, WhatBuffersHoldFirst) {
  ProgramBuilder small(1, 1);
  ClassBuilder pes = small.addClass("c", 0, 1, 0, 1);
  pes.routine(0);
  for (const char *name : {"a", "b"})
    pes.buffer(name, 2);
  auto &a = *pes.source->buffers[0], &b = *pes.source->buffers[1];
  auto check = [&]() -> std::string {
    try {
      checkProgram(small.finish());
    } catch (const Error &error) {
      return error.what();
    }
    return "accepted";
  };
  a.initial.assign(8, 1);
  b.initial.assign(8, 2);
  EXPECT_EQ(check(), "accepted");
  a.initial.pop_back();
  EXPECT_EQ(check(), "BadProgram: class 'c', buffer 'a': of 8 bytes holds 7 "
                     "first");
  a.initial.assign(12, 1);
  EXPECT_EQ(check(), "BadProgram: class 'c', buffer 'a': of 8 bytes holds 12 "
                     "first");
  a.initial.assign(8, 1);
  for (uint32_t shift : {0u, 4u}) {
    b.address = a.address + shift;
    EXPECT_EQ(check(), "BadProgram: class 'c', buffer 'b': shares bytes with "
                       "buffer 'a', and one of them holds something first");
  }
  b.initial.clear(); // It is written later, where the other one was.
  EXPECT_EQ(check(), "accepted");
  b.address = a.address + 8;
  a.persistent = true;
  EXPECT_EQ(check(), "BadProgram: class 'c', buffer 'a': is persistent, and "
                     "holds something first");
}

// ------------------------------------------------------------------ machine

TEST_F(CheckerTest, MoreElementsThanCanBeCounted) {
  for (auto &extent : multiply().extents)
    extent->constant = int64_t(1) << 32;
  expectRefused(
      "BadProgram: class 'west', routine 0, statement 1, statement 0: "
      "has 4294967296 x 4294967296 elements, an instruction has at "
      "most 2147483648; put it into a loop");
}

TEST_F(CheckerTest, MeshLargerThanFabric) {
  source().machine->fabric_width = 5;
  expectRefused(
      "BadProgram: machine: fabric_width is 5, expected a number from 6 to "
      "2147483647");
}

TEST_F(CheckerTest, RateOfZero) {
  source().machine->fmac_rate = 0;
  expectRefused("BadProgram: machine: fmac_rate is 0, expected a number from "
                "1e-06 to 1e+06");
}

TEST_F(CheckerTest, RateThatIsNoNumber) {
  source().machine->add_rate = std::numeric_limits<double>::quiet_NaN();
  expectRefused("BadProgram: machine: add_rate is nan, expected a number from "
                "1e-06 to 1e+06");
}

/// A time that no cycle counter holds would make the engines count wrong.
TEST_F(CheckerTest, CostBeyondAllTime) {
  source().machine->loop_overhead = 1e60;
  expectRefused("BadProgram: machine: loop_overhead is 1e+60, expected a "
                "number from 0 to 1e+06");
}

TEST_F(CheckerTest, MeshOfTooManyPEs) {
  source().machine->width = source().machine->fabric_width = 1 << 14;
  source().machine->height = source().machine->fabric_height = 1 << 14;
  expectRefused("BadProgram: machine: the mesh has 16384x16384 PEs, at most "
                "4194304 are supported");
}

// ------------------------------------------------------------------- routes

TEST_F(CheckerTest, TwoRulesForOneColorAndPE) {
  builder.route(0, 5, 6, 1, 2, program::Port::North, {program::Port::Ramp});
  expectRefused("RouteConflict: color 0 has two rules in PE (5, 1), one of "
                "them for x 5, y 1");
}

TEST_F(CheckerTest, ReservedColor) {
  source().routes.back()->color = 21;
  expectRefused("BadProgram: route rule 8: color 21 is reserved or does not "
                "exist, usable colors are 0..20");
}

TEST_F(CheckerTest, RouteBackWhereItCameFrom) {
  builder.route(2, 0, 1, 0, 1, program::Port::East, {program::Port::East});
  expectRefused("BadProgram: route rule 9: sends back where it receives from");
}

TEST_F(CheckerTest, RouteOutsideMesh) {
  builder.route(2, 0, 7, 0, 1, program::Port::East, {program::Port::Ramp});
  expectRefused("BadProgram: route rule 9: the rectangle x 0..6, y 0 is none: "
                "expected PEs of the 6x4 mesh, in steps of 1 to 16384");
}

/// Coordinates would overflow.
TEST_F(CheckerTest, RouteToNowhere) {
  builder.route(2, 0, 1, 0, 1, program::Port::East, {});
  expectRefused("BadProgram: route rule 9: transmits on the set of ports 0, "
                "expected a sum of 1 (north), 2 (south), 4 (east), 8 (west), "
                "16 (ramp)");
}

TEST_F(CheckerTest, RouteFromUnknownPort) {
  builder.route(2, 0, 1, 0, 1, program::Port(9), {program::Port::Ramp});
  expectRefused("BadProgram: route rule 9: receives on the unknown port 9");
}

TEST_F(CheckerTest, RouteInHugeSteps) {
  builder.route(2, 0, 1, 0, 1, program::Port::East, {program::Port::Ramp},
                1 << 30);
  expectRefused("BadProgram: route rule 9: the rectangle x [0, 1) step "
                "1073741824, y [0, 1) step 1 is none: expected PEs of the 6x4 "
                "mesh, in steps of 1 to 16384");
}

// ------------------------------------------------------------------ classes

TEST_F(CheckerTest, ClassesOverlap) {
  builder.addClass("third", 2, 3, 2, 3);
  expectRefused("BadProgram: class 'third': PE (2, 2) is in two rectangles");
}

TEST_F(CheckerTest, ClassWithoutPEs) {
  peClass().rects.clear();
  expectRefused("BadProgram: class 'west': has no PEs");
}

TEST_F(CheckerTest, TooManyScalars) {
  peClass().scalars.resize(largestScalarList + 1);
  expectRefused("BadProgram: class 'west': has " +
                std::to_string(largestScalarList + 1) + " scalars, at most " +
                std::to_string(largestScalarList));
}

TEST_F(CheckerTest, TooManyBuffers) {
  ClassBuilder pes(peClass(), 0);
  while (peClass().buffers.size() <= UINT16_MAX)
    pes.buffer("b", 1);
  expectRefused("BadProgram: class 'west': has 65536 buffers, at most 65535");
}

TEST_F(CheckerTest, BufferOfUnknownType) {
  peClass().buffers[0]->type = program::ElementType(77);
  expectRefused(
      "BadProgram: class 'west', buffer 'a': has the unknown element type 77");
}

TEST_F(CheckerTest, ScalarRefersForward) {
  peClass().scalars[2] = {program::ScalarOp::Mod, 7, 0, 0};
  expectRefused("BadProgram: class 'west': scalar 2 refers to scalar 7, which "
                "is not an earlier one");
}

TEST_F(CheckerTest, DividesByZeroInOnePE) {
  // 10 / (x - 2) is wrong only in column 2.
  ClassBuilder pes(peClass(), 0);
  Scalar two = pes.constant(2);
  Scalar less = pes.scalar(program::ScalarOp::Sub, 0, two.index);
  pes.scalar(program::ScalarOp::Div, two.index, less.index);
  stateCodeBytes(builder);
  expectRefused("BadProgram: class 'west': scalar " +
                std::to_string(less.index + 1) +
                " divides by zero in PE (2, 0)");
}

TEST_F(CheckerTest, DivisorThatOnlyLooksLikeZero) {
  // x - 3 is -3..-1 in the western class; as an interval of x % 5 it is not.
  ClassBuilder pes(peClass(), 0);
  Scalar five = pes.constant(5), three = pes.constant(3);
  Scalar x = pes.scalar(program::ScalarOp::Mod,
                        pes.scalar(program::ScalarOp::Add, 0, five.index).index,
                        five.index);
  Scalar less = pes.scalar(program::ScalarOp::Sub, x.index, three.index);
  pes.scalar(program::ScalarOp::Div, five.index, less.index);
  stateCodeBytes(builder);
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}

TEST_F(CheckerTest, TilesOverNoParts) {
  peClass().scalars[5] = {program::ScalarOp::Constant, 0, 0, 0};
  expectRefused("BadProgram: class 'west': scalar 6 tiles 10 elements over 0 "
                "parts in PE (0, 0)");
}

TEST_F(CheckerTest, StatesTooLittleCode) {
  uint32_t code = peClass().code_bytes--;
  expectRefused("BadProgram: class 'west': states " + std::to_string(code - 1) +
                " bytes of code, its routines take " + std::to_string(code));
}

TEST_F(CheckerTest, BufferBeyondSram) {
  peClass().buffers[1]->address = 49000;
  expectRefused("SramOverflow: class 'west', buffer 'b': 160 bytes at address "
                "49000, for node 'node', end at 49160, a PE has 49152");
}

TEST_F(CheckerTest, CodeBeyondSram) {
  peClass().code_bytes = 50000;
  expectRefused("SramOverflow: class 'west': 50000 bytes of code and 4176 of "
                "the host runtime exceed the 49152 bytes of a PE");
}

TEST_F(CheckerTest, BufferInsideCode) {
  peClass().buffers[0]->address = 4180;
  expectRefused("BadProgram: class 'west', buffer 'a': address 4180 lies in "
                "the first " +
                std::to_string(4176 + peClass().code_bytes) +
                " bytes, which hold the host runtime and code");
}

// --------------------------------------------------------------------- code

TEST_F(CheckerTest, OperandOutsideBuffer) {
  multiply().extents[0]->constant = 9;
  multiply().a->offset->terms.clear();
  expectRefused("OutOfBounds: class 'west', routine 0, statement 1, statement "
                "0, destination: touches elements 0..44 of buffer 'b', which "
                "has 40");
}

TEST_F(CheckerTest, GuardedOperandIsLeftToTheRun) {
  multiply().extents[0]->constant = 9;
  multiply().guard = receive().guard;
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}

TEST_F(CheckerTest, UnknownBuffer) {
  multiply().dst->buffer = 5;
  expectRefused("BadProgram: class 'west', routine 0, statement 1, statement "
                "0, destination: refers to buffer 5, which does not exist");
}

TEST_F(CheckerTest, UnknownLoop) {
  multiply().a->offset->terms[0] = {program::TermKind::Loop, 1, 2};
  expectRefused("BadProgram: class 'west', routine 0, statement 1, statement "
                "0, first source: refers to the loop of depth 1, which does "
                "not exist");
}

TEST_F(CheckerTest, StrideForEachExtent) {
  multiply().dst->strides = {1};
  expectRefused("BadProgram: class 'west', routine 0, statement 1, statement "
                "0, destination: has 1 strides for 2 extents");
}

TEST_F(CheckerTest, ColorMayBeReserved) {
  receive().a->color->constant = 22;
  expectRefused("BadProgram: class 'west', routine 0, statement 0, first "
                "source, color: 22, usable colors are 0..20");
}

TEST_F(CheckerTest, FabricDepth) {
  receive().a->depth = 3;
  expectRefused("BadProgram: class 'west', routine 0, statement 0, first "
                "source: advances over 3 of 2 extents");
}

TEST_F(CheckerTest, UnknownMicrothread) {
  receive().thread = 8;
  expectRefused("BadProgram: class 'west', routine 0, statement 0: runs on "
                "microthread 8, a PE has 8");
}

TEST_F(CheckerTest, MicrothreadBelowNone) {
  receive().thread = -128;
  expectRefused("BadProgram: class 'west', routine 0, statement 0: runs on "
                "microthread -128, a PE has 8");
}

TEST_F(CheckerTest, AwaitsUnknownMicrothread) {
  source().machine->microthreads = 2;
  statement(2).kind.AsAwait()->threads = 4;
  expectRefused("BadProgram: class 'west', routine 0, statement 2: awaits a "
                "microthread beyond the 2 of a PE");
}

TEST_F(CheckerTest, UnknownGuard) {
  receive().guard = 99;
  expectRefused("BadProgram: class 'west', routine 0, statement 0: guard "
                "refers to scalar 99, which does not exist");
}

TEST_F(CheckerTest, LoopsTooDeep) {
  ClassBuilder pes(peClass(), 0);
  std::function<void(BodyBuilder, int)> nest = [&](BodyBuilder body, int left) {
    body.loop(1, [&](BodyBuilder inner) {
      if (left > 1)
        nest(inner, left - 1);
    });
  };
  nest(pes.routine(7), 9);
  stateCodeBytes(builder);
  std::string where = "BadProgram: class 'west', routine 7";
  for (int i = 0; i < 9; ++i)
    where += ", statement 0";
  expectRefused(where + ": loops are nested deeper than 8");
}

TEST_F(CheckerTest, BreakOutsideALoop) {
  program::BreakT leave;
  leave.condition = std::make_unique<program::AffineT>();
  statement(2).kind.Set(leave);
  stateCodeBytes(builder);
  expectRefused("BadProgram: class 'west', routine 0, statement 2: ends a "
                "loop, but stands in none");
}

TEST_F(CheckerTest, MissingSource) {
  receive().a.reset();
  expectRefused("BadProgram: class 'west', routine 0, statement 0, first "
                "source: is missing");
}

TEST_F(CheckerTest, SourceTooMany) {
  receive().b = immediate(1).build();
  expectRefused(
      "BadProgram: class 'west', routine 0, statement 0: has a second "
      "source its operation does not take");
}

TEST_F(CheckerTest, UnknownOperation) {
  receive().op = program::Opcode(200);
  expectRefused("BadProgram: class 'west', routine 0, statement 0: has the "
                "unknown operation 200");
}

TEST_F(CheckerTest, TooManyExtents) {
  for (int i = 0; i < 3; ++i)
    receive().extents.push_back(Value(1).build());
  expectRefused("BadProgram: class 'west', routine 0, statement 0: has 5 "
                "extents, expected 1 to 4");
}

TEST_F(CheckerTest, WritesAConstant) {
  receive().dst = immediate(1).build();
  expectRefused("BadProgram: class 'west', routine 0, statement 0: writes "
                "neither memory nor the fabric");
}

TEST_F(CheckerTest, SelectsIntoTheFabric) {
  receive().op = program::Opcode::Select;
  receive().dst = fabric(0, 2).build();
  expectRefused(
      "BadProgram: class 'west', routine 0, statement 0: selects into "
      "the fabric, which keeps no value");
}

TEST_F(CheckerTest, WindowWithoutSize) {
  receive().a->window_total.reset();
  expectRefused("BadProgram: class 'west', routine 0, statement 0, first "
                "source, window offset: is given without a window size");
}

TEST_F(CheckerTest, TermOfUnknownKind) {
  multiply().a->offset->terms[0] = {program::TermKind(9), 0, 2};
  expectRefused("BadProgram: class 'west', routine 0, statement 1, statement "
                "0, first source: has a term of unknown kind 9");
}

TEST_F(CheckerTest, RoutineTwice) {
  peClass().routines[1]->id = 0;
  expectRefused("BadProgram: class 'west': has routine 0 twice");
}

// ------------------------------------------------------------ a whole wafer

TEST(CheckerScaleTest, WholeWafer) {
  constexpr int width = 750, height = 994;
  ProgramBuilder builder(width, height);
  for (int color = 0; color < 20; ++color)
    for (int parity = 0; parity < 2; ++parity)
      builder.route(color, parity, width, 0, height, program::Port::Ramp,
                    {program::Port::East}, 2, 1);
  for (int y = 0; y < height; ++y) {
    ClassBuilder pes =
        builder.addClass("row " + std::to_string(y), 0, width, y, y + 1);
    pes.routine(0).await(0);
  }
  builder.launch(0);
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}

} // namespace
} // namespace wsec::runtime
