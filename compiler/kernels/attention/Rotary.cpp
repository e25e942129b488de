// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotary embeddings. All columns have the angles of their tokens; where heads
// are whole in their column, every PE turns what it has:
//
//   y = x * cos
//   y of first features  += x of second ones * -sin
//   y of second features += x of first ones  * sin
//
// Of heads over several columns each column makes its own features, once all
// have gathered the features of some tokens of the head.

#include "compiler/kernels/Heads.h"
#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/move/RowExchange.h"

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

/// Words of a head that its columns gather at a time, or one token of it.
constexpr int64_t gatheredWords = 1024;

/// What a PE holds of a tensor whose heads lie over several columns.
struct SpreadHeads {
  int64_t most;   ///< own features
  int64_t tokens; ///< gathered at a time
  int64_t rounds; ///< of these, at most

  SpreadHeads(const Layout &layout, int64_t pitch)
      : most(tileSizeMax(layout.features.unitSize, layout.features.columns)),
        tokens(std::clamp<int64_t>(gatheredWords / layout.features.unitSize, 1,
                                   std::max<int64_t>(1, pitch))),
        rounds(llvm::divideCeil(pitch, tokens)) {}
};

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
    if (layout.features.columns > 1)
      return spreadCost(op, layout, machine);
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
    cost.lowerBound = leastCycles(op, layout, machine);
    return cost;
  }

  static double leastCycles(wse::RotaryOp op, const Layout &layout,
                            const Machine &machine) {
    const double all = double(layout.tokenCount()) * layout.features.units *
                       op.getRotaryDim() / machine.width / machine.height;
    return CostModel(machine, isNarrow(op.getInput())).leastAdds(all) +
           all / (isNarrow(op.getInput()) ? machine.fmacRate16
                                          : machine.fmacRate);
  }

  static KernelCost spreadCost(wse::RotaryOp op, const Layout &layout,
                               const Machine &machine) {
    const int64_t pitch = layout.pitch(machine.height);
    const SpreadHeads heads(layout, pitch);
    CostModel model(machine, isNarrow(op.getInput()));
    Machine head = machine;
    head.width = layout.features.columns;
    const double tokens = double(pitch) / double(heads.rounds);
    KernelCost cost;
    // Of own features the first and the second of pairs, of which a PE may have
    // none; the rest of a head is copied.
    const double turned = double(heads.most) * tokens;
    cost.compute =
        double(heads.rounds) *
        (multicastRowCycles(head, double(layout.features.unitSize) * tokens) +
         2 * model.adds(1, turned) + model.fmacs(1, turned) +
         (int64_t(op.getRotaryDim()) < layout.features.unitSize ? 3 : 2) *
             machine.vectorSetup +
         model.guard(layout));
    cost.lowerBound = leastCycles(op, layout, machine);
    return cost;
  }

  SmallVector<Relay> relays() const final { return rowRelays(); }
  SmallVector<StreamNeed> streamsOf(wse::RotaryOp op,
                                    const Machine &machine) const final {
    const FeatureTiling heads =
        Layout::of(op.getInput(), machine.height).features;
    if (heads.columns == 1)
      return {};
    return {
        {StreamPattern::RowWest, {}},
        {StreamPattern::HeadCast, {heads.units, heads.columns, heads.columns}}};
  }

  int64_t scratchWords(wse::RotaryOp op, const Machine &machine) const final {
    const Layout layout = Layout::of(op.getInput(), machine.height);
    if (layout.features.columns == 1)
      return Layout::of(op.getSin(), machine.height)
          .words(machine.width, machine.height);
    const SpreadHeads heads(layout, layout.pitch(machine.height));
    const Type element = elementTypeOf(op.getInput());
    return wordsOf(element, layout.features.unitSize * heads.tokens) +
           wordsOf(element, heads.most * heads.tokens);
  }

  LogicalResult lowerOp(wse::RotaryOp op, RoutineBuilder &b) const final {
    const Tile x = b.tile(op.getInput()), y = b.tile(op.getResult()),
               cos = b.tile(op.getCos()), sin = b.tile(op.getSin());
    const FeatureTiling &tiling = x.layout.features;
    if (tiling.columns > 1) {
      turnSpread(op, b, x, y, cos, sin);
      return success();
    }
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

  /// Features of a head that a PE turns alike: from `first` of the head on, of
  /// which it holds those from `own` on, `count` of them.
  struct Features {
    Value first, own, count;
  };
  static void turnSpread(wse::RotaryOp op, RoutineBuilder &b, const Tile &x,
                         const Tile &y, const Tile &cos, const Tile &sin);
};

void Rotary::turnSpread(wse::RotaryOp op, RoutineBuilder &b, const Tile &x,
                        const Tile &y, const Tile &cos, const Tile &sin) {
  ScalarBuilder &s = b.scalars();
  const FeatureTiling &tiling = x.layout.features;
  const int64_t size = tiling.unitSize, turned = op.getRotaryDim(),
                half = turned / 2;
  const bool isShared =
      sin.layout.features.total() == half; // angles of both of a pair
  const bool isInterleaved = op.getInterleaved();
  const SpreadHeads heads(x.layout, x.pitch);
  const Type element = elementTypeOf(op.getInput());
  const std::string gathered =
      b.scratch("gathered_head", size * heads.tokens, element);
  const std::string minus =
      b.scratch("minus_sin", heads.most * heads.tokens, element);
  Value column = s.mod(s.px(), tiling.columns);
  Value first = s.spreadStart(size, tiling.columns, column);
  Value count = s.spreadSize(size, tiling.columns, column);
  Value end = s.add(first, count);
  auto within = [&](Value from, Value to, int64_t step) {
    Value many = s.div(s.max(s.add(s.sub(to, from), step - 1), 0), step);
    Value some = s.less(0, many);
    return Features{s.mul(some, from), s.mul(some, s.sub(from, first)), many};
  };
  // The first of pairs, and the second.
  auto ofPairs = [&](int64_t number) {
    if (isInterleaved)
      return within(s.add(first, s.mod(s.add(first, number), 2)),
                    s.min(end, turned), 2);
    return within(s.max(first, number * half), s.min(end, (number + 1) * half),
                  1);
  };
  const int64_t step = isInterleaved ? 2 : 1;
  auto turn = [&](Affine token, Affine tokens) {
    GroupBlock block;
    Value behind = s.sub(size, end);
    block.extents = {count, tokens};
    block.own = Operand::memory(x.buffer, token, {x.pitch, 1});
    block.wordsBehind = tokens.terms.empty()
                            ? Affine(s.mul(behind, tokens.constant))
                            : Affine(s.mul(behind, tokens.terms[0].first));
    block.anyBehind = s.less(0, behind);
    multicastBlocks(b, PEGroups::ofHeads(tiling), block, {size, tokens},
                    Operand::memory(gathered, 0, {heads.tokens, 1}),
                    Operand::fabric(b.color(StreamPattern::HeadCast), 2));
    for (int64_t number : {0, 1}) {
      const Features own = ofPairs(number);
      const int64_t apart = isInterleaved ? 1 : half;
      auto of = [&](const Tile &tile) {
        return Operand::memory(tile.buffer,
                               Affine(own.own) * tile.pitch + token,
                               {step * tile.pitch, 1});
      };
      auto angles = [&](const Tile &tile) {
        Value angle = own.first;
        if (isShared)
          angle = isInterleaved ? s.div(angle, 2)
                                : s.max(s.sub(angle, number * half), 0);
        return Operand::memory(tile.buffer, Affine(angle) * tile.pitch + token,
                               {(isShared ? 1 : step) * tile.pitch, 1});
      };
      Value other = number == 0 ? s.add(own.first, apart)
                                : s.max(s.sub(own.first, apart), 0);
      Operand sines = angles(sin);
      if (number == 0) {
        const Operand negated = Operand::memory(minus, 0, {heads.tokens, 1});
        b.vector(Opcode::Mul, {own.count, tokens}, negated,
                 {sines, Operand::immediate(-1)});
        sines = negated;
      }
      b.vector(Opcode::Mul, {own.count, tokens}, of(y), {of(x), angles(cos)});
      b.vector(Opcode::Fmac, {own.count, tokens}, of(y),
               {Operand::memory(gathered, Affine(other) * heads.tokens,
                                {step * heads.tokens, 1}),
                sines});
    }
    if (turned < size) {
      const Features rest = within(s.max(first, turned), end, 1);
      auto of = [&](const Tile &tile) {
        return Operand::memory(tile.buffer,
                               Affine(rest.own) * tile.pitch + token,
                               {tile.pitch, 1});
      };
      b.vector(Opcode::Mov, {rest.count, tokens}, of(y), {of(x)});
    }
  };
  b.where(RoutineBuilder::inSomeUnit(s, tiling), [&] {
    b.where(x.active, [&] {
      if (heads.rounds == 1)
        return turn(0, x.channels);
      Value whole = s.div(x.channels, heads.tokens);
      b.loop(whole,
             [&](Affine round) { turn(round * heads.tokens, heads.tokens); });
      if (heads.tokens == 1)
        return;
      Value done = s.mul(whole, heads.tokens);
      b.where(s.less(done, x.channels),
              [&] { turn(done, s.sub(x.channels, done)); });
    });
  });
}

} // namespace

WSEC_DEFINE_KERNEL(Rotary)

} // namespace wsec
