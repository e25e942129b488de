// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/ReadPlacement.h"

using namespace wsec;

llvm::SmallVector<wse::RegionOp> wsec::regionsOf(wse::ProgramOp program) {
  return llvm::to_vector(program.bodyBlock().getOps<wse::RegionOp>());
}

PlacementProblem wsec::readPlacementProblem(wse::ProgramOp program) {
  Machine machine = program.targetMachine();
  PlacementProblem problem;
  problem.width = machine.width;
  problem.height = machine.height;
  for (int channel = 0; channel < machine.channelsOfMesh(); ++channel)
    problem.channelRows.push_back(machine.channelRow(channel));
  for (wse::RegionOp region : regionsOf(program)) {
    RegionRequest request{region.getSymName().str(), region.columns(),
                          region.rows()};
    if (region.isPlaced())
      request.pin = {int64_t(*region.getX()), int64_t(*region.getY())};
    problem.regions.push_back(request);
  }
  return problem;
}
