// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/Passes.h"
#include "compiler/place/ReadPlacement.h"

using namespace mlir;

namespace wsec::place {
#define GEN_PASS_DEF_VERIFYPLACEDPASS
#include "compiler/place/Passes.h.inc"
} // namespace wsec::place

using namespace wsec;

/// The program says that it is placed, and has what a placed program has.
static LogicalResult checkPresent(wse::ProgramOp program) {
  if (program.getState() < wse::State::Placed)
    return program.emitError("expected a placed program, this one is ")
           << wse::stringifyState(program.getState());
  for (wse::RegionOp region : regionsOf(program))
    if (!region.isPlaced())
      return region.emitError("region of a placed program has no position");
  return success();
}

namespace {

struct VerifyPlaced final : place::impl::VerifyPlacedPassBase<VerifyPlaced> {
  void runOnOperation() override {
    wse::ProgramOp program = getOperation();
    markAllAnalysesPreserved();
    if (failed(checkPresent(program)))
      return signalPassFailure();
    PlacementProblem problem = readPlacementProblem(program);
    std::string error = problem.check();
    std::vector<size_t> about;
    if (error.empty())
      error = problem.verify(pinsOf(problem), &about);
    if (error.empty())
      return;
    InFlightDiagnostic said = program.emitError(error);
    noteWhere(said, program, about);
    signalPassFailure();
  }
};

} // namespace
