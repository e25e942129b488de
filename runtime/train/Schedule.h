// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_SCHEDULE_H
#define RUNTIME_TRAIN_SCHEDULE_H

#include <cstdint>
#include <optional>
#include <string>

namespace wsec::runtime {

/// The learning rate of a step, which depends on nothing but its number: so a
/// run that is resumed goes on as if it had never stopped.
///
///   first `warmupSteps` steps   learningRate * step / warmupSteps, from 0 on
///   then   constant   learningRate
///          linear     from learningRate to endRate, in a line
///          cosine     the same, along half a period of a cosine
///          inverse-sqrt   learningRate * sqrt(warmupSteps / step), which does
///                     not end; without a warm-up as if 10,000 steps had one
///
/// Step `steps` would be the first one at endRate. As
/// get_{constant,linear,cosine}_schedule_with_warmup and
/// get_inverse_sqrt_schedule of `transformers`, which end at 0.
struct Schedule {
  enum class Kind { Constant, Linear, Cosine, InverseSqrt };
  Kind kind = Kind::Constant;
  double learningRate = 1e-3, endRate = 0;
  uint64_t warmupSteps = 0;
  uint64_t steps = 0; ///< of the whole run

  /// `step` from 0.
  double rate(uint64_t step) const;
};

std::optional<Schedule::Kind> findSchedule(const std::string &name);

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_SCHEDULE_H
