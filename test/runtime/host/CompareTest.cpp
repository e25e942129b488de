// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Compare.h"
#include "runtime/program/Errors.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

HostTensor floats(std::vector<float> values) {
  HostTensor tensor{DataType::Float32, {int64_t(values.size())}, {}};
  tensor.bytes.resize(values.size() * 4);
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

TEST(CompareTest, MeasuresAgainstTheLargestValue) {
  Comparison result = compareTensors("y", floats({1, 2.5f, -8}),
                                     floats({1, 2, -8}), {0.1, 0.1});
  EXPECT_EQ(result.maxError, 0.5);
  EXPECT_EQ(result.largest, 8);
  EXPECT_EQ(result.ratio(), 0.0625);
  EXPECT_EQ(result.worst, 1u);
  EXPECT_EQ(result.beyond, 1u);
}

TEST(CompareTest, ToleranceIsAbsolutePlusRelative) {
  EXPECT_TRUE(
      compareTensors("y", floats({10.25f}), floats({10}), {0.25, 0}).passes());
  EXPECT_TRUE(
      compareTensors("y", floats({10.25f}), floats({10}), {0, 0.025}).passes());
  EXPECT_FALSE(
      compareTensors("y", floats({10.25f}), floats({10}), {0.2, 0}).passes());
}

TEST(CompareTest, SpecialValuesMustBeInPlace) {
  Tolerance loose{1e30, 1e30};
  EXPECT_TRUE(compareTensors("y", floats({INFINITY, NAN}),
                             floats({INFINITY, NAN}), loose)
                  .passes());
  EXPECT_FALSE(
      compareTensors("y", floats({1}), floats({INFINITY}), loose).passes());
  EXPECT_FALSE(compareTensors("y", floats({NAN}), floats({1}), loose).passes());
}

TEST(CompareTest, ShapesMustAgree) {
  EXPECT_THROW(compareTensors("y", floats({1, 2}), floats({1}), {}), Error);
}

} // namespace
} // namespace wsec::runtime
