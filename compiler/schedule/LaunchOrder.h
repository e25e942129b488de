// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SCHEDULE_LAUNCHORDER_H
#define WSEC_COMPILER_SCHEDULE_LAUNCHORDER_H

#include "compiler/schedule/SchedulingProblem.h"

namespace wsec {

/// The kernels in the order of their launches. Regions run at the same time.
/// Kernels of one keep the order of the list, and the next launch is the one
/// that is predicted to start first, of several that on whose regions most is
/// left to be done, then the first of the list. A kernel takes part on its own
/// region and on those of its operands.
///
///   @a   [load   ][softmax][transfer]          load, load_1, softmax,
///   @b   [load_1     ]     [transfer][norm]    transfer, norm
std::vector<size_t> orderLaunches(const SchedulingProblem &problem);

} // namespace wsec

#endif // WSEC_COMPILER_SCHEDULE_LAUNCHORDER_H
