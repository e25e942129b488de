// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradient of what a norm is of. With c = x - mean and g = dy * scale, two
// sums of a row are known at a time, so that each goes west, and back, with
// another:
//
//   x, g          means; of the root mean square there are none
//   c c, g c      1 / d and k = mean(g c) / d
//
//   normal = c / d        dx = (g - mean(g) - normal k) / d

#include "compiler/kernels/norm/Norm.h"

using namespace mlir;

namespace wsec {
namespace {

/// Sums of a row that move together.
constexpr int64_t sumsAtOnce = 2;

class NormGradient final
    : public KernelOf<onnx::NormGradientOp, KernelFor<wse::NormGradientOp>> {
  Value buildFor(onnx::NormGradientOp op, Selection &selection) const final;

  SmallVector<Relay> relays() const final { return normRelays(); }
  KernelCost costOf(wse::NormGradientOp op,
                    const Machine &machine) const final {
    const Layout layout = Layout::of(op.getInput(), machine.height);
    KernelCost cost =
        rowKernelCost(layout, machine, passes(op), op.getCentred() ? 2 : 1,
                      streamedVectors(op, {op.getScale()}).size(),
                      isNarrow(op.getInput()), sumsAtOnce);
    cost.serial += cost.stream; // the scale is there before all else begins
    // Three passes are multiply-adds.
    const CostModel model(machine, isNarrow(op.getInput()));
    const double elements = double(layout.features.largest(machine.width) *
                                   layout.pitch(machine.height));
    cost.compute += 3 * (model.fmacs(1, elements) - model.adds(1, elements));
    return cost;
  }
  SmallVector<StreamNeed> streamsOf(wse::NormGradientOp op,
                                    const Machine &machine) const final {
    return normStreams(op, {op.getScale()}, machine, sumsAtOnce);
  }
  /// The scale comes first.
  SmallVector<HostFlow> flowsOf(wse::NormGradientOp op,
                                const Machine &machine) const final {
    SmallVector<HostFlow> flows =
        vectorFlows(Layout::of(op.getInput(), machine.height), machine,
                    passes(op), streamedVectors(op, {op.getScale()}).size());
    for (HostFlow &flow : flows)
      std::tie(flow.firstUse, flow.lastUse) = std::pair(0, 1 / passes(op));
    return flows;
  }
  int64_t scratchWords(wse::NormGradientOp op,
                       const Machine &machine) const final {
    return (op.getCentred() ? 2 : 1) * sumsAtOnce *
           TokenValues::scratchWords(Layout::of(op.getInput(), machine.height),
                                     machine);
  }
  std::optional<HeldWeight> held(Operation *op, int, wse::WeightAttr weight,
                                 const Machine &machine) const final {
    return heldVector(op->getResult(0), weight, machine);
  }

  LogicalResult lowerOp(wse::NormGradientOp op, RoutineBuilder &b) const final;

  static double passes(wse::NormGradientOp op) {
    return op.getCentred() ? 10 : 6;
  }
};

/// `value` distributed as `like` is.
Value asLaidOut(Value value, Value like, onnx::NormGradientOp op,
                Selection &selection) {
  Value tensor = selection.onWaferByFeatures(value, op);
  if (!tensor)
    return {};
  const wse::TokenTiling tiling = tilingOf(like);
  if (!tilingOf(tensor).sameRows(tiling) ||
      tilingOf(tensor).getBatch() != tiling.getBatch()) {
    wse::WeightAttr stored = selection.asWeight(value, op);
    if (!stored)
      return {};
    tensor = selection.loadReshaped(
        stored, cast<RankedTensorType>(like.getType()).getShape(), tiling, op);
  }
  if (!tilingOf(tensor).sameColumns(tiling))
    tensor = selection.redistribute(tensor, tiling.getColumns(),
                                    tiling.getHeadSize(), op);
  if (tensor && tensor.getType() != like.getType())
    tensor =
        selection.elementwise(op, like.getType(), {tensor}, {},
                              [](OpBuilder &, ValueRange of) { return of[0]; });
  return tensor;
}

Value NormGradient::buildFor(onnx::NormGradientOp op,
                             Selection &selection) const {
  Value x = selection.onWaferByFeatures(op.getX(), op);
  wse::WeightAttr scale = selection.asWeight(op.getScale(), op);
  Value dy = x ? asLaidOut(op.getDy(), x, op, selection) : Value();
  if (!dy || !scale)
    return {};
  return selection
      .createFor<wse::NormGradientOp>(
          op, x.getType(), x.getType(), x, dy, scale,
          selection.builder().getF64FloatAttr(op.getEpsilon().convertToFloat()),
          op.getCentredAttr())
      .getOfInput();
}

LogicalResult NormGradient::lowerOp(wse::NormGradientOp op,
                                    RoutineBuilder &b) const {
  Tile x = b.tile(op.getInput()), dy = b.tile(op.getGradient());
  Tile dx = b.tile(op.getOfInput()), normal = b.tile(op.getNormal());
  const float share = 1.0 / x.layout.features.total();
  auto vectors = b.bringVectors({op.getScale()}, x.layout.features);
  b.where(x.active, [&] {
    eachElement(b, dx, Opcode::Mul, {elements(dy), vectors[0]});
    const Tile &centred = op.getCentred() ? normal : x;
    if (op.getCentred()) {
      TokenValues means(b, x, "means", sumsAtOnce);
      means.fill(0);
      means.combineOwn(Opcode::Add, x.buffer);
      means.combineOwn(Opcode::Add, dx.buffer, 1);
      means.combineRow(Opcode::Add, [&] { means.apply(Opcode::Mul, share); });
      eachElement(b, normal, Opcode::Sub, {elements(x), means.perElement()});
      eachElement(b, dx, Opcode::Sub, {elements(dx), means.perElement(1)});
    }
    TokenValues of(b, x, "along", sumsAtOnce);
    of.fill(0);
    of.addSquares(centred.buffer);
    of.addProducts(dx.buffer, centred.buffer, 1);
    of.combineRow(Opcode::Add, [&] {
      of.apply(Opcode::Mul, share);
      of.applyToFirst(Opcode::Add, op.getEpsilon().convertToDouble());
      of.apply(Opcode::Rsqrt);
      b.vector(Opcode::Mul, {x.channels}, of.perToken(1),
               {of.perToken(1), of.perToken()});
    });
    eachElement(b, normal, Opcode::Mul, {elements(centred), of.perElement()});
    // dx = (g - normal k) / d
    b.vector(Opcode::Mul, {x.channels}, of.perToken(1),
             {of.perToken(1), Operand::immediate(-1)});
    eachElement(b, dx, Opcode::Fmac, {elements(normal), of.perElement(1)});
    eachElement(b, dx, Opcode::Mul, {elements(dx), of.perElement()});
  });
  return success();
}

} // namespace

WSEC_DEFINE_KERNEL(NormGradient)

} // namespace wsec
