// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor to another region. The PEs of a row pass their words on toward it,
// features in ascending order; the last one's words fly to that row of the
// other region, whose PEs each keep a window of them:
//
//   from @a, 3 columns            to @b, 2 columns
//   [0] -> [0 1] -> [0 1 2]  =>   [0 1 .]  [. . 2]
//
// In a region with more or fewer rows they fly to all rows that hold some of
// their tokens. A PE hears those rows one after the other, each in a color of
// its own, and takes its features of all their tokens; where a row also has
// tokens of others, by way of scratch memory:
//
//   from @a, 2 rows     to @b, 3 rows
//   tokens 0 1 2   =>   0 1           of (0 1 2)
//          3 4 5        2 3           of (0 1 2) and (3 4 5)
//                       4 5           of (3 4 5)

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/machine/TokenRows.h"

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

/// How both tensors pair up, if they do alike, where the result lies on
/// `machine`: its region, or a shape that is tried for it.
Pairing pairingOfBoth(wse::TransferOp op, const Machine &machine) {
  const Pairing pairing = pairingOf(op.getInput(), op.sourceRegion().machine());
  return pairing == pairingOf(op.getResult(), machine) ? pairing
                                                       : Pairing::None;
}
Pairing pairingOfBoth(wse::TransferOp op) {
  auto region = wse::regionOf(cast<wse::KernelOp>(op.getOperation()));
  return pairingOfBoth(op, region.machine());
}

/// Rows of both regions, where they are not as many.
struct RowChange {
  TokenRows from, to;

  static RowChange of(wse::TransferOp op) {
    auto region = wse::regionOf(cast<wse::KernelOp>(op.getOperation()));
    const Layout layout =
        layoutOf(op.getResult(), pairingOfBoth(op), region.machine());
    return {{layout.batch, layout.tokens, op.sourceRegion().rows()},
            {layout.batch, layout.tokens, region.rows()}};
  }
  bool any() const { return from.height != to.height; }
  /// Rows of the one region that meet in one of the other.
  int64_t meeting() const { return any() ? to.mostRowsOf(from) : 1; }
  /// Whether some row has tokens of which a row there holds only a part.
  bool splits() const {
    for (int64_t row = 0; any() && row < from.height; ++row)
      if (auto there = from.rowsOf(row, to); there.end - there.begin > 1)
        return true;
    return false;
  }
  /// Most tokens of a row that sends.
  int64_t pitch() const {
    int64_t most = 0;
    for (int64_t row = 0; row < from.height; ++row)
      most = std::max(most, from.count(row));
    return most;
  }
};

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
    Layout layout =
        layoutOf(op.getResult(), pairingOfBoth(op, machine), machine);
    CostModel model(machine);
    const RowChange change = RowChange::of(op);
    int64_t tokens = layout.pitch(machine.height); // that a row hears
    for (int64_t row = 0; change.any() && row < change.to.height; ++row) {
      int64_t heard = 0;
      auto there = change.to.rowsOf(row, change.from);
      for (int64_t y = there.begin; y < there.end; ++y)
        heard += change.from.count(y);
      tokens = std::max(tokens, heard);
    }
    double words = double(layout.features.total() * tokens);
    KernelCost cost;
    const int64_t features = layout.features.largest(machine.width);
    cost.compute = model.copies(1, features * tokens);
    if (change.splits())
      cost.compute += double(change.meeting()) *
                      model.copies(features, layout.pitch(machine.height));
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
    RowSet rows;
    if (const RowChange change = RowChange::of(op); change.any())
      rows = {change.to.batch, change.to.tokens, change.to.tokens};
    needs.push_back({StreamPattern::Transfer, rows, from.getSymName()});
    return needs;
  }

  int64_t wordsBetween(Operation *op, const Machine &machine) const final {
    auto transfer = cast<wse::TransferOp>(op);
    const Layout layout = layoutOf(transfer.getResult(),
                                   pairingOfBoth(transfer, machine), machine);
    return layout.features.total() *
           layout.pitch(transfer.sourceRegion().rows());
  }

  int64_t scratchWords(wse::TransferOp op, const Machine &machine) const final {
    const RowChange change = RowChange::of(op);
    if (!change.splits())
      return 0;
    Layout layout =
        layoutOf(op.getResult(), pairingOfBoth(op, machine), machine);
    return layout.features.largest(machine.width) * change.pitch();
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
    Tile in = b.tile(op.getInput(), pairingOfBoth(op));
    const bool east = goesEast(op);
    auto sendOwn = [&](Affine onward) {
      b.start(RowThread, Opcode::Mov, {in.features, in.channels},
              Operand::fabric(onward, 2),
              {Operand::memory(in.buffer, 0, {in.pitch, 1})});
    };
    b.where(in.active, [&] {
      const Affine across = b.rowColor(StreamPattern::Transfer, s.py());
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
    Tile out = b.tile(op.getResult(), pairingOfBoth(op));
    if (const RowChange change = RowChange::of(op); change.any())
      return takeFromRows(change, out, b);
    Operand row =
        Operand::fabric(b.rowColor(StreamPattern::Transfer, s.py()), 3);
    b.where(out.active, [&] {
      b.vector(
          Opcode::Mov, {1, out.features, out.channels},
          Operand::memory(out.buffer, 0, {0, out.pitch, 1}),
          {row.windowed(s.mul(out.firstFeature, out.channels),
                        Affine(out.channels) * out.layout.features.total())});
    });
  }

  /// The row of the other region that holds a token.
  static Value rowOf(ScalarBuilder &s, const TokenRows &rows, Value token) {
    Value element = s.div(token, rows.tokens);
    if (rows.group() == 0)
      return s.tileIndex(rows.batch, rows.height, element);
    return s.add(
        s.mul(element, rows.group()),
        s.tileIndex(rows.tokens, rows.span(), s.mod(token, rows.tokens)));
  }

  static void takeFromRows(const RowChange &change, const Tile &out,
                           RoutineBuilder &b) {
    ScalarBuilder &s = b.scalars();
    const TokenRows &rows = change.from;
    Layout from = out.layout;
    from.group = rows.group();
    from.span = std::max<int64_t>(rows.span(), 1);
    const int64_t features = out.layout.features.total();
    std::string heard;
    if (change.splits())
      heard = b.scratch("heard", out.layout.features.largest(b.width()) *
                                     change.pitch());
    Value begin = out.firstToken, end = s.add(begin, out.channels);
    Value first = rowOf(s, rows, s.min(begin, rows.batch * rows.tokens - 1));
    for (int64_t i = 0; i < change.meeting(); ++i) {
      Value row = s.min(s.add(first, i), rows.height - 1);
      Value its = RoutineBuilder::tokensBefore(s, from, row, rows.height);
      Value next =
          RoutineBuilder::tokensBefore(s, from, s.add(row, 1), rows.height);
      Value count = s.sub(next, its);
      Value low = s.max(its, begin), high = s.min(next, end);
      Value isThere =
          s.logicalAnd(s.less(low, high), s.equal(row, s.add(first, i)));
      b.where(s.logicalAnd(out.active, isThere), [&] {
        Operand words =
            Operand::fabric(b.rowColor(StreamPattern::Transfer, row), 3)
                .windowed(s.mul(out.firstFeature, count),
                          Affine(count) * features);
        const Operand own =
            Operand::memory(out.buffer, s.sub(low, begin), {0, out.pitch, 1});
        if (heard.empty()) {
          b.vector(Opcode::Mov, {1, out.features, count}, own, {words});
          return;
        }
        const int64_t pitch = change.pitch();
        b.vector(Opcode::Mov, {1, out.features, count},
                 Operand::memory(heard, 0, {0, pitch, 1}), {words});
        b.vector(Opcode::Mov, {1, out.features, s.sub(high, low)}, own,
                 {Operand::memory(heard, s.sub(low, its), {0, pitch, 1})});
      });
    }
  }
};

} // namespace

WSEC_DEFINE_KERNEL(Transfer)

} // namespace wsec
