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
