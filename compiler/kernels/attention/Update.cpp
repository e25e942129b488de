// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor into a state. Tokens at a position of the call are gathered north to
// the first row of their batch element, which multicasts them south; each row
// keeps those that it owns. Of four rows that take tokens in turn, two tokens
// at position 5:
//
//   row 0   0 4       row 2   2 6 <- the second
//       1   1 5 <- the first      3   3
//
// They are rounded to the floats of the state, or to 8 bits: then each PE finds
// the largest of its features of a head, which is their scale, and puts two
// multiples of its 127th part into an element.

#include "compiler/kernels/attention/CachedTokens.h"
#include "compiler/kernels/move/StateKernel.h"
#include "dialects/wse/StateBytes.h"

using namespace mlir;

namespace wsec {
namespace {

/// The least scale of numbers of 8 bits; floats of 16 bits have it without
/// loss.
constexpr double leastScale = 1.0 / (1 << 14);

class Update final
    : public KernelOf<onnx::UpdateOp, StateKernel<wse::UpdateOp>> {
  /// What is written is no value: who reads it names the state.
  Value buildFor(onnx::UpdateOp op, Selection &selection) const final {
    wse::StateOp state = selection.stateOf(op);
    const int64_t batch = shapeOf(op.getValue())[0];
    if (batch > selection.machine().height) {
      selection.refuse(op, "writes a state of " + Twine(batch) +
                               " batch elements, each of which takes a row of "
                               "PEs, of which there are " +
                               Twine(selection.machine().height) +
                               "; take a mesh of more rows");
      return {};
    }
    if (Value value = selection.toState(op.getValue(), state, 1, op))
      selection.createFor<wse::UpdateOp>(
          op, FlatSymbolRefAttr::get(state.getSymNameAttr()),
          selection.argumentsOf(op.getPosition()), value);
    return {};
  }

  bool replaces() const final { return true; }

  SmallVector<Relay> relays() const final { return batchRelays(); }
  KernelCost costOf(wse::UpdateOp op, const Machine &machine) const final {
    KernelCost cost = StateKernel::costOf(op, machine);
    if (op.getPositions().empty())
      return cost;
    CostModel model(machine);
    const Layout tokens = Layout::of(op.getValue(), machine.height);
    const double features = tokens.features.largest(machine.width);
    const double own = double(tileSizeMax(tokens.tokens, tokens.group));
    cost.compute = model.copies(1, own * features);
    if (scalesOf(op)) {
      const double each = own * features, half = each / 2;
      const double scales = own * double(headsOf(tokens, machine));
      cost.compute = 2 * model.copies(1, scales) + model.divides(scales) +
                     5 * model.adds(1, each) + model.copies(1, half) +
                     model.adds(1, half) + model.fmacs(1, half);
    }
    if (tokens.group > 1)
      cost.serial = multicastTokensCycles(tokens, features, machine);
    return cost;
  }
  SmallVector<StreamNeed> streamsOf(wse::UpdateOp op,
                                    const Machine &machine) const final {
    if (op.getPositions().empty())
      return {};
    return batchStreams(Layout::of(op.getValue(), machine.height));
  }
  int64_t scratchWords(wse::UpdateOp op, const Machine &machine) const final {
    if (op.getPositions().empty())
      return 0;
    const Layout tokens = Layout::of(op.getValue(), machine.height);
    return wordsOf(elementTypeOf(op.getValue()), heardElements(op, machine)) +
           (scalesOf(op)
                ? ownTokens(tokens) * (tokens.features.largest(machine.width) +
                                       headsOf(tokens, machine))
                : 0);
  }
  LogicalResult lowerOp(wse::UpdateOp op, RoutineBuilder &b) const final {
    if (op.getPositions().empty())
      return StateKernel::lowerOp(op, b);
    writeTokens(op, b);
    return success();
  }

  /// Elements that a PE takes before it keeps its own of them.
  static int64_t heardElements(wse::UpdateOp op, const Machine &machine) {
    const Layout tokens = Layout::of(op.getValue(), machine.height);
    return tokens.group > 1
               ? tokens.tokens * tokens.features.largest(machine.width)
               : 0;
  }
  static wse::StateOp stateOf(wse::UpdateOp op) {
    return SymbolTable::lookupNearestSymbolFrom<wse::StateOp>(
        op, op.getStateAttr());
  }
  static wse::StateOp scalesOf(wse::UpdateOp op) {
    return wse::scalesOf(stateOf(op));
  }
  static int64_t ownTokens(const Layout &tokens) {
    return tileSizeMax(tokens.tokens, tokens.span);
  }
  /// Heads of which a column has features, at most.
  static int64_t headsOf(const Layout &tokens, const Machine &machine) {
    const FeatureTiling &its = tokens.features;
    return its.columns > 1 ? 1 : tileSizeMax(its.units, machine.width);
  }
  static void writeTokens(wse::UpdateOp op, RoutineBuilder &b);
  /// `count` tokens from the state's `first` on, of which `from` has token x
  /// feature.
  static void writeBytes(wse::UpdateOp op, RoutineBuilder &b, const Tile &state,
                         const Tile &tokens, const Operand &from,
                         const Affine &first, const Affine &count);
};

} // namespace

void Update::writeBytes(wse::UpdateOp op, RoutineBuilder &b, const Tile &state,
                        const Tile &tokens, const Operand &from,
                        const Affine &first, const Affine &count) {
  ScalarBuilder &s = b.scalars();
  const Tile scales = b.tile(scalesOf(op));
  const FeatureTiling &its = tokens.layout.features;
  const int64_t own = ownTokens(tokens.layout), size = its.unitSize;
  const int64_t most = tileSizeMax(size, its.columns);
  const int64_t half = tileSizeMax(most, 2),
                heads = headsOf(tokens.layout, b.machine());
  const Value features = its.columns > 1 ? tokens.features : s.constant(size);
  const SmallVector<Affine> all = {scales.features, features, count};
  const SmallVector<Affine> each = {scales.features, count};
  Operand values = from;
  values.strides = {size * from.strides[1], from.strides[1], from.strides[0]};
  const std::string scaled = b.scratch("scaled", heads * most * own);
  const std::string largest = b.scratch("largest", heads * own);
  auto rounded = [&](int64_t feature) {
    return Operand::memory(scaled, feature * own, {most * own, own, 1});
  };
  const Operand made = rounded(0),
                ofHead = Operand::memory(largest, 0, {own, 1}),
                ofEach = Operand::memory(largest, 0, {own, 0, 1});
  const Operand scale =
      Operand::memory(scales.buffer, first, {scales.pitch, 1});
  b.vector(Opcode::Mov, each, ofHead, {Operand::immediate(leastScale)});
  b.vector(Opcode::Abs, all, made, {values});
  b.vector(Opcode::Max, all, ofEach, {ofEach, made});
  b.vector(Opcode::Mov, each, scale, {ofHead});
  b.vector(Opcode::Div, each, ofHead, {Operand::immediate(127), scale});
  b.vector(Opcode::Mul, all, made, {values, ofEach});
  // Floats of f32 at this number are integers.
  for (Opcode opcode : {Opcode::Add, Opcode::Sub})
    b.vector(opcode, all, made, {made, Operand::immediate(12582912)});
  const Operand pairs = Operand::memory(state.buffer, first,
                                        {half * state.pitch, state.pitch, 1});
  const SmallVector<Affine> lower = {scales.features, half, count};
  b.vector(Opcode::Mov, lower, pairs, {made});
  b.vector(Opcode::BitAnd, lower, pairs, {pairs, Operand::immediate(255)});
  b.vector(Opcode::Fmac,
           {scales.features, s.max(s.sub(features, half), 0), count}, pairs,
           {rounded(half), Operand::immediate(256)});
}

void Update::writeTokens(wse::UpdateOp op, RoutineBuilder &b) {
  Tile state = b.tile(stateOf(op));
  Tile tokens = b.tile(op.getValue());
  const int64_t count = tokens.layout.tokens;
  const int64_t most = tokens.layout.features.largest(b.width());
  b.where(state.sequences, [&] {
    const CachedTokens own(b, state, op.getPositions(), count);
    auto atMost = [&](const Affine &number, int64_t limit) {
      return b.compute(pe::ScalarKind::Min, {number, limit});
    };
    Affine fresh = own.now + own.before * -1;
    Operand from = Operand::memory(tokens.buffer, 0, {1, tokens.pitch});
    if (state.layout.group > 1) {
      std::string heard = b.scratch("tokens", heardElements(op, b.machine()),
                                    elementTypeOf(op.getValue()));
      multicastTokens(b, tokens, {tokens.channels, tokens.features}, from,
                      tokens.features, {count, tokens.features},
                      Operand::memory(heard, 0, {most, 1}));
      from = Operand::memory(heard, 0, {most, 1});
    }
    // A row without one of them points at some token.
    from.offset = atMost(own.firstFresh, count - 1) * from.strides[0];
    from.strides[0] *= state.layout.span;
    const Affine first = atMost(own.before, state.pitch - 1);
    if (scalesOf(op))
      return writeBytes(op, b, state, tokens, from, first, fresh);
    b.vector(Opcode::Mov, {fresh, state.features},
             Operand::memory(state.buffer, first, {1, state.pitch}), {from});
  });
}

WSEC_DEFINE_KERNEL(Update)

void createUpdate(Selection &selection, Operation *user, wse::StateOp state,
                  Value value) {
  selection.createFor<wse::UpdateOp>(
      user, FlatSymbolRefAttr::get(state.getSymNameAttr()), ValueRange(),
      value);
}

} // namespace wsec
