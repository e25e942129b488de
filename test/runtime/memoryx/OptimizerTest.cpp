// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Optimizer.h"
#include "runtime/program/ProceduralFile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace wsec::runtime;

namespace {
constexpr size_t count = 1000;
using Floats = std::vector<float>;

Floats numbers(uint64_t seed, float range, float mean = 0) {
  Floats result(count);
  ProceduralFile{seed, range, mean}.read(0, 1, count, result.data());
  return result;
}

/// 100 steps on two tensors, with two gradients for each in every step and a
/// rate that falls.
Optimizer trained(UpdateRule rule, bool eager) {
  Optimizer optimizer(rule);
  optimizer.add(numbers(100, 1));
  optimizer.add(numbers(101, 1));
  for (uint64_t step = 0; step < 100; ++step) {
    for (uint64_t tensor : {0, 1})
      for (uint64_t start : {1000, 5000})
        optimizer.accumulate(
            tensor, numbers(start + 2 * step + tensor, 0.1F, 0.05F).data());
    EXPECT_TRUE(optimizer.endStep(1e-2 * (1 - double(step) / 200)).applied);
    if (eager)
      optimizer.updateAll();
    else
      optimizer.weights(step % 2); // one of the two, before the other
  }
  EXPECT_EQ(optimizer.steps(), 100u);
  return optimizer;
}

UpdateRule sgd(double momentum, double decay, double clip) {
  UpdateRule rule;
  rule.kind = UpdateRule::Kind::Sgd;
  rule.momentum = momentum;
  rule.weightDecay = decay;
  rule.clipNorm = clip;
  return rule;
}

UpdateRule adamW(double clip) {
  UpdateRule rule;
  rule.weightDecay = 0.1;
  rule.clipNorm = clip;
  return rule;
}
} // namespace

/// Elements 0, 1, 500 and 999 of both tensors, from PyTorch 2.13:
///   w[k].grad = numbers(1000 + 2 t + k) + numbers(5000 + 2 t + k)
///   clip_grad_norm_(w, clip); optimizer.step()
TEST(OptimizerTest, FollowsPyTorch) {
  const struct {
    UpdateRule rule;
    float expected[8];
  } rows[] = {{adamW(0),
               {0.0942673534F, -1.15340221F, -0.35595566F, -0.678355277F,
                -0.460761964F, 0.0962731987F, -0.647406936F, -1.02672577F}},
              {adamW(1),
               {0.0936142504F, -1.15276575F, -0.356142521F, -0.678505719F,
                -0.460451007F, 0.0959757641F, -0.646954F, -1.02628541F}},
              {sgd(0.9, 0.1, 0),
               {-0.150417805F, -0.785554051F, -0.360049993F, -0.564241529F,
                -0.471739382F, -0.182247594F, -0.522198439F, -0.751077235F}},
              {sgd(0, 0, 1),
               {0.664743185F, -0.708023667F, 0.159685075F, -0.166822031F,
                0.0823667943F, 0.690366805F, -0.106588386F, -0.508855343F}}};
  for (const auto &row : rows) {
    Optimizer optimizer = trained(row.rule, true);
    for (size_t i = 0; i < 8; ++i) {
      const size_t element = std::array{0, 1, 500, 999}[i % 4];
      EXPECT_NEAR(optimizer.weights(i / 4)[element], row.expected[i], 1e-6)
          << &row - rows << " " << i;
    }
  }
}

TEST(OptimizerTest, LateUpdatesAreTheSameBits) {
  for (const UpdateRule &rule :
       {adamW(1), adamW(0), sgd(0.9, 0.1, 1), sgd(0, 0.1, 0)}) {
    Optimizer eager = trained(rule, true), lazy = trained(rule, false);
    for (size_t tensor : {0, 1})
      EXPECT_EQ(eager.weights(tensor), lazy.weights(tensor));
  }
}

TEST(OptimizerTest, GradientsAreDividedOnce) {
  Optimizer scaled(adamW(1)), plain(adamW(1));
  for (Optimizer *optimizer : {&scaled, &plain}) {
    optimizer->add(numbers(1, 1));
    Floats gradient = numbers(2, 1);
    if (optimizer == &scaled)
      for (float &value : gradient)
        value *= 1024;
    optimizer->accumulate(0, gradient.data());
  }
  const auto a = scaled.endStep(0.1, 1024), b = plain.endStep(0.1);
  EXPECT_EQ(a.gradientNorm, b.gradientNorm);
  EXPECT_EQ(scaled.weights(0), plain.weights(0));
}

TEST(OptimizerTest, StepsThatAreNotFiniteChangeNothing) {
  Optimizer disturbed(adamW(1)), calm(adamW(1));
  for (Optimizer *optimizer : {&disturbed, &calm}) {
    optimizer->add(numbers(1, 1));
    for (uint64_t step = 0; step < 3; ++step) {
      if (optimizer == &disturbed) {
        Floats bad = numbers(7, 1);
        bad[5] = std::numeric_limits<float>::infinity();
        optimizer->accumulate(0, bad.data());
        const auto result = optimizer->endStep(0.1);
        EXPECT_FALSE(result.applied);
        EXPECT_FALSE(std::isfinite(result.gradientNorm));
      }
      optimizer->accumulate(0, numbers(2 + step, 1).data());
      EXPECT_TRUE(optimizer->endStep(0.1).applied);
    }
  }
  EXPECT_EQ(disturbed.weights(0), calm.weights(0));
  EXPECT_EQ(disturbed.steps(), 3u);
}

TEST(OptimizerTest, UnknownTensorsAreRefused) {
  Optimizer optimizer(adamW(0));
  EXPECT_THROW(optimizer.weights(0), std::out_of_range);
  EXPECT_THROW(optimizer.accumulate(0, nullptr), std::out_of_range);
}
