// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/Launches.h"

#include "runtime/program/Errors.h"

#include <algorithm>

namespace wsec::runtime {

void reportLaunches(const Call &call, const LaunchLog &log, RunResult &result) {
  const program::Program &program = call.program();
  result.launches = log.all();
  result.kernelCycles.resize(program.kernels() ? program.kernels()->size() : 0);
  for (size_t i = 0; i < result.launches.size(); ++i) {
    const double before = result.cycles;
    result.cycles = std::max(before, result.launches[i].end);
    const uint32_t kernel = call.launch(i).kernel();
    if (kernel < result.kernelCycles.size())
      result.kernelCycles[kernel] += result.cycles - before;
  }
}

void requireCommands(const program::Program &program,
                     const RouterTables &router, const Flow &command,
                     const std::function<bool(int pe)> &commanded) {
  const int width = router.width();
  std::vector<bool> reached(size_t(width) * size_t(router.height()));
  for (const Arrival &arrival : command.delivered)
    reached[size_t(arrival.pe.y * width + arrival.pe.x)] = true;
  for (int pe = 0; pe < int(reached.size()); ++pe)
    if (!reached[size_t(pe)] && commanded(pe))
      throw Error(ErrorClass::MissingRoute,
                  "the launch color " + std::to_string(program.launch_color()) +
                      " does not reach PE " +
                      toString({pe % width, pe / width}));
}

} // namespace wsec::runtime
