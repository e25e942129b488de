// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/Passes.h"
#include "dialects/wse/Wse.h"

#include "mlir/Pass/PassManager.h"

using namespace wsec;

void place::buildPlacePipeline(mlir::OpPassManager &manager,
                               const std::string &placement,
                               plan::Shortages *shortages) {
  PlaceKernelsPassOptions options;
  options.placement = placement;
  manager.addNestedPass<wse::ProgramOp>(
      place::createPlaceKernelsPass(options, shortages));
  manager.addNestedPass<wse::ProgramOp>(place::createVerifyPlacedPass());
}
