// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_PARAMETER_H
#define RUNTIME_MEMORYX_PARAMETER_H

#include "runtime/memoryx/ParameterStore.h"

namespace wsec::runtime {

/// A parameter as the store has it. `mutex` protects what is behind it.
struct ParameterStore::Parameter {
  Parameter(std::string name, std::vector<uint64_t> shape, uint64_t count,
            bool isTrainable, const std::string &folder)
      : name(std::move(name)), shape(std::move(shape)), count(count),
        isTrainable(isTrainable), weights(count, folder),
        gradient(count, folder) {}

  uint64_t bytes() const {
    uint64_t sum = weights.bytes() + gradient.bytes() + mask.size();
    for (const auto &moment : moments)
      sum += moment->bytes();
    return sum;
  }

  const std::string name;
  const std::vector<uint64_t> shape;
  const uint64_t count;
  const bool isTrainable;

  UpdatePtr update; ///< null: it is frozen
  Mutex mutex;
  StateRegion weights;
  std::vector<Moment> momentNames;
  std::vector<std::unique_ptr<StateRegion>> moments;
  GradientSum gradient;
  std::vector<uint8_t> mask; ///< elements that are kept; empty: all
  bool isPending = false;    ///< the last step is not applied yet

  /// When the store used it last, and its bytes that are resident.
  uint64_t lastUse = 0, residentBytes = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_PARAMETER_H
