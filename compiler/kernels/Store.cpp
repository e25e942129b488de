// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor off the wafer: each row funnels east, the last column north to the
// row of its lane, which sends the words over the edge. A lane so lists its
// rows from north to south, in a row the columns from east to west, and of each
// PE all features of a token, token by token.

#include "compiler/kernels/KernelLibrary.h"

using namespace mlir;

namespace wsec {
namespace {

using pe::Affine;
using pe::Opcode;
using pe::Operand;
using wse::StreamPattern;

class Store final : public KernelFor<wse::StoreOp> {
  KernelCost costOf(wse::StoreOp op, const Machine &machine) const final {
    Layout layout = Layout::of(op.getValue());
    CostModel model(machine);
    double words = double(layout.tokenCount()) * layout.features.total();
    double rowsOfLane =
        std::ceil(double(machine.height) / machine.lanesInUse());
    KernelCost cost;
    cost.compute = model.copies(layout.pitch(machine.height),
                                layout.features.largest(machine.width));
    cost.stream = std::min(words, rowsOfLane * layout.pitch(machine.height) *
                                      layout.features.total());
    cost.fabric = cost.stream + model.chain(machine.width + rowsOfLane, 0);
    cost.serial = model.launch(/*streams=*/false);
    cost.lowerBound = words / machine.lanesInUse();
    return cost;
  }

  SmallVector<StreamNeed> streamsOf(wse::StoreOp,
                                    const Machine &machine) const final {
    SmallVector<StreamNeed> needs;
    if (machine.width > 1)
      needs.push_back({StreamPattern::RowEast, {}});
    if (machine.lanesInUse() < machine.height)
      needs.push_back({StreamPattern::OutNorth, {}});
    needs.push_back({StreamPattern::OutExit, {}});
    return needs;
  }

  LogicalResult lowerOp(wse::StoreOp op, RoutineBuilder &b) const final;
};

/// Words where rows turn into the last column: north, or over the edge.
Affine lastColumnColor(RoutineBuilder &b, Value lane) {
  ScalarBuilder &s = b.scalars();
  int64_t exit = b.color(StreamPattern::OutExit);
  int64_t lanes = b.machine().lanesInUse();
  if (lanes == b.height())
    return exit;
  Value isLaneRow = s.equal(s.py(), s.tileStart(b.height(), lanes, lane));
  Value parity = s.mod(s.py(), 2);
  int64_t even = b.color(StreamPattern::OutNorth, 0);
  int64_t odd = b.color(StreamPattern::OutNorth, 1);
  Value isOdd = s.logicalAnd(s.logicalNot(isLaneRow), parity);
  return Affine(even) + Affine(isLaneRow) * (exit - even) +
         Affine(isOdd) * (odd - even);
}

/// Of a tensor all columns hold, the last one sends everything.
Value featuresSent(ScalarBuilder &s, const Tile &tile) {
  if (!tile.layout.features.replicated)
    return tile.features;
  return s.mul(s.equal(s.px(), s.width() - 1), tile.features);
}

LogicalResult Store::lowerOp(wse::StoreOp op, RoutineBuilder &b) const {
  ScalarBuilder &s = b.scalars();
  Tile in = b.tile(op.getValue());
  const Layout &layout = in.layout;
  int64_t features = op.outputFeatures();
  std::string output = op.getOutput().str();
  b.streamToHost([&](ScalarBuilder &host) {
    pe::Segment segment;
    segment.tensor = output;
    Tile tile = RoutineBuilder::describe(host, layout);
    segment.extents = {tile.lanes, featuresSent(host, tile)};
    segment.strides = {features, 1};
    segment.offset = Affine(tile.firstToken) * features +
                     Affine(tile.firstFeature) + Affine(op.getFeatureOffset());
    return segment;
  });

  int64_t lanes = b.machine().lanesInUse();
  Value lane = s.tileIndex(b.height(), lanes, s.py());
  Value isLast = s.equal(s.px(), b.width() - 1);
  Affine out = lastColumnColor(b, lane);
  Operand own = Operand::memory(in.buffer, 0, {1, in.pitch});
  b.where(s.logicalAnd(in.active, isLast), [&] {
    b.start(RowThread, Opcode::Mov, {in.lanes, featuresSent(s, in)},
            Operand::fabric(out, 2), {own});
  });
  if (b.width() > 1) {
    Value parity = s.mod(s.px(), 2);
    Affine onward = b.parityColor(StreamPattern::RowEast, parity);
    Operand incoming = Operand::fabric(
        b.parityColor(StreamPattern::RowEast, s.logicalNot(parity)));
    Value wordsWest = s.mul(in.firstFeature, in.lanes);
    b.where(s.logicalAnd(in.active, s.logicalNot(isLast)), [&] {
      b.start(RowThread, Opcode::Mov, {in.lanes, featuresSent(s, in)},
              Operand::fabric(onward, 2), {own});
      b.start(RowThread, Opcode::Mov, {wordsWest}, Operand::fabric(onward),
              {incoming}, s.less(0, s.px()));
    });
    b.where(s.logicalAnd(in.active, isLast), [&] {
      b.start(RowThread, Opcode::Mov, {wordsWest}, Operand::fabric(out),
              {incoming});
    });
  }
  if (lanes < b.height()) {
    // Rows without tokens relay too.
    Value end = s.tileStart(b.height(), lanes, s.add(lane, 1));
    Value tokensSouth =
        s.sub(RoutineBuilder::tokensBefore(s, layout, end),
              RoutineBuilder::tokensBefore(s, layout, s.add(s.py(), 1)));
    Operand incoming = Operand::fabric(
        b.parityColor(StreamPattern::OutNorth, s.logicalNot(s.mod(s.py(), 2))));
    b.where(s.logicalAnd(isLast, s.less(0, tokensSouth)), [&] {
      b.start(RowThread, Opcode::Mov,
              {Affine(tokensSouth) * layout.features.total()},
              Operand::fabric(out), {incoming});
    });
  }
  return success();
}

} // namespace

const Kernel *storeKernel() {
  static const Store kernel;
  return &kernel;
}

} // namespace wsec
