// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/wse/Wse.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace wsec::wse;

namespace {
class DistributionTest : public ::testing::Test {
protected:
  DistributionTest() { context.loadDialect<WseDialect>(); }

  mlir::RankedTensorType parse(llvm::StringRef text) {
    return llvm::cast<mlir::RankedTensorType>(mlir::parseType(text, &context));
  }
  static PEPosition owner(mlir::RankedTensorType type,
                          llvm::ArrayRef<int64_t> index, int64_t width,
                          int64_t height) {
    return DistAttr::of(type).ownerOf(index, type.getShape(), width, height);
  }

  mlir::MLIRContext context;
};
} // namespace

// The drawing in the attribute's description: 2 x 3 tokens, 6 features, 4 x 5.
TEST_F(DistributionTest, OwnsWhatItsDrawingShows) {
  auto type =
      parse("tensor<2x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>");
  const int64_t row[2][3] = {{0, 0, 1}, {2, 2, 3}};
  const int64_t column[6] = {0, 1, 1, 2, 3, 3};
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t s = 0; s < 3; ++s)
      for (int64_t f = 0; f < 6; ++f)
        EXPECT_EQ(owner(type, {b, s, f}, 4, 5),
                  (PEPosition{column[f], row[b][s]}));
  EXPECT_EQ(DistAttr::bytesPerPE(type, 4, 5), 16);
  TokenTiling tiling = TokenTiling::of(type);
  EXPECT_EQ(tiling, TokenTiling(2, 3));
  EXPECT_EQ(tiling.group(5), 2);
  EXPECT_EQ(tiling.rowsUsed(5), 2);
  EXPECT_EQ(tiling.tokensPerRowMax(5), 2);
}

TEST_F(DistributionTest, LargeBatchesShareRowsWhole) {
  auto type =
      parse("tensor<5x3x4xf32, #wse.dist<rows = [0, 1], columns = [2]>>");
  EXPECT_EQ(owner(type, {2, 1, 0}, 4, 2).y, 0);
  EXPECT_EQ(owner(type, {3, 0, 0}, 4, 2).y, 1);
  EXPECT_EQ(DistAttr::bytesPerPE(type, 4, 2), 4 * 9);
  TokenTiling tiling = TokenTiling::of(type);
  EXPECT_EQ(tiling.group(2), 0);
  EXPECT_EQ(tiling.rowsUsed(2), 1);
  EXPECT_EQ(tiling.tokensPerRowMax(2), 9);
}

TEST_F(DistributionTest, HeadsStayWhole) {
  auto type =
      parse("tensor<1x4x24xf32, #wse.dist<rows = [0, 1], columns = [2 by 8]>>");
  EXPECT_EQ(owner(type, {0, 0, 7}, 2, 4).x, 0);
  EXPECT_EQ(owner(type, {0, 0, 8}, 2, 4).x, 1);
  EXPECT_EQ(DistAttr::bytesPerPE(type, 2, 4), 4 * 16);
  EXPECT_TRUE(TokenTiling::of(type).holdsHeads(8));
}

TEST_F(DistributionTest, HeadsOverSeveralColumns) {
  // 0 1 | 2 3 4 | 5 6 | 7 8 9 | (none)
  auto type = parse("tensor<1x4x10xf32, #wse.dist<rows = [0, 1], columns = [2 "
                    "by 5 over 2]>>");
  const int64_t column[10] = {0, 0, 1, 1, 1, 2, 2, 3, 3, 3};
  for (int64_t f = 0; f < 10; ++f)
    EXPECT_EQ(owner(type, {0, 0, f}, 5, 4).x, column[f]);
  EXPECT_EQ(DistAttr::bytesPerPE(type, 5, 4), 4 * 3);
}

TEST_F(DistributionTest, CopiesAreInSomeRowsOfEachBatchElement) {
  auto type = parse("tensor<2x2x6xf32, #wse.dist<rows = [0, replicated over "
                    "3], columns = []>>");
  EXPECT_EQ(owner(type, {1, 1, 0}, 4, 8), (PEPosition{0, 4}));
  EXPECT_EQ(DistAttr::bytesPerPE(type, 4, 8), 4 * 12);
  TokenTiling tiling = TokenTiling::of(type);
  EXPECT_EQ(tiling.rowsUsed(8), 3);
  EXPECT_EQ(tiling.tokensPerRowMax(8), 2);
  EXPECT_EQ(TokenTiling(2, 2).perBatchElement(8).getCopies(), 2);
}

// Rows take tokens in turn; those that go in are shared as others are.
TEST_F(DistributionTest, CyclicRowsTakeTokensInTurn) {
  auto type = parse("tensor<2x7x6xf32, #wse.dist<rows = [0, 1 cyclic], columns "
                    "= [2 by 3 over 2]>>");
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t s = 0; s < 7; ++s)
      EXPECT_EQ(owner(type, {b, s, 0}, 5, 7).y, b * 3 + s % 3);
  EXPECT_EQ(owner(type, {0, 1, 0}, 5, 40).y, 1);
  EXPECT_EQ(DistAttr::bytesPerPE(type, 5, 7), 4 * 3 * 2);
  TokenTiling tiling = TokenTiling::of(type);
  EXPECT_TRUE(tiling.isCyclic());
  EXPECT_EQ(tiling, TokenTiling::ofState(2, 7, 2, 3, 5));
  EXPECT_FALSE(tiling.sameRows(TokenTiling(2, 7)));
  EXPECT_EQ(tiling.forState(2),
            TokenTiling::of(parse("tensor<2x2x6xf32, #wse.dist<rows = [0, 1], "
                                  "columns = [2 by 3 over 2]>>")));
  EXPECT_EQ(tiling.forState(1, 4),
            TokenTiling::of(parse("tensor<2x1x24xf32, #wse.dist<rows = [0, 1], "
                                  "columns = [2 by 12 over 2]>>")));
}

// Tensors of other ranks: which dimensions are batch and tokens.
TEST_F(DistributionTest, AnyRankIsBatchTokensAndFeatures) {
  auto matrix = parse("tensor<6x4xf32, #wse.dist<rows = [0], columns = [1]>>");
  EXPECT_EQ(TokenTiling::of(matrix), TokenTiling(1, 6));
  EXPECT_EQ(owner(matrix, {5, 3}, 2, 3), (PEPosition{1, 2}));
  auto deep = parse(
      "tensor<2x3x4x8xf32, #wse.dist<rows = [0, (1, 2)], columns = [3]>>");
  EXPECT_EQ(TokenTiling::of(deep), TokenTiling(2, 12));
  EXPECT_EQ(owner(deep, {1, 2, 3, 0}, 2, 8), (PEPosition{0, 7}));
  auto vector = parse(
      "tensor<1x8xf32, #wse.dist<rows = [replicated over 4], columns = [1]>>");
  EXPECT_EQ(TokenTiling::of(vector), TokenTiling(1, 1).perVector(4));
}

// The encoding of a view is the one it was made of.
TEST_F(DistributionTest, EncodingsAreThoseOfTheirViews) {
  for (
      llvm::StringRef text :
      {"tensor<6x4xf32, #wse.dist<rows = [0], columns = [1]>>",
       "tensor<2x3x4x8xf32, #wse.dist<rows = [0, (1, 2)], columns = []>>",
       "tensor<1x3x4x8xf32, #wse.dist<rows = [0, (1, 2)], columns = [3 by 4]>>",
       "tensor<1x1x8xf32, #wse.dist<rows = [0, 1], columns = [2 by 4 over 2]>>",
       "tensor<1x5x8xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2]>>",
       "tensor<1x8xi32, #wse.dist<rows = [replicated over 4], columns = [1]>>",
       "tensor<2x1x8xf32, #wse.dist<rows = [0, replicated over 4], columns = "
       "[2]>>"}) {
    mlir::RankedTensorType type = parse(text);
    EXPECT_EQ(
        TokenTiling::of(type).type(type.getShape(), type.getElementType()),
        type);
  }
  // No dimensions of 6 x 4 make up a batch of 8.
  EXPECT_EQ(
      TokenTiling(8, 3).type({6, 4, 2},
                             parse("tensor<1xf32>").getElementType()),
      parse("tensor<8x3x2xf32, #wse.dist<rows = [0, 1], columns = [2]>>"));
}

TEST_F(DistributionTest, RowsHoldNoMoreThanTheFullest) {
  for (int64_t height = 1; height < 9; ++height)
    for (int64_t batch = 1; batch < 7; ++batch)
      for (int64_t tokens = 1; tokens < 7; ++tokens) {
        TokenTiling tiling(batch, tokens);
        auto type = tiling.type(1, parse("tensor<1xf32>").getElementType());
        llvm::SmallVector<int64_t> inRow(height, 0);
        for (int64_t b = 0; b < batch; ++b)
          for (int64_t s = 0; s < tokens; ++s)
            ++inRow[owner(type, {b, s, 0}, 1, height).y];
        EXPECT_EQ(*llvm::max_element(inRow), tiling.tokensPerRowMax(height));
        EXPECT_EQ(DistAttr::bytesPerPE(type, 1, height),
                  4 * tiling.tokensPerRowMax(height));
      }
}

TEST_F(DistributionTest, SlicesOfWeightsAreViews) {
  mlir::Builder builder(&context);
  auto type = mlir::RankedTensorType::get({4, 6}, builder.getF32Type());
  auto weight = WeightAttr::of(mlir::FlatSymbolRefAttr::get(&context, "w"),
                               type, 0, {6, 1});
  WeightAttr part = weight.slice(1, 2, 3);
  EXPECT_EQ(part.getType().getShape(), llvm::ArrayRef<int64_t>({4, 3}));
  EXPECT_EQ(part.getViewOffset(), 2);
  EXPECT_EQ(part.viewStrides(), llvm::SmallVector<int64_t>({6, 1}));
  EXPECT_EQ(part.streamedBytes(), 48);
}
