// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RMS normalisation: the sum of squares of each token is reduced west to the
// first column, which multicasts what it makes of it back along the row. By
// head, whole heads lie in their column and nothing moves.

#include "compiler/kernels/Heads.h"
#include "compiler/kernels/norm/Norm.h"

using namespace mlir;

namespace wsec {
namespace {

/// Heads in the PE that has most of them.
int64_t mostHeads(const Layout &layout, const Machine &machine) {
  return layout.features.largest(machine.width) / layout.features.unitSize;
}

/// What norms of whole rows cost, but for the exchange, and a root per head.
KernelCost byHeadCost(wse::RMSNormOp op, const Machine &machine) {
  Layout layout = Layout::of(op.getInput(), machine.height);
  CostModel model(machine, isNarrow(op.getInput()));
  const double features = layout.features.largest(machine.width);
  const double channels = layout.pitch(machine.height);
  const double vectors = streamedVectors(op, {op.getScale()}).size();
  const double roots = mostHeads(layout, machine) * channels;
  KernelCost cost;
  cost.compute = model.fmacs(features, channels) +
                 (2 - vectors) * model.adds(1, features * channels) +
                 vectors * model.adds(features, channels) +
                 3 * model.adds(1, roots) + 6 * model.guard(layout);
  cost.stream = model.channelCycles(layout, layout.features, vectors);
  cost.serial = model.divides(roots);
  const double mean =
      double(layout.features.total()) / machine.width * channels;
  cost.lowerBound =
      std::max(model.leastFmacs(mean) + 2 * model.leastAdds(mean),
               vectors * layout.features.total() / double(machine.westCount()));
  return cost;
}

class RMSNorm final
    : public KernelOf<onnx::RMSNormOp, KernelFor<wse::RMSNormOp>> {
  Value buildFor(onnx::RMSNormOp op, Selection &selection) const final {
    std::optional<uint64_t> heads = op.getNumHeads();
    Value input = heads ? wholeHeads(op.getX(), *heads, op, selection)
                        : selection.onWaferByFeatures(op.getX(), op);
    wse::WeightAttr scale = selection.asWeight(op.getScale(), op);
    if (!input || !scale)
      return {};
    return selection.createFor<wse::RMSNormOp>(
        op, input.getType(), input, scale,
        selection.builder().getF64FloatAttr(op.getEpsilon().convertToFloat()),
        heads ? selection.builder().getUnitAttr() : UnitAttr());
  }

  bool needsWholeHeads(Operation *op) const final {
    return cast<wse::RMSNormOp>(op).getByHead();
  }

  SmallVector<Relay> relays() const final { return normRelays(); }
  KernelCost costOf(wse::RMSNormOp op, const Machine &machine) const final {
    if (op.getByHead())
      return byHeadCost(op, machine);
    return rowKernelCost(Layout::of(op.getInput(), machine.height), machine,
                         /*passes=*/3, /*reductions=*/1,
                         streamedVectors(op, {op.getScale()}).size(),
                         isNarrow(op.getInput()));
  }
  SmallVector<StreamNeed> streamsOf(wse::RMSNormOp op,
                                    const Machine &machine) const final {
    if (!op.getByHead())
      return normStreams(op, {op.getScale()}, machine);
    if (streamedVectors(op, {op.getScale()}).empty())
      return {};
    return columnStreams(Layout::of(op.getInput(), machine.height), machine);
  }
  SmallVector<HostFlow> flowsOf(wse::RMSNormOp op,
                                const Machine &machine) const final {
    return vectorFlows(Layout::of(op.getInput(), machine.height), machine,
                       /*passes=*/3,
                       streamedVectors(op, {op.getScale()}).size());
  }
  int64_t scratchWords(wse::RMSNormOp op, const Machine &machine) const final {
    Layout layout = Layout::of(op.getInput(), machine.height);
    return op.getByHead()
               ? mostHeads(layout, machine) * layout.pitch(machine.height)
               : TokenValues::scratchWords(layout, machine);
  }

  std::optional<HeldWeight> held(Operation *op, int, wse::WeightAttr weight,
                                 const Machine &machine) const final {
    return heldVector(op->getResult(0), weight, machine);
  }

  LogicalResult lowerOp(wse::RMSNormOp op, RoutineBuilder &b) const final {
    Tile x = b.tile(op.getInput()), y = b.tile(op.getResult());
    auto vectors = b.bringVectors({op.getScale()}, x.layout.features);
    if (op.getByHead()) {
      normalizeHeads(op, b, x, y, vectors[0]);
      return success();
    }
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

  static void normalizeHeads(wse::RMSNormOp op, RoutineBuilder &b,
                             const Tile &x, const Tile &y,
                             const Operand &scale) {
    const int64_t size = x.layout.features.unitSize;
    Affine heads = b.scalars().spreadSize(x.layout.features.units, b.width(),
                                          b.scalars().px());
    const std::string buffer =
        b.scratch("size", mostHeads(x.layout, b.machine()) * x.pitch);
    auto sizes = [&] { return Operand::memory(buffer, 0, {x.pitch, 1}); };
    auto apply = [&](Opcode opcode, ArrayRef<Operand> operands) {
      b.vector(opcode, {heads, x.channels}, sizes(), operands);
    };
    auto byElement = Operand::memory(buffer, 0, {x.pitch, 0, 1});
    auto elementsOf = [&](const Tile &tile) {
      return Operand::memory(tile.buffer, 0,
                             {size * tile.pitch, tile.pitch, 1});
    };
    b.where(x.active, [&] {
      apply(Opcode::Mov, {Operand::immediate(0)});
      b.vector(Opcode::Fmac, {heads, size, x.channels}, byElement,
               {elementsOf(x), elementsOf(x)});
      apply(Opcode::Mul, {sizes(), Operand::immediate(1.0 / size)});
      apply(Opcode::Add,
            {sizes(), Operand::immediate(op.getEpsilon().convertToDouble())});
      apply(Opcode::Rsqrt, {sizes()});
      b.vector(Opcode::Mul, {heads, size, x.channels}, elementsOf(y),
               {elementsOf(x), byElement});
      eachElement(b, y, Opcode::Mul, {elements(y), scale});
    });
  }
};

} // namespace

WSEC_DEFINE_KERNEL(RMSNorm)

} // namespace wsec
