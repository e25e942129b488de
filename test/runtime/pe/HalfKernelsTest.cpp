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

using program::ElementType;

constexpr ElementType formats[] = {ElementType::F16, ElementType::BF16,
                                   ElementType::CB16};

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

  HalvesProblem problem(ElementType format, size_t columns) const {
    return {format,
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
  for (ElementType format : formats)
    for (size_t columns = 1; columns < 70; ++columns) {
      const HalvesProblem p = problem(format, columns);
      const auto words = anyWords(3 * size_t(p.wordRow), random);
      std::vector<float> values(3 * size_t(p.valueRow), 7), expected = values;
      widenWords(p, words.data(), values.data());
      forEach(p, [&](size_t word, size_t value, bool upper) {
        const auto bits = std::bit_cast<uint32_t>(words[word]);
        expected[value] =
            floatFromNarrow(format, uint16_t(bits >> (upper ? 16 : 0)));
      });
      ASSERT_EQ(bitsOf(values), bitsOf(expected)) << columns;
    }
}

TEST_P(HalvesOfWords, AreNarrowed) {
  for (ElementType format : formats)
    for (size_t columns = 1; columns < 70; ++columns) {
      HalvesProblem p = problem(format, columns);
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
        const uint32_t half = narrowFromFloat(format, values[value]);
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
  for (ElementType format : formats)
    for (size_t n = 1; n < 70; ++n) {
      const auto a = anyWords(n, random), b = anyWords(n, random);
      std::vector<uint32_t> words(n), expected(n);
      narrowPairs(format, n, a.data(), b.data(), words.data());
      for (size_t i = 0; i < n; ++i)
        expected[i] = narrowFromFloat(format, a[i]) |
                      uint32_t(narrowFromFloat(format, b[i])) << 16;
      ASSERT_EQ(words, expected) << n;
    }
}

TEST(HalfKernelsTest, FloatsAreNarrowed) {
  std::mt19937 random(3);
  for (ElementType format : formats)
    for (size_t n = 1; n < 70; ++n) {
      const auto values = anyWords(n, random);
      std::vector<uint16_t> halves(n), expected(n);
      narrow(format, n, values.data(), halves.data());
      for (size_t i = 0; i < n; ++i)
        expected[i] = narrowFromFloat(format, values[i]);
      ASSERT_EQ(halves, expected) << n;
      std::vector<float> rounded = values, wide(n);
      roundToNarrow(format, n, rounded.data());
      widen(format, n, halves.data(), wide.data());
      ASSERT_EQ(bitsOf(rounded), bitsOf(wide)) << n;
    }
}

} // namespace
} // namespace wsec::runtime::pe
