// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halves of words to floats and back, against the conversion of one element.
#include "runtime/pe/HalfKernels.h"

#include "runtime/pe/Arithmetic.h"

#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace wsec::runtime::pe {
namespace {

float fromHalf(bool bfloat, uint16_t half) {
  return bfloat ? std::bit_cast<float>(uint32_t(half) << 16)
                : floatFromHalf(half);
}

uint16_t toHalf(bool bfloat, float value) {
  return bfloat ? bfloatFromFloat(value) : halfFromFloat(value);
}

std::vector<uint32_t> bitsOf(const std::vector<float> &values) {
  std::vector<uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), 4 * values.size());
  return bits;
}

/// Any bits at all, NaNs of all kinds among them.
std::vector<float> anyWords(size_t n, std::mt19937 &random) {
  std::vector<float> words(n);
  for (float &word : words)
    word = std::bit_cast<float>(uint32_t(random()) |
                                (random() % 8 ? 0 : 0x7c007c00u));
  return words;
}

/// Rows of words, and of values behind one another with a gap.
class HalvesOfWords : public testing::TestWithParam<HalfOf> {
protected:
  std::mt19937 random{1};
  HalfOf part = GetParam();
  size_t perWord = part == HalfOf::Both || part == HalfOf::Apart ? 2 : 1;

  HalvesProblem problem(bool bfloat, size_t columns) const {
    return {bfloat,
            part,
            3,
            columns,
            ptrdiff_t(columns + 5),
            ptrdiff_t(perWord * columns + 2),
            false,
            ptrdiff_t(columns + 1)};
  }
  template <class Visit>
  void forEach(const HalvesProblem &p, const Visit &visit) const {
    for (size_t r = 0; r < p.rows; ++r)
      for (size_t i = 0; i < p.columns; ++i)
        for (size_t h = 0; h < perWord; ++h) {
          const bool upper = part == HalfOf::Upper || h == 1;
          const size_t value =
              part == HalfOf::Apart ? h * size_t(p.apart) + i : i * perWord + h;
          visit(r * size_t(p.wordRow) + i, r * size_t(p.valueRow) + value,
                upper);
        }
  }
};

TEST_P(HalvesOfWords, AreWidened) {
  for (bool bfloat : {false, true})
    for (size_t columns = 1; columns < 70; ++columns) {
      const HalvesProblem p = problem(bfloat, columns);
      const auto words = anyWords(3 * size_t(p.wordRow), random);
      std::vector<float> values(3 * size_t(p.valueRow), 7), expected = values;
      widenWords(p, words.data(), values.data());
      forEach(p, [&](size_t word, size_t value, bool upper) {
        const auto bits = std::bit_cast<uint32_t>(words[word]);
        expected[value] = fromHalf(bfloat, uint16_t(bits >> (upper ? 16 : 0)));
      });
      ASSERT_EQ(bitsOf(values), bitsOf(expected)) << columns;
    }
}

TEST_P(HalvesOfWords, AreNarrowed) {
  for (bool bfloat : {false, true})
    for (size_t columns = 1; columns < 70; ++columns) {
      HalvesProblem p = problem(bfloat, columns);
      p.scalar = part != HalfOf::Both && columns % 2 == 0;
      const auto values = anyWords(3 * size_t(p.valueRow), random);
      std::vector<float> words = anyWords(3 * size_t(p.wordRow), random);
      std::vector<uint32_t> expected = bitsOf(words);
      narrowWords(p, values.data(), words.data());
      forEach(p, [&](size_t word, size_t value, bool upper) {
        if (p.scalar) {
          value -= value % size_t(p.valueRow);
          value += part == HalfOf::Apart && upper ? size_t(p.apart) : 0;
        }
        const uint32_t half = toHalf(bfloat, values[value]);
        expected[word] = upper ? (expected[word] & 0xffff) | half << 16
                               : (expected[word] & 0xffff0000) | half;
      });
      ASSERT_EQ(bitsOf(words), expected) << columns;
    }
}

INSTANTIATE_TEST_SUITE_P(HalfKernelsTest, HalvesOfWords,
                         testing::Values(HalfOf::Lower, HalfOf::Upper,
                                         HalfOf::Both, HalfOf::Apart));

TEST(HalfKernelsTest, PairsAreNarrowed) {
  std::mt19937 random(2);
  for (bool bfloat : {false, true})
    for (size_t n = 1; n < 70; ++n) {
      const auto a = anyWords(n, random), b = anyWords(n, random);
      std::vector<uint32_t> words(n), expected(n);
      narrowPairs(bfloat, n, a.data(), b.data(), words.data());
      for (size_t i = 0; i < n; ++i)
        expected[i] = toHalf(bfloat, a[i]) | uint32_t(toHalf(bfloat, b[i]))
                                                 << 16;
      ASSERT_EQ(words, expected) << n;
    }
}

TEST(HalfKernelsTest, FloatsAreNarrowed) {
  std::mt19937 random(3);
  for (size_t n = 1; n < 70; ++n) {
    const auto values = anyWords(n, random);
    std::vector<uint16_t> halves(n), bfloats(n), expected(n);
    narrowToHalf(n, values.data(), halves.data());
    narrowToBfloat(n, values.data(), bfloats.data());
    for (size_t i = 0; i < n; ++i)
      expected[i] = toHalf(false, values[i]);
    ASSERT_EQ(halves, expected) << n;
    for (size_t i = 0; i < n; ++i)
      expected[i] = toHalf(true, values[i]);
    ASSERT_EQ(bfloats, expected) << n;
  }
}

} // namespace
} // namespace wsec::runtime::pe
