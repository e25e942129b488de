// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor to another region with as many rows. The PEs of a row pass their
// words on toward it, features in ascending order; the last one's words fly to
// that row of the other region, whose PEs each keep a window of them:
//
//   from @a, 3 columns            to @b, 2 columns
//   [0] -> [0 1] -> [0 1 2]  =>   [0 1 .]  [. . 2]

#include "compiler/kernels/KernelLibrary.h"

#include <cstdlib>

using namespace mlir;

namespace wsec {
namespace {

bool goesEast(wse::TransferOp op) {
  auto to = wse::regionOf(cast<wse::KernelOp>(op.getOperation()));
  return op.sourceRegion().machine().x < to.machine().x;
}

/// Of the links along which the words are gathered.
StreamPattern chainOf(wse::TransferOp op) {
  return goesEast(op) ? StreamPattern::RowEast : StreamPattern::RowWest;
}

class Transfer final : public KernelFor<wse::TransferOp> {
  SmallVector<Relay> relays() const final {
    using P = StreamPattern;
    return {{P::RowEast, P::RowEast},
            {P::RowEast, P::Transfer},
            {P::RowWest, P::RowWest},
            {P::RowWest, P::Transfer}};
  }
  Value moved(Operation *op) const final { return op->getResult(0); }

  KernelCost costOf(wse::TransferOp op, const Machine &machine) const final {
    const Machine from = op.sourceRegion().machine();
    Layout layout = Layout::of(op.getResult(), machine.height);
    CostModel model(machine);
    double words =
        double(layout.features.total() * layout.pitch(machine.height));
    KernelCost cost;
    cost.compute = model.copies(1, layout.words(machine.width, machine.height));
    cost.fabric =
        words + model.chain(from.width, 0) +
        (std::abs(from.x - machine.x) + std::abs(from.y - machine.y)) *
            machine.hopCycles;
    cost.lowerBound = words;
    return cost;
  }

  SmallVector<StreamNeed> streamsOf(wse::TransferOp op,
                                    const Machine &) const final {
    wse::RegionOp from = op.sourceRegion();
    SmallVector<StreamNeed> needs;
    if (from.columns() > 1)
      needs.push_back({chainOf(op), {}, from.getSymName()});
    needs.push_back({StreamPattern::Transfer, {}, from.getSymName()});
    return needs;
  }

  LogicalResult lowerOp(wse::TransferOp op, RoutineBuilder &b) const final {
    if (b.isOn(op.sourceRegion()))
      send(op, b);
    else
      take(op, b);
    return success();
  }

  static void send(wse::TransferOp op, RoutineBuilder &b) {
    ScalarBuilder &s = b.scalars();
    Tile in = b.tile(op.getInput());
    const bool east = goesEast(op);
    auto sendOwn = [&](Affine onward) {
      b.start(RowThread, Opcode::Mov, {in.features, in.channels},
              Operand::fabric(onward, 2),
              {Operand::memory(in.buffer, 0, {in.pitch, 1})});
    };
    b.where(in.active, [&] {
      const Affine across = b.rowColor(StreamPattern::Transfer);
      if (b.width() == 1)
        return sendOwn(across);
      Value parity = s.mod(s.px(), 2);
      Affine incoming = b.parityColor(chainOf(op), s.logicalNot(parity));
      Value isEnd = s.equal(s.px(), east ? b.width() - 1 : 0);
      auto either = [&](auto part) {
        b.where(isEnd, [&] { part(across); });
        b.where(s.logicalNot(isEnd),
                [&] { part(b.parityColor(chainOf(op), parity)); });
      };
      Value before = in.firstFeature;
      Value after = s.sub(in.layout.features.total(),
                          s.add(in.firstFeature, in.features));
      Value behind = east ? before : after; // features of the PEs passed
      auto relay = [&](Affine onward) {
        b.start(RowThread, Opcode::Mov, {s.mul(behind, in.channels)},
                Operand::fabric(onward), {Operand::fabric(incoming)},
                s.less(0, behind));
      };
      if (east)
        either(relay);
      either(sendOwn);
      if (!east)
        either(relay);
    });
  }

  static void take(wse::TransferOp op, RoutineBuilder &b) {
    ScalarBuilder &s = b.scalars();
    Tile out = b.tile(op.getResult());
    Operand row = Operand::fabric(b.rowColor(StreamPattern::Transfer), 3);
    b.where(out.active, [&] {
      b.vector(
          Opcode::Mov, {1, out.features, out.channels},
          Operand::memory(out.buffer, 0, {0, out.pitch, 1}),
          {row.windowed(s.mul(out.firstFeature, out.channels),
                        Affine(out.channels) * out.layout.features.total())});
    });
  }
};

} // namespace

WSEC_DEFINE_KERNEL(Transfer)

} // namespace wsec
