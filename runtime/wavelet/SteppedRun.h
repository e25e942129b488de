// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run: its launches and copies, and what is said of it at the end.
#ifndef RUNTIME_WAVELET_STEPPEDRUN_H
#define RUNTIME_WAVELET_STEPPEDRUN_H

#include "runtime/engine/PersistentState.h"
#include "runtime/pe/Processor.h"
#include "runtime/wavelet/HostChannels.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime::wavelet {

class SteppedRun : public Inspection {
public:
  /// `state` may be null. It is left alone unless the run comes to its end.
  SteppedRun(const Call &call, PersistentState *state, const Mesh &mesh,
             const EngineOptions &options, HostPort &host, LaunchLog &launches,
             HostChannels &west, EastChannels &east, Fabric &fabric);

  /// `settle` steps whoever is due, cycle by cycle, until nobody is.
  RunResult run(const std::function<void()> &settle);

  /// A cycle begins. Throws StopRun if the observer wants none after it.
  void beginCycle(pe::Cycle now);
  /// A PE is due in the current cycle.
  void step(int pe) {
    if (processors[size_t(pe)].exists())
      processors[size_t(pe)].step(wafer);
  }

private:
  void runCommands(const std::function<void()> &settle);
  void runCalls(const std::function<void()> &settle);
  pe::Cycle launch(uint32_t launch, pe::Cycle when,
                   const std::function<void()> &settle);
  void copy(uint32_t before);
  void requireNoCopies() const;
  void checkAtRest(size_t launches) const;
  void checkAllRead() const;
  RunResult result() const;

  // For observers:
  double cycle() const override;
  const ClassCode *code(int pe) const override { return mesh.codeAt(pe); }
  bool read(int pe, int64_t address, size_t bytes, void *into) const override;
  std::vector<std::string> threads(int pe) const override;
  std::vector<std::string> tasks(int pe) const override;
  std::vector<std::string> queues(int pe) const override;

  void loadState();
  void saveState();

  const Call &call;
  PersistentState *const state;
  const program::Program &program;
  const Mesh &mesh;
  HostPort &host;
  Observer *const observer;
  LaunchLog &launches;
  HostChannels &west;
  EastChannels &east;
  Fabric &fabric;
  pe::Wafer wafer;
  std::vector<pe::Processor> processors; ///< by PE
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_STEPPEDRUN_H
