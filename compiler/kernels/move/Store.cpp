// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor off the wafer: each row is gathered east, the last column north to
// the row of its channel, which sends the words over the edge. A channel so
// lists its rows from north to south, in a row the columns from east to west,
// and of each PE all features of a token, token by token.
//
// Tokens often lie in a few rows, which have few of the channels. By columns
// those in the last of these rows, or south of it, share out the columns: each
// column is gathered south to the row of its exit, there the row is gathered
// east as far as it has columns of this exit.
//
//   row 0  tokens    v v v v v v     6 columns, tokens in rows 0 and 1; exits
//       1  tokens    v v v v v v     in rows 0, 2 and 4, of which row 0 is
//       2            > > * v v v ==> not used
//       3                  v v v
//       4                  > > * ==>
//
// A channel then lists its columns from east to west, in a column the tokens
// from the last to the first.

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/move/ColumnExits.h"

using namespace mlir;

namespace wsec {
namespace {

/// A store by columns: the exits, and what they are for.
struct Exits : ColumnExits {
  Exits(wse::StoreOp op, const Machine &machine)
      : Exits(op, op.getByColumns(), machine) {}
  Exits(wse::StoreOp op, bool byColumns, const Machine &machine)
      : Exits(op, pairingOf(op.getValue(), machine), machine) {
    if (!byColumns)
      exits.clear();
  }

  int64_t mostWords() const {
    int64_t most = 0;
    for (const ChannelPosition &exit : exits)
      most = std::max(most, features(exit) * layout.tokenCount());
    return most;
  }
  KernelCost cost() const;

  const Pairing pairing; ///< columns of several tokens have no tails

private:
  Exits(wse::StoreOp op, Pairing pairing, const Machine &machine)
      : ColumnExits(layoutOf(op.getValue(), pairing, machine), machine),
        pairing(pairing) {}
};

/// Between the last word of a PE's own and the first that it relays.
double relayStart(const Machine &machine) {
  return machine.taskOverhead + machine.loadCycles + machine.branchNotTaken +
         machine.asyncIssue + machine.copySetup;
}

/// What is lost where a PE begins to relay behind the one that its words go to.
/// Own words that queue up on the way there are off at once. Of more, the last
/// wait until that one relays, which has no more than the queued words to send
/// while this one starts to.
double relayGap(double own, const Machine &machine) {
  const double queued = machine.outputQueueWords.front() +
                        2 * machine.routerBufferWords +
                        machine.inputQueueWords.front();
  const double gap =
      relayStart(machine) + CostModel(machine).chain(2, 0) - queued;
  return own > queued ? std::max(0.0, gap) : 0.0;
}

/// Words of the column at the exit come as those of its last row arrive; those
/// of the others have queued up by then.
KernelCost Exits::cost() const {
  CostModel model(machine);
  const double tokens = double(layout.tokenCount());
  KernelCost cost;
  cost.compute = model.copies(layout.pitch(machine.height),
                              layout.features.largest(machine.width));
  cost.stream = double(mostWords());
  for (const ChannelPosition &exit : exits) {
    if (exit.begin == exit.end)
      continue;
    const double all = double(features(exit)) * tokens;
    const double own =
        tokens * double(layout.features.before(exit.end, machine.width) -
                        layout.features.before(exit.end - 1, machine.width));
    const double rowsUsed = rowCount();
    // PEs that relay a column, and columns, but for the last of each.
    const double columns = double(exit.end - exit.begin);
    const double relays =
        columns * std::max(0.0, rowsUsed - 2 + (exit.row > last)) + columns - 1;
    const double chain = model.chain(rowsUsed + (exit.row > last), 0) +
                         machine.hopCycles * (double(exit.row) - rowsUsed);
    // A column begins a hop behind the one west of it.
    cost.fabric =
        std::max(cost.fabric, std::max(chain, own) + all - own +
                                  relays * relayGap(own / rowsUsed, machine) +
                                  2 * relayStart(machine) +
                                  machine.hopCycles * double(exit.end - 1));
  }
  cost.lowerBound =
      tokens * double(layout.features.total()) / machine.channelsInUse();
  return cost;
}

class Store final : public KernelOf<onnx::ConcatOp, KernelFor<wse::StoreOp>> {
  std::optional<std::pair<StringAttr, RankedTensorType>>
  stored(Operation *op) const final {
    auto store = cast<wse::StoreOp>(op);
    return {{store.getOutputAttr(), cast<RankedTensorType>(store.getType())}};
  }
  bool isPlace(NamedAttribute attribute) const final {
    static constexpr StringLiteral places[] = {"offset", "strides", "output",
                                               "type"};
    return llvm::is_contained(places, attribute.getName().getValue());
  }
  Value buildFor(onnx::ConcatOp op, Selection &selection) const final;

  int variantOf(Operation *op) const final {
    return cast<wse::StoreOp>(op).getByColumns();
  }
  void take(Operation *op, int variant) const final {
    cast<wse::StoreOp>(op).setByColumns(variant != 0);
  }
  StringRef variantName(int variant) const final {
    return variant ? "by columns" : "by rows";
  }
  SmallVector<Offer> offers(Operation *op, const Machine &machine) const final;

  bool onlyMoves() const final { return true; }
  Value moved(Operation *op) const final {
    return cast<wse::StoreOp>(op).getValue();
  }
  SmallVector<Relay> relays() const final {
    using P = StreamPattern;
    SmallVector<Relay> relays = ColumnExits::relays();
    relays.append({{P::RowEast, P::OutNorth},
                   {P::RowEast, P::OutExit},
                   {P::OutNorth, P::OutNorth},
                   {P::OutNorth, P::OutExit}});
    return relays;
  }

  KernelCost costOf(wse::StoreOp op, const Machine &machine) const final {
    return costOf(op, Exits(op, machine));
  }
  static KernelCost costOf(wse::StoreOp op, const Exits &exits) {
    const Machine &machine = exits.machine;
    if (exits.used())
      return exits.cost();
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
    // are on their way; other rows' words wait by then. The westmost PE relays
    // nothing, and nobody waits for the last. A PE begins when the
    // multicast that ends most launches has reached it, a hop per column later.
    const double own = double(layout.pitch(machine.height)) *
                       double(layout.features.largest(machine.width));
    double row = layout.pitch(machine.height) * layout.features.total();
    double across = model.chain(machine.width, 0) -
                    machine.hopCycles * (machine.width - 1.0);
    cost.fabric = cost.stream + std::max(0.0, across - row) +
                  std::max(0, machine.width - 2) * relayGap(own, machine) +
                  model.chain(rowsOfChannel, 0) + machine.vectorSetup +
                  relayStart(machine);
    cost.lowerBound = words / machine.channelsInUse();
    return cost;
  }

  SmallVector<HostFlow> flowsOf(wse::StoreOp op,
                                const Machine &machine) const final {
    if (const Exits exits(op, machine); exits.used())
      return {{StreamPattern::OutBand, exits.mostWords()}};
    Layout layout =
        layoutOf(op.getValue(), hostPairingOf(op.getValue(), machine), machine);
    int64_t channels = machine.channelsInUse();
    int64_t rows = (machine.height + channels - 1) / channels;
    return {{StreamPattern::OutExit,
             layout.features.total() *
                 std::min(layout.tokenCount(),
                          rows * layout.pitch(machine.height))}};
  }

  SmallVector<StreamNeed> streamsOf(wse::StoreOp op,
                                    const Machine &machine) const final {
    return streamsIn(op, variantOf(op), machine);
  }
  SmallVector<StreamNeed> streamsIn(Operation *op, int variant,
                                    const Machine &machine) const final {
    if (const Exits exits(cast<wse::StoreOp>(op), variant != 0, machine);
        exits.used())
      return exits.streams();
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

SmallVector<Offer> Store::offers(Operation *op, const Machine &machine) const {
  auto store = cast<wse::StoreOp>(op);
  SmallVector<Offer> offers;
  for (int variant : {0, 1})
    if (const Exits exits(store, variant != 0, machine);
        variant == 0 || exits.used())
      offers.push_back({.variant = variant,
                        .cost = costOf(store, exits),
                        .addsCode = variant != 0});
  return offers;
}

/// Each part of a concatenation is stored at its place: all that lies before
/// `axis` makes batch elements, what is between there and the features tokens.
Value Store::buildFor(onnx::ConcatOp op, Selection &selection) const {
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
      wse::WeightAttr stored = selection.asWeight(part, op);
      if (!stored)
        return {};
      // Where all tokens stand at one distance, how they are called does not
      // matter: a slice that is no view of the other shape keeps its own.
      bool isView = withStrides(stridedView(stored).reshaped(
                                    {outer, tokens, inner.back()}))
                        .has_value();
      tensor = isView || (tokens > 1 && outer > 1)
                   ? selection.loadReshaped(
                         stored, {outer, tokens, inner.back()}, tiling, op)
                   : selection.load(stored,
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
  // Of fewer features than columns the first columns have none.
  const bool allHave = in.layout.features.total() >= b.width();
  b.start(RowThread, Opcode::Mov, {s.mul(in.firstFeature, in.channels)},
          Operand::fabric(onward), {Operand::fabric(incoming)},
          s.less(0, allHave ? s.px() : in.firstFeature));
}

/// The last column: the words of the row, then those of the rows south that
/// have the same channel. They go north, or in the row of the channel off the
/// wafer.
void sendLastColumn(RoutineBuilder &b, const Tile &in) {
  ScalarBuilder &s = b.scalars();
  int64_t channels = b.machine().channelsInUse();
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
  const Affine onward =
      b.eitherColor(isChannelRow, b.color(StreamPattern::OutExit),
                    b.parityColor(StreamPattern::OutNorth, parity));
  b.where(in.active, [&] {
    sendOwn(b, in, onward);
    relayRow(b, in, onward);
  });
  b.start(RowThread, Opcode::Mov,
          {Affine(tokensSouth) * in.layout.features.total()},
          Operand::fabric(onward), {Operand::fabric(incoming)},
          s.less(0, tokensSouth));
}

/// All columns: their words, then those of the rows north of them, and in the
/// row of the exit those of the columns west.
void sendByColumns(RoutineBuilder &b, const Tile &in, const Exits &exits) {
  ScalarBuilder &s = b.scalars();
  const ColumnExits::OfColumn exit = exits.ofColumn(s);
  Value isExit = s.equal(s.pyOfMesh(), exit.row);
  Value north = exits.rowsNorth(s);
  Value parity = s.mod(north, 2);
  auto sendColumn = [&](Affine onward) {
    b.where(in.active, [&] {
      b.start(RowThread, Opcode::Mov, {in.channels, in.features},
              Operand::fabric(onward, 2),
              {Operand::memory(in.buffer, Affine(in.channels) + Affine(-1),
                               {-1, in.pitch})});
    });
    if (exits.last > 0 || exits.linksRows())
      b.start(RowThread, Opcode::Mov, {in.firstToken, in.features},
              Operand::fabric(onward, 2),
              {Operand::fabric(
                  b.parityColor(StreamPattern::OutColumn, s.logicalNot(parity)),
                  2)},
              s.less(0, in.firstToken));
  };
  const WordsFromWest west(b, exits, exit, in);
  auto sendRow = [&](Affine onward) {
    sendColumn(onward);
    west.relay(RowThread, onward, in.layout.tokenCount());
  };
  if (exits.linksRows())
    b.where(s.logicalNot(isExit), [&] {
      b.where(in.active, [&] {
        sendColumn(b.parityColor(StreamPattern::OutColumn, parity));
      });
    });
  b.where(isExit, [&] {
    Value isLast = s.equal(s.px(), exit.last);
    if (b.width() > 1)
      b.where(s.logicalNot(isLast), [&] {
        sendRow(b.parityColor(StreamPattern::RowEast, s.mod(s.px(), 2)));
      });
    b.where(isLast, [&] { sendRow(b.color(StreamPattern::OutBand)); });
  });
}

/// What a channel lists of each column, at the row of its exit.
pe::Segment columnsOut(ScalarBuilder &host, wse::StoreOp op,
                       const Exits &exits) {
  auto [perSequence, perToken, perFeature] = op.outputStrides();
  const bool tokenPairs = exits.pairing == Pairing::Channels;
  const int64_t step = perToken * (tokenPairs ? 2 : 1);
  // Features that pair up follow one another in the store as well.
  const Layout layout = tokenPairs
                            ? exits.layout
                            : Layout::of(op.getValue(), exits.machine.height);
  Tile tile = RoutineBuilder::describe(host, layout);
  Value here = host.logicalAnd(
      host.inColumns(), host.equal(host.pyOfMesh(), exits.ofColumn(host).row));
  pe::Segment segment;
  segment.tensor = op.getOutput().str();
  segment.extents = {layout.batch, layout.tokens,
                     host.mul(here, tile.features)};
  segment.strides = {-perSequence, -step, perFeature};
  segment.offset = Affine(tile.firstFeature) * perFeature +
                   Affine(op.getOffset() + (layout.batch - 1) * perSequence +
                          (layout.tokens - 1) * step);
  if (exits.pairing != Pairing::None)
    segment.halves = elementTypeOf(op.getValue());
  if (tokenPairs) {
    segment.extents.push_back(2);
    segment.strides.push_back(perToken);
  }
  return segment;
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
  if (const Exits exits(op, b.machine()); exits.used()) {
    b.streamFromBands(exits.exits, [&](ScalarBuilder &host) {
      return columnsOut(host, op, exits);
    });
    sendByColumns(b, b.tile(op.getValue(), exits.pairing), exits);
    return success();
  }
  const Pairing pairing = hostPairingOf(op.getValue(), b.machine());
  Tile in = b.tile(op.getValue(), pairing);
  // Features that pair up follow one another in the store as well.
  const Layout layout = pairing == Pairing::Channels
                            ? in.layout
                            : Layout::of(op.getValue(), b.machine().height);
  std::string output = op.getOutput().str();
  b.streamToHost([&](ScalarBuilder &host) {
    auto [perSequence, perToken, perFeature] = op.outputStrides();
    pe::Segment segment;
    segment.tensor = output;
    Tile tile = RoutineBuilder::describe(host, layout);
    const int64_t half = perToken * tile.tokenStep;
    perToken *= pairing == Pairing::Channels ? 2 : 1;
    Value features = host.mul(host.inColumns(), featuresSent(host, tile));
    Affine start =
        Affine(tile.firstFeature) * perFeature + Affine(op.getOffset());
    const int64_t step = perToken * tile.tokenStep;
    if (layout.batch == 1 || perSequence == layout.tokens * perToken) {
      segment.extents = {tile.channels, features};
      segment.strides = {step, perFeature};
      segment.offset = start + Affine(tile.firstToken) * perToken;
    } else {
      segment.extents = {tile.sequences, tile.tokens, features};
      segment.strides = {perSequence, step, perFeature};
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
  const bool exitsInEachRow = b.machine().channelsInUse() == b.height();
  Value isLast = s.equal(s.px(), b.width() - 1);
  Affine onward = b.color(StreamPattern::OutExit);
  if (b.width() > 1) {
    Affine east = b.parityColor(StreamPattern::RowEast, s.mod(s.px(), 2));
    onward = exitsInEachRow ? b.eitherColor(isLast, onward, east) : east;
  }
  b.where(exitsInEachRow ? Value() : s.logicalNot(isLast), [&] {
    b.where(in.active, [&] {
      sendOwn(b, in, onward);
      relayRow(b, in, onward);
    });
  });
  if (!exitsInEachRow)
    b.where(isLast, [&] { sendLastColumn(b, in); });
  return success();
}

} // namespace

WSEC_DEFINE_KERNEL(Store)

} // namespace wsec
