// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches as every engine names, times and charges them.
#ifndef RUNTIME_ENGINE_LAUNCHES_H
#define RUNTIME_ENGINE_LAUNCHES_H

#include "runtime/engine/Engine.h"
#include "runtime/engine/Router.h"

#include <functional>
#include <string>
#include <vector>

namespace wsec::runtime {

/// "kernel 'fc1', launch 3", for messages.
std::string describeLaunch(const program::Program &program, size_t launch);

/// When launches ran, as far as is known.
class LaunchLog {
public:
  /// `furthest`, or null, is told the furthest launch noted.
  LaunchLog(size_t launches, std::atomic<uint64_t> *furthest)
      : times(launches), noted(launches), furthest(furthest) {}

  /// Something of a launch happens from `start` to `end`. Whether it is the
  /// first.
  bool note(size_t launch, double start, double end);
  /// Of the last of them.
  double end() const;
  /// Start and end of each launch, the cycles of the run and those of each
  /// kernel.
  void report(const program::Program &program, RunResult &result) const;

private:
  std::vector<LaunchTime> times;
  std::vector<bool> noted;
  std::atomic<uint64_t> *furthest;
};

/// Throws MissingRoute if the command color does not reach a PE that
/// `commanded` names, of a program that launches anything.
void requireCommands(const program::Program &program,
                     const RouterTables &router, const Flow &command,
                     const std::function<bool(int pe)> &commanded);

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_LAUNCHES_H
