// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SCHEDULE_LAYOUTCLASSSCHEDULER_H
#define WSEC_COMPILER_SCHEDULE_LAYOUTCLASSSCHEDULER_H

#include "compiler/schedule/SchedulingProblem.h"

#include <optional>

namespace wsec {

/// Gives results of one layout class few addresses, so that kernels which do
/// the same find the same, and share their code, wherever they stand in the
/// model. That leaves holes, which most often are smaller than that code.
/// Results that live one after the other are one place, with an address where
/// nothing else is while one of them lives; scratch lies behind all results:
///
///     slot     0    1    2    3    4
///     0 to 63  aaaaaaaa  cccccccc  eeee    64 bytes each
///     to 95         bbbbbbbb  dddddddd     32 bytes each
///     to 111   ssss      ssss              scratch of a and of c
///
/// What is computed in the place of an operand keeps the oldest: what layers
/// add to stays where it is. Nothing if the SRAM is too small for this.
/// `order`: of the launches; that of `orderLaunches` if it is empty.
std::optional<Schedule> scheduleByLayoutClass(const SchedulingProblem &problem,
                                              std::vector<size_t> order = {});

/// Gives every buffer, result or scratch, a place of its own, each at the
/// lowest address that is free for all its life: those first that live where
/// most does, and of these the largest. That leaves the smallest gaps, and
/// addresses that repeat little.
std::optional<Schedule> scheduleByBreadth(const SchedulingProblem &problem,
                                          std::vector<size_t> order = {});

/// Gives addresses by breadth, one for all buffers of equal layouts, sizes and
/// numbers of slots that live one after the other: layers that do the same find
/// the same.
std::optional<Schedule> scheduleByLayers(const SchedulingProblem &problem,
                                         std::vector<size_t> order = {});

} // namespace wsec

#endif // WSEC_COMPILER_SCHEDULE_LAYOUTCLASSSCHEDULER_H
