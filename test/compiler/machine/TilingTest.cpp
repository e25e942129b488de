// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/machine/Tiling.h"

#include <gtest/gtest.h>

using namespace wsec;

TEST(TilingTest, LargerTilesComeFirst) {
  EXPECT_EQ(tileStart(10, 4, 0), 0);
  EXPECT_EQ(tileStart(10, 4, 1), 3);
  EXPECT_EQ(tileStart(10, 4, 2), 6);
  EXPECT_EQ(tileStart(10, 4, 4), 10);
  EXPECT_EQ(tileSize(10, 4, 1), 3);
  EXPECT_EQ(tileSize(10, 4, 2), 2);
  EXPECT_EQ(tileSizeMax(10, 4), 3);
}

TEST(TilingTest, PartsOutsideAreEmpty) {
  EXPECT_EQ(tileSize(10, 4, -1), 0);
  EXPECT_EQ(tileSize(10, 4, 4), 0);
}

TEST(TilingTest, EveryElementIsInTheTileThatItsIndexNames) {
  for (int64_t n = 0; n < 30; ++n)
    for (int64_t p = 1; p < 12; ++p) {
      int64_t total = 0;
      for (int64_t i = 0; i < p; ++i) {
        EXPECT_EQ(tileStart(n, p, i), total);
        total += tileSize(n, p, i);
        EXPECT_LE(tileSize(n, p, i), tileSizeMax(n, p));
      }
      EXPECT_EQ(total, n);
      for (int64_t e = 0; e < n; ++e) {
        int64_t i = tileIndex(n, p, e);
        EXPECT_LE(tileStart(n, p, i), e);
        EXPECT_LT(e, tileStart(n, p, i + 1));
      }
    }
}

TEST(TilingTest, SpreadTilesOfOneSizeAreEvenlySpaced) {
  EXPECT_EQ(spreadSize(10, 4, 0), 2);
  EXPECT_EQ(spreadSize(10, 4, 1), 3);
  EXPECT_EQ(spreadSize(10, 4, 2), 2);
  EXPECT_EQ(spreadSize(10, 4, 3), 3);
}

TEST(TilingTest, SpreadTilesHoldWhatTheirIndexNames) {
  for (int64_t n = 1; n < 30; ++n)
    for (int64_t p = 1; p < 12; ++p) {
      EXPECT_EQ(spreadStart(n, p, 0), 0);
      EXPECT_EQ(spreadStart(n, p, p), n);
      for (int64_t i = 0; i < p; ++i) {
        EXPECT_GE(spreadSize(n, p, i), n / p);
        EXPECT_LE(spreadSize(n, p, i), tileSizeMax(n, p));
      }
      for (int64_t e = 0; e < n; ++e) {
        int64_t i = spreadIndex(n, p, e);
        EXPECT_LE(spreadStart(n, p, i), e);
        EXPECT_LT(e, spreadStart(n, p, i + 1));
      }
    }
}

// Whatever neighbours are taken together, they hold at most one element more
// than their share, rounded up.
TEST(TilingTest, SpreadNeighboursHoldTheirShare) {
  for (int64_t first = 0; first < 750; first += 17)
    for (int64_t last = first + 1; last <= 750; last += 7) {
      int64_t held = spreadStart(768, 750, last) - spreadStart(768, 750, first);
      EXPECT_LE(held, tileSizeMax(768 * (last - first), 750) + 1);
    }
}
