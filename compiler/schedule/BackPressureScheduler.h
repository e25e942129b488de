// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SCHEDULE_BACKPRESSURESCHEDULER_H
#define WSEC_COMPILER_SCHEDULE_BACKPRESSURESCHEDULER_H

#include "compiler/schedule/FlowProblem.h"

namespace wsec {

/// Transfers in the order of launches, within one in the order of their first
/// use: a word waits for nothing but what is used before it. Each begins as
/// soon as the words of its color before have entered and the store has its
/// own, and ends when its last word finds room, which is when the word `queue`
/// places before it is used.
FlowSchedule scheduleByBackPressure(const FlowProblem &problem);

} // namespace wsec

#endif // WSEC_COMPILER_SCHEDULE_BACKPRESSURESCHEDULER_H
