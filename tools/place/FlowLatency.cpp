// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/place/FlowLatency.h"

#include <algorithm>

using namespace wsec;

FlowLatency::FlowLatency(const PlacementProblem &problem,
                         const std::vector<size_t> &blocks,
                         const Placement &fixed)
    : sets(problem.shapeSets) {
  for (std::vector<CandidateShape> &set : sets)
    std::sort(set.begin(), set.end(),
              [](auto &a, auto &b) { return a.cost < b.cost; });
  const std::vector<size_t> order = problem.flowOrder();
  std::vector<size_t> stepOf(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    stepOf[order[i]] = i;
  for (size_t region : order) {
    Step step;
    const auto block = std::find(blocks.begin(), blocks.end(), region);
    if (block == blocks.end())
      step.cost = problem.shapesOf(region)[fixed.regions[region].shape].cost;
    else
      step.block = int32_t(block - blocks.begin());
    step.set = problem.regions[region].shapeSet;
    for (const PlacementEdge &edge : problem.edges)
      if (edge.from == region && stepOf[edge.to] > stepOf[region])
        step.readers.push_back(stepOf[edge.to]);
    steps.push_back(std::move(step));
  }
}

double FlowLatency::of(const SlicingTree &tree) const {
  double latency = 0;
  std::vector<double> until(steps.size(), 0);
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step &step = steps[i];
    double cost = step.cost;
    if (step.block >= 0) {
      const PlacedRegion room = tree.cellsOf(step.block);
      const auto its = std::find_if(
          sets[step.set].begin(), sets[step.set].end(),
          [&](const CandidateShape &shape) {
            return shape.columns <= room.columns && shape.rows <= room.rows;
          });
      cost = its == sets[step.set].end() ? 0 : its->cost;
    }
    until[i] += cost;
    latency = std::max(latency, until[i]);
    for (size_t reader : step.readers)
      until[reader] = std::max(until[reader], until[i]);
  }
  return latency;
}
