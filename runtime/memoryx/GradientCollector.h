// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients that are let go as soon as somebody has seen them, so that not all
// of a large model's are there at once.
#ifndef RUNTIME_MEMORYX_GRADIENTCOLLECTOR_H
#define RUNTIME_MEMORYX_GRADIENTCOLLECTOR_H

#include "runtime/memoryx/TensorStore.h"
#include "runtime/threads/Mutex.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace wsec::runtime {

/// Sees the gradient of a parameter, whole; once more in a run that begins
/// anew. Calls follow one another, in any order.
using TakeGradient = std::function<void(const program::Tensor &parameter,
                                        std::span<const float> gradient)>;

/// Adds up the outputs of each parameter, in the order of the program's
/// tensors, as they arrive, shows the sum to `take`, and lets go of both. An
/// output that is all of a gradient is shown where it lies; of a sum, only what
/// something is added to takes memory.
class GradientCollector {
public:
  /// Begins a call that brings so many elements of each output.
  GradientCollector(TensorStore &store,
                    const std::map<uint32_t, uint64_t> &expected,
                    TakeGradient take);

  /// Elements of an output have arrived: from any thread.
  void arrived(uint32_t output, uint64_t elements);
  /// All have, and what is added up at the end has been.
  void finish();
  /// For another run.
  void restart();

private:
  struct Output {
    uint64_t expected = 0;
    std::atomic<uint64_t> left{0};
    std::vector<uint32_t> gradients; ///< itself, and what equals it
    bool isThere = false, isShown = false;
    size_t unused = 0; ///< of the gradients
  };
  struct Parameter {
    std::vector<uint32_t> outputs;
    size_t added = 0;
    TensorStore::OutputElements sum; ///< once something is added
  };
  void see(uint32_t output);
  /// Adds an output to a parameter, which is shown with the last one.
  void add(Parameter &parameter, uint32_t output,
           const program::Tensor &tensor);
  void advance(Parameter &parameter, const program::Tensor &tensor);
  uint32_t sourceOf(uint32_t output) const;

  TensorStore &store;
  const TakeGradient take;
  Mutex adding;
  std::map<uint32_t, Output> outputs;
  std::map<const program::Tensor *, Parameter> parameters; ///< looked up only
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_GRADIENTCOLLECTOR_H
