// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/placement/MeshPlacement.h"

using namespace wsec;

PlacementProblem wsec::placementOn(const Machine &machine) {
  PlacementProblem problem;
  problem.width = machine.width;
  problem.height = machine.height;
  for (int channel = 0; channel < machine.channelsOfMesh(); ++channel)
    problem.channelRows.push_back(machine.channelRow(channel));
  for (const PeRectangle &its : machine.keepOuts)
    problem.keepOuts.push_back({its.x, its.y, its.width, its.height});
  return problem;
}
