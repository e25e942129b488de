// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/Passes.h"
#include "dialects/wse/Wse.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace wsec;

namespace wsec::place {
#define GEN_PASS_REGISTRATION
#include "compiler/place/Passes.h.inc"
} // namespace wsec::place

void place::buildPlacePipeline(mlir::OpPassManager &manager,
                               const std::string &placement,
                               plan::Shortages *shortages) {
  PlaceKernelsPassOptions options;
  options.placement = placement;
  manager.addNestedPass<wse::ProgramOp>(
      place::createPlaceKernelsPass(options, shortages));
  manager.addNestedPass<wse::ProgramOp>(place::createVerifyPlacedPass());
}

void place::registerPlacePipeline() {
  registerPlacePasses();
  mlir::PassPipelineRegistration<>(
      "wsec-place", "Places the kernels: selected -> placed.",
      [](mlir::OpPassManager &manager) { buildPlacePipeline(manager); });
}
