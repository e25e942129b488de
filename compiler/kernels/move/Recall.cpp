// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A state into a tensor. At a position each batch element that begins there has
// zeros, and nothing is read of it.

#include "compiler/kernels/attention/CachedTokens.h"
#include "compiler/kernels/move/StateKernel.h"

using namespace mlir;

namespace wsec {
namespace {

class Recall final : public StateKernel<wse::RecallOp> {
  LogicalResult lowerOp(wse::RecallOp op, RoutineBuilder &b) const final {
    if (op.getPositions().empty())
      return StateKernel::lowerOp(op, b);
    Tile held = b.tile(SymbolTable::lookupNearestSymbolFrom<wse::StateOp>(
        op, op.getStateAttr()));
    Tile tensor = b.tile(op.getResult());
    b.where(held.active, [&] {
      const Affine position = ownPosition(b, op.getPositions(), held.layout);
      const Affine begins = b.compute(pe::ScalarKind::Equal, {position, 0});
      const Affine fresh =
          b.compute(pe::ScalarKind::Mul, {Affine(held.features), begins});
      auto fill = [&](const Affine &features, const Operand &from) {
        b.vector(Opcode::Mov, {features, held.channels},
                 Operand::memory(tensor.buffer, 0, {tensor.pitch, 1}), {from});
      };
      fill(fresh, Operand::immediate(0));
      fill(Affine(held.features) + fresh * -1,
           Operand::memory(held.buffer, 0, {held.pitch, 1}));
    });
    return success();
  }
};

} // namespace

WSEC_DEFINE_KERNEL(Recall)

Value createRecall(Selection &selection, Operation *user, wse::StateOp state,
                   ValueRange positions) {
  return selection.createFor<wse::RecallOp>(
      user, state.getType(), FlatSymbolRefAttr::get(state.getSymNameAttr()),
      positions);
}

} // namespace wsec
