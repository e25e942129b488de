// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/Passes.h"
#include "dialects/wse/Wse.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace wsec;

namespace wsec::schedule {
#define GEN_PASS_REGISTRATION
#include "compiler/schedule/Passes.h.inc"
} // namespace wsec::schedule

void schedule::buildSchedulePipeline(mlir::OpPassManager &manager,
                                     plan::Shortages *shortages) {
  manager.addNestedPass<wse::ProgramOp>(
      schedule::createScheduleLaunchesPass(shortages));
  manager.addNestedPass<wse::ProgramOp>(schedule::createVerifyScheduledPass());
}

void schedule::registerSchedulePipeline() {
  registerSchedulePasses();
  mlir::PassPipelineRegistration<>(
      "wsec-schedule", "Schedules the launches: routed -> scheduled.",
      [](mlir::OpPassManager &manager) { buildSchedulePipeline(manager); });
}
