// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_PARAMETERSTORE_H
#define RUNTIME_MEMORYX_PARAMETERSTORE_H

#include "runtime/memoryx/GradientSum.h"
#include "runtime/memoryx/LossScale.h"
#include "runtime/memoryx/ParameterSource.h"
#include "runtime/memoryx/Safetensors.h"
#include "runtime/memoryx/updates/Update.h"
#include "runtime/threads/Mutex.h"

#include <atomic>
#include <functional>
#include <map>
#include <optional>

namespace wsec::runtime {

struct StoreOptions {
  UpdatePtr update = adamW();
  /// The rule of a parameter, one of the name of `update` (which is that of all
  /// if this is empty), with other options.
  std::function<UpdatePtr(const std::string &parameter)> updateOf;
  double clipNorm = 0; ///< largest norm of all gradients together; 0: any
  std::optional<LossScale> lossScale; ///< of gradients of f16
  /// Where the state lies in mapped files; empty: in memory.
  std::string folder;
  /// Bytes of state in files that stay mapped in after use. While a parameter
  /// is read or updated, its own state comes on top.
  uint64_t residentBytes = uint64_t(1) << 30;
};

/// The parameters of a model while it is trained: the f32 master copy, the
/// moments of the update rule, and the gradients of the step that is being
/// accumulated. Weights leave it in f32, f16 or bf16.
///
///   one step:  accumulate() for each trainable parameter, once or more;
///              endStep(); read(), or a WeightStream, for the next pass
///
/// Updates are lazy: `endStep` only looks at the gradients (their norm needs
/// all of them), and a parameter is updated when it is next read, so that
/// nobody waits for the last layer's update before the first layer can stream.
/// The result is, bit for bit, that of updating all parameters at once.
///
/// Calls may come from several threads; results do not depend on which. Throws
/// BadCall where a call does not fit, e.g. a gradient for a frozen parameter.
class ParameterStore final : public ParameterSource {
public:
  explicit ParameterStore(StoreOptions options);
  ~ParameterStore() final;

  /// Adds a parameter of zeros and returns its number. A frozen one has neither
  /// gradient nor moments. Throws BadCall if there is one of that name.
  size_t add(const std::string &name, std::vector<uint64_t> shape,
             bool isTrainable = true);
  /// One with the values of a tensor of F32, F16 or BF16, else BadTensor.
  size_t add(const FileTensor &tensor, bool isTrainable = true);

  size_t size() const { return parameters.size(); }
  const std::string &name(size_t parameter) const;
  const std::vector<uint64_t> &shape(size_t parameter) const;
  uint64_t elements(size_t parameter) const;
  bool isTrainable(size_t parameter) const;
  /// Throws BadCall with the nearest names.
  size_t find(const std::string &name) const;

  /// Sets the weights; moments and gradients stay as they are.
  void write(size_t parameter, program::ElementType type, const void *weights);

  /// From now on the elements that `kept` has as 0 are 0, and so are their
  /// gradients and those of their moments that are of one element; empty: all
  /// are kept. What is kept again begins at 0. BadCall for a frozen parameter.
  void setMask(size_t parameter, std::vector<uint8_t> kept);
  const std::vector<uint8_t> &mask(size_t parameter) const;
  /// The sum of the gradients of the step so far, of all elements, until
  /// endStep(); null: there are none.
  const float *gradient(size_t parameter);

  /// Adds the sum of the gradients of samples [first, first + samples) of the
  /// batch; see GradientSum for which samples are possible. Sums, not means:
  /// what they are to be divided by is said once, in endStep.
  void accumulate(size_t parameter, program::ElementType type,
                  const void *gradient, uint64_t first, uint64_t samples);
  /// Adds the gradient of the next sample, in f32.
  void accumulate(size_t parameter, const float *gradient);

  /// What endStep found. A step with a number that is not finite changes
  /// nothing but the loss scale: neither weights nor moments nor the count of
  /// steps.
  struct StepResult {
    double gradientNorm; ///< of all gradients as divided, before clipping
    bool applied;
  };
  /// Ends the accumulation: gradients count as divided by `divisor` (tokens)
  /// and by the loss scale, and are clipped together, as by
  /// torch.nn.utils.clip_grad_norm_. Throws BadCall where not all trainable
  /// parameters have gradients of the same samples, or a WeightStream still
  /// reads.
  StepResult endStep(double learningRate, double divisor = 1);

  /// Weights [first, first + count) after the last step, as `type`: F32, or F16
  /// or BF16 rounded to nearest even.
  void read(size_t parameter, program::ElementType type, uint64_t first,
            uint64_t count, void *to);
  /// All of them, for a program: in f32 the master copy itself, which the
  /// first read after the next endStep() changes.
  std::shared_ptr<const uint8_t> elementsOf(const std::string &name,
                                            program::ElementType type,
                                            uint64_t count) final;
  /// All of them, in f32.
  std::vector<float> weights(size_t parameter);
  /// Updates all parameters now.
  void settle();

  uint64_t steps() const { return count; }
  /// What the loss of the next step is to be multiplied by.
  double lossScale() const { return scale ? scale->scale : 1; }
  /// What the training loop wants to find in a checkpoint: states of random
  /// generators, the position in the data, as it likes.
  std::map<std::string, std::vector<uint64_t>> progress;

  /// Bytes of master copies, moments and gradients.
  uint64_t bytes() const;

private:
  friend class Checkpoint;
  friend class WeightStream;
  struct Parameter;
  Parameter &at(size_t parameter) const;
  void checkTrainable(const Parameter &parameter) const;
  uint64_t checkSamples() const;
  double gradientNorm();
  void update(Parameter &parameter);
  void dropGradients();
  /// Keeps what is resident within its bound.
  void touched(Parameter &parameter);
  /// Drops what is resident of a parameter that nobody uses.
  void release(Parameter &parameter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(residency);

  const StoreOptions options;
  std::vector<std::unique_ptr<Parameter>> parameters;
  std::map<std::string, size_t> numbers;
  std::optional<LossScale> scale;
  uint64_t count = 0;
  double learningRate = 0, gradientScale = 1; ///< of the last step
  std::atomic<int> readers{0};                ///< WeightStreams

  Mutex residency;
  /// Parameters that are resident, by their last use.
  std::map<uint64_t, Parameter *> byUse ABSL_GUARDED_BY(residency);
  uint64_t clock ABSL_GUARDED_BY(residency) = 0;
  uint64_t resident ABSL_GUARDED_BY(residency) = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_PARAMETERSTORE_H
