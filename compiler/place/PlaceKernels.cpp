// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A position for each region.

#include "compiler/place/CornerPlacer.h"
#include "compiler/place/Passes.h"
#include "compiler/place/PlacementFile.h"
#include "compiler/place/ReadPlacement.h"

using namespace mlir;

namespace wsec::place {
#define GEN_PASS_DEF_PLACEKERNELSPASS
#include "compiler/place/Passes.h.inc"
} // namespace wsec::place

using namespace wsec;

namespace {

struct PlaceKernels final : place::impl::PlaceKernelsPassBase<PlaceKernels> {
  using PlaceKernelsPassBase::PlaceKernelsPassBase;

  /// Positions as the file says; empty, or which rule they break.
  std::string takePlaces(wse::ProgramOp program) {
    llvm::Expected<PlacementFile> file = readPlacementFile(placement);
    if (!file)
      return llvm::toString(file.takeError());
    if (std::string error = pinRegions(program, *file); !error.empty())
      return error;
    PlacementProblem problem = readPlacementProblem(program);
    Placement pins;
    for (const RegionRequest &region : problem.regions)
      pins.origins.push_back(*region.pin);
    std::string error = problem.verify(pins);
    return error.empty() ? "" : "placement '" + placement + "': " + error;
  }

  void runOnOperation() override {
    wse::ProgramOp program = getOperation();
    if (program.getState() != wse::State::Selected) {
      program.emitError("only a selected program can be placed, this one is ")
          << wse::stringifyState(program.getState());
      return signalPassFailure();
    }
    std::string error = placement.empty() ? "" : takePlaces(program);
    PlacementProblem problem = readPlacementProblem(program);
    Placement solution;
    if (error.empty())
      error = problem.check();
    if (error.empty())
      error = placeInCorners(problem, solution);
    if (!error.empty()) {
      program.emitError(error);
      return signalPassFailure();
    }
    for (auto [region, origin] :
         llvm::zip(regionsOf(program), solution.origins)) {
      region.setX(origin.x);
      region.setY(origin.y);
    }
    program.setState(wse::State::Placed);
  }
};

} // namespace
