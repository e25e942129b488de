// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Features to other columns: each row multicasts all its elements, every PE
// keeps a window of them. Where heads are repeated, a PE that owns several
// takes what they show into a window of its own and repeats it from there.
//
// A token that is to lie along the rows goes down the columns, and each row is
// gathered of what its columns have of its features; or back, each column of
// what its rows have, to the row of the token.

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/attention/CachedTokens.h"

using namespace mlir;

namespace wsec {
namespace {

/// From one type to another; repeated heads stay whole.
struct Move {
  RankedTensorType from, to;
  int64_t repeat;

  Pairing pairing(const Machine &machine) const {
    const Pairing pairing = pairingOf({from, to}, machine);
    const int64_t size = Layout::of(to, machine.height).features.unitSize;
    // No word has features of two heads.
    return pairing == Pairing::Features && repeat > 1 && size % 2
               ? Pairing::None
               : pairing;
  }
  /// What a PE with several repeated heads hears.
  int64_t windowWords(const Machine &machine) const;
};

int64_t Move::windowWords(const Machine &machine) const {
  const Layout layout = layoutOf(to, pairing(machine), machine);
  const int64_t size = layout.features.unitSize;
  const int64_t heads = layout.features.largest(machine.width) / size;
  if (repeat == 1 || heads <= 1 || machine.width == 1)
    return 0;
  // The heads of a PE may begin within a group.
  return std::min((heads + 2 * repeat - 2) / repeat,
                  layout.features.units / repeat) *
         size * layout.pitch(machine.height);
}

Move moveOf(wse::RedistributeOp op) {
  return {op.getInput().getType(), op.getResult().getType(),
          int64_t(op.getRepeat())};
}

bool turns(RankedTensorType from, RankedTensorType to) {
  return !wse::TokenTiling::of(from).sameRows(wse::TokenTiling::of(to));
}

/// Of features that begin at `first` of a tensor and end before `end` those
/// between two others.
struct Overlap {
  Value count;
  Value offset; ///< of the first of them in the former
  Overlap(ScalarBuilder &s, Value first, Value end, Value from, Value to)
      : count(s.max(s.sub(s.min(end, to), s.max(first, from)), 0)),
        offset(s.mul(s.less(0, count), s.max(s.sub(from, first), 0))) {}
};

class Redistribute final : public KernelFor<wse::RedistributeOp> {
  SmallVector<Relay> relays() const final {
    SmallVector<Relay> relays = rowRelays();
    relays.append(gatherColumnRelays());
    return relays;
  }
  Value moved(Operation *op) const final { return op->getResult(0); }

  KernelCost costOf(wse::RedistributeOp op,
                    const Machine &machine) const final {
    const Move move = moveOf(op);
    return redistributeCost(move.from, move.to, move.repeat, machine);
  }
  SmallVector<StreamNeed> streamsOf(wse::RedistributeOp op,
                                    const Machine &machine) const final {
    const bool isTurned = turns(op.getInput().getType(), op.getType());
    if (isTurned && wse::liesAlongRows(op.getInput()))
      return gatherColumnStreams(machine);
    SmallVector<StreamNeed> needs = rowStreams(machine);
    if (isTurned)
      needs.append(batchStreams(Layout::of(op.getInput(), machine.height)));
    return needs;
  }

  int64_t scratchWords(wse::RedistributeOp op,
                       const Machine &machine) const final {
    if (!turns(op.getInput().getType(), op.getType()))
      return moveOf(op).windowWords(machine);
    return wse::liesAlongRows(op.getInput())
               ? 0
               : wordsOf(elementTypeOf(op.getInput()),
                         heardFeatures(op, machine));
  }

  LogicalResult lowerOp(wse::RedistributeOp op, RoutineBuilder &b) const final {
    ScalarBuilder &s = b.scalars();
    if (turns(op.getInput().getType(), op.getType())) {
      (wse::liesAlongRows(op.getInput()) ? toRow : toRows)(op, b);
      return success();
    }
    const Pairing pairing = moveOf(op).pairing(b.machine());
    Tile in = b.tile(op.getInput(), pairing);
    Tile out = b.tile(op.getResult(), pairing);
    const int64_t repeat = op.getRepeat();
    const int64_t window = scratchWords(op, b.machine());
    b.where(out.active, [&] {
      if (b.width() == 1)
        return repeatGroups(op, b, out, in.buffer, {});
      Value first = out.firstFeature, count = out.features;
      std::string heard = out.buffer;
      Heads heads;
      if (repeat > 1) {
        const int64_t size = out.layout.features.unitSize;
        heads.first = s.div(out.firstFeature, size);
        heads.count = s.div(out.features, size);
        Value group = s.div(heads.first, repeat);
        // A part of a head, or its first feature, lies as far into its group's.
        first = s.sub(out.firstFeature, s.mul(s.sub(heads.first, group), size));
        if (window > 0) {
          heard = b.scratch("window", window);
          Value end =
              s.div(s.add(s.add(heads.first, heads.count), repeat - 1), repeat);
          count = s.mul(s.mul(s.sub(end, group), s.less(0, heads.count)), size);
        }
      }
      Operand row = Operand::fabric(b.color(StreamPattern::RowCast), 3);
      multicastRow(
          b, in, {1, count, out.channels},
          Operand::memory(heard, 0, {0, out.pitch, 1}),
          row.windowed(s.mul(first, out.channels),
                       Affine(out.channels) * in.layout.features.total()));
      if (window > 0)
        repeatGroups(op, b, out, heard, heads);
    });
    return success();
  }

private:
  static int64_t heardFeatures(wse::RedistributeOp op, const Machine &machine) {
    return Layout::of(op.getInput(), machine.height)
        .features.largest(machine.width);
  }
  static void toRows(wse::RedistributeOp op, RoutineBuilder &b) {
    ScalarBuilder &s = b.scalars();
    const Tile in = b.tile(op.getInput()), out = b.tile(op.getResult());
    const std::string heard = b.scratch("heard", heardFeatures(op, b.machine()),
                                        elementTypeOf(op.getInput()));
    const Operand column = Operand::memory(heard, 0, {1});
    multicastTokens(b, in, {in.channels, in.features},
                    Operand::memory(in.buffer, 0, {1, in.pitch}), in.features,
                    {in.features}, column);
    const Value end = s.add(out.firstToken, out.channels);
    const Value features = s.add(in.firstFeature, in.features);
    const Overlap own(s, in.firstFeature, features, out.firstToken, end);
    if (b.width() == 1)
      return b.vector(Opcode::Mov, {out.channels},
                      Operand::memory(out.buffer, 0, {1}),
                      {Operand::memory(heard, own.offset, {1})});
    GroupBlock block;
    block.extents = {own.count};
    block.own = Operand::memory(heard, own.offset, {1});
    block.wordsBehind = s.max(s.sub(end, s.max(features, out.firstToken)), 0);
    block.anyBehind = s.less(features, end);
    block.anyOwn = s.less(0, own.count);
    multicastBlocks(b, PEGroups::wholeRow(b.machine()), block, {out.channels},
                    Operand::memory(out.buffer, 0, {1}),
                    Operand::fabric(b.color(StreamPattern::RowCast)));
  }
  static void toRow(wse::RedistributeOp op, RoutineBuilder &b) {
    ScalarBuilder &s = b.scalars();
    const Tile in = b.tile(op.getInput()), out = b.tile(op.getResult());
    const Value end = s.add(out.firstFeature, out.features);
    const Value rowEnd = s.add(in.firstToken, in.channels);
    const Overlap own(s, in.firstToken, rowEnd, out.firstFeature, end);
    b.start(
        FillThread, Opcode::Mov, {out.features, out.channels},
        Operand::memory(out.buffer, 0, {out.pitch, 1}),
        {Operand::fabric(b.color(StreamPattern::KeyCast), 2).windowed(0, 1)});
    gatherColumn(b, columnPitch(b.machine()), {own.count},
                 Operand::memory(in.buffer, own.offset, {1}), [&](Value row) {
                   Value upTo = RoutineBuilder::tokensBefore(s, in.layout, row);
                   return s.max(
                       s.sub(s.min(end, upTo), s.max(out.firstFeature, rowEnd)),
                       0);
                 });
    b.await(FillThread);
  }

  /// Heads that a PE owns; without them all of the tensor.
  struct Heads {
    Value first, count;
  };

  /// Copies heads from `from`, which begins with the group of the first one.
  static void repeatGroups(wse::RedistributeOp op, RoutineBuilder &b,
                           const Tile &out, StringRef from, Heads heads) {
    ScalarBuilder &s = b.scalars();
    const int64_t repeat = op.getRepeat();
    const int64_t size = op.getRepeat() == 1 ? out.layout.features.total()
                                             : out.layout.features.unitSize;
    const int64_t head = size * out.pitch;
    auto copy = [&](Affine count, Affine to, Affine group) {
      b.vector(Opcode::Mov, {count, size, out.channels},
               Operand::memory(out.buffer, to * head, {head, out.pitch, 1}),
               {Operand::memory(from, group * head, {0, out.pitch, 1})});
    };
    if (!heads.first) {
      b.loop(out.layout.features.total() / size / repeat,
             [&](Affine group) { copy(repeat, group * repeat, group); });
      return;
    }
    // The rest of a group that the columns west begin, whole ones, a part.
    Value begun = s.mod(s.sub(repeat, s.mod(heads.first, repeat)), repeat);
    begun = s.min(begun, heads.count);
    Value rest = s.sub(heads.count, begun), any = s.less(0, begun);
    Value whole = s.div(rest, repeat);
    copy(begun, 0, 0);
    b.loop(whole, [&](Affine group) {
      copy(repeat, Affine(begun) + group * repeat, Affine(any) + group);
    });
    copy(s.mod(rest, repeat), Affine(begun) + Affine(whole) * repeat,
         Affine(any) + Affine(whole));
  }
};

} // namespace

KernelCost redistributeCost(RankedTensorType from, RankedTensorType to,
                            int64_t repeat, const Machine &machine) {
  CostModel turn(machine);
  KernelCost turned;
  if (turns(from, to))
    turned.lowerBound = turn.leastAcross(double(machine.height));
  if (turns(from, to) && wse::liesAlongRows(from)) {
    turned.serial =
        gatherColumnCycles(machine, machine.height) +
        turn.multicast(double(machine.height), 0) +
        2 * double(
                Layout::of(to, machine.height).features.largest(machine.width));
    return turned;
  }
  if (turns(from, to)) {
    const Layout token = Layout::of(from, machine.height);
    turned.serial =
        multicastTokensCycles(
            token, double(token.features.largest(machine.width)), machine) +
        multicastRowCycles(
            machine,
            double(Layout::of(to, machine.height).pitch(machine.height)));
    return turned;
  }
  const Move move = {from, to, repeat};
  const Pairing pairing = move.pairing(machine);
  Layout layout = layoutOf(to, pairing, machine);
  CostModel model(machine);
  double channels = layout.pitch(machine.height);
  double words = layoutOf(from, pairing, machine).features.total() * channels;
  KernelCost cost;
  cost.compute = model.copies(1, layout.words(machine.width, machine.height));
  if (move.windowWords(machine) > 0)
    cost.serial =
        model.copies(layout.features.largest(machine.width), channels);
  if (machine.width > 1) {
    cost.fabric = multicastRowCycles(machine, words);
    cost.lowerBound = words;
  }
  return cost;
}

WSEC_DEFINE_KERNEL(Redistribute)

} // namespace wsec
