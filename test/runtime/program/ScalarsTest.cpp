// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Intervals.h"
#include "runtime/program/RectSet.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using program::ScalarNode;
using program::ScalarOp;

TEST(TilingTest, PartsCoverEveryElementOnce) {
  for (int64_t n = 0; n < 20; ++n)
    for (int64_t p = 1; p < 9; ++p) {
      EXPECT_EQ(tileStart(n, p, 0), 0);
      EXPECT_EQ(tileStart(n, p, p), n);
      for (int64_t i = 0; i < p; ++i) {
        EXPECT_EQ(tileStart(n, p, i) + tileSize(n, p, i),
                  tileStart(n, p, i + 1));
        for (int64_t e = tileStart(n, p, i); e < tileStart(n, p, i + 1); ++e)
          EXPECT_EQ(tileIndex(n, p, e), i);
      }
      EXPECT_EQ(tileSize(n, p, -1), 0);
      EXPECT_EQ(tileSize(n, p, p), 0);
    }
}

/// Operands of a node under test: constants or coordinates in small ranges.
struct Operands {
  Interval a, b, c;
};

/// Every value of a node within the ranges must lie in its interval.
void expectInterval(ScalarOp op, Operands ranges) {
  ScalarNode node(op, 0, 1, 2);
  auto interval =
      nodeInterval(node, {ranges.a, ranges.b, ranges.c}, {0, 0}, {0, 0});
  ASSERT_TRUE(interval);
  for (int64_t a = ranges.a.low; a <= ranges.a.high; ++a)
    for (int64_t b = ranges.b.low; b <= ranges.b.high; ++b)
      for (int64_t c = ranges.c.low; c <= ranges.c.high; ++c) {
        bool divides = op == ScalarOp::Div || op == ScalarOp::Mod;
        bool tiles = op >= ScalarOp::TileStart;
        if ((divides && b == 0) || (tiles && (a < 0 || b < 1)))
          continue;
        int64_t earlier[] = {a, b, c};
        int64_t value = evaluateNode(node, earlier, 0, 0);
        EXPECT_TRUE(interval->inside(INT64_MIN, INT64_MAX));
        EXPECT_LE(interval->low, value) << program::EnumNameScalarOp(op) << " "
                                        << a << " " << b << " " << c;
        EXPECT_GE(interval->high, value) << program::EnumNameScalarOp(op) << " "
                                         << a << " " << b << " " << c;
      }
}

TEST(IntervalsTest, ContainEveryValue) {
  Interval ranges[] = {{0, 0}, {3, 3}, {-2, 2}, {1, 6}, {-7, -3}, {0, 9}};
  for (int op = int(ScalarOp::Add); op < int(ScalarOp::Argument); ++op)
    for (Interval a : ranges)
      for (Interval b : ranges)
        for (Interval c : ranges)
          expectInterval(ScalarOp(op), {a, b, c});
}

TEST(IntervalsTest, AreExactForTilesOfOneColumn) {
  ScalarNode node(ScalarOp::TileSize, 0, 1, 2);
  auto size = nodeInterval(node, {{10, 10}, {4, 4}, {2, 2}}, {}, {});
  EXPECT_TRUE(size->exact());
  EXPECT_EQ(size->low, 2);
}

TEST(IntervalsTest, RefuseWhatMayOverflow) {
  EXPECT_FALSE(multiplyIntervals({largestScalar, largestScalar}, {2, 2}));
  EXPECT_FALSE(addIntervals({0, largestScalar}, {0, 1}));
}

TEST(RectSetTest, FindsOverlapOfStridedRectangles) {
  RectSet set(100, 10);
  EXPECT_FALSE(set.add(program::Rect(0, 100, 2, 0, 10, 1)));
  EXPECT_FALSE(set.add(program::Rect(1, 100, 2, 0, 10, 3)));
  auto pe = set.add(program::Rect(65, 80, 1, 3, 4, 1));
  ASSERT_TRUE(pe);
  EXPECT_EQ(*pe, std::pair(65, 3));
}

TEST(RectSetTest, DescribesInclusively) {
  EXPECT_EQ(describeRect(program::Rect(0, 6, 2, 3, 4, 1)),
            "x 0..4 step 2, y 3");
  EXPECT_EQ(rectSize(program::Rect(0, 6, 2, 3, 5, 1)), 6);
}

} // namespace
} // namespace wsec::runtime
