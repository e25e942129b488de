// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SCHEDULE_FIRSTFITSCHEDULER_H
#define WSEC_COMPILER_SCHEDULE_FIRSTFITSCHEDULER_H

#include "compiler/schedule/SchedulingProblem.h"

namespace wsec {

/// Why the buffers do not fit.
struct SramOverflow {
  std::string message;
  size_t owner = 0; // what found no room: as Schedule::highWaterKernel
  /// A kernel whose scratch found no room.
  struct Scratch {
    size_t kernel;
    int64_t free, gap; ///< bytes that nothing else took, and those in one piece
  };
  /// All of these, up to a result that found none.
  std::vector<Scratch> scratch = {};
};

/// Launches the kernels in their order and gives every buffer the lowest
/// address that is free for all its life. Depends on nothing but the buffers
/// alive at that time, so that the layers of a deep model, which find the same
/// state, get the same addresses and can share their code. Returns true and
/// fills `schedule`, or fills `overflow`.
/// `order`: of the launches; that of `orderLaunches` if it is empty.
bool scheduleByFirstFit(const SchedulingProblem &problem, Schedule &schedule,
                        SramOverflow &overflow, std::vector<size_t> order = {});

} // namespace wsec

#endif // WSEC_COMPILER_SCHEDULE_FIRSTFITSCHEDULER_H
