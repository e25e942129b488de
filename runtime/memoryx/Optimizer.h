// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_OPTIMIZER_H
#define RUNTIME_MEMORYX_OPTIMIZER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wsec::runtime {

/// How weights follow gradients; the rules and names of torch.optim.
struct UpdateRule {
  enum class Kind { Sgd, AdamW };
  Kind kind = Kind::AdamW;
  double momentum = 0; ///< of SGD
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double weightDecay = 0;
  double clipNorm = 0; ///< largest norm of all gradients together; 0: any
};

/// The f32 master copy of all parameters of a model, its optimizer, and the
/// gradients of the step that is being accumulated.
///
/// Updates are lazy: `endStep` only looks at the gradients (their norm needs
/// all of them), and a tensor is updated when its weights are next asked for,
/// so that nobody waits for the last layer's update before the first layer can
/// stream. The result is, bit for bit, that of updating all tensors at once.
class Optimizer {
public:
  explicit Optimizer(UpdateRule rule) : rule(rule) {}

  /// Adds a tensor and returns its number.
  size_t add(std::vector<float> weights);

  /// Adds a gradient of all elements of a tensor. Sums, not means: what they
  /// are to be divided by is said once, in endStep.
  void accumulate(size_t tensor, const float *gradient);

  /// What endStep found. A step with a number that is not finite changes
  /// nothing: neither weights nor moments nor the count of steps.
  struct StepResult {
    double gradientNorm; ///< of gradients over `divisor`, before clipping
    bool applied;
  };
  /// Ends the accumulation: gradients count as divided by `divisor` (loss
  /// scale, tokens), and are clipped together.
  StepResult endStep(double learningRate, double divisor = 1);

  /// The weights after the last step.
  const std::vector<float> &weights(size_t tensor);
  /// Updates all tensors now.
  void updateAll();
  uint64_t steps() const { return count; }

private:
  struct Tensor {
    std::vector<float> weights, gradient, first, second;
    bool pending = false;
  };
  /// What the updates of one step have in common.
  struct Pending {
    double learningRate = 0, gradientScale = 1;
  };
  void update(Tensor &tensor);
  void updateSgd(Tensor &tensor) const;
  void updateAdamW(Tensor &tensor) const;

  UpdateRule rule;
  std::vector<Tensor> tensors;
  Pending step;
  uint64_t count = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_OPTIMIZER_H
