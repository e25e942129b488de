// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/updates/Update.h"

#include <cmath>

namespace wsec::runtime {
namespace {

class AdamW : public Update {
public:
  explicit AdamW(AdamWOptions options) : options(options) {}

  std::string_view name() const override { return "adamw"; }
  std::vector<Moment>
  moments(const std::vector<uint64_t> &shape) const override {
    return {{"exp_avg", shape}, {"exp_avg_sq", shape}};
  }

  /// In the order of torch.optim.AdamW.
  void apply(const ParameterStep &step) const override {
    const auto scale = float(step.gradientScale);
    const auto beta1 = float(options.beta1), beta2 = float(options.beta2);
    const auto rest1 = float(1 - options.beta1),
               rest2 = float(1 - options.beta2);
    const auto kept = float(1 - step.learningRate * options.weightDecay);
    const double times = double(step.step);
    const auto rate =
        float(step.learningRate / (1 - std::pow(options.beta1, times)));
    const auto root = float(std::sqrt(1 - std::pow(options.beta2, times)));
    const auto epsilon = float(options.epsilon);
    float *const first = step.moments[0], *const second = step.moments[1];
    for (size_t i = 0; i < step.count; ++i) {
      const float gradient = step.gradient[i] * scale;
      first[i] = beta1 * first[i] + rest1 * gradient;
      second[i] = beta2 * second[i] + rest2 * (gradient * gradient);
      const float divisor = std::sqrt(second[i]) / root + epsilon;
      step.weights[i] = step.weights[i] * kept - rate * (first[i] / divisor);
    }
  }

private:
  const AdamWOptions options;
};

} // namespace

UpdatePtr adamW(AdamWOptions options) {
  return std::make_shared<AdamW>(options);
}

} // namespace wsec::runtime
