// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/wse/Wse.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace wsec::wse;

namespace {
class TiledAttrTest : public ::testing::Test {
protected:
  TiledAttrTest() { context.loadDialect<WseDialect>(); }
  mlir::MLIRContext context;
};
} // namespace

// The drawing in the attribute's description: 2 x 3 tokens, 6 features, 4 x 5.
TEST_F(TiledAttrTest, OwnsWhatItsDrawingShows) {
  TiledAttr tiling = TiledAttr::balanced(&context, 2, 3, 5);
  EXPECT_EQ(tiling.getGroup(), 2);
  EXPECT_EQ(tiling.rowsUsed(), 2);
  EXPECT_EQ(tiling.rowOf(0, 0, 5), 0);
  EXPECT_EQ(tiling.rowOf(0, 1, 5), 0);
  EXPECT_EQ(tiling.rowOf(0, 2, 5), 1);
  EXPECT_EQ(tiling.rowOf(1, 2, 5), 3);
  EXPECT_EQ(tiling.tokensInRow(2, 5), 2);
  EXPECT_EQ(tiling.tokensInRow(3, 5), 1);
  EXPECT_FALSE(tiling.holdsTokens(4, 5));
  EXPECT_EQ(tiling.tokensPerRowMax(5), 2);
  EXPECT_EQ(tiling.columnOf(0, 6, 4), 0);
  EXPECT_EQ(tiling.columnOf(1, 6, 4), 1);
  EXPECT_EQ(tiling.columnOf(2, 6, 4), 1);
  EXPECT_EQ(tiling.columnOf(5, 6, 4), 3);
  EXPECT_EQ(tiling.featuresInColumn(2, 6, 4), 1);
  EXPECT_EQ(tiling.featuresInColumn(3, 6, 4), 2);
  EXPECT_EQ(tiling.localFeaturesMax(6, 4), 2);
  EXPECT_EQ(tiling.bytesPerPE(6, 4, 5), 16);
}

TEST_F(TiledAttrTest, LargeBatchesShareRowsWhole) {
  TiledAttr tiling = TiledAttr::balanced(&context, 5, 3, 2);
  EXPECT_EQ(tiling.getGroup(), 0);
  EXPECT_EQ(tiling.rowsUsed(), 1);
  EXPECT_EQ(tiling.rowOf(2, 1, 2), 0);
  EXPECT_EQ(tiling.rowOf(3, 0, 2), 1);
  EXPECT_EQ(tiling.tokensInRow(0, 2), 9);
  EXPECT_EQ(tiling.tokensInRow(1, 2), 6);
  EXPECT_EQ(tiling.tokensPerRowMax(2), 9);
}

TEST_F(TiledAttrTest, HeadsStayWhole) {
  TiledAttr tiling = TiledAttr::balanced(&context, 1, 4, 4)
                         .withColumns(ColumnPlacement::Heads, 8);
  EXPECT_EQ(tiling.columnOf(7, 24, 2), 0);
  EXPECT_EQ(tiling.columnOf(8, 24, 2), 1);
  EXPECT_EQ(tiling.firstFeature(1, 24, 2), 8);
  EXPECT_EQ(tiling.featuresInColumn(1, 24, 2), 16);
  EXPECT_EQ(tiling.featuresInColumn(2, 24, 8), 8);
  EXPECT_EQ(tiling.featuresInColumn(3, 24, 8), 0);
  EXPECT_EQ(tiling.localFeaturesMax(24, 2), 16);
}

TEST_F(TiledAttrTest, HeadsOverSeveralColumns) {
  // 0 1 | 2 3 4 | 5 6 | 7 8 9 | (none)
  TiledAttr tiling = TiledAttr::balanced(&context, 1, 4, 4)
                         .withColumns(ColumnPlacement::Heads, 5)
                         .withHeadColumns(2);
  const int64_t first[] = {0, 2, 5, 7, 10}, count[] = {2, 3, 2, 3, 0};
  for (int64_t x = 0; x < 5; ++x) {
    EXPECT_EQ(tiling.firstFeature(x, 10, 5), first[x]);
    EXPECT_EQ(tiling.featuresInColumn(x, 10, 5), count[x]);
    for (int64_t i = 0; i < count[x]; ++i)
      EXPECT_EQ(tiling.columnOf(first[x] + i, 10, 5), x);
  }
  EXPECT_EQ(tiling.localFeaturesMax(10, 5), 3);
}

TEST_F(TiledAttrTest, ReplicatedRowsHoldEveryToken) {
  TiledAttr tiling = TiledAttr::balanced(&context, 2, 2, 8).perBatchElement();
  EXPECT_EQ(tiling.getTokens(), 1);
  EXPECT_EQ(tiling.rowsUsed(), 2);
  EXPECT_EQ(tiling.tokensInRow(0, 8), 1);
  EXPECT_EQ(tiling.tokensInRow(1, 8), 1);
  EXPECT_EQ(tiling.tokensInRow(2, 8), 0);
  EXPECT_EQ(tiling.tokensInRow(5, 8), 1);
}

TEST_F(TiledAttrTest, EveryTokenIsInExactlyTheRowThatOwnsIt) {
  for (int64_t height = 1; height < 9; ++height)
    for (int64_t batch = 1; batch < 7; ++batch)
      for (int64_t tokens = 1; tokens < 7; ++tokens) {
        TiledAttr tiling = TiledAttr::balanced(&context, batch, tokens, height);
        llvm::SmallVector<int64_t> inRow(height, 0);
        for (int64_t b = 0; b < batch; ++b)
          for (int64_t s = 0; s < tokens; ++s)
            ++inRow[tiling.rowOf(b, s, height)];
        for (int64_t y = 0; y < height; ++y) {
          EXPECT_EQ(inRow[y], tiling.tokensInRow(y, height));
          EXPECT_LE(inRow[y], tiling.tokensPerRowMax(height));
        }
      }
}

TEST_F(TiledAttrTest, SlicesOfWeightsAreViews) {
  mlir::Builder builder(&context);
  auto type = mlir::RankedTensorType::get({4, 6}, builder.getF32Type());
  auto weight =
      WeightAttr::get(&context, builder.getStringAttr("w"), type,
                      builder.getStringAttr("f"), 64, 96, {}, {}, 0, {});
  WeightAttr part = weight.slice(1, 2, 3);
  EXPECT_EQ(part.getType().getShape(), llvm::ArrayRef<int64_t>({4, 3}));
  EXPECT_EQ(part.getViewOffset(), 2);
  EXPECT_EQ(part.viewStrides(), llvm::SmallVector<int64_t>({6, 1}));
  EXPECT_EQ(part.streamedBytes(), 48);
}
