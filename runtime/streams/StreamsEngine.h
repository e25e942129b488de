// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STREAMS_STREAMSENGINE_H
#define RUNTIME_STREAMS_STREAMSENGINE_H

#include "runtime/engine/Engine.h"
#include "runtime/engine/Mesh.h"

namespace wsec::runtime {

/// The `streams` engine: moves words as far as nothing can hold them up and
/// executes as many steps of an instruction as it has words for, PE by PE in
/// the order of simulated time. See README.md for what it counts and what it
/// does not.
///
/// Refuses what the machine would refuse by throwing `Error`. A program may be
/// run any number of times; every run starts with uninitialised SRAM.
class StreamsEngine {
public:
  /// `program` must outlive the engine.
  explicit StreamsEngine(const program::Program &program,
                         EngineOptions options = {});

  RunResult run(HostPort &host);

private:
  const program::Program &program;
  EngineOptions options;
  Mesh mesh;
};

} // namespace wsec::runtime

#endif // RUNTIME_STREAMS_STREAMSENGINE_H
