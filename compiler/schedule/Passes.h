// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SCHEDULE_PASSES_H
#define WSEC_COMPILER_SCHEDULE_PASSES_H

#include "compiler/plan/Plan.h"

#include "mlir/Pass/Pass.h"

namespace wsec::schedule {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/schedule/Passes.h.inc"

/// The pass that adds what there is too little of to `shortages`, if there are
/// any.
std::unique_ptr<mlir::Pass>
createScheduleLaunchesPass(plan::Shortages *shortages);

/// routed -> scheduled: `wse-schedule-launches`, then `wse-verify-scheduled`.
void buildSchedulePipeline(mlir::OpPassManager &manager,
                           plan::Shortages *shortages = nullptr);

} // namespace wsec::schedule

#endif // WSEC_COMPILER_SCHEDULE_PASSES_H
