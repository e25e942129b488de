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

#include "compiler/kernels/AttentionTerms.h"

#include <limits>

using namespace mlir;

namespace wsec {
namespace {

constexpr float lowest = std::numeric_limits<float>::lowest();

class AttentionWriter {
public:
  AttentionWriter(wse::AttentionOp op, RoutineBuilder &b)
      : op(op), b(b), s(b.scalars()), shape(op, b.machine()),
        query(b.tile(op.getQuery())), key(b.tile(op.getKey())),
        value(b.tile(op.getValue())),
        keyWords(b.tile(op.getKey(), shape.pairing)),
        valueWords(b.tile(op.getValue(), shape.pairing)),
        result(b.tile(op.getResult())),
        scores(b.scratch("scores", shape.scoreCount())),
        largest(b.scratch("largest", shape.channels)),
        sum(b.scratch("sum", shape.channels)),
        next(b.scratch("next_largest", shape.channels)),
        correction(b.scratch("correction", shape.channels)),
        groups(PEGroups::ofHeads(query.layout.features)) {
    if (shape.narrow) {
      weighted = b.scratch("weighted", shape.weightedCount());
      rounded = b.scratch("rounded", shape.scoreCount(), shape.element);
    }
    if (int64_t words = shape.gatheredCount())
      other = gathered = b.scratch("gathered", words);
    if (shape.narrow && !gathered.empty())
      gathered = b.halvesOf(gathered, shape.element);
    if (int64_t words = shape.movedCount())
      other = b.scratch("moved", words);
    if (shape.early())
      values =
          b.scratch("values", shape.mostKeys() * shape.slice(shape.valueSize),
                    shape.element);
    terms.emplace(b, shape, query, scores);
  }

  void write();

private:
  using Place = AttentionPlace;
  using Round = AttentionRound;
  struct Exchange {
    Thread thread, hearing;
    const Tile &tile, &words;
    StreamPattern north, cast;
    const std::string &buffer;
  };
  void attend(Place place);
  void attendRound(Place place, Round round);
  void inSlices(Place place, Round round, const Exchange &exchange,
                function_ref<void(Affine, Affine, Operand)> body);
  void streamStored();
  void hearStored(Round round);
  void startGather(Place place, Round round, const Exchange &exchange,
                   Affine first, Affine features);
  Exchange keyExchange() const {
    return {KeyThread,
            GatherThread,
            key,
            keyWords,
            StreamPattern::KeyNorth,
            StreamPattern::KeyCast,
            gathered};
  }
  Exchange valueExchange() const {
    return {ValueThread,
            shape.early() ? FillThread : GatherThread,
            value,
            valueWords,
            StreamPattern::ValueNorth,
            StreamPattern::ValueCast,
            shape.early() ? values : gathered};
  }
  void send(const Exchange &exchange, const Operand &own, Value tokens,
            Value tokensSouth, Affine features);
  void score(Place place, Round round);
  void exponentials(int64_t keys);
  void correct(Place place, int64_t keys);
  void multiply(int64_t keys, Affine features, int64_t mostFeatures,
                size_t summed, Operand sums, Operand lines, Operand perChannel);

  /// Rows without queries only take part in the exchange.
  void compute(function_ref<void()> body) { b.where(query.active, body); }
  Operand scoreRows() {
    return Operand::memory(scores, 0, {shape.channels, 1});
  }
  /// The same of their exponentials.
  Operand exponentialRows() {
    return Operand::memory(shape.narrow ? rounded : scores, 0,
                           {shape.channels, 1});
  }
  Operand perToken(const std::string &buffer) {
    return Operand::memory(buffer, 0, {1});
  }
  void eachToken(Opcode opcode, const std::string &into,
                 const SmallVector<Operand, 0> &operands) {
    b.vector(opcode, {query.tokens}, perToken(into), operands);
  }
  Operand perScore(const std::string &buffer) {
    return Operand::memory(buffer, 0, {0, 1});
  }
  /// Features of a head that this PE holds.
  Affine ownFeatures(const Tile &tile) const {
    return shape.spread() ? Affine(tile.features)
                          : Affine(tile.layout.features.unitSize);
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
  /// The sums that become it, from own feature `first` of the head on.
  Operand weightedRows(Place place, Affine first = 0) {
    if (shape.narrow)
      return Operand::memory(weighted, first * shape.channels,
                             {shape.channels, 1});
    return Operand::memory(result.buffer,
                           start(result, place) + first * result.pitch,
                           {result.pitch, 1});
  }

  wse::AttentionOp op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  AttentionShape shape;
  Tile query, key, value;
  Tile keyWords, valueWords; ///< as they move
  Tile result;
  std::string scores, largest, sum, next, correction;
  std::string gathered, values; ///< keys or values, and values that are early
  std::string weighted;         ///< f32 sums of a head, where narrow
  std::string rounded;          ///< exponentials in 16 bits, where narrow
  std::string other;            ///< where scores go next
  PEGroups groups;              ///< of the columns of a head
  std::optional<AttentionTerms> terms;
};

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

/// body(first, count, keys x features x tokens) for some own features of a head
/// at a time.
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
  int64_t size = tile.layout.features.unitSize;
  int64_t slice = shape.slice(size);
  auto emit = [&](Affine first, Affine features) {
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
  };
  int64_t whole = shape.least(size) / slice;
  b.loop(whole, [&](Affine i) { emit(i * slice, slice); });
  if (!shape.spread()) {
    if (size > whole * slice)
      emit(whole * slice, size - whole * slice);
    return;
  }
  // Some columns hold one feature more.
  if (shape.most(size) > whole * slice) {
    Value rest = s.sub(tile.features, whole * slice);
    bool all = shape.least(size) > whole * slice;
    b.where(all ? Value() : s.less(0, rest),
            [&] { emit(whole * slice, rest); });
  }
}

/// A line is a round: its keys, then its values.
void AttentionWriter::streamStored() {
  const HostTensor stored = b.source(storedOf(op));
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
  b.where(tile.active, [&] {
    send(exchange,
         Operand::memory(tile.buffer,
                         start(tile, place) + inWords(round.first, keysOfWord) +
                             first * tile.pitch,
                         {1, tile.pitch}),
         tokens, south, features);
  });
}

/// Own tokens, then those of the rows south: north, or from the group root of
/// the group to all of it.
void AttentionWriter::send(const Exchange &exchange, const Operand &own,
                           Value tokens, Value tokensSouth, Affine features) {
  const Layout &layout = exchange.tile.layout;
  auto sendOwn = [&](Affine onward) {
    b.start(exchange.thread, Opcode::Mov, {tokens, features},
            Operand::fabric(onward, 2), {own});
  };
  if (layout.span == 1)
    return sendOwn(b.color(exchange.cast));
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

void AttentionWriter::attend(Place place) {
  compute([&] {
    b.vector(Opcode::Mov, {ownFeatures(value), query.tokens},
             weightedRows(place), {Operand::immediate(0)});
    eachToken(Opcode::Mov, sum, {Operand::immediate(0)});
    eachToken(Opcode::Mov, largest, {Operand::immediate(lowest)});
  });
  terms->begin(place);
  terms->eachRound([&](Round round) { attendRound(place, round); });
  compute([&] {
    terms->divide(sum);
    b.vector(Opcode::Mul, {ownFeatures(value), query.tokens}, resultRows(place),
             {weightedRows(place), perScore(sum)});
  });
}

void AttentionWriter::attendRound(Place place, Round round) {
  int64_t keys = round.keys;
  score(place, round);
  compute([&] {
    correct(place, keys);
    exponentials(keys);
    b.vector(Opcode::Add, {keys, query.tokens}, perScore(sum),
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

/// scores = exp(scores - largest). Columns of one head share them out.
void AttentionWriter::exponentials(int64_t keys) {
  auto compute = [&](Affine keys, const Operand &rows, const Operand &into) {
    b.vector(Opcode::Sub, {keys, query.tokens}, rows,
             {rows, perScore(largest)});
    b.vector(Opcode::Exp, {keys, query.tokens}, into, {rows});
  };
  if (!shape.spread())
    return compute(keys, scoreRows(), exponentialRows());
  Value column = s.mod(s.px(), shape.columns);
  Value first = s.tileStart(keys, shape.columns, column);
  Value count = s.tileSize(keys, shape.columns, column);
  Value keysEast = s.sub(keys, s.add(first, count));
  GroupBlock block;
  block.extents = {count, query.tokens};
  block.own = Operand::memory(scores, Affine(first) * shape.channels,
                              {shape.channels, 1});
  block.wordsBehind = s.mul(keysEast, query.tokens);
  block.anyBehind = s.less(0, keysEast);
  compute(count, block.own, block.own);
  std::swap(scores, other);
  multicastBlocks(b, groups, block, {keys, query.tokens}, exponentialRows(),
                  Operand::fabric(b.color(groups.cast), 2));
}

/// sums += lines * perChannel over keys, the features of each, and own tokens.
void AttentionWriter::multiply(int64_t keys, Affine features,
                               int64_t mostFeatures, size_t summed,
                               Operand sums, Operand lines,
                               Operand perChannel) {
  double sizes[] = {double(keys), double(mostFeatures), double(shape.channels)};
  double strides[3];
  for (int d : {0, 1, 2})
    strides[d] = double(std::max(lines.strides[d], perChannel.strides[d]));
  b.multiplyAdd(
      {keys, features, query.tokens},
      CostModel(b.machine(), shape.narrow).vectorAlong(sizes, summed, strides),
      sums, lines, perChannel);
}

void AttentionWriter::score(Place place, Round round) {
  // Of tokens that a row does not have, too: columns send whole buffers.
  int64_t words = round.keys * shape.channels;
  compute([&] {
    if (shape.spread())
      return b.vector(Opcode::Mov, {words}, Operand::memory(scores, 0, {1}),
                      {Operand::immediate(0)});
    b.vector(Opcode::Mov, {round.keys, query.tokens}, scoreRows(),
             {Operand::immediate(0)});
  });
  inSlices(place, round, keyExchange(),
           [&](Affine first, Affine features, Operand keys) {
             multiply(round.keys, features, shape.most(shape.headSize),
                      /*summed=*/1,
                      Operand::memory(scores, 0, {shape.channels, 0, 1}), keys,
                      Operand::memory(query.buffer,
                                      start(query, place) + first * query.pitch,
                                      {0, query.pitch, 1}));
           });
  if (shape.spread()) {
    compute([&] {
      reduceGroups(b, groups, Opcode::Add, scores, words);
      castGroups(b, groups, scores, other, words);
    });
    std::swap(scores, other);
  }
  auto apply = [&](Opcode opcode, std::optional<double> factor = {}) {
    SmallVector<Operand, 0> operands = {scoreRows()};
    if (factor)
      operands.push_back(Operand::immediate(*factor));
    b.vector(opcode, {round.keys, query.tokens}, scoreRows(), operands);
  };
  compute([&] {
    std::optional<APFloat> cap = op.getSoftcap();
    const double unit = cap ? cap->convertToDouble() : 1;
    apply(Opcode::Mul, op.getScale().convertToDouble() / unit);
    if (cap) {
      apply(Opcode::Tanh);
      apply(Opcode::Mul, unit);
    }
    terms->apply(place, round, scores);
  });
}

/// Brings what earlier blocks gave to the scale of the new maximum.
void AttentionWriter::correct(Place place, int64_t keys) {
  const std::string &target = shape.blocked() ? next : largest;
  if (shape.blocked())
    eachToken(Opcode::Mov, next, {perToken(largest)});
  b.vector(Opcode::Max, {keys, query.tokens}, perScore(target),
           {perScore(target), scoreRows()});
  if (!shape.blocked())
    return;
  eachToken(Opcode::Sub, correction, {perToken(largest), perToken(next)});
  eachToken(Opcode::Exp, correction, {perToken(correction)});
  terms->keepEarlier(correction);
  eachToken(Opcode::Mov, largest, {perToken(next)});
  eachToken(Opcode::Mul, sum, {perToken(sum), perToken(correction)});
  b.vector(Opcode::Mul, {ownFeatures(value), query.tokens}, weightedRows(place),
           {weightedRows(place), perScore(correction)});
}

} // namespace

void lowerAttention(wse::AttentionOp op, RoutineBuilder &builder) {
  AttentionWriter(op, builder).write();
}

} // namespace wsec
