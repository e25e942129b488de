// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/Passes.h"
#include "dialects/wse/Wse.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace wsec;

namespace wsec::route {
#define GEN_PASS_REGISTRATION
#include "compiler/route/Passes.h.inc"
} // namespace wsec::route

void route::buildRoutePipeline(mlir::OpPassManager &manager,
                               plan::Shortages *shortages) {
  manager.addNestedPass<wse::ProgramOp>(
      route::createRouteStreamsPass(shortages));
  manager.addNestedPass<wse::ProgramOp>(route::createVerifyRoutedPass());
}

void route::registerRoutePipeline() {
  registerRoutePasses();
  mlir::PassPipelineRegistration<>(
      "wsec-route", "Routes the streams: placed -> routed.",
      [](mlir::OpPassManager &manager) { buildRoutePipeline(manager); });
}
