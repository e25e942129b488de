// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, head by head. Queries stay where they are. Keys and values of a
// batch element funnel north to the head row of its group, which multicasts
// them south; every PE of the group sees all of them and keeps none. Where a
// row holds whole batch elements, nothing moves at all.
//
// Per head and sequence, `scores` holds a block of keys x own tokens:
//
//   scores = scale * K Q^T (+ biases), masked
//   largest', correction = exp(largest - largest')
//   scores = exp(scores - largest')
//   sum    = sum * correction + sum of scores
//   result = result * correction + V^T scores
//
// and at the end result / sum. With one block the corrections fall away.

#include "compiler/kernels/CausalMask.h"
#include "compiler/kernels/KernelLibrary.h"

#include "compiler/machine/Tiling.h"

#include <limits>

using namespace mlir;

namespace wsec {
namespace {

using pe::Affine;
using pe::Opcode;
using pe::Operand;
using wse::StreamPattern;

/// Words of SRAM that scores may take before keys come in blocks.
constexpr int64_t scoreWords = 2048;
constexpr float lowest = std::numeric_limits<float>::lowest();

struct Shape {
  Layout query, key, value;
  int64_t queries, keys; // tokens of a sequence
  int64_t headSize, valueSize;
  int64_t lanes; // most tokens of a sequence in one PE
  int64_t block; // keys per block

  Shape(wse::AttentionOp op, const Machine &machine)
      : query(Layout::of(op.getQuery())), key(Layout::of(op.getKey())),
        value(Layout::of(op.getValue())), queries(query.tokens),
        keys(key.tokens), headSize(query.features.unitSize),
        valueSize(value.features.unitSize),
        lanes(query.group == 0 ? queries : tileSizeMax(queries, query.span)) {
    block = std::min(keys, std::max<int64_t>(1, scoreWords / lanes));
  }

  /// Rows that take part in the exchange of keys and values.
  int64_t span() const { return std::max(query.span, key.span); }
  bool local() const { return span() == 1; }
  bool blocked() const { return block < keys; }
  RowSet castRows(int64_t height) const {
    RowSet rows = query.rows(height);
    rows.used = span();
    return rows;
  }
};

class Attention final : public KernelFor<wse::AttentionOp> {
  KernelCost costOf(wse::AttentionOp op, const Machine &machine) const final;

  SmallVector<StreamNeed> streamsOf(wse::AttentionOp op,
                                    const Machine &machine) const final {
    Shape shape(op, machine);
    if (shape.local())
      return {};
    RowSet rows = shape.castRows(machine.height);
    SmallVector<StreamNeed> needs;
    if (shape.key.span > 1)
      needs = {{StreamPattern::KeyNorth, {}}, {StreamPattern::ValueNorth, {}}};
    needs.push_back({StreamPattern::KeyCast, rows});
    needs.push_back({StreamPattern::ValueCast, rows});
    return needs;
  }

  // Scores, and largest, sum, new largest and correction of each token; what
  // rows without queries drop.
  int64_t scratchWords(wse::AttentionOp op,
                       const Machine &machine) const final {
    Shape shape(op, machine);
    int64_t words = (shape.block + 4) * shape.lanes + 1;
    if (op.getCausal())
      words += CausalMask::scratchWords(shape.block, shape.lanes);
    return words;
  }

  LogicalResult lowerOp(wse::AttentionOp op, RoutineBuilder &b) const final;
};

KernelCost Attention::costOf(wse::AttentionOp op,
                             const Machine &machine) const {
  Shape shape(op, machine);
  CostModel model(machine);
  double sequences = shape.query.group == 0
                         ? tileSizeMax(shape.query.batch, machine.height)
                         : 1;
  double scores = double(shape.keys) * shape.lanes;
  auto products = [&](double size) {
    return shape.local() && shape.lanes > 1
               ? model.fmacs(shape.keys * size, shape.lanes)
               : model.streamedFmacs(shape.keys, size, shape.lanes);
  };
  auto compute = [&](double heads) {
    double head = products(shape.headSize) + products(shape.valueSize) +
                  4 * model.adds(shape.keys, shape.lanes) +
                  model.functions(scores);
    return sequences * heads * head;
  };
  double heads = tileSizeMax(shape.query.features.units, machine.width);
  KernelCost cost;
  cost.compute = compute(heads);
  if (!shape.local())
    cost.fabric =
        heads * shape.keys * std::max(shape.headSize, shape.valueSize) +
        2 * model.chain(shape.span(), 0);
  cost.serial = model.launch(/*streams=*/false);
  // Two products, the largest and the sum of the scores, and one exponential;
  // of keys after its own a causal token needs none.
  if (op.getCausal())
    scores = std::max(0.0, scores - shape.lanes * (shape.lanes - 1) / 2.0);
  cost.lowerBound =
      sequences * shape.query.features.units / machine.width *
      (model.leastFmacs(scores * (shape.headSize + shape.valueSize)) +
       2 * model.leastAdds(scores) + scores * machine.functionCycles);
  return cost;
}

class AttentionWriter {
public:
  AttentionWriter(wse::AttentionOp op, RoutineBuilder &b)
      : op(op), b(b), s(b.scalars()), shape(op, b.machine()),
        query(b.tile(op.getQuery())), key(b.tile(op.getKey())),
        value(b.tile(op.getValue())), result(b.tile(op.getResult())),
        scores(b.scratch("scores", shape.block * shape.lanes)),
        largest(b.scratch("largest", shape.lanes)),
        sum(b.scratch("sum", shape.lanes)),
        next(b.scratch("next_largest", shape.lanes)),
        correction(b.scratch("correction", shape.lanes)),
        dropped(b.scratch("dropped", 1)) {
    if (op.getCausal())
      mask.emplace(b, query, shape.block, shape.lanes);
  }

  void write();

private:
  /// One head of one sequence.
  struct Place {
    Affine head, sequence;
  };
  void sendNorth(Thread thread, const Tile &tile, StreamPattern north,
                 StreamPattern cast, Affine head);
  void dropAll();
  void attend(Place place);
  void attendBlock(Place place, Affine firstKey, int64_t keys);
  void scoreBlock(Place place, Affine firstKey, int64_t keys);
  void addBiases(Place place, Affine firstKey, int64_t keys);
  void correct(Place place, int64_t keys);
  void multiply(int64_t keys, int64_t line, Operand sums, Operand lines,
                Operand perLane);

  Operand scoreRows() { return Operand::memory(scores, 0, {shape.lanes, 1}); }
  Operand perToken(const std::string &buffer) {
    return Operand::memory(buffer, 0, {1});
  }
  Operand perScore(const std::string &buffer) {
    return Operand::memory(buffer, 0, {0, 1});
  }
  /// Word of the first token of a sequence in the given head.
  static Affine start(const Tile &tile, Place place) {
    int64_t head = tile.layout.features.unitSize * tile.pitch;
    return place.head * head + place.sequence * tile.layout.tokens;
  }
  Operand resultRows(Place place) {
    return Operand::memory(result.buffer, start(result, place),
                           {result.pitch, 1});
  }

  wse::AttentionOp op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  Shape shape;
  Tile query, key, value, result;
  std::string scores, largest, sum, next, correction, dropped;
  std::optional<CausalMask> mask;
};

void AttentionWriter::write() {
  const FeatureTiling &heads = query.layout.features;
  Value count = s.spreadSize(heads.units, b.width(), s.px());
  if (mask)
    b.where(query.active, [&] { mask->prepare(); });
  b.loop(count, [&](Affine head) {
    if (!shape.local()) {
      b.where(key.active, [&] {
        sendNorth(KeyThread, key, StreamPattern::KeyNorth,
                  StreamPattern::KeyCast, head);
        sendNorth(ValueThread, value, StreamPattern::ValueNorth,
                  StreamPattern::ValueCast, head);
      });
      dropAll();
    }
    b.where(query.active, [&] {
      if (query.layout.group == 0)
        b.loop(query.sequences,
               [&](Affine sequence) { attend({head, sequence}); });
      else
        attend({head, Affine(0)});
    });
  });
}

/// Own rows of a head, then those of the rows south: north, or from the head
/// row of the group to all of it.
void AttentionWriter::sendNorth(Thread thread, const Tile &tile,
                                StreamPattern north, StreamPattern cast,
                                Affine head) {
  const Layout &layout = tile.layout;
  int64_t size = layout.features.unitSize;
  auto sendOwn = [&](Affine onward) {
    b.start(thread, Opcode::Mov, {tile.tokens, size},
            Operand::fabric(onward, 2),
            {Operand::memory(tile.buffer, start(tile, {head, 0}),
                             {1, tile.pitch})});
  };
  if (layout.span == 1)
    return sendOwn(b.color(cast));
  Value row = s.mod(s.py(), layout.group);
  Value parity = s.mod(s.py(), 2);
  Value isHead = s.equal(row, 0);
  Affine incoming = b.parityColor(north, s.logicalNot(parity));
  Value after =
      s.sub(s.sub(layout.tokens, s.tileStart(layout.tokens, layout.span, row)),
            tile.tokens);
  auto send = [&](Affine onward) {
    sendOwn(onward);
    b.start(thread, Opcode::Mov, {Affine(after) * size},
            Operand::fabric(onward), {Operand::fabric(incoming)},
            s.less(0, after));
  };
  b.where(isHead, [&] { send(b.color(cast)); });
  b.where(s.logicalNot(isHead), [&] { send(b.parityColor(north, parity)); });
}

/// Rows with keys but without queries hear the multicast as well.
void AttentionWriter::dropAll() {
  if (query.layout.span >= shape.span())
    return;
  b.where(s.logicalAnd(key.active, s.logicalNot(query.active)), [&] {
    Operand nowhere = Operand::memory(dropped, 0, {0});
    b.vector(Opcode::Mov, {shape.keys * shape.headSize}, nowhere,
             {Operand::fabric(b.color(StreamPattern::KeyCast))});
    b.vector(Opcode::Mov, {shape.keys * shape.valueSize}, nowhere,
             {Operand::fabric(b.color(StreamPattern::ValueCast))});
  });
}

void AttentionWriter::attend(Place place) {
  b.vector(Opcode::Mov, {shape.valueSize, query.tokens}, resultRows(place),
           {Operand::immediate(0)});
  b.vector(Opcode::Mov, {query.tokens}, perToken(sum), {Operand::immediate(0)});
  b.vector(Opcode::Mov, {query.tokens}, perToken(largest),
           {Operand::immediate(lowest)});
  int64_t whole = shape.keys / shape.block, rest = shape.keys % shape.block;
  b.loop(whole, [&](Affine number) {
    attendBlock(place, number * shape.block, shape.block);
  });
  if (rest)
    attendBlock(place, whole * shape.block, rest);
  if (mask && shape.blocked())
    mask->advance(-shape.keys);
  b.vector(Opcode::Reciprocal, {query.tokens}, perToken(sum), {perToken(sum)});
  b.vector(Opcode::Mul, {shape.valueSize, query.tokens}, resultRows(place),
           {resultRows(place), perScore(sum)});
}

void AttentionWriter::attendBlock(Place place, Affine firstKey, int64_t keys) {
  scoreBlock(place, firstKey, keys);
  correct(place, keys);
  b.vector(Opcode::Sub, {keys, query.tokens}, scoreRows(),
           {scoreRows(), perScore(largest)});
  b.vector(Opcode::Exp, {keys, query.tokens}, scoreRows(), {scoreRows()});
  b.vector(Opcode::Add, {keys, query.tokens}, perScore(sum),
           {perScore(sum), scoreRows()});
  Operand values =
      shape.local()
          ? Operand::memory(value.buffer, start(value, place) + firstKey,
                            {1, value.pitch, 0})
          : Operand::fabric(b.color(StreamPattern::ValueCast), 2);
  multiply(keys, shape.valueSize,
           Operand::memory(result.buffer, start(result, place),
                           {0, result.pitch, 1}),
           values, Operand::memory(scores, 0, {shape.lanes, 0, 1}));
  if (mask && shape.blocked())
    mask->advance(keys);
}

/// sums += lines * perLane over keys, the line of each, and the own tokens: in
/// the order CostModel::streamedFmacs counts on.
void AttentionWriter::multiply(int64_t keys, int64_t line, Operand sums,
                               Operand lines, Operand perLane) {
  if (shape.lanes == 1) {
    for (Operand *operand : {&sums, &lines, &perLane})
      if (operand->kind == Operand::Kind::Memory)
        operand->strides.pop_back();
    b.vector(Opcode::Fmac, {keys, line}, sums, {lines, perLane});
    return;
  }
  pe::Issue issue;
  issue.lineBuffer =
      !shape.local() && CostModel(b.machine()).keepsLine(line, shape.lanes);
  b.vector(Opcode::Fmac, {keys, line, query.tokens}, sums, {lines, perLane},
           issue);
}

void AttentionWriter::scoreBlock(Place place, Affine firstKey, int64_t keys) {
  b.vector(Opcode::Mov, {keys, query.tokens}, scoreRows(),
           {Operand::immediate(0)});
  Operand keyRows =
      shape.local() ? Operand::memory(key.buffer, start(key, place) + firstKey,
                                      {1, key.pitch, 0})
                    : Operand::fabric(b.color(StreamPattern::KeyCast), 2);
  multiply(
      keys, shape.headSize, Operand::memory(scores, 0, {shape.lanes, 0, 1}),
      keyRows,
      Operand::memory(query.buffer, start(query, place), {0, query.pitch, 1}));
  b.vector(Opcode::Mul, {keys, query.tokens}, scoreRows(),
           {scoreRows(), Operand::immediate(op.getScale().convertToDouble())});
  addBiases(place, firstKey, keys);
  if (mask)
    mask->apply(scores, keys);
}

void AttentionWriter::addBiases(Place place, Affine firstKey, int64_t keys) {
  auto add = [&](Value bias, bool perQuery) {
    Tile tile = b.tile(bias);
    Affine first = firstKey * tile.pitch + place.sequence * tile.layout.tokens;
    b.vector(Opcode::Add, {keys, query.tokens}, scoreRows(),
             {scoreRows(), Operand::memory(tile.buffer, first,
                                           {tile.pitch, perQuery ? 1 : 0})});
  };
  if (op.getKeyBias())
    add(op.getKeyBias(), /*perQuery=*/false);
  if (op.getScoreBias())
    add(op.getScoreBias(), /*perQuery=*/true);
}

/// Brings what earlier blocks gave to the scale of the new maximum.
void AttentionWriter::correct(Place place, int64_t keys) {
  const std::string &target = shape.blocked() ? next : largest;
  if (shape.blocked())
    b.vector(Opcode::Mov, {query.tokens}, perToken(next), {perToken(largest)});
  b.vector(Opcode::Max, {keys, query.tokens}, perScore(target),
           {perScore(target), scoreRows()});
  if (!shape.blocked())
    return;
  b.vector(Opcode::Sub, {query.tokens}, perToken(correction),
           {perToken(largest), perToken(next)});
  b.vector(Opcode::Exp, {query.tokens}, perToken(correction),
           {perToken(correction)});
  b.vector(Opcode::Mov, {query.tokens}, perToken(largest), {perToken(next)});
  b.vector(Opcode::Mul, {query.tokens}, perToken(sum),
           {perToken(sum), perToken(correction)});
  b.vector(Opcode::Mul, {shape.valueSize, query.tokens}, resultRows(place),
           {resultRows(place), perScore(correction)});
}

LogicalResult Attention::lowerOp(wse::AttentionOp op, RoutineBuilder &b) const {
  AttentionWriter(op, b).write();
  return success();
}

} // namespace

const Kernel *attentionKernel() {
  static const Attention kernel;
  return &kernel;
}

} // namespace wsec
