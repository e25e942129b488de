// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_ROUTE_PASSES_H
#define WSEC_COMPILER_ROUTE_PASSES_H

#include "compiler/plan/Plan.h"

#include "mlir/Pass/Pass.h"

namespace wsec::route {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/route/Passes.h.inc"

/// The pass that adds what there is too little of to `shortages`, if there are
/// any.
std::unique_ptr<mlir::Pass> createRouteStreamsPass(plan::Shortages *shortages);

/// placed -> routed: `wse-route-streams`, then `wse-verify-routed`.
void buildRoutePipeline(mlir::OpPassManager &manager,
                        plan::Shortages *shortages = nullptr);

} // namespace wsec::route

#endif // WSEC_COMPILER_ROUTE_PASSES_H
