// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layer and RMS normalisation: sums per token are reduced west to the first
// column, which multicasts what it makes of them back along the row.

#include "compiler/kernels/Norm.h"

using namespace mlir;

namespace wsec {

using pe::Opcode;
using pe::Operand;

/// What starts, scales and fetches the values of a reduction.
constexpr double valueInstructions = 5;

KernelCost rowKernelCost(const Layout &layout, const Machine &machine,
                         double passes, double reductions,
                         double streamedVectors) {
  CostModel model(machine);
  double features = layout.features.largest(machine.width);
  double channels = layout.pitch(machine.height);
  KernelCost cost;
  // A vector of the host comes word by word, a call for each.
  cost.compute =
      (passes - streamedVectors) * model.adds(1, features * channels) +
      streamedVectors * model.adds(features, channels);
  const bool exchanges = machine.width > 1 && !layout.features.replicated;
  if (exchanges)
    cost.serial = reductions * (allReduceCycles(machine, channels) +
                                valueInstructions * model.adds(1, channels));
  cost.stream = model.channelCycles(layout, layout.features, streamedVectors);
  // Each makes one reciprocal or root of its sums.
  cost.serial += model.divides(channels);
  double mean = double(layout.features.total()) / machine.width;
  // The first columns may be empty, if there are more than features.
  double across =
      exchanges ? machine.width - (machine.width - 1) / layout.features.total()
                : 1;
  cost.lowerBound =
      std::max({passes * model.leastAdds(mean * channels),
                streamedVectors * layout.features.total() /
                    double(machine.channelsInUse()),
                model.leastAcross(across) + machine.divideCycles});
  return cost;
}

/// Vectors of the host, used up by the last passes.
static SmallVector<HostFlow> vectorFlows(const Layout &layout,
                                         const Machine &machine, double passes,
                                         double vectors) {
  if (vectors == 0)
    return {};
  return {CostModel(machine).columnFlow(layout.features, int64_t(vectors),
                                        1 - vectors / passes)};
}

template <typename NormOp>
static SmallVector<StreamNeed> normStreams(NormOp op,
                                           ArrayRef<wse::WeightAttr> vectors,
                                           const Machine &machine) {
  Layout layout = Layout::of(op.getInput());
  SmallVector<StreamNeed> needs;
  if (!streamedVectors(op, vectors).empty())
    needs = columnStreams(layout, machine);
  needs.append(allReduceStreams(machine, layout.pitch(machine.height)));
  return needs;
}

namespace {

SmallVector<wse::WeightAttr, 2> vectorsOf(wse::LayerNormOp op) {
  SmallVector<wse::WeightAttr, 2> vectors = {op.getScale()};
  if (op.getBias())
    vectors.push_back(*op.getBias());
  return vectors;
}

class LayerNorm final : public KernelFor<wse::LayerNormOp> {
  KernelCost costOf(wse::LayerNormOp op, const Machine &machine) const final {
    return rowKernelCost(Layout::of(op.getInput()), machine, /*passes=*/6,
                         /*reductions=*/2,
                         streamedVectors(op, vectorsOf(op)).size());
  }
  SmallVector<StreamNeed> streamsOf(wse::LayerNormOp op,
                                    const Machine &machine) const final {
    return normStreams(op, vectorsOf(op), machine);
  }
  SmallVector<HostFlow> flowsOf(wse::LayerNormOp op,
                                const Machine &machine) const final {
    return vectorFlows(Layout::of(op.getInput()), machine, /*passes=*/6,
                       streamedVectors(op, vectorsOf(op)).size());
  }
  int64_t scratchWords(wse::LayerNormOp op,
                       const Machine &machine) const final {
    return 2 * TokenValues::scratchWords(Layout::of(op.getInput()), machine);
  }

  std::optional<HeldWeight> held(Operation *op, wse::WeightAttr weight,
                                 const Machine &machine) const final {
    return heldVector(op->getResult(0), weight, machine);
  }

  LogicalResult lowerOp(wse::LayerNormOp op, RoutineBuilder &b) const final {
    Tile x = b.tile(op.getInput()), y = b.tile(op.getResult());
    float share = 1.0 / x.layout.features.total();
    auto vectors = b.bringVectors(vectorsOf(op), x.layout.features);
    b.where(x.active, [&] {
      TokenValues mean(b, x, "mean"), deviation(b, x, "deviation");
      mean.fill(0);
      mean.combineOwn(Opcode::Add, x.buffer);
      mean.combineRow(Opcode::Add, [&] { mean.apply(Opcode::Mul, share); });
      eachElement(b, y, Opcode::Sub, {elements(x), mean.perElement()});
      deviation.fill(0);
      deviation.addSquares(y.buffer);
      deviation.combineRow(Opcode::Add, [&] {
        deviation.apply(Opcode::Mul, share);
        deviation.apply(Opcode::Add, op.getEpsilon().convertToDouble());
        deviation.apply(Opcode::Rsqrt);
      });
      eachElement(b, y, Opcode::Mul, {elements(y), deviation.perElement()});
      eachElement(b, y, Opcode::Mul, {elements(y), vectors[0]});
      if (op.getBias())
        eachElement(b, y, Opcode::Add, {elements(y), vectors[1]});
    });
    return success();
  }
};

class RMSNorm final : public KernelFor<wse::RMSNormOp> {
  KernelCost costOf(wse::RMSNormOp op, const Machine &machine) const final {
    return rowKernelCost(Layout::of(op.getInput()), machine, /*passes=*/3,
                         /*reductions=*/1,
                         streamedVectors(op, {op.getScale()}).size());
  }
  SmallVector<StreamNeed> streamsOf(wse::RMSNormOp op,
                                    const Machine &machine) const final {
    return normStreams(op, {op.getScale()}, machine);
  }
  SmallVector<HostFlow> flowsOf(wse::RMSNormOp op,
                                const Machine &machine) const final {
    return vectorFlows(Layout::of(op.getInput()), machine, /*passes=*/3,
                       streamedVectors(op, {op.getScale()}).size());
  }
  int64_t scratchWords(wse::RMSNormOp op, const Machine &machine) const final {
    return TokenValues::scratchWords(Layout::of(op.getInput()), machine);
  }

  std::optional<HeldWeight> held(Operation *op, wse::WeightAttr weight,
                                 const Machine &machine) const final {
    return heldVector(op->getResult(0), weight, machine);
  }

  LogicalResult lowerOp(wse::RMSNormOp op, RoutineBuilder &b) const final {
    Tile x = b.tile(op.getInput()), y = b.tile(op.getResult());
    auto vectors = b.bringVectors({op.getScale()}, x.layout.features);
    b.where(x.active, [&] {
      TokenValues size(b, x, "size");
      size.fill(0);
      size.addSquares(x.buffer);
      size.combineRow(Opcode::Add, [&] {
        size.apply(Opcode::Mul, 1.0 / x.layout.features.total());
        size.apply(Opcode::Add, op.getEpsilon().convertToDouble());
        size.apply(Opcode::Rsqrt);
      });
      eachElement(b, y, Opcode::Mul, {elements(x), size.perElement()});
      eachElement(b, y, Opcode::Mul, {elements(y), vectors[0]});
    });
    return success();
  }
};

} // namespace

const Kernel *layerNormKernel() {
  static const LayerNorm kernel;
  return &kernel;
}

const Kernel *rmsNormKernel() {
  static const RMSNorm kernel;
  return &kernel;
}

} // namespace wsec
