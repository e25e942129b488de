// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/TrainingData.h"
#include "runtime/host/OutputFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

using namespace wsec::runtime;
using testing::HasSubstr;

namespace {

template <class Number>
HostTensor tensor(DataType type, std::vector<int64_t> shape,
                  const std::vector<Number> &values) {
  HostTensor result{type, std::move(shape), {}};
  result.bytes.resize(values.size() * sizeof(Number));
  std::memcpy(result.bytes.data(), values.data(), result.bytes.size());
  return result;
}

std::unique_ptr<NamedArrays> opened(const NamedTensors &arrays,
                                    const std::string &labels = "") {
  const std::string path = testing::TempDir() + "/data.npz";
  OutputFiles files;
  files.add(path, formatNpz(arrays));
  files.commit();
  return NamedArrays::open(path, labels);
}

std::string errorOf(const std::function<void()> &make) {
  try {
    make();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

const NamedTensors three = {
    {"ids", tensor<uint8_t>(DataType::UInt8, {3, 2}, {1, 2, 3, 4, 5, 6})},
    {"t", tensor<int32_t>(DataType::Int32, {3}, {7, -100, 9})}};

TEST(NamedArrays, TheFirstSampleComesBehindTheLast) {
  const auto data = opened(three, "t");
  data->fit("ids", DataType::Int64, {1, -1});
  data->fit("t", DataType::Int64, {1});
  const NamedTensors samples = data->at(5, 2);
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].second.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(samples[0].second.type, DataType::Int64);
  EXPECT_EQ(samples[0].second.number(0), 5);
  EXPECT_EQ(samples[0].second.number(3), 2);
  EXPECT_EQ(samples[1].second.number(0), 9);
  EXPECT_EQ(data->summedLabels(5, 2), 2u);
  EXPECT_EQ(data->summedLabels(0, 3), 2u);
  EXPECT_EQ(data->summedLabels(1, 1), 0u);
}

TEST(NamedArrays, WhatNoInputTakesIsNotInTheDigest) {
  const auto one = opened(three), other = opened({three[0]});
  for (NamedArrays *data : {one.get(), other.get()})
    data->fit("ids", DataType::Int64, {1, 2});
  EXPECT_EQ(one->digest(), other->digest());
  one->fit("t", DataType::Int64, {1});
  EXPECT_NE(one->digest(), other->digest());
}

TEST(NamedArrays, RefusesByName) {
  EXPECT_THAT(errorOf([] {
                opened({three[0],
                        {"t", tensor<int32_t>(DataType::Int32, {2}, {1, 2})}});
              }),
              HasSubstr("has 2 samples, those before it 3"));
  EXPECT_THAT(errorOf([] {
                opened({{"x", tensor<int32_t>(DataType::Int32, {}, {1})}});
              }),
              HasSubstr("has no samples along a first axis"));
  const auto data = opened(three, "t");
  EXPECT_THAT(errorOf([&] { data->fit("idx", DataType::Int64, {1, 2}); }),
              HasSubstr("has no array 'idx'"));
  EXPECT_THAT(errorOf([&] { data->fit("ids", DataType::Int64, {1, 3}); }),
              HasSubstr("is uint8[3, 2], and the input takes int64[1, 3]"));
  EXPECT_THAT(errorOf([&] { data->fit("ids", DataType::Float32, {1, 2}); }),
              HasSubstr("and the input takes float32[1, 2]"));
  EXPECT_THAT(errorOf([&] { data->requireWithin("ids", 6); }),
              HasSubstr("sample 2 has 6, and the model takes 0 to 5"));
  EXPECT_EQ(errorOf([&] { data->requireWithin("t", 10); }), "");
  EXPECT_THAT(errorOf([&] { data->requireSamples(0, 8, 4, "2 steps of 4"); }),
              HasSubstr("2 steps of 4 samples: "));
  EXPECT_THAT(errorOf([&] { data->requireSamples(0, 2, 1, "2 steps of 1"); }),
              HasSubstr("no label of the 1 samples from 1 on counts"));
}

TEST(NamedArrays, NumbersThatDoNotFitAreRefused) {
  const auto data = opened(
      {{"x", tensor<int64_t>(DataType::Int64, {1}, {int64_t(1) << 40})}});
  EXPECT_THAT(errorOf([&] { data->fit("x", DataType::Int32, {1}); }),
              HasSubstr("is int64[1], and the input takes int32[1]"));
}

} // namespace
