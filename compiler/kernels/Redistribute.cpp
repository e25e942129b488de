// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Features to other columns: each row multicasts all its elements, every PE
// keeps a window of them.

#include "compiler/kernels/KernelLibrary.h"

using namespace mlir;

namespace wsec {
namespace {

using pe::Affine;
using pe::Opcode;
using pe::Operand;
using wse::StreamPattern;

class Redistribute final : public KernelFor<wse::RedistributeOp> {
  KernelCost costOf(wse::RedistributeOp op,
                    const Machine &machine) const final {
    Layout layout = Layout::of(op.getResult());
    CostModel model(machine);
    double channels = layout.pitch(machine.height);
    double words = layout.features.total() * channels;
    KernelCost cost;
    cost.compute = model.copies(1, layout.words(machine.width, machine.height));
    if (machine.width > 1) {
      cost.fabric = model.thereAndBack(words) + model.chain(machine.width, 0) +
                    model.multicast(machine.width, 0);
      cost.lowerBound = words;
    }
    return cost;
  }
  SmallVector<StreamNeed> streamsOf(wse::RedistributeOp,
                                    const Machine &machine) const final {
    return rowStreams(machine);
  }

  LogicalResult lowerOp(wse::RedistributeOp op, RoutineBuilder &b) const final {
    ScalarBuilder &s = b.scalars();
    Tile in = b.tile(op.getInput()), out = b.tile(op.getResult());
    b.where(out.active, [&] {
      if (b.width() == 1) {
        b.vector(Opcode::Mov, {out.features, out.channels},
                 Operand::memory(out.buffer, 0, {out.pitch, 1}),
                 {Operand::memory(in.buffer, 0, {in.pitch, 1})});
        return;
      }
      Operand row = Operand::fabric(b.color(StreamPattern::RowCast), 3);
      multicastRow(
          b, in, {1, out.features, out.channels},
          Operand::memory(out.buffer, 0, {0, out.pitch, 1}),
          row.windowed(s.mul(out.firstFeature, out.channels),
                       Affine(out.channels) * in.layout.features.total()));
    });
    return success();
  }
};

} // namespace

const Kernel *redistributeKernel() {
  static const Redistribute kernel;
  return &kernel;
}

} // namespace wsec
