// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/updates/Update.h"

namespace wsec::runtime {
namespace {

class Sgd : public Update {
public:
  explicit Sgd(SgdOptions options) : options(options) {}

  std::string_view name() const override { return "sgd"; }
  std::vector<Moment>
  moments(const std::vector<uint64_t> &shape) const override {
    if (options.momentum == 0)
      return {};
    return {{"momentum_buffer", shape}};
  }

  void apply(const ParameterStep &step) const override {
    if (options.momentum == 0)
      plain(step);
    else
      withMomentum(step);
  }

private:
  void plain(const ParameterStep &step) const {
    const auto scale = float(step.gradientScale),
               rate = float(step.learningRate),
               decay = float(options.weightDecay);
    for (size_t i = 0; i < step.count; ++i) {
      const float weight = step.weights[i];
      step.weights[i] =
          weight - rate * (step.gradient[i] * scale + decay * weight);
    }
  }

  /// From zeros, the first v is the first gradient.
  void withMomentum(const ParameterStep &step) const {
    const auto scale = float(step.gradientScale),
               rate = float(step.learningRate),
               decay = float(options.weightDecay),
               momentum = float(options.momentum);
    float *const velocity = step.moments[0];
    for (size_t i = 0; i < step.count; ++i) {
      const float weight = step.weights[i];
      const float change = step.gradient[i] * scale + decay * weight;
      const float next = momentum * velocity[i] + change;
      velocity[i] = next;
      step.weights[i] =
          weight - rate * (options.nesterov ? change + momentum * next : next);
    }
  }

  const SgdOptions options;
};

} // namespace

UpdatePtr sgd(SgdOptions options) { return std::make_shared<Sgd>(options); }

} // namespace wsec::runtime
