// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Breaks one rule of a valid program at a time.
#include "runtime/program/Errors.h"
#include "runtime/program/Intervals.h"
#include "test/runtime/ExampleFile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace wsec::runtime {
namespace {

using namespace test;

class CheckerTest : public testing::Test {
protected:
  CheckerTest() : builder(makeEverything(countUp(70))) {}

  program::ProgramT &source() { return builder.source; }
  program::PEClassT &peClass() { return *source().classes[0]; }
  program::HostStreamT &stream(size_t index) {
    return *source().streams[index];
  }
  program::StatementT &statement(size_t index) {
    return *peClass().routines[0]->body[index];
  }
  program::InstructionT &receive() {
    return *statement(0).kind.AsInstruction();
  }
  program::InstructionT &multiply() {
    return *statement(1).kind.AsLoop()->body[0]->kind.AsInstruction();
  }

  void expectRefused(const std::string &message) {
    try {
      checkProgram(builder.finish());
      FAIL() << "accepted; expected " << message;
    } catch (const Error &error) {
      EXPECT_EQ(std::string(error.what()), message);
    }
  }

  ProgramBuilder builder;
};

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

// --------------------------------------------------------------------- host

TEST_F(CheckerTest, WeightBeyondFile) {
  source().tensors[1]->offset = 8;
  expectRefused("BadProgram: tensor 'table': lies beyond the 280 bytes of its "
                "file");
}

TEST_F(CheckerTest, WeightOfOtherSize) {
  source().tensors[1]->bytes = 276;
  expectRefused("BadProgram: tensor 'table': states 276 bytes, its shape takes "
                "280");
}

TEST_F(CheckerTest, HugeShape) {
  source().tensors[0]->shape = {int64_t(1) << 40, int64_t(1) << 40};
  expectRefused("BadProgram: tensor 'ids': the shape takes more than "
                "1125899906842624 bytes");
}

TEST_F(CheckerTest, TensorOfUnknownRole) {
  source().tensors[0]->role = program::TensorRole(7);
  expectRefused("BadProgram: tensor 'ids': has the unknown role 7");
}

TEST_F(CheckerTest, TensorOfUnknownType) {
  source().tensors[0]->type = program::ElementType(70);
  expectRefused("BadProgram: tensor 'ids': has the unknown element type 70");
}

/// The sparse form of 'table' as 7 x 10 elements.
program::TensorT &addSparse(program::ProgramT &program) {
  auto &tensor =
      *program.tensors.emplace_back(std::make_unique<program::TensorT>());
  tensor.name = "sparse";
  tensor.role = program::TensorRole::Weight;
  tensor.shape = {7 * (2 * 3 + 2)};
  tensor.sparsity = std::make_unique<program::SparsityT>();
  program::SparsityT &sparse = *tensor.sparsity;
  sparse.tensor = 1;
  sparse.strides = {10, 1};
  sparse.rows = 7;
  sparse.columns = 10;
  sparse.group = 4;
  sparse.kept = 2;
  sparse.rest = 1;
  sparse.index_step = 1;
  return tensor;
}

TEST_F(CheckerTest, SparseWeights) {
  program::TensorT &tensor = addSparse(source());
  program::SparsityT &sparse = *tensor.sparsity;
  const program::SparsityT good = sparse;
  EXPECT_NO_THROW(checkProgram(builder.finish()));
  auto refuse = [&](const std::string &what) {
    expectRefused("BadProgram: tensor 'sparse': " + what);
    sparse = good;
  };
  sparse.tensor = 90;
  refuse("is the sparse form of tensor 90, which does not exist");
  sparse.tensor = 0;
  refuse("is the sparse form of 'ids', which is no weight of floats");
  sparse.method = program::SparsityMethod(2);
  refuse("is made by an unknown method");
  sparse.strides = {1};
  refuse("is the sparse form of no matrix");
  sparse.rows = 0;
  refuse("is the sparse form of a matrix with 0 rows");
  sparse.columns = -1;
  refuse("is the sparse form of a matrix with -1 columns");
  sparse.offset = 1;
  refuse("is the sparse form of elements beyond the 70 of 'table'");
  sparse.kept = 5;
  refuse("keeps more elements of a group than it has");
  sparse.rest = 3;
  refuse("keeps more elements of a group than it has");
  sparse.index_step = 20000;
  refuse("has indices above 32767");
  sparse.kept = 1;
  refuse("does not have the words of its sparse form");
  tensor.role = program::TensorRole::Input;
  refuse("is the sparse form of a matrix, but no weight");
}

TEST_F(CheckerTest, ConstantWithoutData) {
  source().tensors[2]->data.resize(4);
  expectRefused("BadProgram: tensor 'one': has 4 bytes of data, its shape "
                "takes 8");
}

TEST_F(CheckerTest, AliasOfOtherSize) {
  source().tensors[4]->shape = {6};
  expectRefused("BadProgram: tensor 'same': equals tensor 'ids' of another "
                "type or size");
}

TEST_F(CheckerTest, AliasOfAnInput) {
  source().tensors[0]->alias = 4;
  expectRefused("BadProgram: tensor 'ids': only an output can equal another "
                "tensor");
}

TEST_F(CheckerTest, AliasOfAnAlias) {
  source().tensors[4]->alias = 4;
  expectRefused(
      "BadProgram: tensor 'same': equals a tensor that equals another "
      "one");
}

TEST_F(CheckerTest, StreamToAnAlias) {
  source().tensors[3]->alias = 4;
  source().tensors[3]->type = program::ElementType::I64;
  source().tensors[3]->shape = {5};
  source().tensors[4]->alias = -1;
  expectRefused("BadProgram: stream 'result', segment 0: writes output 'y', "
                "which equals another tensor");
}

TEST_F(CheckerTest, TwoInputsOfOneName) {
  source().tensors[3]->name = "ids";
  expectRefused("BadProgram: program: two inputs or outputs are named 'ids'");
}

TEST_F(CheckerTest, ChannelsShareRowsThatLeave) {
  stream(1).channels[1] = {2, 1, 4};
  expectRefused("BadProgram: stream 'result': two channels serve row 1");
}

TEST_F(CheckerTest, ChannelsShareRow) {
  stream(0).channels[1] = {1, 4, 6};
  expectRefused("BadProgram: stream 'rows': two channels use row 1");
}

TEST_F(CheckerTest, ChannelOutsideMesh) {
  stream(1).channels[1] = {2, 2, 5};
  expectRefused(
      "BadProgram: stream 'result', channel 1: serves [2, 5) of 4 rows");
}

TEST_F(CheckerTest, ChannelInRowOutsideMesh) {
  stream(0).channels[1] = {4, 4, 6};
  expectRefused(
      "BadProgram: stream 'rows', channel 1: row 4 is outside the mesh "
      "of 4 rows");
}

TEST_F(CheckerTest, RowsOfAnEmptyTable) {
  stream(0).segments[1]->index_count = 0;
  expectRefused("BadProgram: stream 'rows', segment 1: takes rows from a table "
                "of 0 rows");
}

TEST_F(CheckerTest, OutputOfGatheredRows) {
  stream(1).segments[0]->index_tensor = 0;
  expectRefused("BadProgram: stream 'result', segment 0: takes rows from "
                "tensor 0: only what goes in does");
}

TEST_F(CheckerTest, WireOfHostElements) {
  stream(0).type = program::ElementType::I64;
  expectRefused("BadProgram: stream 'rows': has elements of a type that no "
                "wavelet carries");
}

TEST_F(CheckerTest, WireOfUnknownPacking) {
  stream(0).packing = program::Packing(7);
  expectRefused("BadProgram: stream 'rows': has an unknown packing");
}

TEST_F(CheckerTest, PairsOf32Bits) {
  stream(0).packing = program::Packing::Pair;
  expectRefused("BadProgram: stream 'rows': has pairs of elements of 32 bits");
}

TEST_F(CheckerTest, NumbersBeside32Bits) {
  stream(0).indexed = true;
  expectRefused("BadProgram: stream 'rows': numbers elements of 32 bits");
}

TEST_F(CheckerTest, PairsWithNumbers) {
  stream(0).type = program::ElementType::F16;
  stream(0).packing = program::Packing::Pair;
  stream(0).indexed = true;
  expectRefused("BadProgram: stream 'rows': has pairs and numbers in one "
                "wavelet");
}

TEST_F(CheckerTest, NumbersThatGoOut) {
  stream(1).type = program::ElementType::F16;
  stream(1).indexed = true;
  expectRefused("BadProgram: stream 'result': numbers elements that go out");
}

TEST_F(CheckerTest, FloatsOnAWireOfIntegers) {
  stream(0).type = program::ElementType::I32;
  expectRefused("BadProgram: stream 'rows', segment 0: reads I32 from tensor "
                "'table' of F32, which does not hold it exactly");
}

TEST_F(CheckerTest, IntegersThatTheTensorDoesNotHold) {
  stream(1).type = program::ElementType::I32;
  stream(1).segments[0]->tensor = 3;
  source().tensors[3]->type = program::ElementType::Bool;
  expectRefused("BadProgram: stream 'result', segment 0: writes I32 to tensor "
                "'y' of Bool, which does not hold it exactly");
}

TEST_F(CheckerTest, SumsOfOtherThanF32) {
  stream(1).segments[0]->accumulate = true;
  expectRefused("BadProgram: stream 'result', segment 0: accumulates in tensor "
                "'y' of F16: floats that go out do, in one of F32");
}

TEST_F(CheckerTest, SumsOfWhatGoesIn) {
  stream(0).segments[0]->accumulate = true;
  expectRefused("BadProgram: stream 'rows', segment 0: accumulates in tensor "
                "'table' of F32: floats that go out do, in one of F32");
}

TEST_F(CheckerTest, SumsAndValuesInOneTensor) {
  source().tensors[3]->type = program::ElementType::F32;
  stream(1).segments[0]->accumulate = true;
  stream(1).segments.push_back(makeSegment(3, 1, 0, {1}, {1}, 0));
  expectRefused("BadProgram: tensor 'y': is added to by one stream and "
                "written by another, or by a copy");
}

// ------------------------------------------------------------------- values

class ValueCheckerTest : public CheckerTest {
protected:
  ValueCheckerTest() {
    auto made = std::make_unique<program::ValueT>();
    made->name = "hidden";
    made->shape = {6, 10};
    made->launch = 1;
    made->buffer = "a";
    made->rect =
        std::make_unique<program::Rect>(ClassBuilder::makeRect(0, 6, 0, 1));
    made->scalars = {{program::ScalarOp::Px, 0, 0, 0}};
    made->extents.push_back(Value(10).build());
    made->strides = {1};
    made->offset = Value(Scalar{0}).times(10).build();
    made->places = {1};
    made->place = Value(0).build();
    source().entries[0]->values.push_back(std::move(made));
  }
  program::ValueT &value() { return *source().entries[0]->values[0]; }
};

TEST_F(ValueCheckerTest, AcceptsTheExample) {
  EXPECT_NO_THROW(checkProgram(builder.finish()));
}

TEST_F(ValueCheckerTest, OfALaunchThatDoesNotExist) {
  value().launch = 2;
  expectRefused(
      "BadProgram: value 'hidden': is made by launch 2, the entry has "
      "2");
}

TEST_F(ValueCheckerTest, InTheOrderOfTheLaunches) {
  source().entries[0]->values.push_back(
      std::make_unique<program::ValueT>(value()));
  source().entries[0]->values[1]->name = "other";
  source().entries[0]->values[1]->launch = 0;
  expectRefused("BadProgram: value 'other': is made before the value that "
                "stands before it");
}

TEST_F(ValueCheckerTest, OfTheNameOfAnother) {
  source().entries[0]->values.push_back(
      std::make_unique<program::ValueT>(value()));
  expectRefused("BadProgram: value 'hidden': has the name of another value, "
                "or of an input or output");
  source().entries[0]->values.pop_back();
  value().name = "ids";
  expectRefused("BadProgram: value 'ids': has the name of another value, or "
                "of an input or output");
}

TEST_F(ValueCheckerTest, OutsideOfTheMesh) {
  *value().rect = ClassBuilder::makeRect(0, 7, 0, 1);
  expectRefused(
      "BadProgram: value 'hidden': the rectangle x 0..6, y 0 is none: "
      "expected PEs of the 6x4 mesh, in steps of 1 to 16384");
}

TEST_F(ValueCheckerTest, InNoBuffer) {
  value().buffer = "c";
  expectRefused("BadProgram: value 'hidden': buffer 'c' is in 0 of the 6 PEs x "
                "0..5, y 0; there is 'a', 'b'");
}

TEST_F(ValueCheckerTest, OfAnotherType) {
  value().type = program::ElementType::F16;
  expectRefused("BadProgram: value 'hidden': buffer 'a' of class 'west' has "
                "other elements");
}

TEST_F(ValueCheckerTest, WithMorePlacesThanExtents) {
  value().places.push_back(1);
  expectRefused("BadProgram: value 'hidden': has 1 extents, 1 strides and 2 "
                "places, expected as many, at most 8");
}

TEST_F(CheckerTest, HugeStrides) {
  const std::string most = std::to_string(largestScalar);
  const std::string more = std::to_string(largestScalar + 1);
  stream(0).segments[0]->line_stride = largestScalar + 1;
  expectRefused("BadProgram: stream 'rows', segment 0: line stride " + more +
                " is too large, at most " + most);
  stream(0).segments[0]->strides[0] = -(largestScalar + 1);
  expectRefused("BadProgram: stream 'rows', segment 0: stride -" + more +
                " is too large, at most " + most);
}

TEST_F(CheckerTest, StreamWritesWeight) {
  stream(1).segments[0]->tensor = 1;
  expectRefused("BadProgram: stream 'result', segment 0: writes tensor "
                "'table', which is not an output");
}

TEST_F(CheckerTest, MoreLinesThanIndices) {
  stream(0).segments[1]->lines->constant = 6;
  expectRefused("BadProgram: stream 'rows', segment 1: has 6 lines, 'ids' has "
                "5 indices");
}

TEST_F(CheckerTest, IndicesOfOtherType) {
  stream(0).segments[1]->index_tensor = 2;
  expectRefused("BadProgram: stream 'rows', segment 1: takes rows from 'one', "
                "which is not a tensor of indices");
}

TEST_F(CheckerTest, IndicesInNoTensor) {
  stream(0).segments[1]->index_tensor = 99;
  expectRefused("BadProgram: stream 'rows', segment 1: takes rows from tensor "
                "99, which does not exist");
}

TEST_F(CheckerTest, MoreStridesThanExtents) {
  stream(0).segments[0]->strides.push_back(1);
  const size_t extents = stream(0).segments[0]->extents.size();
  expectRefused("BadProgram: stream 'rows', segment 0: has " +
                std::to_string(extents) + " extents and " +
                std::to_string(extents + 1) + " strides, at most 8");
}

TEST_F(CheckerTest, ReservedColorOfAStream) {
  stream(0).color = 21;
  expectRefused("BadProgram: stream 'rows': color 21 is reserved or does not "
                "exist, usable colors are 0..20");
}

TEST_F(CheckerTest, ReservedLaunchColor) {
  source().launch_color = 23;
  expectRefused("BadProgram: program: launch color 23 is reserved or does not "
                "exist, usable colors are 0..20");
}

TEST_F(CheckerTest, WeightInNoFile) {
  for (auto &tensor : source().tensors)
    if (tensor->role == program::TensorRole::Weight)
      tensor->file = 7;
  expectRefused("BadProgram: tensor 'table': refers to file 7, which does not "
                "exist");
}

TEST_F(CheckerTest, LaunchOfUnknownKernel) {
  source().entries[0]->launches[1]->kernel = 9;
  expectRefused(
      "BadProgram: launch 1: belongs to kernel 9, which does not exist");
}

TEST_F(CheckerTest, LaunchOfUnknownRoutine) {
  source().entries[0]->launches[1]->routine = 5;
  expectRefused("BadProgram: launch 1: no class has routine 5");
}

TEST_F(CheckerTest, LaunchOfOneStreamTwice) {
  source().entries[0]->launches[1]->streams = {0, 1, 0};
  expectRefused("BadProgram: launch 1: feeds on stream 0 twice; a stream flows "
                "once for a launch");
}

TEST_F(CheckerTest, SlotsOfFewerStreams) {
  program::LaunchT &launch = *source().entries[0]->launches[1];
  launch.slots.resize(launch.streams.size() + 1);
  expectRefused("BadProgram: launch 1: has " +
                std::to_string(launch.slots.size()) + " slots for " +
                std::to_string(launch.streams.size()) + " streams");
}

TEST_F(CheckerTest, SlotEndsBeforeItBegins) {
  program::LaunchT &launch = *source().entries[0]->launches[1];
  launch.streams = {0};
  launch.slots = {program::Slot(3, 0, 9, 8)};
  expectRefused("BadProgram: launch 1: has slot 3 for stream 0, behind a later "
                "one of its color or ending before it begins");
}

TEST_F(CheckerTest, SlotsOfOneColorDescend) {
  for (uint32_t order : {1, 0}) {
    program::LaunchT &launch = *source().entries[0]->launches[1 - order];
    launch.streams = {0};
    launch.slots = {program::Slot(order, 0, 0, 0)};
  }
  expectRefused("BadProgram: launch 1: has slot 0 for stream 0, behind a later "
                "one of its color or ending before it begins");
}

TEST_F(CheckerTest, LaunchOfUnknownStream) {
  source().entries[0]->launches[1]->streams = {2};
  expectRefused(
      "BadProgram: launch 1: feeds on stream 2, which does not exist");
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
