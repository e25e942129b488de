// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SCHEDULE_READSCHEDULE_H
#define WSEC_COMPILER_SCHEDULE_READSCHEDULE_H

#include "compiler/schedule/SchedulingProblem.h"
#include "dialects/wse/Wse.h"

namespace wsec {

/// What the kernels of a program need in the fullest PE, in the order of the
/// text; buffers may begin after the host runtime.
/// Fails on kernels that the library does not know.
mlir::FailureOr<SchedulingProblem>
readSchedulingProblem(wse::ProgramOp program);

} // namespace wsec

#endif // WSEC_COMPILER_SCHEDULE_READSCHEDULE_H
