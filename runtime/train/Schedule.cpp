// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/Schedule.h"

#include <algorithm>
#include <cmath>

namespace wsec::runtime {

double Schedule::rate(uint64_t step) const {
  if (step < warmupSteps)
    return learningRate * double(step) / double(warmupSteps);
  if (kind == Kind::Constant)
    return learningRate;
  if (kind == Kind::InverseSqrt) {
    constexpr uint64_t usual = 10000;
    const uint64_t scale = warmupSteps ? warmupSteps : usual;
    return learningRate *
           std::sqrt(double(scale) / double(step - warmupSteps + scale));
  }
  const double whole = std::max(1.0, double(steps) - double(warmupSteps));
  const double done = std::min(1.0, double(step - warmupSteps) / whole);
  const double left = kind == Kind::Linear
                          ? 1 - done
                          : (1 + std::cos(std::acos(-1.0) * done)) / 2;
  return endRate + (learningRate - endRate) * left;
}

std::optional<Schedule::Kind> findSchedule(const std::string &name) {
  if (name == "constant")
    return Schedule::Kind::Constant;
  if (name == "linear")
    return Schedule::Kind::Linear;
  if (name == "cosine")
    return Schedule::Kind::Cosine;
  if (name == "inverse-sqrt")
    return Schedule::Kind::InverseSqrt;
  return std::nullopt;
}

} // namespace wsec::runtime
