// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RMS normalisation: the sum of squares of each token is reduced west to the
// first column, which multicasts what it makes of it back along the row.

#include "compiler/kernels/Norm.h"

using namespace mlir;

namespace wsec {
namespace {

class RMSNorm final : public KernelFor<wse::RMSNormOp> {
  Match match(Operation *op, const Selection &) const final {
    return Match::when(isa<onnx::RMSNormOp>(op));
  }
  Value build(Operation *op, Selection &selection) const final {
    auto norm = cast<onnx::RMSNormOp>(op);
    Value input = selection.onWaferByFeatures(norm.getX(), op);
    wse::WeightAttr scale = selection.asWeight(norm.getScale(), op);
    if (!input || !scale)
      return {};
    return selection.createFor<wse::RMSNormOp>(
        op, input.getType(), input, scale,
        selection.builder().getF64FloatAttr(
            norm.getEpsilon().convertToFloat()));
  }

  SmallVector<Relay> relays() const final { return normRelays(); }
  KernelCost costOf(wse::RMSNormOp op, const Machine &machine) const final {
    return rowKernelCost(
        Layout::of(op.getInput(), machine.height), machine, /*passes=*/3,
        /*reductions=*/1, streamedVectors(op, {op.getScale()}).size());
  }
  SmallVector<StreamNeed> streamsOf(wse::RMSNormOp op,
                                    const Machine &machine) const final {
    return normStreams(op, {op.getScale()}, machine);
  }
  SmallVector<HostFlow> flowsOf(wse::RMSNormOp op,
                                const Machine &machine) const final {
    return vectorFlows(Layout::of(op.getInput(), machine.height), machine,
                       /*passes=*/3,
                       streamedVectors(op, {op.getScale()}).size());
  }
  int64_t scratchWords(wse::RMSNormOp op, const Machine &machine) const final {
    return TokenValues::scratchWords(Layout::of(op.getInput(), machine.height),
                                     machine);
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

WSEC_DEFINE_KERNEL(RMSNorm)

} // namespace wsec
