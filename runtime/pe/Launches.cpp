// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/Launches.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cmath>

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

/// Without what sums of fractions lose: equal times are equal numbers.
static double exact(double cycles) {
  constexpr double fractions = 1 << 16;
  return std::round(cycles * fractions) / fractions;
}

bool LaunchLog::note(size_t launch, double start, double end) {
  start = exact(start);
  end = exact(end);
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
