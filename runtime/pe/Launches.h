// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches as every engine names and times them.
#ifndef RUNTIME_PE_LAUNCHES_H
#define RUNTIME_PE_LAUNCHES_H

#include "runtime/program/Call.h"

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace wsec::runtime {

/// "kernel 'fc1', launch 3", for messages; the entry goes before it where the
/// program has several.
std::string describeLaunch(const Call &call, size_t launch);

/// When a launch ran, in cycles since the start of the run.
struct LaunchTime {
  double start = 0; ///< the first PE enters the routine
  double end = 0;   ///< the last PE, or a microthread of it, is done
};

/// When launches ran, as far as is known.
class LaunchLog {
public:
  /// `furthest`, or null, is told the furthest launch noted.
  LaunchLog(size_t launches, std::atomic<uint64_t> *furthest)
      : times(launches), noted(launches), furthest(furthest) {}

  /// Something of a launch happens from `start` to `end`. Whether it is the
  /// first.
  bool note(size_t launch, double start, double end);
  /// The end of the last of them.
  double end() const;
  const std::vector<LaunchTime> &all() const { return times; }

private:
  std::vector<LaunchTime> times;
  std::vector<bool> noted;
  std::atomic<uint64_t> *furthest;
};

} // namespace wsec::runtime

#endif // RUNTIME_PE_LAUNCHES_H
