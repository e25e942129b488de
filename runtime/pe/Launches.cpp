// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/Launches.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>

namespace wsec::runtime {

std::string describeLaunch(const Call &call, size_t launch) {
  std::string text = "launch " + std::to_string(launch);
  const auto *kernels = call.program().kernels();
  const uint32_t kernel = call.launch(launch).kernel();
  if (kernels && kernel < kernels->size())
    text =
        "kernel " + inQuotes(kernels->Get(kernel)->name()->str()) + ", " + text;
  return call.prefix() + text;
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

} // namespace wsec::runtime
