// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layer normalisation: sums per token are reduced west to the first column,
// which multicasts what it makes of them back along the row.

#include "compiler/kernels/norm/Norm.h"

using namespace mlir;

namespace wsec {
namespace {

SmallVector<wse::WeightAttr, 2> vectorsOf(wse::LayerNormOp op) {
  SmallVector<wse::WeightAttr, 2> vectors = {op.getScale()};
  if (op.getBias())
    vectors.push_back(*op.getBias());
  return vectors;
}

class LayerNorm final
    : public KernelOf<onnx::LayerNormOp, KernelFor<wse::LayerNormOp>> {
  Value buildFor(onnx::LayerNormOp op, Selection &selection) const final {
    Value input = selection.onWaferByFeatures(op.getX(), op);
    wse::WeightAttr scale = selection.asWeight(op.getScale(), op), bias;
    if (!input || !scale ||
        (op.getBias() && !(bias = selection.asWeight(op.getBias(), op))))
      return {};
    return selection.createFor<wse::LayerNormOp>(
        op, input.getType(), input, scale, bias,
        selection.builder().getF64FloatAttr(op.getEpsilon().convertToFloat()));
  }

  SmallVector<Relay> relays() const final { return normRelays(); }
  KernelCost costOf(wse::LayerNormOp op, const Machine &machine) const final {
    return rowKernelCost(
        Layout::of(op.getInput(), machine.height), machine, /*passes=*/6,
        /*reductions=*/2, streamedVectors(op, vectorsOf(op)).size(),
        isNarrow(op.getInput()));
  }
  SmallVector<StreamNeed> streamsOf(wse::LayerNormOp op,
                                    const Machine &machine) const final {
    return normStreams(op, vectorsOf(op), machine);
  }
  SmallVector<HostFlow> flowsOf(wse::LayerNormOp op,
                                const Machine &machine) const final {
    return vectorFlows(Layout::of(op.getInput(), machine.height), machine,
                       /*passes=*/6, streamedVectors(op, vectorsOf(op)).size());
  }
  int64_t scratchWords(wse::LayerNormOp op,
                       const Machine &machine) const final {
    return 2 * TokenValues::scratchWords(
                   Layout::of(op.getInput(), machine.height), machine);
  }

  std::optional<HeldWeight> held(Operation *op, int, wse::WeightAttr weight,
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

} // namespace

WSEC_DEFINE_KERNEL(LayerNorm)

} // namespace wsec
