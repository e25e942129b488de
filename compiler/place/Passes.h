// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACE_PASSES_H
#define WSEC_COMPILER_PLACE_PASSES_H

#include "compiler/plan/Plan.h"

#include "mlir/Pass/Pass.h"

#include <string>

namespace wsec::place {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/place/Passes.h.inc"

/// The pass that adds what there is too little of to `shortages`, if there are
/// any.
std::unique_ptr<mlir::Pass>
createPlaceKernelsPass(const PlaceKernelsPassOptions &options,
                       plan::Shortages *shortages);

/// selected -> placed: `wse-place-kernels`, with a placement of regions as JSON
/// if that is not empty, then `wse-verify-placed`.
void buildPlacePipeline(mlir::OpPassManager &manager,
                        const std::string &placement = "",
                        plan::Shortages *shortages = nullptr);

} // namespace wsec::place

#endif // WSEC_COMPILER_PLACE_PASSES_H
