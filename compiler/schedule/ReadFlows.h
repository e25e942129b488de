// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between a `wse.program` and a problem of flows.

#ifndef WSEC_COMPILER_SCHEDULE_READFLOWS_H
#define WSEC_COMPILER_SCHEDULE_READFLOWS_H

#include "compiler/schedule/FlowProblem.h"
#include "dialects/wse/Wse.h"

namespace wsec {

/// A problem, the kernels of its launches and the symbol of the stream of each
/// of its transfers.
struct FlowReading {
  FlowProblem problem;
  llvm::SmallVector<wse::KernelOp> kernels;
  llvm::SmallVector<mlir::FlatSymbolRefAttr> streams;
};

/// What the kernels of each entry, in the order in which they run, move from
/// and to the host. Fails where one lacks its slot, or a stream that it needs.
mlir::FailureOr<llvm::SmallVector<FlowReading>>
readFlows(wse::ProgramOp program);

/// Adds the windows and flows of `schedule` to the kernels.
void writeFlows(const FlowReading &reading, const FlowSchedule &schedule);

/// What writeFlows wrote. Fails where a kernel lacks its window or a flow.
mlir::FailureOr<FlowSchedule> readFlowSchedule(const FlowReading &reading);

} // namespace wsec

#endif // WSEC_COMPILER_SCHEDULE_READFLOWS_H
