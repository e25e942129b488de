// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/SparseMatrix.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace wsec::runtime {
namespace {

constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

/// A matrix of 2 x 5 that keeps 2 of 3, and 1 of the last 2.
class SparseMatrixTest : public testing::Test {
protected:
  std::vector<float> dense = {1, -3, 2,          /**/ 0.5, -0.5,
                              0, 7,  notANumber, /**/ -8,  9};
  program::SparsityT sparsity;

  SparseMatrixTest() {
    sparsity.strides = {5, 1};
    sparsity.rows = 2;
    sparsity.columns = 5;
    sparsity.group = 3;
    sparsity.kept = 2;
    sparsity.rest = 1;
    sparsity.method = program::SparsityMethod::TopK;
    sparsity.index_step = 4;
  }

  std::vector<float> read(uint64_t first, size_t count) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(program::Sparsity::Pack(builder, &sparsity));
    const auto *table =
        flatbuffers::GetRoot<program::Sparsity>(builder.GetBufferPointer());
    SparseMatrix matrix(
        *table, [&](int64_t from, int64_t stride, size_t length, float *to) {
          for (size_t i = 0; i < length; ++i)
            to[i] = dense.at(size_t(from + int64_t(i) * stride));
        });
    std::vector<float> words(count);
    matrix.read(first, count, words.data());
    return words;
  }
};

uint32_t bitsOf(float word) {
  uint32_t bits;
  std::memcpy(&bits, &word, 4);
  return bits;
}

TEST_F(SparseMatrixTest, KeepsTheLargestOfEachGroup) {
  const std::vector<float> words = read(0, 10);
  // Row 0: columns 1 and 2; indices in steps of 4, the first in the lower half.
  EXPECT_EQ(bitsOf(words[0]), 4u | 8u << 16);
  EXPECT_EQ(words[1], -3);
  EXPECT_EQ(words[2], 2);
  // Row 1: what is not a number is largest.
  EXPECT_EQ(bitsOf(words[3]), 4u | 8u << 16);
  EXPECT_EQ(words[4], 7);
  EXPECT_TRUE(std::isnan(words[5]));
  // The rest of both rows; of equal ones the first.
  EXPECT_EQ(bitsOf(words[6]), 0u);
  EXPECT_EQ(words[7], 0.5);
  EXPECT_EQ(bitsOf(words[8]), 4u);
  EXPECT_EQ(words[9], 9);
}

TEST_F(SparseMatrixTest, ReadsFromAnyWord) {
  const std::vector<float> all = read(0, 10);
  for (uint64_t first = 0; first < 10; ++first)
    for (size_t count = 1; first + count <= 10; ++count) {
      const std::vector<float> part = read(first, count);
      EXPECT_EQ(std::memcmp(part.data(), all.data() + first, 4 * count), 0)
          << first << " " << count;
    }
}

TEST_F(SparseMatrixTest, RandomDependsOnElementsAlone) {
  sparsity.method = program::SparsityMethod::Random;
  sparsity.seed = 11;
  dense.resize(70, 1);
  sparsity.columns = 35;
  sparsity.strides = {35, 1};
  sparsity.group = 35;
  sparsity.kept = 8;
  sparsity.rest = 0;
  const std::vector<float> whole = read(0, 12);
  // A matrix of the first row alone.
  sparsity.rows = 1;
  EXPECT_EQ(std::memcmp(read(0, 12).data(), whole.data(), 48), 0);
  // Another seed, another mask.
  sparsity.seed = 12;
  EXPECT_NE(std::memcmp(read(0, 4).data(), whole.data(), 16), 0);
}

TEST_F(SparseMatrixTest, RandomScoresAreSplitMix) {
  // The first two of the generator's published sequence from state 0.
  EXPECT_EQ(SparseMatrix::randomScore(0, 0), 0xe220a8397b1dcdafU);
  EXPECT_EQ(SparseMatrix::randomScore(0x9e3779b97f4a7c15U, 0),
            0x6e789e6aa1b965f4U);
}

} // namespace
} // namespace wsec::runtime
