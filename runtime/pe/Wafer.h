// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PE_WAFER_H
#define RUNTIME_PE_WAFER_H

#include "runtime/observe/Observer.h"
#include "runtime/pe/Coordinate.h"
#include "runtime/pe/Fabric.h"
#include "runtime/pe/Launches.h"
#include "runtime/pe/VectorRun.h"

#include <memory>
#include <vector>

namespace wsec::runtime::pe {

/// What all PEs of a run share and count together.
struct Wafer {
  /// `workLimit` as in EngineOptions; `observer` may be null.
  Wafer(const Call &call, Fabric &fabric, LaunchLog &launches,
        Observer *observer, uint64_t workLimit);

  /// Takes work off what the host allows.
  void spend(uint64_t work) {
    spent += work;
    if (spent > limit)
      failWorkLimit();
  }
  [[noreturn]] void failWorkLimit() const;
  void noteActive(size_t launch, Time time) {
    launches.note(launch, time, time);
  }
  Coordinate coordinate(int pe) const {
    return {pe % machine.width(), pe / machine.width()};
  }

  const Call &call;
  const program::Program &program;
  const program::Machine &machine;
  Fabric &fabric;
  LaunchLog &launches;
  Observer *const observer;
  Cycle now = -1; ///< the current cycle
  uint64_t vectorInstructions = 0, operations = 0, spent = 0;
  const uint64_t limit;
  std::vector<uint32_t> sent; ///< scratch: words of a step
  std::vector<std::unique_ptr<VectorRun>> spare;
};

} // namespace wsec::runtime::pe

#endif // RUNTIME_PE_WAFER_H
