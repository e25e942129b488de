// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention to keys and values that stay: they lie where states have them, and
// what moves are queries, scores and results. Of a head, over some columns:
//
//   queries        along their row to all columns, each for its own features
//   queries        down the columns to all rows
//   scores         partial ones of own features and tokens; summed up along the
//                  row, and multicast back
//                  (with a softcap each bounded then)
//   largest        of the own tokens; of all rows by a chain north and back, or
//                  meanwhile: then own sums are corrected before they leave
//   exponentials   each column those of some tokens; gathered along the row;
//                  in one row also those of sinks, which are added to sums
//   results        values weighted by them and their sum, of the own tokens; of
//                  all rows by a chain north, and to the rows of their queries
//   results        divided, and along the row to the columns that own them
//
// Scores and exponentials are tokens x queries, weighted values features x
// queries; their first line is the sum of weights. Loops end with the tokens
// that a row has, words do not depend on them. A head lies in the same columns
// of all rows, so each PE works on its own head alone.

#include "compiler/kernels/Sources.h"
#include "compiler/kernels/attention/CachedAttentionShape.h"
#include "compiler/kernels/attention/CachedTokens.h"

using namespace mlir;

namespace wsec {
namespace {

using pe::ScalarKind;

class CachedAttention final : public KernelFor<wse::CachedAttentionOp> {
  Match match(Operation *op, const Selection &) const final {
    return Match::when(isa<onnx::CachedAttentionOp>(op));
  }
  Value build(Operation *user, Selection &selection) const final {
    return createCachedAttention(user, selection);
  }

  /// Few scores at a time only where that is less.
  SmallVector<Offer> offers(Operation *op, const Machine &machine) const final;
  int variantOf(Operation *op) const final {
    return cast<wse::CachedAttentionOp>(op).getFewScores();
  }
  void take(Operation *op, int variant) const final {
    cast<wse::CachedAttentionOp>(op).setFewScores(variant != 0);
  }
  StringRef variantName(int few) const final { return few ? "few" : "many"; }

  KernelCost costOf(wse::CachedAttentionOp op, const Machine &its) const final {
    return wsec::costOf(op, CachedAttentionShape(op, its), its);
  }

  SmallVector<Relay> relays() const final {
    using P = StreamPattern;
    SmallVector<Relay> relays = gatherColumnRelays();
    relays.append({{P::RowWest, P::RowWest}, {P::RowWest, P::HeadCast}});
    return relays;
  }
  SmallVector<StreamNeed> streamsOf(wse::CachedAttentionOp op,
                                    const Machine &machine) const final {
    CachedAttentionShape shape(op, machine);
    SmallVector<StreamNeed> needs = batchStreams(shape.query);
    needs.append(reduceBatchStreams(machine, shape.query.group));
    if (shape.spread())
      needs.append(
          {{StreamPattern::RowWest, {}},
           {StreamPattern::HeadCast,
            {shape.keys.features.units, shape.columns, shape.columns}}});
    return needs;
  }
  int64_t scratchWords(wse::CachedAttentionOp op,
                       const Machine &machine) const final {
    return CachedAttentionShape(op, machine).scratchWords();
  }
  LogicalResult lowerOp(wse::CachedAttentionOp op,
                        RoutineBuilder &b) const final;
};

class CachedAttentionWriter {
public:
  CachedAttentionWriter(wse::CachedAttentionOp op, RoutineBuilder &b)
      : op(op), b(b), s(b.scalars()), shape(op, b.machine()),
        query(b.tile(op.getQuery())), result(b.tile(op.getResult())),
        keys(tileOf(shape.keys, op.getKeysAttr())),
        values(tileOf(shape.values, op.getValuesAttr())),
        heads(PEGroups::ofHeads(keys.layout.features)),
        rows(PEGroups::ofBatch(keys.layout)),
        asking(b.scratch("queries", shape.queries() * shape.mostKey,
                         shape.element)),
        scores(b.scratch("scores", shape.scoreCount())), summed(scores),
        weights(scores), own(b.scratch("largest", shape.asked())),
        largest(b.scratch("largest_of_all", shape.asked())),
        weighted(b.scratch("weighted", shape.weightedCount())) {
    if (shape.spread())
      summed = b.scratch("sums", shape.scoreCount());
    if (shape.ownLargest)
      ofRows = b.scratch("largest_of_rows", shape.asked());
    if (shape.narrow)
      weights = b.scratch("weights", shape.scoreCount(), shape.element);
    if (shape.bytes) {
      bytes = b.halvesOf(b.scratch("bytes", (shape.halfCount() + 1) / 2));
      floats = b.scratch("floats", shape.halfCount(), shape.element);
    }
    // What is done before scores, or behind them, lies where they do.
    auto beside = [&](StringRef name, int64_t count, const std::string &dead,
                      int64_t room) {
      return shape.beside(count, room) ? b.scratch(name, count) : dead;
    };
    inverse = beside("inverse", shape.inverseCount(), own, shape.asked());
    finished = weighted;
    if (shape.query.span > 1)
      finished =
          beside("finished", shape.ownCount(), summed, shape.scoreCount());
    if (shape.moves()) {
      movedQueries =
          shape.narrow
              ? b.scratch("own_queries", shape.movedQueries(), shape.element)
              : beside("own_queries", shape.movedQueries(), scores,
                       shape.scoreCount());
      movedResults =
          shape.perWord() == 2
              ? b.scratch("own_results", shape.movedResults(), shape.element)
              : beside("own_results", shape.movedResults(), scores,
                       shape.scoreCount());
    }
  }

  void write();

private:
  void attend(Affine head);
  void fetchQueries(Affine head);
  void score(Affine head, Affine firstToken);
  void bound();
  void hideUnseen(Affine firstToken);
  void exponentials();
  void addSinks(Affine head, Affine firstToken);
  void weigh(Affine head, Affine firstToken);
  void correct(Affine first);
  void finish(Affine head);

  /// What scores are multiplied by once they are made, and bounded.
  float factor() { return float(shape.softcap.value_or(scale())); }
  double scale() {
    return op.getScale().convertToDouble() / (shape.bytes ? bytesOfScale : 1);
  }
  /// A state, described as if it held floats.
  Tile tileOf(const Layout &layout, FlatSymbolRefAttr name) {
    Tile tile = RoutineBuilder::describe(s, layout);
    tile.buffer = b.tile(stateOf(op, name)).buffer;
    return tile;
  }
  bool sharesRows() const { return shape.query.group > 1; }
  StartedReduction largestOfRows() {
    return {b, rows, Opcode::Max, ofRows, shape.asked()};
  }
  /// Features of a head that this PE holds, and number of the first.
  Value ownFeatures(const Tile &tile) {
    return shape.spread() ? tile.features
                          : s.constant(tile.layout.features.unitSize);
  }
  /// Number of this column among those that share the tokens, or of the last.
  Value sharingColumn() {
    Value column = s.mod(s.px(), shape.columns);
    return shares() ? s.min(column, shape.sharing() - 1) : column;
  }
  /// Whether it is one of them; null: all are.
  Value shares() {
    return shape.sharing() == shape.columns
               ? Value()
               : s.less(s.mod(s.px(), shape.columns), shape.sharing());
  }
  /// Those east of this one.
  Value columnsBehind() { return s.sub(shape.sharing() - 1, sharingColumn()); }
  Value firstOfUnit(const Tile &tile) {
    return s.sub(tile.firstFeature, s.mul(s.div(s.px(), shape.columns),
                                          tile.layout.features.unitSize));
  }
  /// Those of the columns of the head east of this one.
  Value featuresBehind(const Tile &tile) {
    return s.sub(tile.layout.features.unitSize,
                 s.add(firstOfUnit(tile), tile.features));
  }
  /// What moves along rows, in words.
  std::string asWords(const std::string &buffer) {
    return shape.perWord() == 2 ? b.wordsOf(buffer) : buffer;
  }
  Value inWords(Value features) {
    return shape.perWord() == 2 ? s.div(features, 2) : features;
  }
  /// into[q] = opcode(into[q], lines[t][q]) over own tokens.
  void overTokens(Opcode opcode, const std::string &into, Affine first,
                  const std::string &lines);
  /// sums += lines * perQuery over own tokens, features and queries.
  void multiply(Affine features, int64_t mostFeatures, size_t over,
                Operand sums, Operand lines, Operand perQuery);
  /// Own features of a head of a state, as lines of tokens: all at once, or
  /// those of each half of its elements.
  void forLines(
      const Tile &state, Affine head, int64_t most,
      function_ref<void(Operand lines, Affine features, int64_t first)> body);
  /// into[t][q] *= the scale of token t.
  void scaleTokens(FlatSymbolRefAttr state, Affine head,
                   const std::string &into);

  wse::CachedAttentionOp op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  CachedAttentionShape shape;
  Tile query, result, keys, values;
  PEGroups heads, rows;
  std::string bytes, floats;  ///< of half the features of a state
  std::string asking;         ///< features x queries
  std::string scores, summed; ///< partial ones, and their sums
  std::string weights;        ///< exponentials of all own tokens
  std::string own, largest, ofRows;
  std::string weighted, finished; ///< of all queries, and of those of this row
  std::string inverse;
  std::string movedQueries, movedResults; ///< of own features
  std::optional<CachedTokens> tokens;
  Affine share; ///< own tokens of which exponentials this column makes
};

void CachedAttentionWriter::write() {
  b.where(keys.sequences, [&] {
    tokens.emplace(b, keys, op.getPositions(), shape.tokens);
    if (!shape.spread()) {
      share = tokens->now;
      return b.loop(s.spreadSize(keys.layout.features.units, b.width(), s.px()),
                    [&](Affine head) { attend(head); });
    }
    // Columns take tokens in turn.
    share = b.compute(ScalarKind::Div,
                      {tokens->now + Affine(columnsBehind()), shape.sharing()});
    if (Value some = shares())
      share = b.compute(ScalarKind::Mul, {share, some});
    b.where(RoutineBuilder::inSomeUnit(s, keys.layout.features),
            [&] { attend(0); });
  });
}

void CachedAttentionWriter::attend(Affine head) {
  fetchQueries(head);
  Value lines = s.add(ownFeatures(values), 1);
  Value words = s.mul(lines, shape.queries());
  b.vector(Opcode::Mov, {words}, Operand::memory(weighted, 0, {1}),
           {Operand::immediate(0)});
  b.loop(shape.tokens / shape.round, [&](Affine round) {
    Affine first = round * shape.round;
    score(head, first);
    bound();
    hideUnseen(first);
    exponentials();
    weigh(head, first);
    addSinks(head, first);
  });
  if (sharesRows())
    reduceBatch(b, rows, Opcode::Add, weighted, words);
  if (shape.query.span > 1) {
    Value before = s.mul(s.div(s.py(), query.layout.group), shape.tokens);
    Operand heard =
        Operand::fabric(b.color(rows.cast), 2)
            .windowed(s.mul(s.sub(query.firstToken, before), shape.repeat),
                      shape.queries());
    castGroups(b, rows, weighted, words,
               {lines, s.mul(query.tokens, shape.repeat)},
               Operand::memory(finished, 0, {shape.channels * shape.repeat, 1}),
               heard);
  }
  b.where(query.active, [&] { finish(head); });
}

void CachedAttentionWriter::fetchQueries(Affine head) {
  const int64_t repeat = shape.repeat;
  Value features = ownFeatures(keys);
  Operand source = Operand::memory(
      query.buffer, head * (repeat * shape.keySize * query.pitch),
      {1, shape.keySize * query.pitch, query.pitch});
  if (shape.moves()) {
    const int64_t line = shape.mostKey * shape.channels;
    b.where(query.active, [&] {
      GroupBlock block;
      block.extents = {inWords(query.features), query.channels};
      block.own = Operand::memory(asWords(query.buffer), 0, {query.pitch, 1});
      block.wordsBehind = s.mul(inWords(featuresBehind(query)), query.channels);
      block.anyBehind = s.less(0, featuresBehind(query));
      Operand heard =
          Operand::fabric(b.color(heads.cast), 3)
              .windowed(s.mul(inWords(firstOfUnit(keys)), query.channels),
                        Affine(query.channels) *
                            (shape.keySize / shape.perWord()));
      multicastBlocks(
          b, heads, block, {repeat, inWords(features), query.channels},
          Operand::memory(asWords(movedQueries), 0,
                          {line / shape.perWord(), shape.channels, 1}),
          heard);
    });
    source = Operand::memory(movedQueries, 0, {1, line, shape.channels});
  }
  const Operand kept = Operand::memory(asking, 0, {repeat, 1, shape.queries()});
  SmallVector<Affine, 3> mine = {query.channels, repeat, features};
  if (!sharesRows())
    return b.vector(Opcode::Mov, mine, kept, {source});
  multicastTokens(b, query, mine, source, s.mul(features, repeat),
                  {shape.tokens, repeat, features}, kept);
}

void CachedAttentionWriter::overTokens(Opcode opcode, const std::string &into,
                                       Affine first, const std::string &lines) {
  const int64_t asked = shape.asked();
  const size_t along = asked < shape.held ? 1 : 0; // tokens
  SmallVector<Affine, 2> extents(2, asked);
  SmallVector<int64_t, 2> to(2, 1), from(2, 1);
  extents[along] = tokens->now;
  to[along] = 0;
  from[along] = asked;
  Operand result = Operand::memory(into, first, to);
  b.vector(opcode, extents, result, {result, Operand::memory(lines, 0, from)});
}

void CachedAttentionWriter::multiply(Affine features, int64_t mostFeatures,
                                     size_t over, Operand sums, Operand lines,
                                     Operand perQuery) {
  double sizes[] = {double(tileSizeMax(shape.held, 2)), double(mostFeatures),
                    double(shape.asked())};
  double strides[3];
  for (int d : {0, 1, 2})
    strides[d] = double(std::max(lines.strides[d], perQuery.strides[d]));
  b.multiplyAdd(
      {tokens->now, features, shape.asked()},
      CostModel(b.machine(), shape.narrow).vectorAlong(sizes, over, strides),
      sums, lines, perQuery);
}

void CachedAttentionWriter::forLines(
    const Tile &state, Affine head, int64_t most,
    function_ref<void(Operand lines, Affine features, int64_t first)> body) {
  const int64_t pitch = state.pitch, size = state.layout.features.unitSize;
  const Value features = ownFeatures(state);
  if (!shape.bytes)
    return body(
        Operand::memory(state.buffer, head * (size * pitch), {1, pitch, 0}),
        features, 0);
  const int64_t half = tileSizeMax(most, 2);
  const Operand pairs =
      Operand::memory(state.buffer, head * (half * pitch), {pitch, 1});
  const Operand integers = Operand::memory(bytes, 0, {pitch, 1});
  // Either half is the upper one in the end.
  for (bool upper : {false, true}) {
    const SmallVector<Affine> extents = {
        upper ? Affine(s.max(s.sub(features, half), 0)) : Affine(half),
        tokens->now};
    b.vector(upper ? Opcode::BitAnd : Opcode::Mul, extents, integers,
             {pairs, Operand::immediate(upper ? -256 : 256)});
    b.vector(Opcode::Mov, extents, Operand::memory(floats, 0, {pitch, 1}),
             {integers});
    body(Operand::memory(floats, 0, {1, pitch, 0}), extents[0],
         upper ? half : 0);
  }
}

void CachedAttentionWriter::scaleTokens(FlatSymbolRefAttr name, Affine head,
                                        const std::string &into) {
  if (!shape.bytes)
    return;
  const Tile scales = b.tile(wse::scalesOf(stateOf(op, name)));
  const Operand all = Operand::memory(into, 0, {shape.asked(), 1});
  b.vector(Opcode::Mul, {tokens->now, shape.asked()}, all,
           {all, Operand::memory(scales.buffer, head * scales.pitch, {1, 0})});
}

/// The scores of all own tokens, in every column.
void CachedAttentionWriter::score(Affine head, Affine firstToken) {
  const int64_t asked = shape.asked();
  // Of tokens that are not there, too: words do not depend on the position.
  b.vector(Opcode::Mov, {shape.scoreCount()}, Operand::memory(scores, 0, {1}),
           {Operand::immediate(0)});
  forLines(keys, head, shape.mostKey,
           [&](Operand lines, Affine features, int64_t first) {
             multiply(features, shape.mostKey, /*over=*/1,
                      Operand::memory(scores, 0, {asked, 0, 1}), lines,
                      Operand::memory(asking,
                                      firstToken * shape.repeat +
                                          Affine(first * shape.queries()),
                                      {0, shape.queries(), 1}));
           });
  scaleTokens(op.getKeysAttr(), head, scores);
  if (!shape.spread())
    return;
  reduceGroups(b, heads, Opcode::Add, scores, shape.scoreCount());
  castGroups(b, heads, scores, summed, shape.scoreCount());
}

void CachedAttentionWriter::hideUnseen(Affine firstToken) {
  const ScoreLines lines = {summed, shape.held, shape.round, shape.repeat,
                            tokens->position + firstToken};
  hideLater(b, *tokens, lines, shape.late());
  if (shape.window)
    (shape.chunked ? hideChunks : hideEarlier)(b, *tokens, lines,
                                               *shape.window);
}

/// Scores s become tanh(scale * s / softcap), which the softcap scales.
void CachedAttentionWriter::bound() {
  if (!shape.softcap)
    return;
  const Operand all = Operand::memory(summed, 0, {1});
  const Affine count = tokens->now * shape.asked();
  b.vector(Opcode::Mul, {count}, all,
           {all, Operand::immediate(float(scale() / *shape.softcap))});
  b.vector(Opcode::Tanh, {count}, all, {all});
}

/// weights = exp(scale * (scores - largest)), a share of them in each column.
void CachedAttentionWriter::exponentials() {
  const int64_t asked = shape.asked();
  b.vector(Opcode::Mov, {asked}, Operand::memory(own, 0, {1}),
           {Operand::immediate(lowestScore)});
  overTokens(Opcode::Max, own, 0, summed);
  std::string most = own;
  if (shape.ownLargest) {
    b.vector(Opcode::Mov, {asked}, Operand::memory(ofRows, 0, {1}),
             {Operand::memory(own, 0, {1})});
    largestOfRows().inGroups();
  } else if (sharesRows()) {
    reduceBatch(b, rows, Opcode::Max, own, asked);
    castGroups(b, rows, own, largest, asked);
    most = largest;
  }
  Operand mine = Operand::memory(summed, Affine(sharingColumn()) * asked,
                                 {shape.sharing() * asked, 1});
  const Operand all = Operand::memory(weights, 0, {asked, 1});
  auto each = [&](Opcode opcode, const Operand &into,
                  std::optional<Operand> other = {}) {
    SmallVector<Operand, 0> operands = {mine};
    if (other)
      operands.push_back(*other);
    b.vector(opcode, {share, asked}, into, operands);
  };
  each(Opcode::Sub, mine, Operand::memory(most, 0, {0, 1}));
  each(Opcode::Mul, mine, Operand::immediate(factor()));
  each(Opcode::Exp, shape.spread() ? mine : all);
  if (shape.ownLargest)
    largestOfRows().ofRoots();
  if (!shape.spread())
    return;
  GroupBlock block;
  const int64_t count = shape.share();
  block.extents = {count, asked};
  block.own = mine;
  block.wordsBehind = s.mul(columnsBehind(), count * asked);
  block.anyBehind = s.less(0, columnsBehind());
  block.anyOwn = shares();
  multicastBlocks(
      b, heads, block, {shape.sharing(), count, asked},
      Operand::memory(weights, 0, {asked, shape.sharing() * asked, 1}),
      Operand::fabric(b.color(heads.cast), 3));
}

/// To the sums of weights exp(sink - scale * largest) is added in one row. That
/// may be infinite, where no key counts: then results are 0.
void CachedAttentionWriter::addSinks(Affine head, Affine firstToken) {
  if (!op.getSinks())
    return;
  const Tile sinks = b.tile(op.getSinks());
  const int64_t repeat = shape.repeat;
  const std::string &most = sharesRows() ? largest : own;
  const Affine first = Affine(s.div(keys.firstFeature, shape.keySize)) + head;
  const SmallVector<Affine> extents = {shape.round, repeat};
  const Operand all = Operand::memory(most, 0, {repeat, 1});
  const Operand sums =
      Operand::memory(weighted, firstToken * repeat, {repeat, 1});
  b.where(sinks.active, [&] {
    b.vector(Opcode::Mul, extents, all, {all, Operand::immediate(-factor())});
    b.vector(Opcode::Add, extents, all,
             {all, Operand::memory(sinks.buffer, first * (repeat * sinks.pitch),
                                   {0, sinks.pitch})});
    b.vector(Opcode::Exp, extents, all, {all});
    b.vector(Opcode::Add, extents, sums, {sums, all});
  });
}

void CachedAttentionWriter::weigh(Affine head, Affine firstToken) {
  const int64_t asked = shape.asked(), line = shape.queries();
  const Affine first = firstToken * shape.repeat;
  overTokens(Opcode::Add, weighted, first, weights);
  if (shape.ownLargest)
    largestOfRows().cast(largest);
  scaleTokens(op.getValuesAttr(), head, weights);
  forLines(values, head, shape.mostValue,
           [&](Operand lines, Affine features, int64_t firstFeature) {
             multiply(features, shape.mostValue, /*over=*/0,
                      Operand::memory(weighted,
                                      first + Affine((1 + firstFeature) * line),
                                      {0, line, 1}),
                      lines, Operand::memory(weights, 0, {asked, 0, 1}));
           });
  if (shape.ownLargest)
    correct(first);
}

/// Sums *= exp(scale * (own largest - largest)), of the queries from the first.
void CachedAttentionWriter::correct(Affine first) {
  const int64_t asked = shape.asked(), line = shape.queries();
  const Operand factors = Operand::memory(own, 0, {1});
  b.vector(Opcode::Sub, {asked}, factors,
           {factors, Operand::memory(largest, 0, {1})});
  b.vector(Opcode::Mul, {asked}, factors,
           {factors, Operand::immediate(factor())});
  b.vector(Opcode::Exp, {asked}, factors, {factors});
  const Operand sums = Operand::memory(weighted, first, {line, 1});
  b.vector(Opcode::Mul, {s.add(ownFeatures(values), 1), asked}, sums,
           {sums, Operand::memory(own, 0, {0, 1})});
}

/// The results of the queries of this row, to the columns that own them.
void CachedAttentionWriter::finish(Affine head) {
  const int64_t repeat = shape.repeat, line = shape.channels * repeat;
  // Sums are 1 at least: exp(-log(sum)) has all but the last bits of 1 / sum,
  // in a third of the time.
  Value sums = s.mul(query.channels, repeat);
  Operand inverted = Operand::memory(inverse, 0, {1});
  b.vector(Opcode::Log, {sums}, inverted, {Operand::memory(finished, 0, {1})});
  b.vector(Opcode::Neg, {sums}, inverted, {inverted});
  b.vector(Opcode::Exp, {sums}, inverted, {inverted});
  if (shape.bytes)
    b.vector(Opcode::Mul, {sums}, inverted,
             {inverted, Operand::immediate(float(1 / bytesOfScale))});
  Operand into = Operand::memory(
      result.buffer, head * (repeat * shape.valueSize * result.pitch),
      {shape.valueSize * result.pitch, result.pitch, 1});
  const int64_t step = shape.mostValue * shape.channels;
  if (shape.moves())
    into = Operand::memory(movedResults, 0, {step, shape.channels, 1});
  b.vector(Opcode::Mul, {repeat, ownFeatures(values), query.channels}, into,
           {Operand::memory(finished, line, {1, line, repeat}),
            Operand::memory(inverse, 0, {1, 0, repeat})});
  if (!shape.moves())
    return;
  GroupBlock block;
  block.extents = {inWords(values.features), query.channels};
  block.own = Operand::memory(asWords(movedResults), 0, {shape.channels, 1});
  block.wordsBehind = s.mul(inWords(featuresBehind(values)), query.channels);
  block.anyBehind = s.less(0, featuresBehind(values));
  block.lines = repeat;
  block.lineStep = step / shape.perWord();
  Operand heard =
      Operand::fabric(b.color(heads.cast), 3)
          .windowed(s.mul(inWords(firstOfUnit(result)), query.channels),
                    Affine(query.channels) *
                        (repeat * shape.valueSize / shape.perWord()));
  multicastBlocks(
      b, heads, block, {1, inWords(result.features), query.channels},
      Operand::memory(asWords(result.buffer), 0, {0, result.pitch, 1}), heard);
}

SmallVector<Offer> CachedAttention::offers(Operation *op,
                                           const Machine &machine) const {
  auto attention = cast<wse::CachedAttentionOp>(op);
  SmallVector<Offer> offers;
  for (int variant : {0, 1}) {
    const CachedAttentionShape shape(attention, machine, variant != 0);
    const int64_t scratch = 4 * shape.scratchWords();
    if (offers.empty() || scratch < offers.front().scratchBytes)
      offers.push_back({.variant = variant,
                        .cost = wsec::costOf(attention, shape, machine),
                        .scratchBytes = scratch});
  }
  return offers;
}

LogicalResult CachedAttention::lowerOp(wse::CachedAttentionOp op,
                                       RoutineBuilder &b) const {
  CachedAttentionWriter(op, b).write();
  return success();
}

} // namespace

WSEC_DEFINE_KERNEL(CachedAttention)

} // namespace wsec
