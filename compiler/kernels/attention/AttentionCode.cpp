// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code of Attention.cpp.
//
// Per head and sequence, `scores` holds keys x own tokens:
//
//   scores = scale * K Q^T, capped, after the terms of the mask
//   largest', correction = exp(largest - largest')
//   scores = exp(scores - largest')
//   sum    = sum * correction + sum of scores
//   result = result * correction + V^T scores
//
// and at the end result / sum. Keys whose scores do not fit come in rounds; in
// each every row brings as many tokens. With one round the corrections fall
// away.
//
// Where there are several columns for a head, each holds some features of it.
// A PE then makes partial scores from its own, which are summed up west along
// the columns of the head and are multicast back; each column makes the
// exponentials of some keys, and all columns gather them. Of keys and values it
// takes its own features only.
//
// Stored keys and values stream past all rows, those of a round together.
//
// Where calls choose a length, queries behind it are not computed: what would
// be their result is 0.

#include "compiler/kernels/attention/AttentionWriter.h"
#include "compiler/kernels/attention/CachedTokens.h"

using namespace mlir;

namespace wsec {

AttentionWriter::AttentionWriter(const AttentionOperands &operands,
                                 RoutineBuilder &builder)
    : b(builder), s(b.scalars()), shape(operands, b.machine()),
      query(b.tile(operands.query)), key(b.tile(operands.key)),
      value(b.tile(operands.value)),
      keyWords(b.tile(operands.key, shape.pairing)),
      valueWords(b.tile(operands.value, shape.pairing)),
      attended(b.tile(operands.attended)),
      scores(b.scratch("scores", shape.scoreCount(),
                       shape.narrowScores ? shape.element : Type())),
      largest(b.scratch("largest", shape.channels)),
      sum(b.scratch("sum", shape.channels)),
      next(b.scratch("next_largest", shape.channels)),
      correction(b.scratch("correction", shape.channels)),
      groups(PEGroups::ofHeads(query.layout.features)) {
  if (shape.narrow) {
    weighted = b.scratch("weighted", shape.weightedCount());
    if (!shape.narrowScores)
      rounded = b.scratch("rounded", shape.scoreCount(), shape.element);
  }
  if (int64_t words = shape.gatheredCount())
    other = gathered = b.scratch("gathered", words);
  if (shape.narrow && !gathered.empty())
    gathered = b.halvesOf(gathered, shape.element);
  if (shape.narrowScores)
    other = gathered;
  if (int64_t words = shape.movedCount())
    other = b.scratch("moved", words);
  if (shape.early())
    values =
        b.scratch("values", shape.mostKeys() * shape.slice(shape.valueSize),
                  shape.element);
  present = shape.passes > 1 ? s.constant(1) : query.tokens;
  asked = shape.of.parts > 0 && query.layout.group != 0
              ? channelsOfCall(b, query)
              : Affine(present);
  terms.emplace(b, shape, query, asked, scores);
}

void AttentionWriter::write() {
  const FeatureTiling &heads = query.layout.features;
  auto attendAll = [&](Affine head) {
    if (query.layout.group != 0)
      return attend({head, Affine(0)});
    b.loop(query.sequences, [&](Affine sequence) { attend({head, sequence}); });
  };
  if (shape.streamed)
    streamStored();
  terms->prepare();
  if (shape.spread())
    return b.where(RoutineBuilder::inSomeUnit(s, heads),
                   [&] { attendAll(Affine(0)); });
  b.loop(s.spreadSize(heads.units, b.width(), s.px()), attendAll);
}

//===----------------------------------------------------------------------===//
// Exchange
//===----------------------------------------------------------------------===//

void AttentionWriter::inSlices(
    Place place, Round round, const Exchange &exchange,
    function_ref<void(Affine, Affine, Operand)> body) {
  const Tile &tile = exchange.tile;
  const Affine own = ownFeatures(tile);
  if (shape.streamed) {
    const bool isKeys = exchange.thread == KeyThread;
    if (isKeys)
      hearStored(round);
    const int64_t most = shape.most(shape.headSize);
    return compute([&] {
      body(0, own,
           Operand::memory(gathered, isKeys ? 0 : round.keys * most,
                           {most, 1, 0}));
    });
  }
  if (shape.local())
    return compute([&] {
      body(0, own,
           Operand::memory(tile.buffer, start(tile, place) + round.first,
                           {1, tile.pitch, 0}));
    });
  const int64_t slice = shape.slice(tile.layout.features.unitSize);
  eachSlice(tile, [&](Affine first, Affine features) {
    // Early values were on their way with the keys.
    const bool isKeys = exchange.thread == KeyThread;
    if (isKeys || !shape.early())
      startGather(place, round, exchange, first, features);
    if (isKeys && shape.early())
      startGather(place, round, valueExchange(), 0, ownFeatures(value));
    b.await(exchange.hearing);
    compute([&] {
      // Words of two keys make the keys of a feature neighbours.
      const bool byFeature = shape.pairing == Pairing::Channels;
      body(first, features,
           byFeature
               ? Operand::memory(exchange.buffer, 0, {1, shape.mostKeys(), 0})
               : Operand::memory(exchange.buffer, 0, {slice, 1, 0}));
    });
  });
}

void AttentionWriter::eachSlice(const Tile &tile,
                                function_ref<void(Affine, Affine)> body) {
  const int64_t size = tile.layout.features.unitSize;
  const int64_t slice = shape.slice(size);
  const int64_t whole = shape.least(size) / slice;
  b.loop(whole, [&](Affine i) { body(i * slice, slice); });
  if (!shape.spread()) {
    if (size > whole * slice)
      body(whole * slice, size - whole * slice);
    return;
  }
  // Some columns hold one feature more.
  if (shape.most(size) > whole * slice) {
    Value rest = s.sub(tile.features, whole * slice);
    bool all = shape.least(size) > whole * slice;
    b.where(all ? Value() : s.less(0, rest),
            [&] { body(whole * slice, rest); });
  }
}

/// A line is a round: its keys, then its values.
void AttentionWriter::streamStored() {
  const HostTensor stored = b.source(shape.of.stored);
  ColumnWords words;
  words.tensor = stored.symbol;
  words.offset = stored.offset;
  words.features = key.layout.features;
  words.lines = {shape.rounds + 1, shape.tokens * stored.strides[1]};
  words.inner = {{2, stored.strides[0]}, {shape.tokens, stored.strides[1]}};
  words.featureStep = stored.strides[2];
  b.streamToColumns({words});
}

void AttentionWriter::hearStored(Round round) {
  b.where(b.hears(StreamPattern::Column, query.active), [&] {
    b.start(GatherThread, Opcode::Mov, {2 * round.keys, ownFeatures(key)},
            Operand::memory(gathered, 0, {shape.most(shape.headSize), 1}),
            {b.columnWords(2)});
  });
  b.await(GatherThread);
}

Value AttentionWriter::isOfBand(Round round, Value row) {
  if (shape.bands == 1)
    return s.constant(1);
  return s.logicalAnd(s.less(round.firstRow - 1, row),
                      s.less(row, round.endRow));
}

/// The keys of a round into the buffer, some features of each.
void AttentionWriter::startGather(Place place, Round round,
                                  const Exchange &exchange, Affine first,
                                  Affine features) {
  const Tile &tile = exchange.words;
  const Layout &layout = tile.layout;
  const int64_t keysOfWord = shape.tokensOfWord();
  const int64_t featuresOfWord = shape.featuresOfWord();
  const int64_t slice = shape.slice(exchange.tile.layout.features.unitSize);
  auto kept = [&] {
    if (shape.pairing == Pairing::None)
      return Operand::memory(exchange.buffer, 0, {slice, 1});
    return Operand::memory(b.wordsOf(exchange.buffer), 0,
                           shape.pairing == Pairing::Channels
                               ? SmallVector<int64_t>{1, shape.mostKeys() / 2}
                               : SmallVector<int64_t>{slice / 2, 1});
  };
  auto inWords = [&](Affine number, int64_t elements) {
    assert(number.constant % elements == 0 && "half a word");
    number.constant /= elements;
    for (auto &[variable, scale] : number.terms) {
      assert(scale % elements == 0 && "half a word");
      scale /= elements;
    }
    return number;
  };
  // What the last slice has beyond the others is one scalar, else a number.
  if (!features.terms.empty() && featuresOfWord > 1) {
    assert(features.terms.size() == 1 && features.constant == 0 &&
           features.terms.front().second == 1 && "not a scalar");
    features = s.div(features.terms.front().first, featuresOfWord);
  } else {
    features = inWords(features, featuresOfWord);
  }
  first = inWords(first, featuresOfWord);
  Value row = s.mod(s.py(), layout.group);
  Value hears = tile.sequences;
  if (shape.span() < layout.group)
    hears = s.logicalAnd(hears, s.less(row, shape.span()));
  b.where(b.hears(exchange.cast, hears), [&] {
    b.start(exchange.hearing, Opcode::Mov, {round.keys / keysOfWord, features},
            kept(), {Operand::fabric(b.color(exchange.cast), 2)});
  });
  const int64_t most = shape.tokens / keysOfWord;
  Value tokens = s.constant(most);
  Value south = s.mul(s.sub(layout.span - 1, row), most);
  if (round.last) {
    int64_t before = shape.rounds * most;
    tokens = s.sub(tile.tokens, before);
    Value behind = s.sub(
        s.sub(layout.tokens, s.tileStart(layout.tokens, layout.span, row)),
        tile.tokens);
    south = s.sub(behind, s.mul(s.sub(layout.span - 1, row), before));
  }
  if (shape.bands > 1) {
    const int64_t behind = shape.keysBefore(shape.rows(), round.last) -
                           round.firstKey - round.keys;
    south = s.min(s.max(s.sub(south, behind), 0), round.keys);
    tokens = s.mul(tokens, isOfBand(round, row));
  }
  b.where(tile.active, [&] {
    send(exchange, round,
         Operand::memory(tile.buffer,
                         start(tile, place) + inWords(round.first, keysOfWord) +
                             first * tile.pitch,
                         {1, tile.pitch}),
         tokens, south, features);
  });
}

/// Those that rows before `row` bring.
Value AttentionWriter::wordsBefore(const Exchange &exchange, Round round,
                                   Value row, Affine features) {
  const Layout &layout = exchange.words.layout;
  const int64_t most = shape.tokens / shape.tokensOfWord();
  Value words = s.mul(row, most);
  if (round.last)
    words = s.sub(s.tileStart(layout.tokens, layout.span, row),
                  s.mul(row, shape.rounds * most));
  if (shape.bands > 1)
    words = s.min(s.max(s.sub(words, round.firstKey), 0), round.keys);
  return features.terms.empty() ? s.mul(words, features.constant)
                                : s.mul(words, features.terms.front().first);
}

/// Own tokens, then those of the rows south: north, or from the group root of
/// the group to all of it.
void AttentionWriter::send(const Exchange &exchange, Round round,
                           const Operand &own, Value tokens, Value tokensSouth,
                           Affine features) {
  const Layout &layout = exchange.tile.layout;
  auto sendOwn = [&](Affine onward) {
    b.start(exchange.thread, Opcode::Mov, {tokens, features},
            Operand::fabric(onward, 2), {own});
  };
  if (layout.span == 1)
    return sendOwn(b.color(exchange.cast));
  if (shape.pitch) {
    Value north = wordsBefore(exchange, round, s.add(s.py(), 1), features);
    return gatherColumn(
        b, shape.pitch, {tokens, features}, own, [&](Value end) {
          return s.sub(wordsBefore(exchange, round, end, features), north);
        });
  }
  Value parity = s.mod(s.py(), 2);
  Value isHead = s.equal(s.mod(s.py(), layout.group), 0);
  Affine incoming = b.parityColor(exchange.north, s.logicalNot(parity));
  const Affine onward = b.eitherColor(isHead, b.color(exchange.cast),
                                      b.parityColor(exchange.north, parity));
  sendOwn(onward);
  Affine words = features.terms.empty()
                     ? Affine(tokensSouth) * features.constant
                     : s.mul(tokensSouth, features.terms.front().first);
  b.start(exchange.thread, Opcode::Mov, {words}, Operand::fabric(onward),
          {Operand::fabric(incoming)}, s.less(0, tokensSouth));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

void AttentionWriter::exponentials(int64_t keys) {
  auto compute = [&](Affine keys, const Operand &rows, const Operand &into) {
    b.vector(Opcode::Sub, {keys, asked}, rows, {rows, perScore(largest)});
    b.vector(Opcode::Exp, {keys, asked}, into, {rows});
  };
  if (!shape.spread())
    return compute(keys, rowsOf(scores), exponentialRows());
  Value column = s.mod(s.px(), shape.columns);
  Value first = s.tileStart(keys, shape.columns, column);
  Value count = s.tileSize(keys, shape.columns, column);
  Value keysEast = s.sub(keys, s.add(first, count));
  GroupBlock block;
  block.extents = {count, present};
  block.own = Operand::memory(scores, Affine(first) * shape.channels,
                              {shape.channels, 1});
  block.wordsBehind = s.mul(keysEast, present);
  block.anyBehind = s.less(0, keysEast);
  compute(count, block.own, block.own);
  std::swap(scores, other);
  multicastBlocks(b, groups, block, {keys, present}, exponentialRows(),
                  Operand::fabric(b.color(groups.cast), 2));
}

void AttentionWriter::multiply(int64_t keys, Affine features,
                               int64_t mostFeatures, size_t summed,
                               Operand sums, Operand lines,
                               Operand perChannel) {
  double sizes[] = {double(keys), double(mostFeatures), double(shape.channels)};
  double strides[3];
  for (int d : {0, 1, 2})
    strides[d] = double(std::max(lines.strides[d], perChannel.strides[d]));
  b.multiplyAdd(
      {keys, features, asked},
      CostModel(b.machine(), shape.narrow, shape.narrowScores && summed == 1)
          .vectorAlong(sizes, summed, strides),
      sums, lines, perChannel);
}

void AttentionWriter::products(Place place, Round round,
                               const Exchange &exchange, const Tile &tile,
                               std::string &sums) {
  // Of tokens that a row does not have, too: columns send whole buffers.
  int64_t words = round.keys * shape.channels;
  compute([&] {
    if (shape.spread())
      return b.vector(Opcode::Mov, {words}, Operand::memory(sums, 0, {1}),
                      {Operand::immediate(0)});
    b.vector(Opcode::Mov, {round.keys, asked}, rowsOf(sums),
             {Operand::immediate(0)});
  });
  inSlices(
      place, round, exchange, [&](Affine first, Affine features, Operand keys) {
        Operand rows = queryRowsAt(tile, place, first);
        rows.strides.insert(rows.strides.begin(), 0);
        multiply(round.keys, features,
                 shape.most(tile.layout.features.unitSize),
                 /*summed=*/1, Operand::memory(sums, 0, {shape.channels, 0, 1}),
                 keys, rows);
      });
  if (shape.spread()) {
    compute([&] {
      reduceGroups(b, groups, Opcode::Add, sums, words);
      castGroups(b, groups, sums, other, words);
    });
    std::swap(sums, other);
  }
}

void AttentionWriter::score(Place place, Round round) {
  products(place, round, keyExchange(), query, scores);
  auto apply = [&](Opcode opcode, std::optional<double> factor = {}) {
    SmallVector<Operand, 0> operands = {rowsOf(scores)};
    if (factor)
      operands.push_back(Operand::immediate(*factor));
    b.vector(opcode, {round.keys, asked}, rowsOf(scores), operands);
  };
  compute([&] {
    const double unit = shape.of.softcap.value_or(1);
    apply(Opcode::Mul, shape.of.scale / unit);
    if (shape.of.softcap) {
      apply(Opcode::Tanh);
      apply(Opcode::Mul, unit);
    }
    terms->apply(place, round, scores);
  });
}

void AttentionWriter::findLargest(const std::string &into, int64_t keys) {
  b.vector(Opcode::Max, {keys, asked}, perScore(into),
           {perScore(into), rowsOf(scores)});
}

void AttentionWriter::correct(int64_t keys) {
  eachToken(Opcode::Mov, next, {perToken(largest)});
  findLargest(next, keys);
  eachToken(Opcode::Sub, correction, {perToken(largest), perToken(next)});
  eachToken(Opcode::Exp, correction, {perToken(correction)});
  terms->keepEarlier(correction);
  eachToken(Opcode::Mov, largest, {perToken(next)});
  eachToken(Opcode::Mul, sum, {perToken(sum), perToken(correction)});
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {

class ResultWriter final : public AttentionWriter {
public:
  using AttentionWriter::AttentionWriter;

private:
  void attend(Place place) final;
  void attendRound(Place place, Round round);
  /// The sums that become the result, from own feature `first` of the head on.
  Operand weightedRows(Place place, Affine first = 0) const {
    return shape.narrow ? Operand::memory(weighted, first * shape.channels,
                                          {shape.channels, 1})
                        : rowsAt(attended, place, first);
  }
};

void ResultWriter::attend(Place place) {
  compute([&] {
    b.vector(Opcode::Mov, {ownFeatures(value), query.tokens},
             weightedRows(place), {Operand::immediate(0)});
    b.vector(Opcode::Mov, {query.tokens}, perToken(sum),
             {Operand::immediate(0)});
    eachToken(Opcode::Mov, largest, {Operand::immediate(lowestScore)});
  });
  terms->begin(place);
  terms->eachRound([&](Round round) { attendRound(place, round); });
  compute([&] {
    terms->divide(sum);
    b.vector(Opcode::Mul, {ownFeatures(value), query.tokens},
             rowsAt(attended, place), {weightedRows(place), perScore(sum)});
  });
}

void ResultWriter::attendRound(Place place, Round round) {
  int64_t keys = round.keys;
  score(place, round);
  compute([&] {
    if (shape.blocked()) {
      correct(keys);
      b.vector(Opcode::Mul, {ownFeatures(value), asked}, weightedRows(place),
               {weightedRows(place), perScore(correction)});
    } else {
      findLargest(largest, keys);
    }
    exponentials(keys);
    b.vector(Opcode::Add, {keys, asked}, perScore(sum),
             {perScore(sum), exponentialRows()});
    terms->guard(sum, keys, exponentialRows());
  });
  inSlices(place, round, valueExchange(),
           [&](Affine first, Affine features, Operand values) {
             Operand sums = weightedRows(place, first);
             sums.strides.insert(sums.strides.begin(), 0);
             multiply(keys, features, shape.most(shape.valueSize),
                      /*summed=*/0, sums, values,
                      Operand::memory(exponentialRows().buffer, 0,
                                      {shape.channels, 0, 1}));
           });
}

} // namespace

void lowerAttention(wse::AttentionOp op, RoutineBuilder &builder) {
  ResultWriter(op, builder).write();
}

} // namespace wsec
