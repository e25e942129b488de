// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/View.h"

#include <gtest/gtest.h>

using namespace wsec;
using Extents = llvm::SmallVector<int64_t>;

TEST(ViewTest, DenseIsRowMajor) {
  View view = View::dense({2, 3, 4});
  EXPECT_EQ(view.strides, Extents({12, 4, 1}));
  EXPECT_TRUE(view.isDense());
  EXPECT_EQ(view.numElements(), 24);
}

TEST(ViewTest, BroadcastRepeatsWithStrideZero) {
  View view = View::dense({3, 1}).broadcast({2, 3, 4});
  EXPECT_EQ(view.strides, Extents({0, 1, 0}));
  EXPECT_FALSE(view.isDense());
}

TEST(ViewTest, TransposePermutesStrides) {
  View view = View::dense({2, 3}).transpose({1, 0});
  EXPECT_EQ(view.shape, Extents({3, 2}));
  EXPECT_EQ(view.strides, Extents({1, 3}));
}

TEST(ViewTest, SliceMovesTheOffset) {
  View view = View::dense({4, 6}).slice({1, 5}, {2, -1}, {2, 3});
  EXPECT_EQ(view.offset, 11);
  EXPECT_EQ(view.strides, Extents({12, -1}));
}

TEST(ViewTest, ReshapeSplitsAndMergesWhatIsContiguous) {
  std::optional<View> merged = View::dense({2, 3, 4}).reshape({6, 4});
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->strides, Extents({4, 1}));
  std::optional<View> split = merged->reshape({3, 2, 1, 2, 2});
  ASSERT_TRUE(split);
  EXPECT_EQ(split->strides, Extents({8, 4, 0, 2, 1}));
  EXPECT_TRUE(split->isDense());
}

TEST(ViewTest, ReshapeKeepsStridesOfSlicesAndTransposes) {
  std::optional<View> view =
      View::dense({4, 6}).transpose({1, 0}).reshape({2, 3, 4});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->strides, Extents({3, 1, 6}));
}

TEST(ViewTest, ReshapeAcrossATransposeHasNoStrides) {
  EXPECT_FALSE(View::dense({4, 6}).transpose({1, 0}).reshape({24}));
  EXPECT_FALSE(View::dense({3, 1}).broadcast({3, 4}).reshape({12}));
}

TEST(ViewTest, ReshapeOfOnesHasNothingToMatch) {
  std::optional<View> view = View::dense({1, 1}).reshape({1});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->numElements(), 1);
}

TEST(ViewTest, WalkedDimensionsContinueOneAnother) {
  View view = View::dense({2, 3, 4, 5, 6});
  EXPECT_EQ(view.walkedDimensions(), 2);
  EXPECT_EQ(view.transpose({4, 2, 0, 3, 1}).walkedDimensions(), 5);
  EXPECT_EQ(view.transpose({2, 3, 4, 0, 1}).walkedDimensions(), 3);
  EXPECT_EQ(View::dense({1, 1, 6}).walkedDimensions(), 1);
}
