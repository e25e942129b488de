// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which streams wait for others outside of the wafer.
#ifndef RUNTIME_ENGINE_STOREORDER_H
#define RUNTIME_ENGINE_STOREORDER_H

#include "runtime/engine/HostPort.h"
#include "runtime/program/Call.h"
#include "runtime/threads/Mutex.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace wsec::runtime {

/// Tensors that pass through the store in one call: launches write them, later
/// launches read them, and the store sends no word of one before all of it has
/// come. May be used from several threads; what it says depends on no order.
class StoreOrder {
public:
  StoreOrder(const Call &call, HostPort &host);

  /// The cycle in which the last word came of all intermediate tensors that an
  /// In stream reads, 0 if it reads none; nothing while words are missing.
  std::optional<double> complete(uint32_t stream) const;
  /// One channel of an Out stream has brought all its words for a launch, the
  /// last at cycle `when`. Whether that completes a tensor.
  bool arrived(uint32_t stream, double when);
  /// The intermediate tensors that each stream reads or writes.
  const std::vector<std::vector<uint32_t>> &byStream() const { return touched; }

private:
  struct Tensor {
    uint64_t missing = 0; ///< channels, counted for each launch
    double last = 0;
  };
  std::map<uint32_t, Tensor> tensors ABSL_GUARDED_BY(lock);
  /// By stream, the intermediate tensors that it reads or writes.
  std::vector<std::vector<uint32_t>> touched;
  mutable Mutex lock;
};

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_STOREORDER_H
