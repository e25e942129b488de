// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor into a state. A token at a position of the call is multicast along
// the columns by the first row of its batch element; the row that owns it keeps
// it.

#include "compiler/kernels/StateKernel.h"

using namespace mlir;

namespace wsec {
namespace {

using pe::Affine;
using pe::Opcode;
using pe::Operand;
using pe::ScalarKind;

/// Words that a row takes before it knows whether they are its own.
int64_t wordsOfToken(const Layout &token, const Machine &machine) {
  return token.group > 1 ? token.features.largest(machine.width) : 0;
}

class Update final : public StateKernel<wse::UpdateOp> {
  bool replaces() const final { return true; }

  KernelCost costOf(wse::UpdateOp op, const Machine &machine) const final {
    KernelCost cost = StateKernel::costOf(op, machine);
    if (!op.getPosition())
      return cost;
    CostModel model(machine);
    const Layout token = Layout::of(op.getValue(), machine.height);
    const double words = token.features.largest(machine.width);
    cost.compute = 2 * model.copies(1, words);
    cost.fabric = words;
    cost.serial = model.multicast(double(token.group), 0);
    return cost;
  }
  SmallVector<StreamNeed> streamsOf(wse::UpdateOp op,
                                    const Machine &machine) const final {
    if (!op.getPosition())
      return {};
    const Layout token = Layout::of(op.getValue(), machine.height);
    return {{StreamPattern::KeyCast, {token.batch, token.group, token.group}}};
  }
  int64_t scratchWords(wse::UpdateOp op, const Machine &machine) const final {
    return op.getPosition()
               ? wordsOfToken(Layout::of(op.getValue(), machine.height),
                              machine)
               : 0;
  }
  LogicalResult lowerOp(wse::UpdateOp op, RoutineBuilder &b) const final {
    if (!op.getPosition())
      return StateKernel::lowerOp(op, b);
    writeToken(op, b);
    return success();
  }

  static void writeToken(wse::UpdateOp op, RoutineBuilder &b);
};

} // namespace

void Update::writeToken(wse::UpdateOp op, RoutineBuilder &b) {
  ScalarBuilder &s = b.scalars();
  Tile state = b.tile(SymbolTable::lookupNearestSymbolFrom<wse::StateOp>(
      op, op.getStateAttr()));
  Tile token = b.tile(op.getValue());
  const Layout &layout = state.layout;
  Value batch = s.div(s.py(), layout.group);
  Value before = s.sub(s.mul(batch, layout.tokens), state.firstToken);
  b.where(state.sequences, [&] {
    // Which of the tokens here it is, and whether it is one.
    Affine own = b.argument(op.getPosition()) + Affine(before);
    Affine isMine = b.compute(ScalarKind::Less, {own, state.tokens}) +
                    b.compute(ScalarKind::Less, {own, 0}) * -1;
    Affine words = b.compute(ScalarKind::Mul, {isMine, state.features});
    Affine place =
        b.compute(ScalarKind::Min,
                  {b.compute(ScalarKind::Max, {own, 0}), state.pitch - 1});
    Operand from = Operand::memory(token.buffer, 0, {token.pitch});
    if (layout.group > 1) {
      Operand column = Operand::fabric(b.color(StreamPattern::KeyCast));
      b.where(s.equal(s.mod(s.py(), layout.group), 0), [&] {
        b.start(KeyThread, Opcode::Mov, {token.features}, column, {from});
      });
      std::string taken = b.scratch(
          "token", wordsOfToken(token.layout, b.machine()),
          cast<RankedTensorType>(op.getValue().getType()).getElementType());
      b.vector(Opcode::Mov, {state.features}, Operand::memory(taken, 0, {1}),
               {column});
      from = Operand::memory(taken, 0, {1});
    }
    b.vector(Opcode::Mov, {words},
             Operand::memory(state.buffer, place, {state.pitch}), {from});
  });
}

WSEC_DEFINE_KERNEL(Update)

} // namespace wsec
