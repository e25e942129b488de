// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor into a state. Tokens at a position of the call are gathered north to
// the first row of their batch element, which multicasts them south; each row
// keeps those that it owns. Of four rows that take tokens in turn, two tokens
// at position 5:
//
//   row 0   0 4       row 2   2 6 <- the second
//       1   1 5 <- the first      3   3

#include "compiler/kernels/CachedTokens.h"
#include "compiler/kernels/StateKernel.h"

using namespace mlir;

namespace wsec {
namespace {

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
    return op.getPositions().empty() ? 0
                                     : wordsOf(elementTypeOf(op.getValue()),
                                               heardElements(op, machine));
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
  static void writeTokens(wse::UpdateOp op, RoutineBuilder &b);
};

} // namespace

void Update::writeTokens(wse::UpdateOp op, RoutineBuilder &b) {
  Tile state = b.tile(SymbolTable::lookupNearestSymbolFrom<wse::StateOp>(
      op, op.getStateAttr()));
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
    b.vector(Opcode::Mov, {fresh, state.features},
             Operand::memory(state.buffer, atMost(own.before, state.pitch - 1),
                             {1, state.pitch}),
             {from});
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
