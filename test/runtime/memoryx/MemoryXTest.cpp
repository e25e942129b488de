// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/MemoryX.h"
#include "runtime/memoryx/Block.h"
#include "runtime/memoryx/WrittenLines.h"
#include "runtime/pe/Arithmetic.h"
#include "runtime/program/Errors.h"
#include "test/runtime/ExampleFile.h"

#include <bit>
#include <gtest/gtest.h>
#include <utility>

namespace wsec::runtime {
namespace {

using namespace test;
using program::ScalarOp;
using Words = std::vector<float>;

/// One In stream with one channel over all columns of a `width` x 1 mesh, fed
/// by a weight of shape rows x 10 whose element (r, c) is 10 * r + c. The
/// features are tiled over the columns.
class InStreamTest : public testing::Test {
protected:
  static constexpr int rows = 8, features = 10;

  void build(int width) {
    bundle = countUp(rows * features);
    builder = std::make_unique<ProgramBuilder>(width, 1);
    builder->addClass("all", 0, width, 0, 1).routine(0);
    addBundle(*builder, bundle);
    addWeight(*builder, "w", {rows, features});
    builder->stream("feed", program::Direction::In, 0, {});
    builder->launch(0, {0});
    stream().channels = {{0, 0, width}};
    Scalar x = addScalar(stream(), ScalarOp::Px);
    Scalar n = addScalar(stream(), ScalarOp::Constant, features);
    Scalar w = addScalar(stream(), ScalarOp::Constant, width);
    size = addScalar(stream(), ScalarOp::TileSize, n.index, w.index, x.index);
    start = addScalar(stream(), ScalarOp::TileStart, n.index, w.index, x.index);
  }
  program::HostStreamT &stream() { return *builder->source.streams[0]; }
  program::SegmentT &addSegment(std::unique_ptr<program::SegmentT> segment) {
    stream().segments.push_back(std::move(segment));
    return *stream().segments.back();
  }
  /// Of rows that input 1 names.
  program::SegmentT &addGather(std::unique_ptr<program::SegmentT> segment,
                               int64_t ids) {
    addTensor(*builder, "ids", program::TensorRole::Input, {ids},
              program::ElementType::I64);
    segment->index_tensor = 1;
    segment->index_stride = features;
    segment->index_count = rows;
    return addSegment(std::move(segment));
  }

  void load() {
    stateCodeBytes(*builder);
    loaded = LoadedProgram::fromBytes(makeFile(*builder, bundle));
    store = std::make_unique<TensorStore>(loaded);
    memory = std::make_unique<MemoryX>(*store);
  }
  /// Everything the channel sends, taken in views of at most `most` words.
  Words take(size_t most) {
    Words words;
    while (words.size() < memory->words(0, 0)) {
      WordView view = memory->next(0, 0, most);
      if (view.empty())
        break;
      EXPECT_LE(view.words(), most);
      ++views;
      inPlace &= isBundle(view.data);
      for (size_t i = 0; i < view.words(); ++i)
        words.push_back(view.word(i));
      for (size_t i = 0; i < view.words(); ++i)
        halves.push_back(view.half(i));
    }
    EXPECT_EQ(words.size(), memory->words(0, 0));
    return words;
  }
  /// The same, of which nothing may be left.
  Words takeAll(size_t most) {
    Words words = take(most);
    EXPECT_NO_THROW(memory->finish());
    return words;
  }
  bool isBundle(const float *data) const {
    auto *byte = reinterpret_cast<const uint8_t *>(data);
    return byte >= loaded->bundle() &&
           byte < loaded->bundle() + loaded->bundleBytes();
  }
  Words bundle;
  std::unique_ptr<ProgramBuilder> builder;
  std::shared_ptr<const LoadedProgram> loaded;
  std::unique_ptr<TensorStore> store;
  std::unique_ptr<MemoryX> memory;
  Scalar size{}, start{};
  std::vector<std::shared_ptr<const void>> keep;
  size_t views = 0;
  bool inPlace = true;
  std::vector<bool> halves;
};

TEST_F(InStreamTest, RowsOfAMatrixAreOneViewInPlace) {
  build(4);
  addSegment(makeSegment(0, rows, features, {size}, {1}, start));
  load();
  EXPECT_EQ(takeAll(1000), bundle);
  EXPECT_EQ(views, 1u);
  EXPECT_TRUE(inPlace);
}

TEST_F(InStreamTest, ViewsKeepToTheWordsAskedFor) {
  for (size_t most : {1, 3, 10, 11, 25}) {
    build(4);
    addSegment(makeSegment(0, rows, features, {size}, {1}, start));
    load();
    EXPECT_EQ(takeAll(most), bundle) << most;
    EXPECT_TRUE(inPlace);
  }
}

TEST_F(InStreamTest, PartOfAMatrixIsInPlaceWithAStride) {
  build(1);
  addSegment(makeSegment(0, 3, 20, {4}, {1}, 2));
  load();
  EXPECT_EQ(takeAll(1000), (Words{2, 3, 4, 5, 22, 23, 24, 25, 42, 43, 44, 45}));
  EXPECT_TRUE(inPlace);
  EXPECT_EQ(views, 1u);
}

TEST_F(InStreamTest, TransposedIsInPlace) {
  build(3);
  // Line l holds row l of the transposed [10, 8] view: 8 words over columns.
  Scalar n = addScalar(stream(), ScalarOp::Constant, rows);
  Scalar w = addScalar(stream(), ScalarOp::Constant, 3);
  Scalar share = addScalar(stream(), ScalarOp::TileSize, n.index, w.index, 0);
  Scalar first = addScalar(stream(), ScalarOp::TileStart, n.index, w.index, 0);
  addSegment(makeSegment(0, features, 1, {share}, {features},
                         Value(first).times(features)));
  load();
  Words words;
  for (int c = 0; c < features; ++c)
    for (int r = 0; r < rows; ++r)
      words.push_back(float(10 * r + c));
  EXPECT_EQ(takeAll(37), words);
  EXPECT_TRUE(inPlace);
}

TEST_F(InStreamTest, PiecesOfTransposedLinesAreWrittenOut) {
  build(2);
  // Both columns get the first three rows of the feature.
  addSegment(makeSegment(0, features, 1, {3}, {features}, 0));
  load();
  Words words;
  for (int c = 0; c < features; ++c)
    for (int column = 0; column < 2; ++column)
      for (int r = 0; r < 3; ++r)
        words.push_back(float(10 * r + c));
  EXPECT_EQ(takeAll(1000), words);
  EXPECT_FALSE(inPlace);
}

/// Long lines whose elements lie beside those of the next lines are written
/// several at a time, and handed out one by one as if they were not.
TEST_F(InStreamTest, LongTransposedLinesComeOneByOne) {
  constexpr int times = 1000;
  build(2);
  addSegment(makeSegment(0, features, 1, {rows, times}, {features, 0}, 0));
  load();
  Words words;
  for (int c = 0; c < features; ++c)
    for (int column = 0; column < 2; ++column)
      for (int r = 0; r < rows; ++r)
        words.insert(words.end(), times, float(10 * r + c));
  EXPECT_EQ(takeAll(100000), words);
  EXPECT_EQ(views, size_t(features));
  EXPECT_FALSE(inPlace);
}

/// Offsets that lie evenly apart, and what does not continue them.
TEST(BlocksTest, AreThoseThatWerePushed) {
  Blocks blocks;
  auto block = [](int64_t offset, int64_t length) {
    return Block{offset, 1, {length}, {1}, uint64_t(length)};
  };
  for (int64_t offset : {0, 10, 20, 25, 40, 55})
    blocks.push(block(offset, 4));
  blocks.push(block(70, 3));
  EXPECT_FALSE(blocks.append(block(80, 3)));
  EXPECT_TRUE(blocks.append(block(73, 2)));
  EXPECT_EQ(blocks.size(), 7u);
  EXPECT_EQ(blocks.back().elements, 5u);
  std::vector<std::pair<int64_t, uint64_t>> found;
  blocks.forEach(
      [&](const Block &its) { found.emplace_back(its.offset, its.elements); });
  const std::vector<std::pair<int64_t, uint64_t>> expected{
      {0, 4}, {10, 4}, {20, 4}, {25, 4}, {40, 4}, {55, 4}, {70, 5}};
  EXPECT_EQ(found, expected);
}

/// Of a group the last one alone continues.
TEST(BlocksTest, TheLastOfAGroupContinues) {
  Blocks blocks;
  for (int64_t offset : {0, 10, 20})
    blocks.push(Block{offset, 1, {4}, {1}, 4});
  EXPECT_TRUE(blocks.append(Block{24, 1, {2}, {1}, 2}));
  std::vector<uint64_t> found;
  blocks.forEach([&](const Block &its) { found.push_back(its.elements); });
  EXPECT_EQ(found, (std::vector<uint64_t>{4, 4, 6}));
}

/// Of weights that are put together, in later runs, as far as there is room;
/// of inputs never.
TEST_F(InStreamTest, WrittenLinesAreKept) {
  build(2);
  addTensor(*builder, "x", program::TensorRole::Input, {6, 6});
  addSegment(makeSegment(0, features, 1, {3}, {features}, 0));
  addSegment(makeSegment(1, 6, 1, {3}, {6}, 0));
  load();
  const Words first = countUp(36);
  const std::vector<float> second(36, 7);
  // Both segments write all their lines at once, of 6 words each.
  for (size_t room : {size_t(0), size_t(4 * 6 * features)}) {
    WrittenLines written(room);
    const float *weights = nullptr;
    for (const std::vector<float> &x : {first, second}) {
      store->bindInput(1, reinterpret_cast<const uint8_t *>(x.data()), loaded);
      memory =
          std::make_unique<MemoryX>(*store, Call(store->program()), &written);
      WordView view = memory->next(0, 0, 6 * features);
      for (int c = 0; c < features; ++c)
        for (int i = 0; i < 6; ++i)
          EXPECT_EQ(view.word(size_t(6 * c + i)), float(10 * (i % 3) + c));
      EXPECT_EQ(view.data == weights, weights && room > 0);
      weights = view.data;
      keep.push_back(view.owner); // Or other words might come to lie there.
      view = memory->next(0, 0, 36);
      for (size_t i = 0; i < 36; ++i)
        EXPECT_EQ(view.word(i), x[i % 3 * 6 + i / 6]);
      memory->finish();
    }
  }
}

TEST_F(InStreamTest, LinesBehindOnesThatWereNotKeptAreNot) {
  build(2);
  addSegment(makeSegment(0, features, 1, {3}, {features}, 0));
  addSegment(makeSegment(0, 2, 1, {3}, {features}, 4));
  load();
  WrittenLines written(4 * 20); // Room for the second segment, of 12 words.
  for (int run = 0; run < 3; ++run) {
    memory =
        std::make_unique<MemoryX>(*store, Call(store->program()), &written);
    const Words words = take(6 * features);
    ASSERT_EQ(words.size(), size_t(6 * features + 12));
    for (size_t i = 0; i < words.size(); ++i) {
      const size_t line = i / 6, column = line < features ? line : line - 6;
      EXPECT_EQ(words[i], float(10 * (i % 3) + column)) << run << ", " << i;
    }
  }
}

/// In the middle of a line, too; inputs may be others then.
TEST_F(InStreamTest, RestartsAtTheFirstWord) {
  build(2);
  addTensor(*builder, "x", program::TensorRole::Input, {10});
  addSegment(makeSegment(0, 2, features, {size}, {1}, start));
  addSegment(makeSegment(1, 1, 0, {size}, {1}, start));
  load();
  const Words first(10, 3), second(10, 7);
  store->bindInput(1, reinterpret_cast<const uint8_t *>(first.data()), loaded);
  for (int i = 0; i < 3; ++i)
    memory->next(0, 0, 3);
  memory->restart();
  EXPECT_THROW(memory->finish(), Error);
  store->bindInput(1, reinterpret_cast<const uint8_t *>(second.data()), loaded);
  Words expected = countUp(20);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(takeAll(3), expected);
  memory->restart();
  EXPECT_EQ(takeAll(1000), expected);
}

TEST_F(InStreamTest, WordsAtAnyAddressAreInPlace) {
  build(1);
  addTensor(*builder, "x", program::TensorRole::Input, {6});
  addSegment(makeSegment(1, 1, 0, {6}, {1}, 0));
  load();
  Words words = countUp(6);
  std::vector<uint8_t> bytes(6 * sizeof(float) + 1);
  std::memcpy(bytes.data() + 1, words.data(), 6 * sizeof(float));
  store->bindInput(1, bytes.data() + 1, loaded);
  WordView view = memory->next(0, 0, 1000);
  EXPECT_EQ(reinterpret_cast<const uint8_t *>(view.data), bytes.data() + 1);
  ASSERT_EQ(view.words(), 6u);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(view.word(i), words[i]);
}

TEST_F(InStreamTest, BlocksOfTwoExtentsAreColumnMajor) {
  build(2);
  // Each column takes all rows of its features at once.
  addSegment(makeSegment(0, 1, 0, {rows, size}, {features, 1}, start));
  load();
  Words words;
  for (int half = 0; half < 2; ++half)
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < 5; ++c)
        words.push_back(float(10 * r + 5 * half + c));
  EXPECT_EQ(takeAll(1000), words);
}

TEST_F(InStreamTest, SegmentsFollowOneAnother) {
  build(2);
  addSegment(makeSegment(0, 1, 0, {size}, {1}, start));
  addSegment(makeSegment(0, 0, 0, {size}, {1}, start)); // nothing
  addSegment(makeSegment(0, 2, 10, {1}, {1}, 30));
  load();
  Words words = countUp(10);
  for (float word : {30, 30, 40, 40})
    words.push_back(word);
  EXPECT_EQ(takeAll(7), words);
}

TEST_F(InStreamTest, GathersRowsByIndex) {
  build(3);
  addGather(makeSegment(0, 3, 0, {1}, {1}, start), 3);
  load();
  std::vector<int64_t> ids{5, -1, 0};
  store->bindInput(1, reinterpret_cast<const uint8_t *>(ids.data()), loaded);
  EXPECT_EQ(takeAll(1000), (Words{50, 54, 57, 70, 74, 77, 0, 4, 7}));
}

TEST_F(InStreamTest, TakesAllLinesFromOneRow) {
  build(1);
  addGather(makeSegment(0, 2, 2, {3}, {1}, 0), 3).index_at = 1;
  load();
  const int64_t ids[] = {8, -2, 8}; // of which two are outside
  store->bindInput(1, reinterpret_cast<const uint8_t *>(ids), loaded);
  EXPECT_EQ(takeAll(1000), (Words{60, 61, 62, 62, 63, 64}));
}

TEST_F(InStreamTest, RefusesIndexOutsideTable) {
  build(1);
  addGather(makeSegment(0, 2, 0, {size}, {1}, start), 2);
  load();
  std::vector<int64_t> ids{1, 8};
  store->bindInput(1, reinterpret_cast<const uint8_t *>(ids.data()), loaded);
  try {
    memory->next(0, 0, 100);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "BadTensor: 'ids' asks for row 8 (element 1) of "
                               "'w', which has 8 rows");
  }
}

TEST_F(InStreamTest, RefusesToLeaveTheTensor) {
  build(2);
  addSegment(makeSegment(0, rows + 1, features, {size}, {1}, start));
  try {
    load();
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "OutOfBounds: stream 'feed' touches element 84 "
                               "of tensor 'w', which has 80");
  }
}

TEST_F(InStreamTest, SaysWhatWasNotTaken) {
  build(2);
  addSegment(makeSegment(0, rows, features, {size}, {1}, start));
  load();
  memory->next(0, 0, 20);
  try {
    memory->finish();
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "UnreadTraffic: stream 'feed' delivered 20 of "
                               "its 80 words on one channel");
  }
}

TEST_F(InStreamTest, ConvertsConstants) {
  build(1);
  program::TensorT &half =
      addTensor(*builder, "half", program::TensorRole::Constant, {3},
                program::ElementType::F16);
  half.data = {0x00, 0x3c, 0x00, 0x40, 0x00, 0xbc};
  addSegment(makeSegment(1, 1, 0, {3}, {1}, 0));
  load();
  EXPECT_EQ(takeAll(2), (Words{1, 2, -1}));
}

/// Pairs and numbers begin anew with each block, here of 3, 3 and 4 features.
TEST_F(InStreamTest, PairsEndWithTheirBlock) {
  for (size_t most : {1, 4, 1000}) {
    build(3);
    stream().type = program::ElementType::F16;
    stream().packing = program::Packing::Pair;
    addSegment(makeSegment(0, 2, features, {size}, {1}, start));
    load();
    halves.clear();
    const Words words = takeAll(most);
    ASSERT_EQ(words.size(), 2u * 6);
    EXPECT_EQ(halves, (std::vector<bool>{0, 0, 0, 1, 0, 1, //
                                         0, 0, 0, 1, 0, 1}));
    auto pair = [&](size_t i) {
      const auto bits = std::bit_cast<uint32_t>(words[i]);
      return std::pair(floatFromHalf(uint16_t(bits)),
                       floatFromHalf(uint16_t(bits >> 16)));
    };
    EXPECT_EQ(pair(0), std::pair(0.f, 1.f));
    EXPECT_EQ(pair(3), std::pair(6.f, 0.f)); // 0 where nothing is
    EXPECT_EQ(pair(7), std::pair(12.f, 13.f));
    EXPECT_EQ(memory->weightWordsIn(), 12u);
  }
}

/// All ways in which elements of a pair, and of lines, lie beside each other.
TEST_F(InStreamTest, PairsOfF32AreThoseOfTheTensor) {
  struct Form {
    int64_t lines, lineStride, extents[2], strides[2];
  };
  static constexpr Form forms[] = {
      {5, 2, {rows, 2}, {features, 1}},                // along lines
      {4, 2 * features, {features, 2}, {1, features}}, // lines apart
      {features, 1, {1, 6}, {0, features}},            // columns
      {3, features, {2, 3}, {20, 1}}};                 // an odd number to a run
  for (program::ElementType type :
       {program::ElementType::F16, program::ElementType::BF16})
    for (const Form &form : forms)
      for (size_t most : {1, 3, 1000}) {
        build(1);
        stream().type = type;
        stream().packing = program::Packing::Pair;
        addSegment(makeSegment(0, form.lines, form.lineStride,
                               {form.extents[0], form.extents[1]},
                               {form.strides[0], form.strides[1]}, 0));
        load();
        std::vector<float> values, expected;
        for (float word : takeAll(most))
          for (int half = 0; half < 2; ++half) {
            const auto bits =
                uint16_t(std::bit_cast<uint32_t>(word) >> (16 * half));
            values.push_back(type == program::ElementType::F16
                                 ? floatFromHalf(bits)
                                 : std::bit_cast<float>(uint32_t(bits) << 16));
          }
        for (int64_t line = 0; line < form.lines; ++line)
          for (int64_t i = 0; i < form.extents[0]; ++i)
            for (int64_t j = 0; j < form.extents[1]; ++j)
              expected.push_back(float(line * form.lineStride +
                                       i * form.strides[0] +
                                       j * form.strides[1]));
        EXPECT_EQ(values, expected);
      }
}

TEST_F(InStreamTest, NumbersBeginAnewWithEachBlock) {
  build(3);
  stream().type = program::ElementType::BF16;
  stream().indexed = true;
  addSegment(makeSegment(0, 2, features, {size}, {1}, start));
  load();
  const Words words = takeAll(7);
  ASSERT_EQ(words.size(), 20u);
  for (size_t i = 0; i < 20; ++i) {
    const auto bits = std::bit_cast<uint32_t>(words[i]);
    const size_t number = i % 10 < 4 ? i % 10 : (i % 10 - 4) % 3;
    EXPECT_EQ(bits >> 16, number) << i;
    EXPECT_EQ(std::bit_cast<float>(bits << 16), float(i)) << i;
  }
}

TEST_F(InStreamTest, BeginsAgainForEachLaunch) {
  build(4);
  builder->launch(0, {0});
  addSegment(makeSegment(0, rows, features, {size}, {1}, start));
  load();
  EXPECT_EQ(memory->wordsIn(), 160u);
  EXPECT_EQ(take(33), bundle);
  EXPECT_THROW(memory->finish(), Error);
  EXPECT_EQ(take(64), bundle);
  EXPECT_NO_THROW(memory->finish());
}

} // namespace
} // namespace wsec::runtime
