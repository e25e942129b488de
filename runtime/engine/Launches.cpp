// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/Launches.h"

#include "runtime/program/Errors.h"

#include <algorithm>

namespace wsec::runtime {

std::string describeLaunch(const program::Program &program, size_t launch) {
  std::string text = "launch " + std::to_string(launch);
  const auto *kernels = program.kernels();
  const uint32_t kernel = program.launches()->Get(unsigned(launch))->kernel();
  if (kernels && kernel < kernels->size())
    text = "kernel '" + kernels->Get(kernel)->name()->str() + "', " + text;
  return text;
}

bool LaunchLog::note(size_t launch, double start, double end) {
  LaunchTime &time = times[launch];
  const bool first = !noted[launch];
  time.start = first ? start : std::min(time.start, start);
  time.end = first ? end : std::max(time.end, end);
  noted[launch] = true;
  if (furthest && *furthest < launch)
    *furthest = launch;
  return first;
}

double LaunchLog::end() const {
  double last = 0;
  for (const LaunchTime &time : times)
    last = std::max(last, time.end);
  return last;
}

void LaunchLog::report(const program::Program &program,
                       RunResult &result) const {
  result.launches = times;
  result.kernelCycles.resize(program.kernels() ? program.kernels()->size() : 0);
  for (size_t i = 0; i < times.size(); ++i) {
    const double before = result.cycles;
    result.cycles = std::max(before, times[i].end);
    const uint32_t kernel = program.launches()->Get(unsigned(i))->kernel();
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
      throw Error(
          ErrorClass::MissingRoute,
          "the command color " + std::to_string(program.command_color()) +
              " does not reach PE " + toString({pe % width, pe / width}));
}

} // namespace wsec::runtime
