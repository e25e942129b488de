// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/values/Tensor.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace wsec::values;

static Tensor counting(llvm::ArrayRef<int64_t> shape) {
  Tensor tensor(ElementType::Int64, shape);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.setInt(i, i);
  return tensor;
}

static std::vector<int64_t> elements(const StridedView &view,
                                     llvm::ArrayRef<int64_t> root) {
  Tensor seen = counting(root).viewed(view);
  std::vector<int64_t> result;
  for (int64_t i = 0; i < seen.size(); ++i)
    result.push_back(seen.asInt(i));
  return result;
}

TEST(StridedViewTest, TransposeTwiceIsTheRoot) {
  StridedView view = StridedView::whole({2, 3, 4}).transposed({2, 0, 1});
  EXPECT_EQ(view.shape(), Shape({4, 2, 3}));
  EXPECT_FALSE(view.isContiguous());
  EXPECT_TRUE(view.transposed({1, 2, 0}).isContiguous());
}

// Merging batch and heads has no single stride, and splits again.
TEST(StridedViewTest, MergedHeadsSplitAgain) {
  StridedView heads = StridedView::whole({2, 5, 12})
                          .reshaped({2, 5, 3, 4})
                          ->transposed({0, 2, 1, 3});
  std::optional<StridedView> merged = heads.reshaped({6, 5, 4});
  ASSERT_TRUE(merged);
  EXPECT_FALSE(merged->strides());
  std::optional<StridedView> back = merged->reshaped({2, 3, 5, 4});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->strides(), Shape({60, 4, 12, 1}));
  EXPECT_TRUE(back->transposed({0, 2, 1, 3}).isContiguous());
}

TEST(StridedViewTest, ReshapeThatCutsUnevenlyIsNoView) {
  StridedView view = StridedView::whole({2, 3}).transposed({1, 0});
  EXPECT_FALSE(view.reshaped({2, 3}));
  EXPECT_TRUE(view.reshaped({3, 1, 2}));
}

TEST(StridedViewTest, SliceBackwards) {
  std::optional<StridedView> view = StridedView::whole({4}).sliced(0, 3, 2, -2);
  ASSERT_TRUE(view);
  EXPECT_EQ(elements(*view, {4}), (std::vector<int64_t>{3, 1}));
}

TEST(StridedViewTest, ExpandRepeats) {
  StridedView view = StridedView::whole({2, 1}).expanded({2, 2, 3});
  EXPECT_EQ(elements(view, {2, 1}),
            (std::vector<int64_t>{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
}

TEST(StridedViewTest, NoElements) {
  StridedView view = StridedView::whole({2, 0, 3});
  EXPECT_EQ(view.reshaped({0, 6})->shape(), Shape({0, 6}));
  EXPECT_TRUE(elements(view, {2, 0, 3}).empty());
}

TEST(TensorTest, BytesRoundTripInEveryType) {
  for (ElementType type :
       {ElementType::Float16, ElementType::BFloat16, ElementType::Float32,
        ElementType::Float64, ElementType::Int8, ElementType::Int16,
        ElementType::Int32, ElementType::Int64}) {
    Tensor tensor(type, {3});
    for (int64_t i = 0; i < 3; ++i)
      isFloat(type) ? tensor.setFloat(i, i - 1.5) : tensor.setInt(i, i - 1);
    std::vector<char> bytes = tensor.toBytes();
    EXPECT_EQ(int64_t(bytes.size()), tensor.bytes());
    Tensor back = Tensor::fromBytes(type, {3}, bytes);
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_EQ(back.asFloat(i), tensor.asFloat(i));
  }
}

TEST(TensorTest, CastSaturatesAndWraps) {
  Tensor floats(ElementType::Float64, {2});
  floats.setFloat(0, 1e30);
  floats.setFloat(1, NAN);
  Tensor integers = floats.cast(ElementType::Int64);
  EXPECT_EQ(integers.asInt(0), INT64_MAX);
  EXPECT_EQ(integers.asInt(1), 0);
  Tensor wide(ElementType::Int32, {1});
  wide.setInt(0, 300);
  EXPECT_EQ(wide.cast(ElementType::Int8).asInt(0), 44);
}
