// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradients of an attention, head by head. With P the weights, keys x own
// tokens, of a round of keys at a time as in Attention.cpp:
//
//   D  = sum of attended * gradient of each token
//   P  = exp(scores - largest) / sum of these
//   dV = P gradient                               summed up over the rows
//   dS = P (V gradient^T - D)
//   dQ += dS^T K scale
//   dK = dS Q scale                               summed up over the rows
//
// Queries stay. Keys come twice, values once, north and as a multicast south.
// What rows have for the keys of others goes the same way: a chain north adds
// it up, and of its multicast each row keeps what belongs to its own tokens.
// Where keys come in rounds they pass once before, for the largest score and
// the sum.

#include "compiler/kernels/Heads.h"
#include "compiler/kernels/attention/AttentionWriter.h"

using namespace mlir;

namespace wsec {
namespace {

/// Products of keys, tokens and features: with those of queries and keys, and
/// of values.
constexpr double keyProducts = 3, valueProducts = 2;

class AttentionGradient final
    : public AttentionKernel<onnx::AttentionGradientOp,
                             wse::AttentionGradientOp> {
  Value buildFor(onnx::AttentionGradientOp op,
                 Selection &selection) const final;

  KernelCost costIn(wse::AttentionGradientOp op, const AttentionShape &shape,
                    const Machine &machine) const final;

  SmallVector<Relay> relays() const final { return attentionRelays(); }
  // Scores and their gradients; largest, sum, new largest and correction of
  // each token; D, and its sum over columns; what is multicast; the mask.
  int64_t wordsOf(const AttentionShape &shape) const final {
    return 2 * shape.scoreCount() + 6 * shape.channels + shape.gatheredCount() +
           AttentionTerms::scratchWords(shape);
  }

  // Heads of one feature are not spread beside larger ones.
  bool needsWholeHeads(Operation *op) const final {
    return hasSinglesBeside(cast<wse::AttentionGradientOp>(op));
  }

  LogicalResult lowerOp(wse::AttentionGradientOp op,
                        RoutineBuilder &b) const final;
};

Value AttentionGradient::buildFor(onnx::AttentionGradientOp op,
                                  Selection &selection) const {
  SmallVector<Value> tensors;
  for (Value operand : op->getOperands()) {
    tensors.push_back(wholeHeads(operand, op.getNumHeads(), op, selection));
    if (!tensors.back())
      return {};
  }
  auto gradient = selection.createFor<wse::AttentionGradientOp>(
      op, tensors[0].getType(), tensors[1].getType(), tensors[2].getType(),
      tensors[0], tensors[1], tensors[2], tensors[3], tensors[4],
      op.getNumHeadsAttr(),
      selection.builder().getF64FloatAttr(op.getScale().convertToFloat()),
      op.getTermsAttr(), UnitAttr());
  return gradient.getOfQuery();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

KernelCost AttentionGradient::costIn(wse::AttentionGradientOp,
                                     const AttentionShape &shape,
                                     const Machine &machine) const {
  const CostModel model(machine);
  const double channels = double(shape.channels), rounds = shape.allRounds();
  const double scores = double(shape.keys) * channels;
  const double guard = model.guard(shape.query);
  const double sequences = shape.query.group == 0
                               ? tileSizeMax(shape.query.batch, machine.height)
                               : 1;
  const double heads =
      shape.spread()
          ? 1
          : double(tileSizeMax(shape.query.features.units, machine.width));
  // Of keys, features and tokens: strides as they lie, summed over one of them.
  auto product = [&](int64_t headSize, size_t summed) {
    const double size = double(shape.most(headSize));
    const double sizes[] = {shape.keys / rounds, size, channels};
    const double strides[] = {channels,
                              double(shape.query.pitch(machine.height)), 1};
    return rounds *
           (machine.vectorSetup +
            model.product(sizes, summed,
                          model.vectorAlong(sizes, summed, strides), strides));
  };
  // Of all keys: there and back or, of sums, as measured, back.
  auto moved = [&](int64_t headSize, double times = 2) {
    if (shape.local())
      return 0.0;
    const double size = double(shape.most(headSize));
    const double slices =
        rounds * std::ceil(size / double(shape.slice(headSize)));
    return times * double(shape.keys) * size +
           slices *
               (shape.latency(machine, shape.span()) + 4 * machine.vectorSetup);
  };
  // Summed up along the columns of a head, and back.
  auto acrossColumns = [&](double times) {
    if (!shape.spread())
      return 0.0;
    return 2 * times * scores +
           rounds * (model.chain(double(shape.columns), 0) +
                     model.multicast(double(shape.columns), 0) +
                     2 * machine.vectorSetup);
  };
  const double share =
      double(shape.spread()
                 ? tileSizeMax(shape.mostKeys(), shape.columns) * shape.channels
                 : shape.mostKeys() * shape.channels);
  auto passes = [&](double count) {
    return count *
           (scores / machine.addRate + rounds * (machine.vectorSetup + guard));
  };
  const double masks = double(AttentionTerms::passes(shape)) +
                       (AttentionTerms::hidesLater(shape) ? 2 : 0);
  // Scores, and their exponentials.
  double scored = product(shape.headSize, 1) + moved(shape.headSize) +
                  acrossColumns(2) + passes(3 + masks) +
                  rounds * (model.functions(share) + model.adds(1, share));
  double head = scored;
  if (shape.blocked())
    head += scored + passes(1);
  else
    head += passes(3);
  head += product(shape.valueSize, 1) + moved(shape.valueSize) +
          acrossColumns(1) + passes(3) + product(shape.headSize, 0) +
          moved(shape.headSize);
  for (int64_t size : {shape.headSize, shape.valueSize})
    head += product(size, 2) + moved(size, shape.pitch ? 2 : 1) +
            model.adds(1, double(shape.keys * shape.most(size)));
  const double own = double(shape.most(shape.headSize)) * channels;
  head += 4 * model.adds(1, own);
  KernelCost cost;
  cost.compute = sequences * heads * head * double(shape.passes);
  if (!shape.local())
    cost.fabric =
        heads * double(shape.keys * shape.passes) *
        double(shape.most(shape.headSize) + shape.most(shape.valueSize));
  // Of keys after its own a causal token needs none. An exponential, what is
  // subtracted from its score, and what it is multiplied with.
  const double queries = channels * double(shape.passes);
  double needed = double(shape.keys) * queries;
  if (AttentionTerms::hidesLater(shape))
    needed = std::max(0.0, needed - queries * (queries - 1) / 2);
  cost.lowerBound =
      sequences * double(shape.query.features.units) / machine.width *
      (model.leastFmacs(needed * (keyProducts * double(shape.headSize) +
                                  valueProducts * double(shape.valueSize))) +
       3 * model.leastAdds(needed) + needed * machine.functionCycles);
  cost.lowerBound = std::max(
      cost.lowerBound, std::max(model.leastAcross(double(shape.span())),
                                model.leastAcross(double(shape.columns))) +
                           machine.functionCycles);
  return cost;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

class GradientWriter final : public AttentionWriter {
public:
  GradientWriter(wse::AttentionGradientOp op, RoutineBuilder &b)
      : AttentionWriter(op, b), gradient(b.tile(op.getGradient())),
        ofQuery(b.tile(op.getOfQuery())), ofKey(b.tile(op.getOfKey())),
        ofValue(b.tile(op.getOfValue())),
        ofScores(b.scratch("of_scores", shape.scoreCount())),
        deltas(b.scratch("deltas", shape.channels)),
        moved(b.scratch("moved_deltas", shape.channels)) {
    rows = PEGroups::ofBatch(key.layout);
    rows.used = shape.span();
    row = s.mod(s.py(), std::max<int64_t>(1, key.layout.group));
    isMember = s.logicalAnd(key.sequences, s.less(row, shape.span()));
  }

private:
  /// Of a round: number of the first, and how many there are.
  struct OwnKeys {
    Value first, count;
  };
  void attend(Place place) final;
  void attendEach(Place place);
  void attendQueries(Place place);
  void findDeltas(Place place);
  void addRound(Place place, Round round);
  void weigh(Place place, Round round);
  void attendRound(Place place, Round round);
  void sumOverRows(Place place, Round round, const Tile &result,
                   const std::string &weights, const Tile &tile);
  OwnKeys ownKeys(Round round);
  void scale(Affine features, Affine tokens, const Operand &rows);

  const Tile gradient, ofQuery, ofKey, ofValue;
  std::string ofScores;
  std::string deltas, moved; ///< D, and where it goes from the root of a head
  PEGroups rows;
  Value row, isMember; ///< of the group; takes part in its exchange
};

void GradientWriter::attend(Place place) {
  if (shape.passes > 1)
    attendEach(place);
  else
    attendQueries(place);
  b.where(key.active,
          [&] { scale(ownFeatures(ofKey), key.tokens, rowsAt(ofKey, place)); });
}

/// Queries one by one. Rows have as many, or one less: of these the one that is
/// not there is zeros, whose gradients are, too.
void GradientWriter::attendEach(Place place) {
  b.where(key.active, [&] {
    for (const Tile *tile : {&ofKey, &ofValue})
      b.vector(Opcode::Mov, {ownFeatures(*tile), key.tokens},
               rowsAt(*tile, place), {Operand::immediate(0)});
  });
  if (shape.queries % query.layout.span)
    b.where(s.logicalAnd(query.active, s.less(query.tokens, shape.passes)),
            [&] {
              place.query = shape.passes - 1;
              for (const Tile *tile :
                   {&std::as_const(query), &std::as_const(attended), &gradient})
                b.vector(Opcode::Mov, {ownFeatures(*tile), 1},
                         queryRowsAt(*tile, place), {Operand::immediate(0)});
            });
  b.loop(shape.passes, [&](Affine number) {
    place.query = number;
    attendQueries(place);
    terms->nextQuery(1);
  });
  terms->nextQuery(-shape.passes);
}

void GradientWriter::attendQueries(Place place) {
  findDeltas(place);
  compute([&] {
    b.vector(Opcode::Mov, {ownFeatures(query), asked},
             queryRowsAt(ofQuery, place), {Operand::immediate(0)});
    eachToken(Opcode::Mov, sum, {Operand::immediate(0)});
    eachToken(Opcode::Mov, largest, {Operand::immediate(lowestScore)});
  });
  if (shape.blocked()) {
    terms->eachRound([&](Round round) { addRound(place, round); });
    // From now on the logarithm of the sum of all exponentials.
    compute([&] {
      eachToken(Opcode::Log, sum, {perToken(sum)});
      eachToken(Opcode::Add, largest, {perToken(largest), perToken(sum)});
    });
  }
  terms->eachRound([&](Round round) { attendRound(place, round); });
  compute(
      [&] { scale(ownFeatures(query), asked, queryRowsAt(ofQuery, place)); });
}

void GradientWriter::scale(Affine features, Affine tokens,
                           const Operand &rows) {
  b.vector(Opcode::Mul, {features, tokens}, rows,
           {rows, Operand::immediate(float(shape.of.scale))});
}

void GradientWriter::findDeltas(Place place) {
  compute([&] {
    b.vector(Opcode::Mov, {shape.channels}, perToken(deltas),
             {Operand::immediate(0)});
    b.vector(Opcode::Fmac, {ownFeatures(attended), asked}, perScore(deltas),
             {queryRowsAt(attended, place), queryRowsAt(gradient, place)});
    if (!shape.spread())
      return;
    reduceGroups(b, groups, Opcode::Add, deltas, shape.channels);
    castGroups(b, groups, deltas, moved, shape.channels);
  });
}

/// To the sums of exponentials, at the scale of the largest score so far.
void GradientWriter::addRound(Place place, Round round) {
  score(place, round);
  compute([&] {
    correct(round.keys);
    exponentials(round.keys);
    b.vector(Opcode::Add, {round.keys, asked}, perScore(sum),
             {perScore(sum), rowsOf(scores)});
  });
}

/// Scores become weights.
void GradientWriter::weigh(Place place, Round round) {
  score(place, round);
  compute([&] {
    if (!shape.blocked())
      findLargest(largest, round.keys);
    exponentials(round.keys);
    if (shape.blocked())
      return;
    b.vector(Opcode::Add, {round.keys, asked}, perScore(sum),
             {perScore(sum), rowsOf(scores)});
    eachToken(Opcode::Reciprocal, sum, {perToken(sum)});
    b.vector(Opcode::Mul, {round.keys, asked}, rowsOf(scores),
             {rowsOf(scores), perScore(sum)});
  });
}

void GradientWriter::attendRound(Place place, Round round) {
  weigh(place, round);
  products(place, round, valueExchange(), gradient, ofScores);
  compute([&] {
    // Where they were summed up they are where exchanges take place.
    const std::string &into = shape.spread() ? other : ofScores;
    b.vector(Opcode::Sub, {round.keys, asked}, rowsOf(into),
             {rowsOf(ofScores), perScore(shape.spread() ? moved : deltas)});
    b.vector(Opcode::Mul, {round.keys, asked}, rowsOf(into),
             {rowsOf(into), rowsOf(scores)});
  });
  if (shape.spread())
    std::swap(ofScores, other);
  sumOverRows(place, round, ofValue, scores, gradient);
  inSlices(place, round, keyExchange(),
           [&](Affine first, Affine features, Operand keys) {
             Operand sums = queryRowsAt(ofQuery, place, first);
             sums.strides.insert(sums.strides.begin(), 0);
             multiply(round.keys, features, shape.most(shape.headSize),
                      /*summed=*/0, sums, keys,
                      Operand::memory(ofScores, 0, {shape.channels, 0, 1}));
           });
  sumOverRows(place, round, ofKey, ofScores, query);
}

GradientWriter::OwnKeys GradientWriter::ownKeys(Round round) {
  const int64_t before = shape.rounds * shape.tokens;
  OwnKeys own{s.mul(row, shape.tokens), s.constant(shape.tokens)};
  if (round.last) {
    const Value inOrder = s.min(row, key.layout.span - 1);
    own.first = s.sub(s.tileStart(key.layout.tokens, key.layout.span, inOrder),
                      s.mul(inOrder, before));
    own.count = s.sub(key.tokens, before);
  }
  own.first = s.sub(own.first, round.firstKey);
  if (shape.bands > 1)
    own.first = s.min(s.max(own.first, 0), round.keys - 1);
  const Value takes = s.mul(key.active, isOfBand(round, row));
  return {s.mul(takes, own.first), s.mul(takes, own.count)};
}

/// Of the own keys of a round: result = sum over all tokens of weights * rows
/// of `tile`.
void GradientWriter::sumOverRows(Place place, Round round, const Tile &result,
                                 const std::string &weights, const Tile &tile) {
  const int64_t keys = round.keys;
  const int64_t size = result.layout.features.unitSize;
  auto add = [&](Affine first, Affine features, Operand sums) {
    Operand rowsOfTile = queryRowsAt(tile, place, first);
    rowsOfTile.strides.insert(rowsOfTile.strides.begin(), 0);
    multiply(keys, features, shape.most(size), /*summed=*/2, sums, rowsOfTile,
             Operand::memory(weights, 0, {shape.channels, 0, 1}));
  };
  if (shape.local())
    return compute([&] {
      Operand own = rowsAt(result, place);
      own.offset = own.offset + round.first;
      b.vector(Opcode::Mov, {ownFeatures(result), keys}, own,
               {Operand::immediate(0)});
      own.strides = {1, result.pitch, 0};
      add(0, ownFeatures(result), own);
    });
  const OwnKeys mine = ownKeys(round);
  eachSlice(result, [&](Affine first, Affine features) {
    const Affine words =
        features.terms.empty()
            ? Affine(features.constant * keys)
            : Affine(s.mul(features.terms.front().first, keys));
    b.where(isMember, [&] {
      b.vector(Opcode::Mov, {words}, Operand::memory(gathered, 0, {1}),
               {Operand::immediate(0)});
      compute([&] {
        add(first, features, Operand::memory(gathered, 0, {1, keys, 0}));
      });
      if (shape.pitch)
        reduceBatch(b, rows, Opcode::Add, gathered, words);
      else
        reduceGroups(b, rows, Opcode::Add, gathered, words);
    });
    b.where(b.hears(StreamPattern::KeyCast, isMember), [&] {
      Operand own = rowsAt(result, place, first);
      own.offset = own.offset + round.first;
      castGroups(b, rows, gathered, words, {features, mine.count}, own,
                 Operand::fabric(b.color(StreamPattern::KeyCast), 2)
                     .windowed(mine.first, keys),
                 /*adds=*/shape.passes > 1);
    });
  });
}

LogicalResult AttentionGradient::lowerOp(wse::AttentionGradientOp op,
                                         RoutineBuilder &b) const {
  GradientWriter(op, b).write();
  return success();
}

} // namespace

WSEC_DEFINE_KERNEL(AttentionGradient)

} // namespace wsec
