// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
#include "compiler/kernels/norm/Norm.h"

using namespace mlir;

namespace wsec {

/// What starts, scales and fetches the values of a reduction.
constexpr double valueInstructions = 5;

KernelCost rowKernelCost(const Layout &layout, const Machine &machine,
                         double passes, double reductions,
                         double streamedVectors, bool narrow, double lines) {
  CostModel model(machine, narrow);
  double features = layout.features.largest(machine.width);
  double channels = layout.pitch(machine.height);
  KernelCost cost;
  // A vector of the host comes word by word, a call for each.
  cost.compute =
      (passes - streamedVectors) * model.adds(1, features * channels) +
      streamedVectors * model.adds(features, channels);
  const bool exchanges = machine.width > 1 && !layout.features.replicated;
  if (exchanges)
    cost.serial =
        reductions * (allReduceCycles(machine, lines * channels) +
                      valueInstructions * model.adds(1, lines * channels));
  cost.stream = model.channelCycles(layout, layout.features, streamedVectors);
  // Each makes one reciprocal or root of its sums.
  cost.serial += model.divides(channels);
  double mean = double(layout.features.total()) / machine.width;
  // The first columns may be empty, if there are more than features.
  double across =
      exchanges ? machine.width - (machine.width - 1) / layout.features.total()
                : 1;
  cost.lowerBound = std::max(
      {passes * model.leastAdds(mean * channels),
       streamedVectors * layout.features.total() / double(machine.westCount()),
       model.leastAcross(across) + machine.divideCycles});
  return cost;
}

SmallVector<HostFlow> vectorFlows(const Layout &layout, const Machine &machine,
                                  double passes, double vectors) {
  if (vectors == 0)
    return {};
  return {CostModel(machine).columnFlow(layout.features, int64_t(vectors),
                                        1 - vectors / passes)};
}

SmallVector<StreamNeed> normStreams(Operation *op,
                                    ArrayRef<wse::WeightAttr> vectors,
                                    const Machine &machine, int64_t lines) {
  Layout layout = Layout::of(op->getOperand(0), machine.height);
  SmallVector<StreamNeed> needs;
  if (!streamedVectors(op, vectors).empty())
    needs = columnStreams(layout, machine);
  needs.append(allReduceStreams(machine, lines * layout.pitch(machine.height)));
  return needs;
}

SmallVector<Relay> normRelays() {
  SmallVector<Relay> relays = columnRelays();
  relays.append(allReduceRelays());
  return relays;
}

} // namespace wsec
