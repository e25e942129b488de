// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A position for each region.

#include "compiler/place/Passes.h"
#include "compiler/place/PlacementFile.h"
#include "compiler/place/ReadPlacement.h"
#include "compiler/placement/PlacementSolver.h"

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
    std::string error = problem.verify(pinsOf(problem));
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
      error = solvePlacement(problem, {}, solution);
    if (!error.empty()) {
      program.emitError(error);
      return signalPassFailure();
    }
    for (auto [region, placed] :
         llvm::zip(regionsOf(program), solution.regions)) {
      region.setX(placed.at.x);
      region.setY(placed.at.y);
    }
    program.setState(wse::State::Placed);
  }
};

} // namespace
