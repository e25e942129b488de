// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STRIPS_STRIPSENGINE_H
#define RUNTIME_STRIPS_STRIPSENGINE_H

#include "runtime/engine/Engine.h"
#include "runtime/engine/PersistentState.h"

#include <memory>
#include <string>

namespace wsec::program {
struct Program;
}

namespace wsec::runtime {

/// The `strips` engine: runs a compiled program by moving whole streams.
/// Refuses what the machine would refuse by throwing `Error`.
///
/// A program may be run any number of times; every run starts with
/// uninitialised SRAM, but for what persistent buffers hold.
class StripsEngine {
public:
  /// What of the program it cannot run, such as "tasks"; empty: nothing.
  static std::string unsupported(const program::Program &program);

  /// `program` must outlive the engine. One with something unsupported is
  /// refused: `BadProgram`.
  explicit StripsEngine(const program::Program &program,
                        EngineOptions options = {});
  ~StripsEngine();
  StripsEngine(const StripsEngine &) = delete;
  StripsEngine &operator=(const StripsEngine &) = delete;

  /// A call; without arguments of the only entry. `state`, which may be null,
  /// holds what persistent buffers keep; a run that fails leaves it alone. With
  /// options.replay the first call of an entry is recorded, and others when
  /// they come the second time, as far as options.recordingBytes go, and again
  /// when other words of persistent buffers are written than before. Calls with
  /// new arguments replay the launches that these do not reach.
  RunResult run(HostPort &host);
  RunResult run(HostPort &host, const Call &call,
                PersistentState *state = nullptr);

private:
  class Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_STRIPSENGINE_H
