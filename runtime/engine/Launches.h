// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How launches are charged, and whether they reach everybody.
#ifndef RUNTIME_ENGINE_LAUNCHES_H
#define RUNTIME_ENGINE_LAUNCHES_H

#include "runtime/engine/Engine.h"
#include "runtime/engine/Router.h"
#include "runtime/pe/Launches.h"

#include <functional>

namespace wsec::runtime {

/// Start and end of each launch, the cycles of the run and those of each
/// kernel.
void reportLaunches(const Call &call, const LaunchLog &log, RunResult &result);

/// Throws MissingRoute if the launch color does not reach a PE that
/// `commanded` names, of a program that launches anything.
void requireCommands(const program::Program &program,
                     const RouterTables &router, const Flow &command,
                     const std::function<bool(int pe)> &commanded);

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_LAUNCHES_H
