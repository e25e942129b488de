// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A position for each region.

#include "compiler/PlacementFile.h"
#include "compiler/place/Passes.h"
#include "compiler/place/ReadPlacement.h"
#include "compiler/placement/PlacementSolver.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace wsec::place {
#define GEN_PASS_DEF_PLACEKERNELSPASS
#include "compiler/place/Passes.h.inc"
} // namespace wsec::place

using namespace wsec;

/// Gives the regions of a selected program their places. Returns empty, or what
/// of the file is not of this program.
static std::string pinRegions(wse::ProgramOp program,
                              const PlacementFile &file) {
  const std::string where = "placement '" + file.path + "'";
  if (std::string error =
          file.meshProblem(program.meshWidth(), program.meshHeight());
      !error.empty())
    return error;
  auto regions = regionsOf(program);
  if (regions.size() != file.regions.size())
    return where + " has " + std::to_string(file.regions.size()) +
           " regions, the program " + std::to_string(regions.size());
  for (wse::RegionOp region : regions) {
    auto place = std::find_if(
        file.regions.begin(), file.regions.end(),
        [&](const auto &one) { return one.name == region.getSymName(); });
    if (place == file.regions.end())
      return where + " says nothing of region @" + region.getSymName().str();
    const PlacedRegion &pes = place->pes;
    auto size = [](int64_t columns, int64_t rows) {
      return std::to_string(columns) + "x" + std::to_string(rows);
    };
    if (pes.columns != region.columns() || pes.rows != region.rows())
      return where + ": region @" + place->name + " is " +
             size(pes.columns, pes.rows) + ", kernels are selected for " +
             size(region.columns(), region.rows()) +
             "; another shape needs the model, or --region";
    region.setX(pes.x);
    region.setY(pes.y);
  }
  return "";
}

namespace {

struct PlaceKernels final : place::impl::PlaceKernelsPassBase<PlaceKernels> {
  using PlaceKernelsPassBase::PlaceKernelsPassBase;
  PlaceKernels(const place::PlaceKernelsPassOptions &options,
               plan::Shortages *shortages)
      : PlaceKernelsPassBase(options), shortages(shortages) {}

  plan::Shortages *shortages = nullptr;

  /// Positions as the file says; empty, or which rule they break.
  std::string takePlaces(wse::ProgramOp program, std::vector<size_t> &about) {
    llvm::Expected<PlacementFile> file = readPlacementFile(placement);
    if (!file)
      return llvm::toString(file.takeError());
    if (std::string error = pinRegions(program, *file); !error.empty())
      return error;
    PlacementProblem problem = readPlacementProblem(program);
    std::string error = problem.verify(pinsOf(problem), &about);
    return error.empty() ? "" : "placement '" + placement + "': " + error;
  }

  void runOnOperation() override {
    wse::ProgramOp program = getOperation();
    if (program.getState() != wse::State::Selected) {
      program.emitError("only a selected program can be placed, this one is ")
          << wse::stringifyState(program.getState());
      return signalPassFailure();
    }
    std::vector<size_t> about;
    std::string error = placement.empty() ? "" : takePlaces(program, about);
    PlacementProblem problem = readPlacementProblem(program);
    Placement solution;
    if (!error.empty()) {
      InFlightDiagnostic said = program.emitError(error);
      noteWhere(said, program, about);
      return signalPassFailure();
    }
    if (error = solvePlacement(problem, {}, solution); !error.empty()) {
      auto refused = program.emitError(error);
      plan::add(shortages, refused, plan::Lack::Place);
      return signalPassFailure();
    }
    int64_t pes = 0;
    for (auto [region, placed] :
         llvm::zip(regionsOf(program), solution.regions)) {
      region.setX(placed.at.x);
      region.setY(placed.at.y);
      pes += region.columns() * region.rows();
    }
    program.setState(wse::State::Placed);
    remark::analysis(program.getLoc(),
                     remark::RemarkOpts::name("placed").category(getArgument()))
        << remark::metric("regions", solution.regions.size())
        << remark::metric("PEs", pes);
  }
};

} // namespace

std::unique_ptr<Pass>
place::createPlaceKernelsPass(const place::PlaceKernelsPassOptions &options,
                              plan::Shortages *shortages) {
  return std::make_unique<PlaceKernels>(options, shortages);
}
