// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions in two phases (Luczynski 2024): W columns in groups of S; a chain
// within each group at the same time, then one of the G roots, whose words pass
// the others on the fly. A PE on a chain costs 2 ramps and an addition, a PE
// passed a hop:
//
//   chain       (hop + stage) (W - 1) + words
//   two phases  hop (W - 1) + stage (S - 1 + G - 1) + 2 words,  S ~ sqrt(W)

#include "compiler/kernels/move/RowExchange.h"
#include "compiler/kernels/KernelLibrary.h"

using namespace mlir;

namespace wsec {

using pe::Affine;
using pe::Opcode;
using pe::Operand;

//===----------------------------------------------------------------------===//
// Groups of columns, and of rows
//===----------------------------------------------------------------------===//

PEGroups PEGroups::wholeRow(const Machine &machine) {
  return {machine.width, StreamPattern::RowCast};
}

PEGroups PEGroups::ofHeads(const FeatureTiling &features) {
  return {features.columns, StreamPattern::HeadCast};
}

PEGroups PEGroups::ofBatch(const Layout &layout) {
  return {layout.group, StreamPattern::KeyCast, StreamPattern::KeyNorth};
}

static int64_t lengthOf(RoutineBuilder &b, const PEGroups &groups) {
  return groups.alongRows() ? b.width() : b.height();
}

namespace {

/// The place of a PE in its group, and the colors of its neighbours.
struct Place {
  Value isRoot, isLast;
  Affine onward, incoming;

  Place(RoutineBuilder &b, const PEGroups &groups) {
    ScalarBuilder &s = b.scalars();
    Value own = groups.alongRows() ? s.px() : s.py();
    Value parity = s.mod(own, 2);
    const int64_t pitch = groups.pitch, length = lengthOf(b, groups);
    const bool one = pitch >= length;
    Value inGroup = one ? own : s.mod(own, pitch);
    isRoot = s.equal(inGroup, 0);
    isLast = s.equal(inGroup, std::min(groups.used, length) - 1);
    if (groups.all() && !one && length % pitch != 0)
      isLast = s.max(isLast, s.equal(own, length - 1));
    onward = b.parityColor(groups.link, parity);
    incoming = b.parityColor(groups.link, s.logicalNot(parity));
  }
};

/// A chain of receive, combine and forward: some PEs begin it, some are inner
/// ones, some end it with the result in their buffer.
struct Chain {
  Value begins, inner, ends;
  Affine onward, incoming;

  /// On a microthread each PE has one of these instructions.
  void start(RoutineBuilder &b, Thread thread, Opcode opcode, StringRef buffer,
             Affine words) const {
    ScalarBuilder &s = b.scalars();
    const Operand mine = Operand::memory(buffer, 0, {1});
    const Operand arriving = Operand::fabric(incoming);
    const Operand next = Operand::fabric(onward);
    b.start(thread, opcode, {words}, mine, {mine, arriving}, ends);
    b.where(s.logicalNot(ends), [&] {
      b.start(thread, Opcode::Mov, {words}, next, {mine}, begins);
      b.where(s.logicalNot(begins), [&] {
        b.start(thread, opcode, {words}, next, {mine, arriving}, inner);
      });
    });
  }

  void combine(RoutineBuilder &b, Opcode opcode, StringRef buffer, Affine words,
               const Combined *at = nullptr) const {
    Operand mine = Operand::memory(buffer, 0, {1});
    Operand arriving = Operand::fabric(incoming);
    b.where(begins, [&] {
      b.vector(Opcode::Mov, {words}, Operand::fabric(onward), {mine});
    });
    b.where(inner, [&] {
      b.vector(opcode, {words}, Operand::fabric(onward), {mine, arriving});
    });
    b.where(ends, [&] {
      if (!at)
        return b.vector(opcode, {words}, mine, {mine, arriving});
      arriving.depth = unsigned(at->extents.size());
      b.vector(opcode, at->extents, at->kept, {at->own, arriving});
    });
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Multicast
//===----------------------------------------------------------------------===//

/// The microthread that sends what groups gather.
static Thread threadOf(const PEGroups &groups) {
  return groups.alongRows() ? RowThread : KeyThread;
}

void multicastBlocks(RoutineBuilder &b, const PEGroups &groups,
                     const GroupBlock &block, ArrayRef<Affine> extents,
                     const Operand &kept, const Operand &heard) {
  Place place(b, groups);
  // Everybody hears while he sends, so that the own block can be awaited before
  // the others' are relayed.
  b.start(GatherThread, Opcode::Mov, extents, kept, {heard});
  const Affine onward =
      b.eitherColor(place.isRoot, b.color(groups.cast), place.onward);
  b.loop(block.lines, [&](Affine line) {
    Operand own = block.own;
    own.offset = own.offset + line * block.lineStep;
    b.start(threadOf(groups), Opcode::Mov, block.extents,
            Operand::fabric(onward, unsigned(block.extents.size())), {own},
            block.anyOwn);
    b.start(threadOf(groups), Opcode::Mov, {block.wordsBehind},
            Operand::fabric(onward), {Operand::fabric(place.incoming)},
            block.anyBehind);
  });
  b.await(GatherThread);
}

void multicastRow(RoutineBuilder &b, const Tile &tile, ArrayRef<Affine> extents,
                  const Operand &kept, const Operand &heard, const Affine &part,
                  int64_t parts) {
  ScalarBuilder &s = b.scalars();
  const int64_t all = tile.layout.features.total();
  Value featuresEast =
      s.div(s.sub(all, s.add(tile.firstFeature, tile.features)), parts);
  GroupBlock block;
  block.extents = {s.div(tile.features, parts), tile.channels};
  block.own = Operand::memory(tile.buffer,
                              part * (all / b.width() / parts * tile.pitch),
                              {tile.pitch, 1});
  block.wordsBehind = s.mul(featuresEast, tile.channels);
  block.anyBehind = s.less(0, featuresEast);
  multicastBlocks(b, PEGroups::wholeRow(b.machine()), block, extents, kept,
                  heard);
}

/// Words come west while those before them come back. Where each PE has few,
/// the last is on its way while the others have their turn.
double multicastRowCycles(const Machine &machine, double words) {
  CostModel model(machine);
  // The last column relays nothing.
  const double instructions = 3 * (machine.vectorSetup + machine.asyncIssue) +
                              machine.loadCycles + machine.branchNotTaken;
  return instructions +
         std::max(model.chain(machine.width, 0), model.thereAndBack(words)) +
         model.multicast(machine.width, 0);
}

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

/// PEs of a group such that both chains of `length` of them are shortest.
static int64_t twoPhasePitch(int64_t length) {
  int64_t best = 1;
  auto stages = [&](int64_t pitch) {
    return pitch + (length + pitch - 1) / pitch;
  };
  for (int64_t pitch = 2; pitch <= length; ++pitch)
    if (stages(pitch) < stages(best))
      best = pitch;
  return best;
}

static double chainCycles(const Machine &machine, double words) {
  return CostModel(machine).chain(machine.width, words);
}

static double twoPhaseCycles(const Machine &machine, int64_t length,
                             int64_t pitch, double words) {
  CostModel model(machine);
  int64_t groups = (length + pitch - 1) / pitch;
  // A root starts an instruction between the phases.
  return model.chain(double(pitch), words) + machine.vectorSetup +
         model.chain(double(groups), words) +
         double((groups - 1) * (pitch - 1)) * machine.hopCycles;
}

static double twoPhaseCycles(const Machine &machine, double words) {
  return twoPhaseCycles(machine, machine.width, twoPhasePitch(machine.width),
                        words);
}

static bool inTwoPhases(const Machine &machine, double words) {
  return twoPhaseCycles(machine, words) < chainCycles(machine, words);
}

double reduceRowCycles(const Machine &machine, double words) {
  return std::min(chainCycles(machine, words), twoPhaseCycles(machine, words));
}

double allReduceCycles(const Machine &machine, double words) {
  return reduceRowCycles(machine, words) +
         CostModel(machine).multicast(machine.width, words);
}

static Chain chainOf(RoutineBuilder &b, const PEGroups &groups) {
  ScalarBuilder &s = b.scalars();
  Place place(b, groups);
  Chain chain;
  chain.begins = place.isLast;
  chain.ends = place.isRoot;
  // The last group may be a root alone.
  if (groups.all() && lengthOf(b, groups) % groups.pitch == 1) {
    chain.begins = s.logicalAnd(place.isLast, s.logicalNot(place.isRoot));
    chain.ends = s.logicalAnd(place.isRoot, s.logicalNot(place.isLast));
  }
  chain.inner = groups.used > 2
                    ? s.logicalNot(s.max(place.isRoot, place.isLast))
                    : s.constant(0);
  chain.onward = place.onward;
  chain.incoming = place.incoming;
  return chain;
}

void reduceGroups(RoutineBuilder &b, const PEGroups &groups, Opcode opcode,
                  StringRef buffer, Affine words, const Combined *at) {
  if (groups.used > 1)
    chainOf(b, groups).combine(b, opcode, buffer, words, at);
}

/// Of the roots, to the first.
static Chain chainOfRoots(RoutineBuilder &b, const PEGroups &groups) {
  ScalarBuilder &s = b.scalars();
  const bool alongRows = groups.alongRows();
  const StreamPattern link =
      alongRows ? StreamPattern::RootWest : StreamPattern::RootNorth;
  const int64_t pitch = groups.pitch;
  const int64_t lastRoot = (lengthOf(b, groups) - 1) / pitch * pitch;
  Value own = alongRows ? s.px() : s.py();
  Value parity = s.mod(s.div(own, pitch), 2);
  Value isRoot = s.equal(s.mod(own, pitch), 0);
  Chain chain;
  chain.ends = s.equal(own, 0);
  chain.begins = s.equal(own, lastRoot);
  chain.inner =
      lastRoot > pitch
          ? s.logicalAnd(isRoot, s.logicalNot(s.add(chain.begins, chain.ends)))
          : s.constant(0);
  chain.onward = b.parityColor(link, parity);
  chain.incoming = b.parityColor(link, s.logicalNot(parity));
  return chain;
}

void castGroups(RoutineBuilder &b, const PEGroups &groups, StringRef buffer,
                Affine words, ArrayRef<Affine> extents, const Operand &kept,
                const Operand &heard, bool adds) {
  // A root hears its own multicast: it must not wait for itself.
  b.where(Place(b, groups).isRoot, [&] {
    b.start(threadOf(groups), Opcode::Mov, {words},
            Operand::fabric(b.color(groups.cast)),
            {Operand::memory(buffer, 0, {1})});
  });
  if (adds)
    b.vector(Opcode::Add, extents, kept, {kept, heard});
  else
    b.vector(Opcode::Mov, extents, kept, {heard});
}

void castGroups(RoutineBuilder &b, const PEGroups &groups, StringRef buffer,
                StringRef result, Affine words) {
  castGroups(b, groups, buffer, words, {words}, Operand::memory(result, 0, {1}),
             Operand::fabric(b.color(groups.cast)));
}

void reduceRow(RoutineBuilder &b, Opcode opcode, StringRef buffer, Affine words,
               int64_t most, const Combined *at) {
  const PEGroups row = PEGroups::wholeRow(b.machine());
  if (!inTwoPhases(b.machine(), double(most)))
    return reduceGroups(b, row, opcode, buffer, words, at);
  const PEGroups groups = {twoPhasePitch(b.width()), row.cast};
  reduceGroups(b, groups, opcode, buffer, words);
  chainOfRoots(b, groups).combine(b, opcode, buffer, words, at);
}

void allReduceRow(RoutineBuilder &b, Opcode opcode, StringRef buffer,
                  StringRef result, Affine words, int64_t most,
                  function_ref<void()> finish) {
  const PEGroups row = PEGroups::wholeRow(b.machine());
  reduceRow(b, opcode, buffer, words, most);
  b.where(Place(b, row).isRoot, finish);
  castGroups(b, row, buffer, result, words);
}

//===----------------------------------------------------------------------===//
// Along a column
//===----------------------------------------------------------------------===//

int64_t columnPitch(const Machine &machine) {
  const int64_t pitch = twoPhasePitch(machine.height);
  const double chain = CostModel(machine).chain(machine.height, 0);
  return chain > twoPhaseCycles(machine, machine.height, pitch, 0) +
                     leastGainOfPhases
             ? pitch
             : 0;
}

double gatherColumnCycles(const Machine &machine, int64_t rows) {
  if (const int64_t pitch = std::min(columnPitch(machine), rows))
    return twoPhaseCycles(machine, rows, pitch, 0);
  return CostModel(machine).chain(double(rows), 0);
}

/// In groups of so many rows; 0: in a chain.
static int64_t batchPitch(const Machine &machine, int64_t rows) {
  return rows == machine.height ? columnPitch(machine) : 0;
}

double reduceBatchCycles(const Machine &machine, int64_t rows, double words) {
  if (const int64_t pitch = batchPitch(machine, rows))
    return twoPhaseCycles(machine, rows, pitch, words);
  return CostModel(machine).chain(double(rows), words);
}

void reduceBatch(RoutineBuilder &b, const PEGroups &rows, Opcode opcode,
                 StringRef buffer, Affine words) {
  const int64_t pitch = batchPitch(b.machine(), rows.pitch);
  if (!pitch)
    return reduceGroups(b, rows, opcode, buffer, words);
  const PEGroups groups = {pitch, rows.cast, rows.link};
  reduceGroups(b, groups, opcode, buffer, words);
  chainOfRoots(b, groups).combine(b, opcode, buffer, words);
}

void StartedReduction::inGroups() {
  if (rows.pitch == 1)
    return;
  const int64_t pitch = batchPitch(b.machine(), rows.pitch);
  const PEGroups groups = {pitch ? pitch : rows.pitch, rows.cast, rows.link};
  chainOf(b, groups).start(b, KeyThread, opcode, buffer, words);
}

void StartedReduction::ofRoots() {
  if (const int64_t pitch = batchPitch(b.machine(), rows.pitch))
    chainOfRoots(b, {pitch, rows.cast, rows.link})
        .start(b, ValueThread, opcode, buffer, words);
}

void StartedReduction::cast(StringRef result) {
  b.start(FillThread, Opcode::Mov, {words}, Operand::memory(result, 0, {1}),
          {Operand::fabric(b.color(rows.cast))});
  b.start(KeyThread, Opcode::Mov, {words}, Operand::fabric(b.color(rows.cast)),
          {Operand::memory(buffer, 0, {1})}, Place(b, rows).isRoot);
}

SmallVector<StreamNeed> reduceBatchStreams(const Machine &machine,
                                           int64_t rows) {
  const int64_t pitch = batchPitch(machine, rows);
  if (!pitch)
    return {};
  return {{StreamPattern::RootNorth,
           {(machine.height + pitch - 1) / pitch, pitch, 1}}};
}

void gatherColumn(RoutineBuilder &b, int64_t pitch, ArrayRef<Affine> extents,
                  const Operand &own, function_ref<Value(Value)> behind) {
  using P = StreamPattern;
  ScalarBuilder &s = b.scalars();
  Value row = s.py(), parity = s.mod(row, 2), height = s.constant(b.height());
  // Guards are of rows alone: of rows and columns they make every PE a kind of
  // its own to whoever proves that none waits for ever.
  Value hasNext = s.less(row, b.height() - 1), next = height;
  Affine onward = b.parityColor(P::KeyNorth, parity);
  Value isHead, turn;
  if (pitch) {
    Value group = s.div(row, pitch), place = s.mod(row, pitch);
    isHead = s.equal(place, 0);
    turn = s.mod(group, 2);
    next = s.min(s.mul(s.add(group, 1), pitch), height);
    hasNext = s.logicalAnd(hasNext, s.less(place, pitch - 1));
    onward = b.eitherColor(isHead, b.parityColor(P::RootNorth, turn), onward);
  }
  onward = b.eitherColor(s.equal(row, 0), b.color(P::KeyCast), onward);
  auto pass = [&](Value words, const Affine &incoming, Value guard) {
    b.start(KeyThread, Opcode::Mov, {words}, Operand::fabric(onward),
            {Operand::fabric(incoming)}, guard);
  };
  b.start(KeyThread, Opcode::Mov, extents,
          Operand::fabric(onward, unsigned(extents.size())), {own});
  pass(behind(next), b.parityColor(P::KeyNorth, s.logicalNot(parity)), hasNext);
  if (pitch)
    pass(s.sub(behind(height), behind(next)),
         b.parityColor(P::RootNorth, s.logicalNot(turn)),
         s.logicalAnd(isHead, s.less(next, height)));
}

SmallVector<StreamNeed> gatherColumnStreams(const Machine &machine) {
  SmallVector<StreamNeed> needs = {
      {StreamPattern::KeyNorth, {}},
      {StreamPattern::KeyCast, {1, machine.height, machine.height}}};
  needs.append(reduceBatchStreams(machine, machine.height));
  return needs;
}

SmallVector<Relay> gatherColumnRelays() {
  using P = StreamPattern;
  return {{P::KeyNorth, P::KeyNorth},
          {P::KeyNorth, P::RootNorth},
          {P::KeyNorth, P::KeyCast},
          {P::RootNorth, P::RootNorth},
          {P::RootNorth, P::KeyCast}};
}

//===----------------------------------------------------------------------===//
// Sums of products
//===----------------------------------------------------------------------===//

void keepRowSums(RoutineBuilder &b, const Tile &result, int64_t features) {
  Operand row = Operand::fabric(b.color(StreamPattern::RowCast), 3);
  Operand own = Operand::memory(result.buffer, 0, {0, result.pitch, 1});
  b.start(
      RowThread, Opcode::Add, {1, result.features, result.channels}, own,
      {own, row.windowed(b.scalars().mul(result.firstFeature, result.channels),
                         Affine(result.channels) * features)});
}

void passRowSums(RoutineBuilder &b, const Tile &result, const Operand &partial,
                 int64_t features) {
  ScalarBuilder &s = b.scalars();
  Value parity = s.mod(s.px(), 2);
  Value isFirst = s.equal(s.px(), 0);
  Value isLast = s.equal(s.px(), b.width() - 1);
  Operand onward = Operand::fabric(
      b.eitherColor(isFirst, b.color(StreamPattern::RowCast),
                    b.parityColor(StreamPattern::RowWest, parity)),
      2);
  Operand east = Operand::fabric(
      b.parityColor(StreamPattern::RowWest, s.logicalNot(parity)), 2);
  auto send = [&](Value guard, Opcode opcode, ArrayRef<Operand> sources) {
    b.where(guard, [&] {
      b.vector(opcode, {features, result.channels}, onward, sources);
    });
  };
  send(isLast, Opcode::Mov, {partial});
  send(s.logicalNot(isLast), Opcode::Add, {partial, east});
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

SmallVector<StreamNeed> rowStreams(const Machine &machine) {
  if (machine.width == 1)
    return {};
  return {{StreamPattern::RowWest, {}}, {StreamPattern::RowCast, {}}};
}

SmallVector<StreamNeed> allReduceStreams(const Machine &machine, double words) {
  SmallVector<StreamNeed> needs = rowStreams(machine);
  if (machine.width > 1 && inTwoPhases(machine, words)) {
    int64_t pitch = twoPhasePitch(machine.width);
    needs.push_back({StreamPattern::RootWest,
                     {(machine.width + pitch - 1) / pitch, pitch, 1}});
  }
  return needs;
}

SmallVector<StreamNeed> columnStreams(const Layout &layout,
                                      const Machine &machine) {
  return {{StreamPattern::Channel, {}},
          {StreamPattern::Column, layout.columnRows(machine.height)}};
}

SmallVector<StreamNeed> columnRestStreams(const Layout &layout,
                                          const Machine &machine) {
  RowSet rows = layout.columnRows(machine.height);
  if (rows.groups * rows.used < 2)
    return {};
  return {{StreamPattern::ColumnRest, rows}};
}

SmallVector<wse::WeightAttr, 2>
streamedVectors(Operation *op, ArrayRef<wse::WeightAttr> vectors) {
  SmallVector<wse::WeightAttr, 2> streamed(vectors);
  llvm::erase_if(streamed, [&](wse::WeightAttr vector) {
    return wse::residentOf(op, vector) != nullptr;
  });
  return streamed;
}

HeldWeight heldVector(Value tensor, wse::WeightAttr vector,
                      const Machine &machine) {
  MLIRContext *context = tensor.getContext();
  const auto tiling =
      wse::TokenTiling::of(tensor.getType()).perVector(machine.height);
  SmallVector<int64_t, 2> strides(vector.getType().getRank(), 1);
  for (int64_t d = vector.getType().getRank() - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * vector.getType().getDimSize(d + 1);
  return {tiling.type({1, wse::featuresOf(tensor)},
                      isNarrow(tensor) ? elementTypeOf(tensor)
                                       : Float32Type::get(context)),
          strides};
}

SmallVector<Relay> rowRelays() {
  using P = StreamPattern;
  return {{P::RowWest, P::RowWest}, {P::RowWest, P::RowCast}};
}

SmallVector<Relay> allReduceRelays() {
  using P = StreamPattern;
  SmallVector<Relay> relays = rowRelays();
  relays.append({{P::RowWest, P::RootWest},
                 {P::RootWest, P::RootWest},
                 {P::RootWest, P::RowCast}});
  return relays;
}

SmallVector<Relay> columnRelays() {
  using P = StreamPattern;
  return {{P::Channel, P::Column}, {P::Channel, P::ColumnRest}};
}

} // namespace wsec
