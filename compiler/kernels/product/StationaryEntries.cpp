// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of which each token has a matrix of its own, out of several: the
// weights of all of these stream past once, for some result features at a time,
// a turn, and each token is multiplied by its own.
//
// A PE that multiplies takes words slowly, and so holds up its row. So it takes
// no words until it has multiplied: columns take theirs one group after the
// other, and multiply while the others get theirs:
//
//   channel    group 0   group 1   group 2   group 0   group 1   ...
//   group 0              use 0     use 0               use 1
//   group 1                        use 0     use 0               use 1

#include "compiler/kernels/product/StationaryWriter.h"

using namespace mlir;

namespace wsec {

/// What each token has an entry of its own for, part by part: of each the sums
/// of all depths.
void StationaryWriter::runEntries() {
  const Round round = unlikeRound(0);
  takeIds();
  if (shape.depths > 1)
    terms = s.constant(shape.ownInputs);
  Value size = sizeOf(s, 0, blockSize(0)), none = s.constant(0);
  takeTurn(groupWords().west, size);
  for (int64_t number = 0; number < shape.parts; ++number) {
    for (int64_t depth = 0; depth < shape.depths; ++depth)
      streamEntries(number, depth);
    part = partOf(number);
    b.where(hasFeatures, [&] { clear(Affine(rowFeatures) * shape.tokens); });
    b.loop(shape.depths - 1, [&](Affine depth) {
      fetch(round, depth);
      multiplyByTurns(round, size);
      takeTurn(none, size);
    });
    if (number == 0 || shape.depths > 1)
      fetch(round, shape.depths - 1);
    const bool isLast = number + 1 == shape.parts;
    multiplyByTurns(round, isLast ? none : size);
    finish(round);
    if (!isLast)
      takeTurn(none, size);
  }
}

StationaryWriter::Part StationaryWriter::partOf(int64_t number) {
  if (shape.parts == 1)
    return part;
  const int64_t size = shape.ofEachRow ? shape.rowFeatures : shape.n;
  Value row = shape.ofEachRow ? s.div(out.firstFeature, shape.parts * size)
                              : s.constant(0);
  Value before = s.mul(row, size);
  Value begin = s.add(s.mul(before, shape.parts), number * size);
  auto inPart = [&](Value feature) {
    return s.add(s.min(s.max(s.sub(feature, begin), 0), size), before);
  };
  Value first = inPart(out.firstFeature);
  Value features = s.sub(inPart(s.add(out.firstFeature, out.features)), first);
  // In the tensor, if there are none.
  Value start =
      s.mul(s.max(s.sub(begin, out.firstFeature), 0), s.less(0, features));
  return {first, features, start};
}

/// Which entry each token has, for all PEs: a word of it for each column.
void StationaryWriter::takeIdsOfHeld() {
  const wse::EntryAttr entry = op.getEntry();
  const HostTensor tensor = b.source(entry.getIds());
  const int64_t tokens = shape.out.tokenCount();
  ids = b.scratch("ids", tokens);
  ColumnWords words;
  words.tensor = tensor.symbol;
  words.offset = tensor.offset + entry.getAt();
  words.features = eachColumn(b.machine());
  words.featureStep = 0;
  words.lines = {tokens, 1};
  b.streamToColumns(words);
  b.start(FillThread, Opcode::Mov, {tokens}, Operand::memory(ids, 0, {1}),
          {b.columnWords(1)});
}

/// Which entry each token has, for the PEs that have weights.
void StationaryWriter::takeIds() {
  const wse::EntryAttr entry = op.getEntry();
  const HostTensor tensor = b.source(entry.getIds());
  ids = b.scratch("ids", shape.tokens);
  b.streamToRows([&](ScalarBuilder &host) {
    pe::Segment segment;
    segment.tensor = tensor.symbol;
    segment.offset = tensor.offset + entry.getAt();
    // Once, for all columns.
    segment.extents = {host.mul(host.equal(host.px(), 0), shape.tokens)};
    segment.strides = {1};
    return segment;
  });
  b.where(hasFeatures, [&] {
    b.start(FillThread, Opcode::Mov, {1, shape.tokens},
            Operand::memory(ids, 0, {0, 1}),
            {Operand::fabric(b.color(StreamPattern::ChannelRow), 2)});
  });
}

/// One buffer: a PE that has words to multiply takes no others.
void StationaryWriter::placeEntries() {
  const int64_t size = shape.inTurns, each = shape.ownInputs;
  const bool alongResults = shape.inner(b.machine()) == 0;
  blocks.push_back(
      {0, s.constant(size), b.scratch("weights", shape.entries * size * each),
       alongResults ? 1 : each, alongResults ? size : 1, size * each});
}

/// Turn by turn, of each row its result features, for each column what it has
/// of the input, of all entries.
void StationaryWriter::streamEntries(int64_t part, int64_t depth) {
  const HostTensor weight = b.source(op.getWeight());
  const int64_t size = shape.ofEachRow ? shape.rowFeatures : shape.n,
                together = shape.ofEachRow ? shape.parts : 1;
  auto stream = [&](int64_t first, int64_t turn, int64_t count) {
    b.streamToRows([&](ScalarBuilder &host) {
      const FeatureTiling &features = shape.in.features;
      pe::Segment segment;
      segment.tensor = weight.symbol;
      segment.lines = count;
      segment.lineStep = turn * weight.strides[1];
      segment.extents = {shape.entries, sizeOf(host, first, turn),
                         shape.depths > 1
                             ? host.constant(shape.ownInputs)
                             : RoutineBuilder::featureCount(host, features)};
      segment.strides = {op.getEntry().getStep(), weight.strides[1],
                         weight.strides[0]};
      segment.offset =
          Affine(RoutineBuilder::featureStart(host, features)) *
              weight.strides[0] +
          Affine(host.tileStart(together * shape.n, shape.rows, number(host))) *
              weight.strides[1] +
          Affine(weight.offset + (part * size + first) * weight.strides[1] +
                 depth * shape.ownInputs * weight.strides[0]);
      return segment;
    });
  };
  const int64_t whole = wholeTurns();
  if (whole > 0)
    stream(0, shape.inTurns, whole);
  if (const int64_t first = whole * shape.inTurns; first < shape.rowFeatures)
    stream(first, shape.rowFeatures - first, 1);
}

/// Words of a result feature of all entries, for columns west of those of this
/// one's group, for the group, and for all columns.
StationaryWriter::GroupWords StationaryWriter::groupWords() const {
  const FeatureTiling tiling = shape.inputWords();
  const int64_t width = b.width(), groups = shape.groups;
  auto before = [&](Value group) {
    Value column = s.div(s.add(s.mul(group, width), groups - 1), groups);
    return s.mul(RoutineBuilder::featuresBefore(s, tiling, column),
                 shape.entries);
  };
  Value group = s.div(s.mul(s.px(), groups), width);
  Value west = before(group);
  return {west, s.sub(before(s.add(group, 1)), west),
          s.constant(tiling.total() * shape.entries)};
}

/// Takes the words of a turn of so many result features, behind `skipped` for
/// each of those.
void StationaryWriter::takeTurn(Value skipped, Value size) {
  const FeatureTiling tiling = shape.inputWords();
  const GroupWords words = groupWords();
  Value own = RoutineBuilder::featureCount(s, tiling);
  Value before =
      s.sub(s.mul(RoutineBuilder::featureStart(s, tiling), shape.entries),
            words.west);
  const Block &block = blocks.front();
  b.where(hasFeatures, [&] {
    b.start(FillThread, Opcode::Mov, {1, shape.entries, size, own},
            Operand::memory(block.weights, 0,
                            {0, block.entry, block.output, block.input}),
            {Operand::fabric(b.color(StreamPattern::ChannelRow), 4)
                 .windowed(s.mul(s.add(skipped, before), size),
                           s.mul(s.add(skipped, words.group), size))});
  });
}

/// Takes none of the words of other groups: of those east in a turn of `size`
/// result features, and of those west in the next one.
void StationaryWriter::skipTurn(Value size, Value next) {
  const GroupWords words = groupWords();
  Value east = s.sub(s.sub(words.all, words.west), words.group);
  b.where(hasFeatures, [&] {
    drop(FillThread, StreamPattern::ChannelRow,
         s.add(s.mul(east, size), s.mul(words.west, next)));
  });
}

/// Starts to take words that are for others.
void StationaryWriter::drop(Thread thread, StreamPattern pattern,
                            Affine words) {
  b.start(thread, Opcode::Mov, {1, 0}, Operand::memory(sums, 0, {0, 1}),
          {Operand::fabric(b.color(pattern), 2).windowed(0, words)});
}

/// sums += activations * weights of the entry of each token.
void StationaryWriter::multiplyEntries(const Block &block, const Round &round) {
  b.loop(round.tokens, [&](Affine token) {
    const Affine weights = b.load(ids, token + round.first) * block.entry;
    multiplyOne(block, round.tokens, token, weights);
  });
}

/// All turns of a depth, of which the first is on its way; `after` are the
/// features of the turn behind the last one.
void StationaryWriter::multiplyByTurns(const Round &round, Value after) {
  const int64_t size = shape.inTurns;
  const auto count = int64_t(shape.blocks().size());
  auto turn = [&](const Affine &first, Value its, Value next) {
    b.await(FillThread);
    skipTurn(its, next);
    Block block = blocks.front();
    block.first = first;
    block.size = its;
    b.where(hasFeatures, [&] { multiplyEntries(block, round); });
  };
  const int64_t alike = std::max<int64_t>(0, wholeTurns() - 1);
  b.loop(alike, [&](Affine number) {
    turn(number * size, s.constant(size), s.constant(size));
    takeTurn(s.constant(0), s.constant(size));
  });
  for (int64_t number = alike; number < count; ++number) {
    const int64_t first = number * size;
    Value next = number + 1 < count
                     ? sizeOf(s, first + size, blockSize(number + 1))
                     : after;
    turn(first, sizeOf(s, first, blockSize(number)), next);
    if (number + 1 < count)
      takeTurn(s.constant(0), next);
  }
}

} // namespace wsec
