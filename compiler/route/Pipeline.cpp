// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/Passes.h"
#include "dialects/wse/Wse.h"

#include "mlir/Pass/PassManager.h"

using namespace wsec;

void route::buildRoutePipeline(mlir::OpPassManager &manager,
                               plan::Shortages *shortages) {
  manager.addNestedPass<wse::ProgramOp>(
      route::createRouteStreamsPass(shortages));
  manager.addNestedPass<wse::ProgramOp>(route::createVerifyRoutedPass());
}
