// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor off the wafer: each row is gathered east, the last column north to
// the row of its channel, which sends the words over the edge. A channel so
// lists its rows from north to south, in a row the columns from east to west,
// and of each PE all features of a token, token by token.

#include "compiler/kernels/KernelLibrary.h"

using namespace mlir;

namespace wsec {
namespace {

class Store final : public KernelFor<wse::StoreOp> {
  Match match(Operation *op, const Selection &) const final {
    return Match::when(isa<onnx::ConcatOp>(op));
  }
  Value build(Operation *op, Selection &selection) const final;

  bool onlyMoves() const final { return true; }
  Value moved(Operation *op) const final {
    return cast<wse::StoreOp>(op).getValue();
  }
  SmallVector<Relay> relays() const final {
    using P = StreamPattern;
    return {{P::RowEast, P::RowEast},
            {P::RowEast, P::OutNorth},
            {P::RowEast, P::OutExit},
            {P::OutNorth, P::OutNorth},
            {P::OutNorth, P::OutExit}};
  }

  KernelCost costOf(wse::StoreOp op, const Machine &machine) const final {
    Layout layout =
        layoutOf(op.getValue(), hostPairingOf(op.getValue(), machine), machine);
    CostModel model(machine);
    double words = double(layout.tokenCount()) * layout.features.total();
    double rowsOfChannel =
        std::ceil(double(machine.height) / machine.channelsInUse());
    KernelCost cost;
    cost.compute = model.copies(layout.pitch(machine.height),
                                layout.features.largest(machine.width));
    cost.stream = std::min(words, rowsOfChannel * layout.pitch(machine.height) *
                                      layout.features.total());
    // The words of a row follow one another while those of its first column
    // are on their way; other rows' words wait by then. A PE begins when the
    // multicast that ends most launches has reached it, a hop per column later.
    double row = layout.pitch(machine.height) * layout.features.total();
    double across = model.chain(machine.width, 0) -
                    machine.hopCycles * (machine.width - 1.0);
    cost.fabric = cost.stream + std::max(0.0, across - row) +
                  model.chain(rowsOfChannel, 0) + 2 * machine.vectorSetup;
    cost.lowerBound = words / machine.channelsInUse();
    return cost;
  }

  SmallVector<HostFlow> flowsOf(wse::StoreOp op,
                                const Machine &machine) const final {
    Layout layout =
        layoutOf(op.getValue(), hostPairingOf(op.getValue(), machine), machine);
    int64_t channels = machine.channelsInUse();
    int64_t rows = (machine.height + channels - 1) / channels;
    return {{StreamPattern::OutExit,
             layout.features.total() *
                 std::min(layout.tokenCount(),
                          rows * layout.pitch(machine.height))}};
  }

  SmallVector<StreamNeed> streamsOf(wse::StoreOp,
                                    const Machine &machine) const final {
    SmallVector<StreamNeed> needs;
    if (machine.width > 1)
      needs.push_back({StreamPattern::RowEast, {}});
    if (machine.channelsInUse() < machine.height)
      needs.push_back({StreamPattern::OutNorth, {}});
    needs.push_back({StreamPattern::OutExit, {}});
    return needs;
  }

  LogicalResult lowerOp(wse::StoreOp op, RoutineBuilder &b) const final;
};

/// Each part of a concatenation is stored at its place: all that lies before
/// `axis` makes batch elements, what is between there and the features tokens.
Value Store::build(Operation *user, Selection &selection) const {
  auto op = cast<onnx::ConcatOp>(user);
  ArrayRef<int64_t> whole = shapeOf(op.getY());
  int64_t axis = op.getAxis();
  auto elements = [](ArrayRef<int64_t> shape) {
    return ShapedType::getNumElements(shape);
  };
  int64_t outer = elements(whole.take_front(axis));
  int64_t step = elements(whole.drop_front(axis)), offset = 0;
  wse::IntermediateOp into = selection.declare(whole, op.getY(), op);
  for (Value part : op.getParts()) {
    ArrayRef<int64_t> inner = shapeOf(part).drop_front(axis);
    int64_t tokens = elements(inner.drop_back());
    wse::TokenTiling tiling =
        selection.defaultTiling({outer, tokens, inner.back()});
    Value tensor = selection.alreadyOnWafer(part);
    if (!tensor || wse::featuresOf(tensor) != inner.back() ||
        (tokens > 1 && outer > 1 && tilingOf(tensor).getBatch() != outer)) {
      if (!selection.toStore(part, op))
        return {};
      HostView host = *selection.host().view(part);
      // Where all tokens stand at one distance, how they are called does not
      // matter: a slice that is no view of the other shape keeps its own.
      bool isView =
          host.view.reshape({outer, tokens, inner.back()}).has_value();
      tensor = isView || (tokens > 1 && outer > 1)
                   ? selection.loadReshaped(host, {outer, tokens, inner.back()},
                                            tiling, op)
                   : selection.load(host,
                                    selection.defaultTiling(shapeOf(part)), op);
    }
    wse::TokenTiling own = tilingOf(tensor);
    // Token number n of `own` is token n % tokens of batch element n / tokens.
    int64_t perToken = tokens > 1 ? inner.back() : step;
    int64_t strides[] = {own.getBatch() == outer ? step
                                                 : own.getTokens() * perToken,
                         perToken, 1};
    selection.store(tensor, into, offset, strides, op);
    offset += elements(inner);
  }
  selection.provide(op.getY(), into);
  return {};
}

/// Of a tensor all columns hold, the last one sends everything.
Value featuresSent(ScalarBuilder &s, const Tile &tile) {
  if (!tile.layout.features.replicated)
    return tile.features;
  return s.mul(s.equal(s.px(), s.width() - 1), tile.features);
}

void sendOwn(RoutineBuilder &b, const Tile &in, Affine onward) {
  b.start(RowThread, Opcode::Mov, {in.channels, featuresSent(b.scalars(), in)},
          Operand::fabric(onward, 2),
          {Operand::memory(in.buffer, 0, {1, in.pitch})});
}

/// The words of the columns west.
void relayRow(RoutineBuilder &b, const Tile &in, Affine onward) {
  ScalarBuilder &s = b.scalars();
  if (b.width() == 1)
    return;
  Affine incoming =
      b.parityColor(StreamPattern::RowEast, s.logicalNot(s.mod(s.px(), 2)));
  b.start(RowThread, Opcode::Mov, {s.mul(in.firstFeature, in.channels)},
          Operand::fabric(onward), {Operand::fabric(incoming)},
          s.less(0, s.px()));
}

/// The last column: the words of the row, then those of the rows south that
/// have the same channel. They go north, or in the row of the channel off the
/// wafer.
void sendLastColumn(RoutineBuilder &b, const Tile &in) {
  ScalarBuilder &s = b.scalars();
  int64_t channels = b.machine().channelsInUse();
  int64_t exit = b.color(StreamPattern::OutExit);
  if (channels == b.height()) {
    b.where(in.active, [&] {
      sendOwn(b, in, exit);
      relayRow(b, in, exit);
    });
    return;
  }
  Value channel = s.channelOfRow();
  Value isChannelRow = s.equal(s.pyOfMesh(), s.channelRowOfMesh(channel));
  Value parity = s.mod(s.py(), 2);
  Affine incoming =
      b.parityColor(StreamPattern::OutNorth, s.logicalNot(parity));
  // Rows without tokens relay as well.
  Value end =
      s.sub(s.channelRowOfMesh(s.add(channel, 1)), int64_t(b.machine().y));
  if (b.machine().channelRow(b.machine().firstChannel() + channels) >
      b.machine().y + b.height())
    end = s.min(end, b.height());
  Value tokensSouth =
      s.sub(RoutineBuilder::tokensBefore(s, in.layout, end),
            RoutineBuilder::tokensBefore(s, in.layout, s.add(s.py(), 1)));
  auto either = [&](auto part) {
    b.where(isChannelRow, [&] { part(exit); });
    b.where(s.logicalNot(isChannelRow),
            [&] { part(b.parityColor(StreamPattern::OutNorth, parity)); });
  };
  either([&](Affine onward) {
    b.where(in.active, [&] { sendOwn(b, in, onward); });
  });
  either([&](Affine onward) {
    b.where(in.active, [&] { relayRow(b, in, onward); });
  });
  either([&](Affine onward) {
    b.start(RowThread, Opcode::Mov,
            {Affine(tokensSouth) * in.layout.features.total()},
            Operand::fabric(onward), {Operand::fabric(incoming)},
            s.less(0, tokensSouth));
  });
}

/// Behind an odd number of features: the other half of their last word.
void fillTail(RoutineBuilder &b, const Tile &tile) {
  Value isOdd = b.scalars().mod(tile.features, 2);
  b.where(b.scalars().logicalAnd(tile.active, isOdd), [&] {
    b.vector(Opcode::Mov, {1}, Operand::memory(tile.buffer, tile.features, {1}),
             {Operand::immediate(0)});
  });
}

LogicalResult Store::lowerOp(wse::StoreOp op, RoutineBuilder &b) const {
  ScalarBuilder &s = b.scalars();
  const Pairing pairing = hostPairingOf(op.getValue(), b.machine());
  Tile in = b.tile(op.getValue(), pairing);
  // Features that pair up follow one another in the store as well.
  const Layout layout = pairing == Pairing::Channels
                            ? in.layout
                            : Layout::of(op.getValue(), b.height());
  std::string output = op.getOutput().str();
  b.streamToHost([&](ScalarBuilder &host) {
    auto [perSequence, perToken, perFeature] = op.outputStrides();
    const int64_t half = perToken;
    perToken *= pairing == Pairing::Channels ? 2 : 1;
    pe::Segment segment;
    segment.tensor = output;
    Tile tile = RoutineBuilder::describe(host, layout);
    Value features = host.mul(host.inColumns(), featuresSent(host, tile));
    Affine start =
        Affine(tile.firstFeature) * perFeature + Affine(op.getOffset());
    if (layout.batch == 1 || perSequence == layout.tokens * perToken) {
      segment.extents = {tile.channels, features};
      segment.strides = {perToken, perFeature};
      segment.offset = start + Affine(tile.firstToken) * perToken;
    } else {
      segment.extents = {tile.sequences, tile.tokens, features};
      segment.strides = {perSequence, perToken, perFeature};
      segment.offset =
          start +
          Affine(host.div(tile.firstToken, layout.tokens)) * perSequence +
          Affine(host.mod(tile.firstToken, layout.tokens)) * perToken;
    }
    if (pairing != Pairing::None)
      segment.halves = elementTypeOf(op.getValue());
    if (pairing == Pairing::Channels) {
      segment.extents.push_back(2);
      segment.strides.push_back(half);
    }
    return segment;
  });

  if (pairing == Pairing::Tails)
    fillTail(b, b.tile(op.getValue()));
  Value isLast = s.equal(s.px(), b.width() - 1);
  if (b.width() > 1)
    b.where(s.logicalNot(isLast), [&] {
      b.where(in.active, [&] {
        Affine east = b.parityColor(StreamPattern::RowEast, s.mod(s.px(), 2));
        sendOwn(b, in, east);
        relayRow(b, in, east);
      });
    });
  b.where(isLast, [&] { sendLastColumn(b, in); });
  return success();
}

} // namespace

WSEC_DEFINE_KERNEL(Store)

} // namespace wsec
