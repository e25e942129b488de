// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words that leave the wafer, and where they go.
#include "runtime/memoryx/MemoryX.h"
#include "runtime/pe/Arithmetic.h"
#include "runtime/program/Errors.h"
#include "test/runtime/ExampleFile.h"

#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

namespace wsec::runtime {
namespace {

using namespace test;
using program::ScalarOp;
using Words = std::vector<float>;

/// Blocks by columns and rows, or each by a number of both coordinates.
class OutStreamTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Separable, OutStreamTest, testing::Bool());

/// Halves of words that belong to two rows, in chunks of any length.
TEST(OutPairsTest, HalvesGoToTwoRows) {
  constexpr int rows = 2, features = 37;
  for (program::ElementType type :
       {program::ElementType::F16, program::ElementType::BF16})
    for (size_t most : {1, 5, 16, 1000}) {
      ProgramBuilder builder(1, 1);
      builder.addClass("all", 0, 1, 0, 1).routine(0);
      addTensor(builder, "y", program::TensorRole::Output,
                {2 * rows, features});
      builder.stream("drain", program::Direction::Out, 0, {});
      builder.launch(0, {0});
      program::HostStreamT &stream = *builder.source.streams[0];
      stream.type = type;
      stream.packing = program::Packing::Pair;
      stream.channels = {{0, 0, 1}};
      stream.segments.push_back(makeSegment(0, 1, 0, {rows, features, 2},
                                            {2 * features, 1, features}, 0));
      stateCodeBytes(builder);
      auto loaded = LoadedProgram::fromBytes(makeFile(builder));
      TensorStore store(loaded);
      store.clearOutputs();
      MemoryX memory(store);
      Words words, expected(size_t(2 * rows * features));
      std::iota(expected.begin(), expected.end(), 0.f);
      auto half = [&](int row, int feature) {
        const float value = expected[size_t(row * features + feature)];
        return uint32_t(type == program::ElementType::F16
                            ? halfFromFloat(value)
                            : bfloatFromFloat(value));
      };
      for (int row = 0; row < rows; ++row)
        for (int i = 0; i < features; ++i)
          words.push_back(std::bit_cast<float>(half(2 * row, i) |
                                               half(2 * row + 1, i) << 16));
      for (size_t i = 0; i < words.size(); i += most) {
        const size_t count = std::min(most, words.size() - i);
        memory.store(0, 0, {words.data() + i, 1, count, count, nullptr});
      }
      memory.finish();
      Words result(expected.size());
      std::memcpy(result.data(), store.outputElements(0), 4 * result.size());
      EXPECT_EQ(result, expected) << most;
    }
}

TEST(OutRunsTest, StoresRunsThatLieEvenlyApart) {
  // Of a [3, 2, 4] result the last dimension goes first.
  constexpr int elements = 24;
  for (size_t most : {1, 2, 5, 7, int(elements)}) {
    ProgramBuilder builder(1, 1);
    builder.addClass("all", 0, 1, 0, 1).routine(0);
    addTensor(builder, "y", program::TensorRole::Output, {3, 2, 4});
    builder.stream("drain", program::Direction::Out, 0, {});
    builder.launch(0, {0});
    program::HostStreamT &stream = *builder.source.streams[0];
    stream.channels = {{0, 0, 1}};
    stream.segments.push_back(makeSegment(0, 1, 0, {4, 2, 3}, {1, 4, 8}, 0));
    stateCodeBytes(builder);
    auto loaded = LoadedProgram::fromBytes(makeFile(builder));
    TensorStore store(loaded);
    store.clearOutputs();
    MemoryX memory(store);
    Words words, expected(elements), result(elements);
    std::iota(expected.begin(), expected.end(), 0.f);
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 2; ++k)
        for (int j = 0; j < 3; ++j)
          words.push_back(float(i + 4 * k + 8 * j));
    for (size_t i = 0; i < elements; i += most) {
      const size_t count = std::min(most, elements - i);
      memory.store(0, 0, {words.data() + i, 1, count, count, nullptr});
    }
    memory.finish();
    std::memcpy(result.data(), store.outputElements(0), 4 * elements);
    EXPECT_EQ(result, expected) << most;
  }
}

TEST_P(OutStreamTest, ScattersBlocksFromEastToWest) {
  // A [4, 10] result: rows over the PE rows, features over 3 columns.
  constexpr int width = 3, height = 4, features = 10;
  ProgramBuilder builder(width, height);
  builder.addClass("all", 0, width, 0, height).routine(0);
  addTensor(builder, "y", program::TensorRole::Output, {height, features},
            program::ElementType::I32);
  builder.stream("drain", program::Direction::Out, 0, {});
  builder.launch(0, {0});
  program::HostStreamT &stream = *builder.source.streams[0];
  stream.channels = {{0, 0, 1}, {2, 1, 4}};
  Scalar x = addScalar(stream, ScalarOp::Px);
  Scalar y = addScalar(stream, ScalarOp::Py);
  Scalar n = addScalar(stream, ScalarOp::Constant, features);
  Scalar w = addScalar(stream, ScalarOp::Constant, width);
  Scalar size =
      addScalar(stream, ScalarOp::TileSize, n.index, w.index, x.index);
  Scalar start =
      addScalar(stream, ScalarOp::TileStart, n.index, w.index, x.index);
  Value offset = Value(start) + Value(y).times(features);
  if (!GetParam()) {
    Scalar row = addScalar(stream, ScalarOp::Mul, y.index, n.index);
    offset = addScalar(stream, ScalarOp::Add, start.index, row.index);
  }
  stream.segments.push_back(makeSegment(0, 1, 0, {size}, {1}, offset));
  stateCodeBytes(builder);
  auto loaded = LoadedProgram::fromBytes(makeFile(builder));
  TensorStore store(loaded);
  store.clearOutputs();
  MemoryX memory(store);
  EXPECT_EQ(memory.words(0, 0), 10u);
  EXPECT_EQ(memory.words(0, 1), 30u);

  // What leaves: tiles 7..9, 4..6, 0..3 of each row, in odd pieces.
  auto wire = [](int row) {
    Words words;
    for (int c : {7, 8, 9, 4, 5, 6, 0, 1, 2, 3})
      words.push_back(float(10 * row + c));
    return words;
  };
  Words first = wire(0), rest;
  for (int row = 1; row < height; ++row)
    for (float word : wire(row))
      rest.push_back(word);
  memory.store(0, 0, {first.data(), 1, 10, 10, nullptr});
  // Some lie apart, as words of one of three PEs do.
  Words apart(3 * rest.size());
  for (size_t i = 0; i < rest.size(); ++i)
    apart[3 * i] = rest[i];
  memory.store(0, 1, {apart.data(), 4, 7, 21, nullptr, 3});
  EXPECT_THROW(memory.finish(), Error);
  memory.store(0, 1, {rest.data() + 28, 1, 2, 2, nullptr});
  memory.finish();
  std::vector<int32_t> result(40), expected(40);
  std::iota(expected.begin(), expected.end(), 0);
  std::memcpy(result.data(), store.outputElements(0), 160);
  EXPECT_EQ(result, expected);
  // The first word of another launch.
  memory.store(0, 0, {first.data(), 1, 1, 1, nullptr});
  EXPECT_THROW(memory.finish(), Error);
}

} // namespace
} // namespace wsec::runtime
