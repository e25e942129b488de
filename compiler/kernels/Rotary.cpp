// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotary embeddings. Heads are whole in their column and all columns have the
// angles of their tokens, so every PE turns what it has:
//
//   y = x * cos
//   y of first features  += x of second ones * -sin
//   y of second features += x of first ones  * sin

#include "compiler/kernels/Heads.h"
#include "compiler/kernels/KernelLibrary.h"

using namespace mlir;

namespace wsec {
namespace {

/// Cosines or sines of all tokens, in every column.
Value angles(Value value, wse::TokenTiling rows, Operation *op,
             Selection &selection) {
  if (!selection.host().contains(value) && !selection.toStore(value, op))
    return {};
  return selection.bring(
      value, {rows.getBatch(), rows.getTokens(), shapeOf(value).back()},
      rows.withColumns(wse::ColumnPlacement::Replicated), op);
}

class Rotary final : public KernelOf<onnx::RotaryOp, KernelFor<wse::RotaryOp>> {
  Value buildFor(onnx::RotaryOp op, Selection &selection) const final {
    Value input = wholeHeads(op.getX(), op.getNumHeads(), op, selection);
    if (!input)
      return {};
    Value cos = angles(op.getCos(), tilingOf(input), op, selection);
    Value sin = angles(op.getSin(), tilingOf(input), op, selection);
    if (!cos || !sin)
      return {};
    return selection.createFor<wse::RotaryOp>(op, input.getType(), input, cos,
                                              sin, op.getRotaryDimAttr(),
                                              op.getInterleavedAttr());
  }

  KernelCost costOf(wse::RotaryOp op, const Machine &machine) const final {
    Layout layout = Layout::of(op.getInput(), machine.height);
    CostModel model(machine, isNarrow(op.getInput()));
    const double channels = layout.pitch(machine.height);
    const double heads =
        layout.features.largest(machine.width) / layout.features.unitSize;
    const double turned = heads * op.getRotaryDim();
    // Features of one channel are neighbours, and a vector each head.
    const double calls = channels > 1 ? turned / 2 : heads;
    const double length = turned / 2 * channels / calls;
    const double angles = wse::featuresOf(op.getSin());
    const double rest = heads * layout.features.unitSize - turned;
    KernelCost cost;
    cost.compute =
        2 * model.adds(calls, length) + 2 * model.fmacs(calls, length) +
        model.adds(1, angles * channels) +
        (rest > 0 ? model.copies(channels > 1 ? rest : heads,
                                 channels > 1 ? channels : rest / heads)
                  : 0) +
        6 * model.guard(layout);
    const double all = double(layout.tokenCount()) * layout.features.units *
                       op.getRotaryDim() / machine.width / machine.height;
    cost.lowerBound =
        model.leastAdds(all) +
        all / (isNarrow(op.getInput()) ? machine.fmacRate16 : machine.fmacRate);
    return cost;
  }

  bool needsWholeHeads(Operation *) const final { return true; }

  int64_t scratchWords(wse::RotaryOp op, const Machine &machine) const final {
    return Layout::of(op.getSin(), machine.height)
        .words(machine.width, machine.height);
  }

  LogicalResult lowerOp(wse::RotaryOp op, RoutineBuilder &b) const final {
    const Tile x = b.tile(op.getInput()), y = b.tile(op.getResult()),
               cos = b.tile(op.getCos()), sin = b.tile(op.getSin());
    const FeatureTiling &tiling = x.layout.features;
    const int64_t size = tiling.unitSize, turned = op.getRotaryDim(),
                  half = turned / 2,
                  angles =
                      sin.layout.features.unitSize * sin.layout.features.units;
    const std::string minus = b.scratch("minus_sin", angles * sin.pitch);
    Affine heads =
        b.scalars().spreadSize(tiling.units, b.width(), b.scalars().px());
    // Features of pairs, the first or second of each.
    const int64_t step = op.getInterleaved() ? 2 : 1;
    const int64_t apart = op.getInterleaved() ? 1 : half;
    auto features = [&](const Tile &tile, int64_t number) {
      return Operand::memory(tile.buffer, number * apart * tile.pitch,
                             {size * tile.pitch, step * tile.pitch, 1});
    };
    auto ofToken = [&](StringRef buffer, const Tile &tile, int64_t number) {
      const bool shared = angles == half;
      return Operand::memory(buffer, shared ? 0 : number * apart * tile.pitch,
                             {0, (shared ? 1 : step) * tile.pitch, 1});
    };
    const SmallVector<Affine> extents = {heads, half, x.channels};
    b.where(x.active, [&] {
      auto flat = [&](StringRef buffer) {
        return Operand::memory(buffer, 0, {sin.pitch, 1});
      };
      b.vector(Opcode::Mul, {angles, x.channels}, flat(minus),
               {flat(sin.buffer), Operand::immediate(-1)});
      for (int64_t number : {0, 1})
        b.vector(Opcode::Mul, extents, features(y, number),
                 {features(x, number), ofToken(cos.buffer, cos, number)});
      for (int64_t number : {0, 1})
        b.multiplyAdd(extents, /*inner=*/2, features(y, number),
                      features(x, 1 - number),
                      ofToken(number == 0 ? minus : sin.buffer, sin, number));
      if (turned < size) {
        auto rest = [&](const Tile &tile) {
          return Operand::memory(tile.buffer, turned * tile.pitch,
                                 {size * tile.pitch, tile.pitch, 1});
        };
        b.vector(Opcode::Mov, {heads, size - turned, x.channels}, rest(y),
                 {rest(x)});
      }
    });
    return success();
  }
};

} // namespace

WSEC_DEFINE_KERNEL(Rotary)

} // namespace wsec
