// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stays on the wafer: every PE copies its elements of a state from a
// tensor or to one.

#ifndef COMPILER_KERNELS_MOVE_STATEKERNEL_H
#define COMPILER_KERNELS_MOVE_STATEKERNEL_H

#include "compiler/kernels/KernelLibrary.h"

namespace wsec {

template <typename OpTy>
class StateKernel : public KernelFor<OpTy> {
protected:
  KernelCost costOf(OpTy op, const Machine &machine) const override {
    Layout layout = Layout::of(tensorOf(op), machine.height);
    KernelCost cost;
    cost.compute = CostModel(machine).copies(
        layout.features.largest(machine.width), layout.pitch(machine.height));
    cost.lowerBound = double(layout.features.total()) * layout.tokenCount() /
                      (machine.copyRate * machine.peCount());
    return cost;
  }
  llvm::LogicalResult lowerOp(OpTy op, RoutineBuilder &b) const override {
    auto state = mlir::SymbolTable::lookupNearestSymbolFrom<wse::StateOp>(
        op, op.getStateAttr());
    Tile held = b.tile(state), tensor = b.tile(tensorOf(op));
    bool writes = llvm::isa<wse::UpdateOp>(op);
    const Tile &from = writes ? tensor : held, &to = writes ? held : tensor;
    b.where(held.active, [&] {
      b.vector(Opcode::Mov, {held.features, held.channels},
               Operand::memory(to.buffer, 0, {to.pitch, 1}),
               {Operand::memory(from.buffer, 0, {from.pitch, 1})});
    });
    return llvm::success();
  }

  static mlir::Value tensorOf(wse::UpdateOp op) { return op.getValue(); }
  static mlir::Value tensorOf(wse::RecallOp op) { return op.getResult(); }
};

} // namespace wsec

#endif // COMPILER_KERNELS_MOVE_STATEKERNEL_H
