// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_WAVELET_WAVELETENGINE_H
#define RUNTIME_WAVELET_WAVELETENGINE_H

#include "runtime/engine/Engine.h"
#include "runtime/engine/Mesh.h"
#include "runtime/engine/PersistentState.h"

namespace wsec::runtime {

/// The `wavelet` engine: runs a lowered program by stepping every router, ramp
/// and PE that has something to do, cycle by cycle, with queues as deep as the
/// machine's. The reference for cycles and for deadlocks, for small meshes.
///
/// Refuses what the machine would refuse by throwing `Error`. A program may be
/// run any number of times; every run starts with uninitialised SRAM, but for
/// what persistent buffers hold.
class WaveletEngine {
public:
  /// `program` must outlive the engine.
  explicit WaveletEngine(const program::Program &program,
                         EngineOptions options = {});

  /// A call; without arguments of the only entry. `state`, which may be null,
  /// holds what persistent buffers keep; a run that fails leaves it alone.
  RunResult run(HostPort &host);
  RunResult run(HostPort &host, const Call &call,
                PersistentState *state = nullptr);

  /// Links and ramps that the wavelets of the last run passed, in sum.
  uint64_t hops() const { return lastHops; }

private:
  const program::Program &program;
  EngineOptions options;
  Mesh mesh;
  uint64_t lastHops = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_WAVELET_WAVELETENGINE_H
