// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/Passes.h"
#include "dialects/wse/Wse.h"

#include "mlir/Pass/PassManager.h"

using namespace wsec;

void schedule::buildSchedulePipeline(mlir::OpPassManager &manager,
                                     plan::Shortages *shortages) {
  manager.addNestedPass<wse::ProgramOp>(
      schedule::createScheduleLaunchesPass(shortages));
  manager.addNestedPass<wse::ProgramOp>(schedule::createVerifyScheduledPass());
}
