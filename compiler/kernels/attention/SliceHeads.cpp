// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same features of each head. Heads are whole in their column, so every PE
// copies what it has.

#include "compiler/kernels/Heads.h"
#include "compiler/kernels/KernelLibrary.h"

using namespace mlir;

namespace wsec {
namespace {

class SliceHeads final
    : public KernelOf<onnx::SliceHeadsOp, KernelFor<wse::SliceHeadsOp>> {
  Value buildFor(onnx::SliceHeadsOp op, Selection &selection) const final {
    const int64_t heads = op.getNumHeads();
    const int64_t features = shapeOf(op.getY())[2];
    Value input = wholeHeads(op.getX(), heads, op, selection);
    if (!input)
      return {};
    wse::TokenTiling tiling = tilingOf(input).withColumns(
        wse::ColumnPlacement::Heads, features / heads);
    return selection.createFor<wse::SliceHeadsOp>(
        op, Type(selection.tensorType(tiling, features, op.getX())), input,
        op.getStartAttr());
  }

  KernelCost costOf(wse::SliceHeadsOp op, const Machine &machine) const final {
    Layout layout = Layout::of(op.getResult(), machine.height);
    CostModel model(machine);
    KernelCost cost;
    cost.compute = model.copies(layout.features.largest(machine.width),
                                layout.pitch(machine.height)) +
                   model.guard(layout);
    cost.lowerBound = double(layout.tokenCount()) * layout.features.total() /
                      machine.width / machine.height / machine.copyRate;
    return cost;
  }

  bool needsWholeHeads(Operation *) const final { return true; }

  LogicalResult lowerOp(wse::SliceHeadsOp op, RoutineBuilder &b) const final {
    const Tile x = b.tile(op.getInput()), y = b.tile(op.getResult());
    const FeatureTiling &from = x.layout.features, &to = y.layout.features;
    Affine heads =
        b.scalars().spreadSize(to.units, b.width(), b.scalars().px());
    auto features = [](const Tile &tile, int64_t size, int64_t first) {
      return Operand::memory(tile.buffer, first * tile.pitch,
                             {size * tile.pitch, tile.pitch, 1});
    };
    b.where(x.active, [&] {
      b.vector(Opcode::Mov, {heads, to.unitSize, x.channels},
               features(y, to.unitSize, 0),
               {features(x, from.unitSize, op.getStart())});
    });
    return success();
  }
};

} // namespace

WSEC_DEFINE_KERNEL(SliceHeads)

} // namespace wsec
