// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_UPDATES_UPDATE_H
#define RUNTIME_MEMORYX_UPDATES_UPDATE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace wsec::runtime {

/// A tensor of the state of an update rule for one parameter, in f32.
struct Moment {
  std::string name; ///< as PyTorch calls it: "exp_avg"
  std::vector<uint64_t> shape;
};

/// One step of one parameter. The gradient counts as multiplied by
/// `gradientScale`, which holds the loss scale, the number of samples and the
/// clipping of the step.
struct ParameterStep {
  const std::vector<uint64_t> &shape;
  size_t count; ///< elements of the shape
  float *weights;
  const float *gradient;
  std::vector<float *> moments; ///< in the order of Update::moments
  double gradientScale;
  double learningRate;
  uint64_t step; ///< from 1; skipped steps do not count
};

/// How weights follow gradients. Arithmetic is in f32, element by element in
/// their order; sums over a tensor are in f64. Moments start as zeros.
class Update {
public:
  virtual ~Update() = default;
  /// The name in checkpoints.
  virtual std::string_view name() const = 0;
  virtual std::vector<Moment>
  moments(const std::vector<uint64_t> &shape) const = 0;
  virtual void apply(const ParameterStep &step) const = 0;
};

using UpdatePtr = std::shared_ptr<const Update>;

/// torch.optim.SGD: v = momentum v + (g + weightDecay w), w -= rate v; with
/// `nesterov` w -= rate (g + weightDecay w + momentum v).
struct SgdOptions {
  double momentum = 0, weightDecay = 0;
  bool nesterov = false;
};
UpdatePtr sgd(SgdOptions options = {});

/// torch.optim.AdamW: Loshchilov and Hutter 2019.
struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weightDecay = 0;
};
UpdatePtr adamW(AdamWOptions options = {});

/// Shazeer and Stern 2018, with the options of the Adafactor of `transformers`,
/// which trained T5. Of tensors of two and more dimensions the second moment is
/// kept as one mean for each row and each column of the last two.
///
/// With `relativeStep` the learning rate of a step is an upper bound of
/// 1 / sqrt(step). A bound of 1e-2 is relative_step=True of `transformers`, of
/// 1e-6 * step its warmup_init; torch.optim.Adafactor is this with lr as the
/// bound, where no weights decay.
struct AdafactorOptions {
  double decayRate = -0.8;
  double epsilonSquare = 1e-30; ///< added to squares of gradients
  double epsilonScale = 1e-3;   ///< least scale of a parameter
  double clipThreshold = 1;     ///< largest root mean square of an update
  double beta1 = 0;             ///< first moment; 0: none is kept
  double weightDecay = 0;       ///< times the learning rate, as PyTorch's
  bool scaleParameter = true;   ///< rates times the weights' root mean square
  bool relativeStep = true;
};
UpdatePtr adafactor(AdafactorOptions options = {});

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_UPDATES_UPDATE_H
