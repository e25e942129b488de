// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Breaks one rule of a valid program's tensors, streams, launches and values at
// a time.
#include "runtime/program/Intervals.h"
#include "test/runtime/program/CheckedProgram.h"

namespace wsec::runtime {
namespace {

using namespace test;

class HostCheckerTest : public CheckedProgram {};

TEST_F(HostCheckerTest, WeightBeyondFile) {
  source().tensors[1]->offset = 8;
  expectRefused("BadProgram: tensor 'table': lies beyond the 280 bytes of its "
                "file");
}

TEST_F(HostCheckerTest, WeightOfOtherSize) {
  source().tensors[1]->bytes = 276;
  expectRefused("BadProgram: tensor 'table': states 276 bytes, its shape takes "
                "280");
}

TEST_F(HostCheckerTest, HugeShape) {
  source().tensors[0]->shape = {int64_t(1) << 40, int64_t(1) << 40};
  expectRefused("BadProgram: tensor 'ids': the shape takes more than "
                "1125899906842624 bytes");
}

TEST_F(HostCheckerTest, TensorOfUnknownRole) {
  source().tensors[0]->role = program::TensorRole(7);
  expectRefused("BadProgram: tensor 'ids': has the unknown role 7");
}

TEST_F(HostCheckerTest, TensorOfUnknownType) {
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

TEST_F(HostCheckerTest, SparseWeights) {
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

/// 'table' of 7 x 10 trains, and 'y' is a gradient of it.
TEST_F(HostCheckerTest, Gradients) {
  program::TensorT &table = *source().tensors[1];
  program::TensorT &y = *source().tensors[3];
  table.parameter = "w";
  y.type = program::ElementType::F32;
  y.gradient = std::make_unique<program::GradientT>();
  program::GradientT &gradient = *y.gradient;
  gradient.parameter = "w";
  const program::GradientT good = gradient;
  EXPECT_NO_THROW(checkProgram(builder.finish()));
  auto refuse = [&](const std::string &what, const std::string &who = "y") {
    expectRefused("BadProgram: tensor '" + who + "': " + what);
    gradient = good;
  };
  gradient.parameter = "v";
  refuse("is a gradient of 'v', which is no parameter");
  gradient.offset = 70;
  refuse("is added to elements beyond the 70 of parameter 'w'");
  gradient.strides.assign(y.shape.size(), 1);
  gradient.offset = -1;
  refuse("is added to elements beyond the 70 of parameter 'w'");
  gradient.strides.assign(y.shape.size() + 1, 1);
  refuse("is added with " + std::to_string(y.shape.size() + 1) +
         " strides, it has " + std::to_string(y.shape.size()) + " dimensions");
  gradient.rows = 90;
  refuse("has its rows in tensor 90, which does not exist");
  gradient.rows = 1;
  refuse("has its rows in 'table', which is not a tensor of indices");
  gradient.rows = 0;
  gradient.offset = 1;
  refuse("is added to 5 rows of parameter 'w', which it does not consist of");
  source().tensors[2]->parameter = "w";
  refuse("is a second tensor of parameter 'w'", "one");
  source().tensors[2]->parameter.clear();
  source().tensors[0]->parameter = "ids";
  refuse("is a parameter, but no weight or constant of F32, F16 or BF16 that "
         "is stored as it is",
         "ids");
  source().tensors[0]->parameter.clear();
  source().tensors[4]->gradient = std::make_unique<program::GradientT>(good);
  refuse("is a gradient, but no output of F32", "same");
}

TEST_F(HostCheckerTest, ConstantWithoutData) {
  source().tensors[2]->data.resize(4);
  expectRefused("BadProgram: tensor 'one': has 4 bytes of data, its shape "
                "takes 8");
}

TEST_F(HostCheckerTest, AliasOfOtherSize) {
  source().tensors[4]->shape = {6};
  expectRefused("BadProgram: tensor 'same': equals tensor 'ids' of another "
                "type or size");
}

TEST_F(HostCheckerTest, AliasOfAnInput) {
  source().tensors[0]->alias = 4;
  expectRefused("BadProgram: tensor 'ids': only an output can equal another "
                "tensor");
}

TEST_F(HostCheckerTest, AliasOfAnAlias) {
  source().tensors[4]->alias = 4;
  expectRefused(
      "BadProgram: tensor 'same': equals a tensor that equals another "
      "one");
}

TEST_F(HostCheckerTest, LengthAlongAnAxisThatIsNot) {
  source().tensors[0]->length_axes = {9};
  expectRefused("BadProgram: tensor 'ids': has a length along axis 9, which it "
                "has not, or which differs from that along another");
}

TEST_F(HostCheckerTest, LengthOfAConstant) {
  source().tensors[2]->length_axes = {0};
  expectRefused("BadProgram: tensor 'one': only an input or an output has a "
                "length");
}

TEST_F(HostCheckerTest, ArgumentThatIsTheLengthOfAnAxisThatIsNot) {
  source().tensors[0]->length_axes = {200};
  auto its = std::make_unique<program::ArgumentT>();
  its->name = "length";
  its->from = 1;
  its->to = 5;
  its->length_tensor = 0;
  its->length_parts = 1;
  source().entries[0]->arguments.push_back(std::move(its));
  expectRefused("BadProgram: tensor 'ids': has a length along axis 200, which "
                "it has not, or which differs from that along another");
}

TEST_F(HostCheckerTest, NumbersOfExpertsThatAreAnOutput) {
  source().tensors[3]->experts = 8;
  expectRefused("BadProgram: tensor 'y': has numbers of experts, and is no "
                "intermediate of int32 with at most 65536 of them");
}

TEST_F(HostCheckerTest, StreamToAnAlias) {
  source().tensors[3]->alias = 4;
  source().tensors[3]->type = program::ElementType::I64;
  source().tensors[3]->shape = {5};
  source().tensors[4]->alias = -1;
  expectRefused("BadProgram: stream 'result', segment 0: writes output 'y', "
                "which equals another tensor");
}

TEST_F(HostCheckerTest, TwoInputsOfOneName) {
  source().tensors[3]->name = "ids";
  expectRefused("BadProgram: program: two inputs or outputs are named 'ids'");
}

TEST_F(HostCheckerTest, ChannelsShareRowsThatLeave) {
  stream(1).channels[1] = {2, 1, 4};
  expectRefused("BadProgram: stream 'result': two channels serve row 1");
}

TEST_F(HostCheckerTest, ChannelsShareRow) {
  stream(0).channels[1] = {1, 4, 6};
  expectRefused("BadProgram: stream 'rows': two channels use row 1");
}

TEST_F(HostCheckerTest, ChannelOutsideMesh) {
  stream(1).channels[1] = {2, 2, 5};
  expectRefused(
      "BadProgram: stream 'result', channel 1: serves [2, 5) of 4 rows");
}

TEST_F(HostCheckerTest, ChannelInRowOutsideMesh) {
  stream(0).channels[1] = {4, 4, 6};
  expectRefused(
      "BadProgram: stream 'rows', channel 1: row 4 is outside the mesh "
      "of 4 rows");
}

TEST_F(HostCheckerTest, RowsOfAnEmptyTable) {
  stream(0).segments[1]->index_count = 0;
  expectRefused("BadProgram: stream 'rows', segment 1: takes rows from a table "
                "of 0 rows");
}

TEST_F(HostCheckerTest, OutputOfGatheredRows) {
  stream(1).segments[0]->index_tensor = 0;
  expectRefused("BadProgram: stream 'result', segment 0: takes rows from "
                "tensor 0: only what goes in does");
}

TEST_F(HostCheckerTest, WireOfHostElements) {
  stream(0).type = program::ElementType::I64;
  expectRefused("BadProgram: stream 'rows': has elements of a type that no "
                "wavelet carries");
}

TEST_F(HostCheckerTest, WireOfUnknownPacking) {
  stream(0).packing = program::Packing(7);
  expectRefused("BadProgram: stream 'rows': has an unknown packing");
}

TEST_F(HostCheckerTest, PairsOf32Bits) {
  stream(0).packing = program::Packing::Pair;
  expectRefused("BadProgram: stream 'rows': has pairs of elements of 32 bits");
}

TEST_F(HostCheckerTest, NumbersBeside32Bits) {
  stream(0).indexed = true;
  expectRefused("BadProgram: stream 'rows': numbers elements of 32 bits");
}

TEST_F(HostCheckerTest, PairsWithNumbers) {
  stream(0).type = program::ElementType::F16;
  stream(0).packing = program::Packing::Pair;
  stream(0).indexed = true;
  expectRefused("BadProgram: stream 'rows': has pairs and numbers in one "
                "wavelet");
}

TEST_F(HostCheckerTest, NumbersThatGoOut) {
  stream(1).type = program::ElementType::F16;
  stream(1).indexed = true;
  expectRefused("BadProgram: stream 'result': numbers elements that go out");
}

TEST_F(HostCheckerTest, FloatsOnAWireOfIntegers) {
  stream(0).type = program::ElementType::I32;
  expectRefused("BadProgram: stream 'rows', segment 0: reads I32 from tensor "
                "'table' of F32, which does not hold it exactly");
}

TEST_F(HostCheckerTest, IntegersThatTheTensorDoesNotHold) {
  stream(1).type = program::ElementType::I32;
  stream(1).segments[0]->tensor = 3;
  source().tensors[3]->type = program::ElementType::Bool;
  expectRefused("BadProgram: stream 'result', segment 0: writes I32 to tensor "
                "'y' of Bool, which does not hold it exactly");
}

TEST_F(HostCheckerTest, SumsOfOtherThanF32) {
  stream(1).segments[0]->accumulate = true;
  expectRefused("BadProgram: stream 'result', segment 0: accumulates in tensor "
                "'y' of F16: floats that go out do, in one of F32");
}

TEST_F(HostCheckerTest, SumsOfWhatGoesIn) {
  stream(0).segments[0]->accumulate = true;
  expectRefused("BadProgram: stream 'rows', segment 0: accumulates in tensor "
                "'table' of F32: floats that go out do, in one of F32");
}

TEST_F(HostCheckerTest, HalvesOfOtherTypes) {
  stream(0).segments[0]->halves = program::ElementType::I16;
  expectRefused("BadProgram: stream 'rows', segment 0: has halves of words of "
                "an element type other than F16, BF16 and CB16");
}

TEST_F(HostCheckerTest, HalvesOfWordsOfAnotherStream) {
  stream(1).segments[0]->halves = program::ElementType::F16;
  stream(1).type = program::ElementType::F16;
  expectRefused(
      "BadProgram: stream 'result', segment 0: has halves of words in "
      "a stream that is not of F32");
}

TEST_F(HostCheckerTest, SumsAndValuesInOneTensor) {
  source().tensors[3]->type = program::ElementType::F32;
  stream(1).segments[0]->accumulate = true;
  stream(1).segments.push_back(makeSegment(3, 1, 0, {1}, {1}, 0));
  expectRefused("BadProgram: tensor 'y': is added to by one stream and "
                "written by another, or by a copy");
}

TEST_F(HostCheckerTest, HugeStrides) {
  const std::string most = std::to_string(largestScalar);
  const std::string more = std::to_string(largestScalar + 1);
  stream(0).segments[0]->line_stride = largestScalar + 1;
  expectRefused("BadProgram: stream 'rows', segment 0: line stride " + more +
                " is too large, at most " + most);
  stream(0).segments[0]->strides[0] = -(largestScalar + 1);
  expectRefused("BadProgram: stream 'rows', segment 0: stride -" + more +
                " is too large, at most " + most);
}

TEST_F(HostCheckerTest, StreamWritesWeight) {
  stream(1).segments[0]->tensor = 1;
  expectRefused("BadProgram: stream 'result', segment 0: writes tensor "
                "'table', which is not an output");
}

TEST_F(HostCheckerTest, MoreLinesThanIndices) {
  stream(0).segments[1]->lines->constant = 6;
  expectRefused("BadProgram: stream 'rows', segment 1: has 6 lines, 'ids' has "
                "5 indices");
}

TEST_F(HostCheckerTest, RowOfAllLinesOutsideIndices) {
  stream(0).segments[1]->index_at = 5;
  expectRefused("BadProgram: stream 'rows', segment 1: takes row 5 of 'ids', "
                "which has 5 indices");
}

TEST_F(HostCheckerTest, IndicesOfOtherType) {
  stream(0).segments[1]->index_tensor = 2;
  expectRefused("BadProgram: stream 'rows', segment 1: takes rows from 'one', "
                "which is not a tensor of indices");
}

TEST_F(HostCheckerTest, IndicesInNoTensor) {
  stream(0).segments[1]->index_tensor = 99;
  expectRefused("BadProgram: stream 'rows', segment 1: takes rows from tensor "
                "99, which does not exist");
}

TEST_F(HostCheckerTest, MoreStridesThanExtents) {
  stream(0).segments[0]->strides.push_back(1);
  const size_t extents = stream(0).segments[0]->extents.size();
  expectRefused("BadProgram: stream 'rows', segment 0: has " +
                std::to_string(extents) + " extents and " +
                std::to_string(extents + 1) + " strides, at most 8");
}

TEST_F(HostCheckerTest, ReservedColorOfAStream) {
  stream(0).color = 21;
  expectRefused("BadProgram: stream 'rows': color 21 is reserved or does not "
                "exist, usable colors are 0..20");
}

TEST_F(HostCheckerTest, ReservedLaunchColor) {
  source().launch_color = 23;
  expectRefused("BadProgram: program: launch color 23 is reserved or does not "
                "exist, usable colors are 0..20");
}

TEST_F(HostCheckerTest, WeightInNoFile) {
  for (auto &tensor : source().tensors)
    if (tensor->role == program::TensorRole::Weight)
      tensor->file = 7;
  expectRefused("BadProgram: tensor 'table': refers to file 7, which does not "
                "exist");
}

TEST_F(HostCheckerTest, LaunchOfUnknownKernel) {
  source().entries[0]->launches[1]->kernel = 9;
  expectRefused(
      "BadProgram: launch 1: belongs to kernel 9, which does not exist");
}

TEST_F(HostCheckerTest, LaunchOfUnknownRoutine) {
  source().entries[0]->launches[1]->routine = 5;
  expectRefused("BadProgram: launch 1: no class has routine 5");
}

TEST_F(HostCheckerTest, LaunchOfOneStreamTwice) {
  source().entries[0]->launches[1]->streams = {0, 1, 0};
  expectRefused("BadProgram: launch 1: feeds on stream 0 twice; a stream flows "
                "once for a launch");
}

TEST_F(HostCheckerTest, SlotsOfFewerStreams) {
  program::LaunchT &launch = *source().entries[0]->launches[1];
  launch.slots.resize(launch.streams.size() + 1);
  expectRefused("BadProgram: launch 1: has " +
                std::to_string(launch.slots.size()) + " slots for " +
                std::to_string(launch.streams.size()) + " streams");
}

TEST_F(HostCheckerTest, SlotEndsBeforeItBegins) {
  program::LaunchT &launch = *source().entries[0]->launches[1];
  launch.streams = {0};
  launch.slots = {program::Slot(3, 0, 9, 8)};
  expectRefused("BadProgram: launch 1: has slot 3 for stream 0, behind a later "
                "one of its color or ending before it begins");
}

/// In a damaged file: the list begins a number later, with one of its own as
/// its length.
TEST_F(HostCheckerTest, SlotsAreNotAligned) {
  program::LaunchT &launch = *source().entries[0]->launches[1];
  launch.streams = {0};
  launch.slots = {program::Slot(/*order=*/1, 0, 8, 9)};
  const program::Program &whole = builder.finish();
  checkProgram(whole);
  const program::Launch *its = whole.entries()->Get(0)->launches()->Get(1);
  const uint8_t *field =
      reinterpret_cast<const flatbuffers::Table *>(its)->GetAddressOf(
          program::Launch::VT_SLOTS);
  *reinterpret_cast<flatbuffers::uoffset_t *>(const_cast<uint8_t *>(field)) +=
      4;
  ASSERT_EQ(its->slots()->size(), 1u);
  try {
    checkProgram(whole);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "BadProgram: launch 1: a list of numbers is not aligned");
  }
}

TEST_F(HostCheckerTest, SlotsOfOneColorDescend) {
  for (uint32_t order : {1, 0}) {
    program::LaunchT &launch = *source().entries[0]->launches[1 - order];
    launch.streams = {0};
    launch.slots = {program::Slot(order, 0, 0, 0)};
  }
  expectRefused("BadProgram: launch 1: has slot 0 for stream 0, behind a later "
                "one of its color or ending before it begins");
}

TEST_F(HostCheckerTest, TheFirstLaunchFollowsNone) {
  source().entries[0]->launches[0]->follows = true;
  expectRefused("BadProgram: launch 0: follows the one before, but is the "
                "first");
}

TEST_F(HostCheckerTest, LaunchesThatTheHostCallsFollowNone) {
  source().entries[0]->launches[1]->follows = true;
  source().launch_color = noLaunchColor;
  expectRefused("BadProgram: launch 1: follows the one before, but the host "
                "calls the launches of this program");
}

TEST_F(HostCheckerTest, LaunchOfUnknownStream) {
  source().entries[0]->launches[1]->streams = {2};
  expectRefused(
      "BadProgram: launch 1: feeds on stream 2, which does not exist");
}

// ------------------------------------------------------------------- values

class ValueCheckerTest : public CheckedProgram {
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

} // namespace
} // namespace wsec::runtime
