// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_ROUTE_PASSES_H
#define WSEC_COMPILER_ROUTE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace wsec::route {

#define GEN_PASS_DECL
#include "compiler/route/Passes.h.inc"

/// placed -> routed: `wse-route-streams`, then `wse-verify-routed`.
void buildRoutePipeline(mlir::OpPassManager &manager);

/// The passes of this folder and the pipeline `wsec-route`.
void registerRoutePipeline();

} // namespace wsec::route

#endif // WSEC_COMPILER_ROUTE_PASSES_H
