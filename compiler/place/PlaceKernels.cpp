// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A position for each region.

#include "compiler/place/Passes.h"
#include "compiler/place/ReadPlacement.h"
#include "compiler/place/SkylinePlacer.h"

using namespace mlir;

namespace wsec::place {
#define GEN_PASS_DEF_PLACEKERNELSPASS
#include "compiler/place/Passes.h.inc"
} // namespace wsec::place

using namespace wsec;

namespace {

struct PlaceKernels final : place::impl::PlaceKernelsPassBase<PlaceKernels> {
  void runOnOperation() override {
    wse::ProgramOp program = getOperation();
    if (program.getState() != wse::State::Selected) {
      program.emitError("only a selected program can be placed, this one is ")
          << wse::stringifyState(program.getState());
      return signalPassFailure();
    }
    PlacementProblem problem = readPlacementProblem(program);
    Placement placement;
    std::string error = problem.check();
    if (error.empty())
      error = placeBySkyline(problem, placement);
    if (!error.empty()) {
      program.emitError(error);
      return signalPassFailure();
    }
    for (auto [region, origin] :
         llvm::zip(regionsOf(program), placement.origins)) {
      region.setX(origin.x);
      region.setY(origin.y);
    }
    program.setState(wse::State::Placed);
  }
};

} // namespace
