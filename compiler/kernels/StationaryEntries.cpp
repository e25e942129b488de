// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of which each token has a matrix of its own, out of several: the
// weights of all of these stream past once, for some result features at a time,
// a turn, and each token is multiplied by its own.
//
// A PE that multiplies takes words slowly, and so holds up its row. So weights
// come in halves of a turn, for the western columns and for the eastern ones,
// which multiply while the others get theirs:
//
//   channel    west 0   east 0   west 1   east 1   ...
//   west                use 0             use 1
//   east                         use 0             use 1

#include "compiler/kernels/StationaryWriter.h"

using namespace mlir;

namespace wsec {

/// What each token has an entry of its own for, pass by pass.
void StationaryWriter::runEntries() {
  const Round round = unlikeRound(0);
  takeIds();
  for (int64_t depth = 0; depth < shape.depths; ++depth)
    for (int64_t number = 0; number < shape.parts; ++number) {
      if (shape.depths > 1)
        terms = s.constant(shape.ownInputs);
      part = partOf(number);
      streamEntries(number, depth);
      fillHalf(turnOf(0, 0, 0), 0);
      if (number == 0)
        fetch(round, depth);
      b.where(hasFeatures, [&] { clear(Affine(rowFeatures) * shape.tokens); });
      multiplyByHalves(round);
      finish(round);
    }
}

StationaryWriter::Part StationaryWriter::partOf(int64_t number) {
  if (shape.parts == 1)
    return part;
  const int64_t begin = number * shape.n;
  auto inPart = [&](Value feature) {
    return s.min(s.max(s.sub(feature, begin), 0), shape.n);
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

/// Two buffers, of which a PE uses that of its half.
void StationaryWriter::placeEntries() {
  const int64_t size = shape.inTurns, each = shape.ownInputs;
  const bool alongResults = shape.inner(b.machine()) == 0;
  for (int64_t half : {0, 1}) {
    (void)half;
    blocks.push_back(
        {0, s.constant(size), b.scratch("weights", shape.entries * size * each),
         alongResults ? 1 : each, alongResults ? size : 1, size * each});
  }
}

/// Turn by turn, of each row its result features, for each column what it has
/// of the input, of all entries.
void StationaryWriter::streamEntries(int64_t part, int64_t depth) {
  const HostTensor weight = b.source(op.getWeight());
  int64_t first = 0;
  for (int64_t size : shape.blocks()) {
    for (int64_t half : {0, 1})
      b.streamToRows([&](ScalarBuilder &host) {
        const FeatureTiling &features = shape.in.features;
        const int64_t feature = part * shape.n + first;
        Value own = shape.depths > 1
                        ? host.constant(shape.ownInputs)
                        : RoutineBuilder::featureCount(host, features);
        pe::Segment segment;
        segment.tensor = weight.symbol;
        segment.extents = {shape.entries, sizeOf(host, first, size),
                           host.mul(own, isIn(host, half))};
        segment.strides = {op.getEntry().getStep(), weight.strides[1],
                           weight.strides[0]};
        segment.offset =
            Affine(RoutineBuilder::featureStart(host, features)) *
                weight.strides[0] +
            Affine(host.tileStart(shape.n, shape.rows, number(host))) *
                weight.strides[1] +
            Affine(weight.offset + feature * weight.strides[1] +
                   depth * shape.ownInputs * weight.strides[0]);
        return segment;
      });
    first += size;
  }
}

/// Turn `number`, from result feature `first` of the row on, in the buffer of a
/// half.
StationaryWriter::Block StationaryWriter::turnOf(int64_t number, Affine first,
                                                 int64_t half) {
  Block block = blocks[half];
  block.first = std::move(first);
  block.size = sizeOf(
      s, number * shape.inTurns,
      std::min(shape.inTurns, shape.rowFeatures - number * shape.inTurns));
  return block;
}

/// All columns take words for one half, the others none of them.
void StationaryWriter::fillHalf(const Block &block, int64_t half) {
  const FeatureTiling tiling = shape.inputWords();
  Value isMine = isIn(s, half);
  Value own = RoutineBuilder::featureCount(s, tiling);
  Value before = RoutineBuilder::featureStart(s, tiling);
  Value middle =
      RoutineBuilder::featuresBefore(s, tiling, s.constant(b.width() / 2));
  Value total = half ? s.sub(tiling.total(), middle) : middle;
  if (half)
    before = s.max(s.sub(before, middle), 0);
  Value words = s.mul(block.size, shape.entries); // of a feature of the input
  b.where(hasFeatures, [&] {
    b.start(FillThread, Opcode::Mov,
            {1, shape.entries, block.size, s.mul(own, isMine)},
            Operand::memory(block.weights, 0,
                            {0, block.entry, block.output, block.input}),
            {Operand::fabric(b.color(StreamPattern::ChannelRow), 4)
                 .windowed(s.mul(s.mul(before, isMine), words),
                           s.mul(total, words))});
  });
}

/// sums += activations * weights of the entry of each token.
void StationaryWriter::multiplyEntries(const Block &block, const Round &round) {
  b.loop(round.tokens, [&](Affine token) {
    const Affine weights = b.load(ids, token + round.first) * block.entry;
    multiplyOne(block, round.tokens, token, weights);
  });
}

/// All turns, of which the western half of the first is on its way.
void StationaryWriter::multiplyByHalves(const Round &round) {
  const int64_t size = shape.inTurns;
  const int64_t whole = (shape.rowFeatures - !rowsAreAlike()) / size;
  const auto count = int64_t(shape.blocks().size());
  auto use = [&](const Block &block, int64_t half) {
    b.where(s.logicalAnd(hasFeatures, isIn(s, half)),
            [&] { multiplyEntries(block, round); });
  };
  auto turn = [&](int64_t number, const Affine &first) {
    b.await(FillThread);
    fillHalf(turnOf(number, first, 1), 1);
    use(turnOf(number, first, 0), 0);
    b.await(FillThread);
    if (number + 1 < count)
      fillHalf(turnOf(number + 1, 0, 0), 0);
    use(turnOf(number, first, 1), 1);
  };
  const int64_t alike = std::max<int64_t>(0, whole - 1);
  b.loop(alike, [&](Affine number) { turn(0, number * size); });
  for (int64_t number = alike; number < count; ++number)
    turn(number, number * size);
}

} // namespace wsec
