// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether operands share elements, against listing all of them.
#include "runtime/pe/Elements.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

namespace wsec::runtime::pe {
namespace {

struct Listed {
  Elements elements;
  std::set<int64_t> bytes;
};

Listed make(std::mt19937 &random) {
  auto pick = [&](int low, int high) {
    return low + int(random() % unsigned(high - low + 1));
  };
  const int rank = pick(1, 4), size = pick(0, 1) ? 2 : 4;
  int64_t extents[maxExtents] = {}, strides[maxExtents] = {};
  for (int d = 0; d < rank; ++d) {
    extents[d] = pick(0, 12) == 0 ? 0 : pick(1, 4);
    strides[d] = int64_t(pick(-9, 9)) * size;
  }
  const int64_t first = pick(0, 60) * 4;
  Listed result{{first, size, rank, extents, strides}, {}};
  int64_t total = 1;
  for (int d = 0; d < rank; ++d)
    total *= extents[d];
  for (int64_t i = 0; i < total; ++i) {
    int64_t at = first, rest = i;
    for (int d = 0; d < rank; ++d) {
      at += rest % extents[d] * strides[d];
      rest /= extents[d];
    }
    for (int byte = 0; byte < size; ++byte)
      result.bytes.insert(at + byte);
  }
  return result;
}

TEST(ElementsTest, OverlapAsTheirBytesDo) {
  std::mt19937 random(1);
  int overlapping = 0;
  for (int i = 0; i < 20000; ++i) {
    const Listed a = make(random), b = make(random);
    bool expected = false;
    for (int64_t byte : a.bytes)
      expected |= b.bytes.count(byte) > 0;
    ASSERT_EQ(a.elements.overlaps(b.elements), expected) << "pair " << i;
    ASSERT_EQ(b.elements.overlaps(a.elements), expected) << "pair " << i;
    overlapping += expected;
  }
  EXPECT_GT(overlapping, 2000);
  EXPECT_LT(overlapping, 18000);
}

TEST(ElementsTest, SpanToTheEnd) {
  const int64_t extents[] = {3, 4}, strides[] = {-40, 8};
  const Elements set(100, 4, 2, extents, strides);
  EXPECT_EQ(set.address, 20);
  EXPECT_EQ(set.end(), 100 + 3 * 8 + 4);
  EXPECT_TRUE(Elements().empty());
}

} // namespace
} // namespace wsec::runtime::pe
