// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/Schedule.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace wsec::runtime;

namespace {

constexpr double pi = 3.14159265358979323846;

TEST(Schedule, ConstantAfterWarmUp) {
  const Schedule schedule{Schedule::Kind::Constant, 0.5, 0, 4, 10};
  EXPECT_EQ(schedule.rate(0), 0);
  EXPECT_EQ(schedule.rate(3), 0.375);
  EXPECT_EQ(schedule.rate(4), 0.5);
  EXPECT_EQ(schedule.rate(400), 0.5);
}

// The lambdas of get_linear_schedule_with_warmup and of
// get_cosine_schedule_with_warmup of `transformers`.
TEST(Schedule, AsOfTransformers) {
  Schedule schedule{Schedule::Kind::Linear, 2e-3, 0, 3, 20};
  for (uint64_t step = 0; step < 20; ++step)
    EXPECT_DOUBLE_EQ(schedule.rate(step),
                     2e-3 * (step < 3 ? double(step) / 3
                                      : (20.0 - double(step)) / (20 - 3)));
  schedule.kind = Schedule::Kind::Cosine;
  for (uint64_t step = 3; step < 20; ++step)
    EXPECT_NEAR(schedule.rate(step),
                2e-3 * 0.5 * (1 + std::cos(pi * (double(step) - 3) / 17)),
                1e-18);
}

// That of get_inverse_sqrt_schedule, with and without a warm-up.
TEST(Schedule, InverseSqrt) {
  Schedule schedule{Schedule::Kind::InverseSqrt, 2e-3, 0, 4, 20};
  EXPECT_DOUBLE_EQ(schedule.rate(2), 1e-3);
  EXPECT_DOUBLE_EQ(schedule.rate(4), 2e-3);
  EXPECT_DOUBLE_EQ(schedule.rate(16), 1e-3);
  schedule.warmupSteps = 0;
  EXPECT_DOUBLE_EQ(schedule.rate(0), 2e-3);
  EXPECT_DOUBLE_EQ(schedule.rate(30000), 1e-3);
}

TEST(Schedule, EndsAtItsRate) {
  for (const auto kind : {Schedule::Kind::Linear, Schedule::Kind::Cosine}) {
    const Schedule schedule{kind, 1e-3, 1e-4, 0, 10};
    EXPECT_DOUBLE_EQ(schedule.rate(0), 1e-3);
    EXPECT_DOUBLE_EQ(schedule.rate(10), 1e-4);
    EXPECT_DOUBLE_EQ(schedule.rate(1000), 1e-4);
    EXPECT_NEAR(schedule.rate(5), 5.5e-4, 1e-15);
  }
}

TEST(Schedule, Names) {
  EXPECT_EQ(findSchedule("cosine"), Schedule::Kind::Cosine);
  EXPECT_EQ(findSchedule("step"), std::nullopt);
}

} // namespace
