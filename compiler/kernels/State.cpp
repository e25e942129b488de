// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stays on the wafer: every PE copies its elements of a state from a
// tensor or to one.

#include "compiler/kernels/KernelLibrary.h"

using namespace mlir;

namespace wsec {
namespace {

using pe::Opcode;
using pe::Operand;

template <typename OpTy>
class StateKernel : public KernelFor<OpTy> {
  KernelCost costOf(OpTy op, const Machine &machine) const final {
    Layout layout = Layout::of(tensorOf(op));
    KernelCost cost;
    cost.compute = CostModel(machine).copies(
        layout.features.largest(machine.width), layout.pitch(machine.height));
    cost.lowerBound = double(layout.features.total()) * layout.tokenCount() /
                      (machine.copyRate * machine.peCount());
    return cost;
  }
  SmallVector<StreamNeed> streamsOf(OpTy, const Machine &) const final {
    return {};
  }
  LogicalResult lowerOp(OpTy op, RoutineBuilder &b) const final {
    auto state = SymbolTable::lookupNearestSymbolFrom<wse::StateOp>(
        op, op.getStateAttr());
    Tile held = b.tile(state), tensor = b.tile(tensorOf(op));
    bool writes = isa<wse::UpdateOp>(op);
    const Tile &from = writes ? tensor : held, &to = writes ? held : tensor;
    b.where(held.active, [&] {
      b.vector(Opcode::Mov, {held.features, held.channels},
               Operand::memory(to.buffer, 0, {to.pitch, 1}),
               {Operand::memory(from.buffer, 0, {from.pitch, 1})});
    });
    return success();
  }

  static Value tensorOf(wse::UpdateOp op) { return op.getValue(); }
  static Value tensorOf(wse::RecallOp op) { return op.getResult(); }
};

} // namespace

const Kernel *recallKernel() {
  static const StateKernel<wse::RecallOp> kernel;
  return &kernel;
}

const Kernel *updateKernel() {
  static const StateKernel<wse::UpdateOp> kernel;
  return &kernel;
}

} // namespace wsec
