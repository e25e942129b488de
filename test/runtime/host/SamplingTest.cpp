// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Sampling.h"
#include "runtime/program/Errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace wsec::runtime {
namespace {

/// Shares of tokens 7, 2, 9 and 4 at a temperature of 1: 4/8, 2/8, 1/8, 1/8.
std::vector<Likely> tokens() {
  return {{2, std::log(2.0)}, {9, 0}, {7, std::log(4.0)}, {4, 0}};
}

std::map<int64_t, int> drawn(const Sampling &sampling, int times = 8000) {
  Sampler sampler(sampling);
  std::map<int64_t, int> counts;
  for (int i = 0; i < times; ++i)
    ++counts[sampler.choose(tokens())];
  return counts;
}

TEST(SamplingTest, TakesTheLikeliest) {
  EXPECT_EQ(drawn({}), (std::map<int64_t, int>{{7, 8000}}));
  EXPECT_EQ(drawn({.temperature = 2, .topK = 1}),
            (std::map<int64_t, int>{{7, 8000}}));
  Sampler sampler(Sampling{});
  EXPECT_EQ(sampler.choose({{3, 1}, {8, 5}, {6, 5}}), 6);
}

TEST(SamplingTest, DrawsByShare) {
  auto counts = drawn({.temperature = 1, .seed = 3});
  EXPECT_NEAR(counts[7], 4000, 200);
  EXPECT_NEAR(counts[2], 2000, 200);
  EXPECT_NEAR(counts[9], 1000, 150);
  EXPECT_NEAR(counts[4], 1000, 150);
  // Shares at a temperature of 1/2: 16/22, 4/22, 1/22, 1/22.
  EXPECT_NEAR(drawn({.temperature = 0.5})[7], 5818, 200);
}

TEST(SamplingTest, DrawsAmongTheFirst) {
  auto counts = drawn({.temperature = 1, .topK = 2});
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_NEAR(counts[7], 5333, 200);
  // Of equal ones the lowest; 3/4 are reached by two tokens, more by three.
  EXPECT_EQ(drawn({.temperature = 1, .topK = 3}).count(9), 0u);
  EXPECT_EQ(drawn({.temperature = 1, .topP = 0.7}).size(), 2u);
  EXPECT_EQ(drawn({.temperature = 1, .topP = 0.8}).size(), 3u);
  EXPECT_EQ(drawn({.temperature = 1, .topP = 0.01}).size(), 1u);
}

TEST(SamplingTest, SeedsTellDrawsApart) {
  const auto sequence = [](uint64_t seed) {
    Sampler sampler({.temperature = 1, .seed = seed});
    std::vector<int64_t> ids;
    for (int i = 0; i < 20; ++i)
      ids.push_back(sampler.choose(tokens()));
    return ids;
  };
  EXPECT_EQ(sequence(1), sequence(1));
  EXPECT_NE(sequence(1), sequence(2));
}

TEST(SamplingTest, RefusesWhatIsNoNumber) {
  Sampler sampler(Sampling{});
  for (double logit : {std::numeric_limits<double>::quiet_NaN(),
                       std::numeric_limits<double>::infinity()})
    EXPECT_THROW(sampler.choose({{0, 1}, {1, logit}}), Error);
  EXPECT_THROW(sampler.choose({}), Error);
  EXPECT_EQ(
      sampler.choose({{0, -std::numeric_limits<double>::infinity()}, {1, 2}}),
      1);
}

} // namespace
} // namespace wsec::runtime
