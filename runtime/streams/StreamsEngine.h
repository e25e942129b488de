// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STREAMS_STREAMSENGINE_H
#define RUNTIME_STREAMS_STREAMSENGINE_H

#include "runtime/engine/Engine.h"
#include "runtime/engine/Mesh.h"
#include "runtime/engine/PersistentState.h"

namespace wsec::runtime {

/// The `streams` engine: moves words as far as nothing can hold them up and
/// executes as many steps of an instruction as it has words for, PE by PE in
/// the order of simulated time. See README.md for what it counts and what it
/// does not.
///
/// Refuses what the machine would refuse by throwing `Error`. A program may be
/// run any number of times; every run starts with uninitialised SRAM, but for
/// what persistent buffers hold.
class StreamsEngine {
public:
  /// `program` must outlive the engine.
  explicit StreamsEngine(const program::Program &program,
                         EngineOptions options = {});

  /// A call; without arguments of the only entry. `state`, which may be null,
  /// holds what persistent buffers keep; a run that fails leaves it alone.
  RunResult run(HostPort &host);
  RunResult run(HostPort &host, const Call &call,
                PersistentState *state = nullptr);

private:
  const program::Program &program;
  EngineOptions options;
  Mesh mesh;
};

} // namespace wsec::runtime

#endif // RUNTIME_STREAMS_STREAMSENGINE_H
