// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/product/StationaryWriter.h"
#include "compiler/machine/EntryPasses.h"

#include "dialects/onnx/Lengths.h"

#include <tuple>
#include <vector>

using namespace mlir;

namespace wsec {

void StationaryWriter::initialise() {
  b.where(out.active, [&] {
    Operand start = Operand::immediate(0);
    if (op.getBias())
      start = b.bringVectors({*op.getBias()}, out.layout.features).front();
    b.vector(Opcode::Mov, {out.features, out.channels},
             Operand::memory(out.buffer, 0, {out.pitch, 1}), {start});
  });
}

/// Those with a channel, where not all rows are.
Value StationaryWriter::rowsBefore(ScalarBuilder &scalars, Value row) const {
  const Machine &machine = b.machine();
  if (inAllRows())
    return row;
  const int64_t rows = machine.meshHeight ? machine.meshHeight : machine.height;
  // The row of the mesh north of it.
  Value north = scalars.max(scalars.add(row, machine.y - 1), 0);
  Value before =
      scalars.add(scalars.tileIndex(rows, machine.channelsOfMesh(), north), 1);
  if (machine.y == 0)
    before = scalars.mul(scalars.less(0, row), before);
  return scalars.min(scalars.max(scalars.sub(before, machine.firstWest()), 0),
                     shape.rows);
}

/// Where each block lies.
void StationaryWriter::placeWeights() {
  if (wse::ParameterOp parameter = op.residentWeight()) {
    Tile held = b.tile(parameter);
    firstRow = held.firstToken;
    rowFeatures = held.channels;
    hasFeatures = shape.n < b.height() ? held.active : s.constant(1);
    blocks.push_back({0, rowFeatures, held.buffer, held.step,
                      held.pitch * shape.entries, held.pitch});
    return;
  }
  hasFeatures = s.constant(1);
  rowFeatures = sizeOf(s, 0, shape.rowFeatures);
  if (!inAllRows()) {
    hasFeatures =
        s.less(rowsBefore(s, s.py()), rowsBefore(s, s.add(s.py(), 1)));
    rowFeatures = s.mul(hasFeatures, rowFeatures);
  }
  firstRow = s.tileStart(shape.n, shape.rows, rowsBefore(s, s.py()));
  if (shape.entries > 1)
    return placeEntries();
  const int64_t each = shape.perWord() * shape.wordsOf(shape.ownInputs);
  int64_t first = 0;
  SmallVector<int64_t> sizes = shape.blocks();
  if (shape.inTurns)
    sizes.truncate(2);
  for (int64_t size : sizes) {
    blocks.push_back({first, sizeOf(s, first, size),
                      b.scratch("weights", size * each, shape.element), each,
                      1});
    first += size;
  }
}

/// A block after the other.
void StationaryWriter::streamWeights() {
  const SmallVector<int64_t> sizes = shape.blocks();
  int64_t first = 0;
  for (size_t i = 0, end; i < sizes.size(); i = end) {
    for (end = i + 1; end < sizes.size() && sizes[end] == sizes[i]; ++end)
      if (end + 1 == sizes.size() && !rowsAreAlike())
        break; // the last one is shorter in some rows
    stream(first, sizes[i], int64_t(end - i));
    first += sizes[i] * int64_t(end - i);
  }
}

/// `count` blocks of `size` features, of each row its own, for each column what
/// it has of the input: line by line, where a line has to end with a word.
void StationaryWriter::stream(int64_t first, int64_t size, int64_t count) {
  HostTensor weight = b.source(op.getWeight(), op.getEntry());
  b.streamToRows([&](ScalarBuilder &host) {
    const FeatureTiling &features = shape.in.features;
    const Affine own = sizeOf(host, first, size);
    const Affine together = shape.pairs ? Affine(1) : own;
    pe::Segment segment;
    segment.tensor = weight.symbol;
    segment.index = weight.index;
    segment.lines = shape.pairs ? own * count : Affine(count);
    segment.lineStep = (shape.pairs ? 1 : size) * weight.strides[1];
    segment.extents = {together, RoutineBuilder::featureCount(host, features)};
    segment.strides = {weight.strides[1], weight.strides[0]};
    segment.offset = Affine(RoutineBuilder::featureStart(host, features)) *
                         weight.strides[0] +
                     Affine(host.tileStart(shape.n, shape.rows, number(host))) *
                         weight.strides[1] +
                     Affine(weight.offset + first * weight.strides[1]);
    if (shape.pairs)
      segment.halves = shape.element;
    return segment;
  });
}

/// Words of sums over the columns.
void StationaryWriter::addRow(const Affine &words, int64_t most,
                              const Combined *end) {
  if (sumsInPhases(b.machine(), double(most)))
    reduceRow(b, Opcode::Add, sums, words, most, end);
  else
    reduceGroups(b, PEGroups::wholeRow(b.machine()), Opcode::Add, sums, words,
                 end);
}

/// Sums over the columns. In 16 bits the first column has them rounded, where
/// they were: each ends no further on than it began.
void StationaryWriter::sumRow(Value features, int64_t most, int64_t tokens) {
  const Affine words = Affine(features) * tokens;
  const int64_t row = 2 * shape.wordsOf(tokens);
  std::string rounded;
  std::optional<Combined> at;
  if (shape.isNarrow()) {
    rounded = b.halvesOf(sums, shape.element);
    at = {{features, tokens},
          Operand::memory(rounded, 0, {row, 1}),
          Operand::memory(sums, 0, {tokens, 1})};
  }
  addRow(words, most, at ? &*at : nullptr);
  if (at && row != tokens)
    b.where(s.equal(s.px(), 0), [&] {
      b.vector(Opcode::Mov, {features}, Operand::memory(rounded, tokens, {row}),
               {Operand::immediate(0)});
    });
}

/// How many results of the row are of features of this column.
Affine StationaryWriter::keptWords(int64_t tokens) {
  Value end =
      s.min(s.add(part.first, part.features), s.add(firstRow, rowFeatures));
  Value first = s.max(part.first, firstRow);
  return Affine(s.min(s.max(s.sub(end, first), 0), shape.kept())) *
         shape.wordsOf(tokens);
}

/// Of the row's sums, which the first column multicasts, starts to keep those.
void StationaryWriter::keepWindow(int64_t tokens, const Operand &own) {
  Value first = s.max(part.first, firstRow);
  Value before = s.min(s.sub(first, firstRow), rowFeatures);
  const int64_t each = shape.wordsOf(tokens);
  b.start(GatherThread, Opcode::Mov, {keptWords(tokens)}, own,
          {Operand::fabric(b.color(StreamPattern::RowCast))
               .windowed(Affine(before) * each, Affine(rowFeatures) * each)});
}

void StationaryWriter::castSums(Affine words) {
  b.start(RowThread, Opcode::Mov, {words},
          Operand::fabric(b.color(StreamPattern::RowCast)),
          {Operand::memory(sums, 0, {1})});
}

void StationaryWriter::gatherResults(int64_t tokens, const Operand &own) {
  Value end = s.add(part.first, part.features);
  Value from = s.max(part.first, s.add(firstRow, rowFeatures));
  gatherColumn(
      b, columnPitch(b.machine()), {keptWords(tokens)}, own, [&](Value row) {
        Value upTo = s.tileStart(shape.n, shape.rows, rowsBefore(s, row));
        return s.mul(s.max(s.sub(s.min(end, upTo), from), 0),
                     shape.wordsOf(tokens));
      });
}

/// Takes the results of own tokens as they arrive: adds them, or of 16 bits
/// keeps the words that some of them are in.
void StationaryWriter::takeOwn(const Round &round) {
  Operand cast = Operand::fabric(b.color(StreamPattern::KeyCast), 2);
  const Thread thread = shape.streamsEntries() ? ValueThread : FillThread;
  if (!shape.isNarrow()) {
    Operand result = Operand::memory(
        out.buffer, part.start * out.pitch + round.start, {out.pitch, 1});
    return b.start(thread, Opcode::Add, {part.features, round.channels}, result,
                   {result, cast.windowed(round.before, round.tokens)});
  }
  // Of a token alone, the word it is in; of none, none.
  Value words = s.min(wordsOf(s.add(s.mod(round.before, 2), round.channels)),
                      round.channels);
  b.start(FillThread, Opcode::Mov, {out.features, words},
          Operand::memory(asWords(exchange), 0, {shape.resultWords(), 1}),
          {cast.windowed(s.div(round.before, 2), shape.wordsOf(round.tokens))});
}

/// Adds what was kept.
void StationaryWriter::addOwn(const Round &round) {
  Operand result = Operand::memory(out.buffer, round.start, {out.pitch, 1});
  b.vector(Opcode::Add, {out.features, round.channels}, result,
           {result, Operand::memory(exchange, s.mod(round.before, 2),
                                    {2 * shape.resultWords(), 1})});
}

/// The activations of own tokens, over tokens and words. Of 16 bits they are
/// laid out anew, such that the features of a token are neighbours.
pe::Operand StationaryWriter::ownActivations(const Round &round,
                                             const Affine &depth) {
  Operand own = Operand::memory(
      in.buffer, round.start + depth * (shape.ownInputs * in.pitch),
      {1, in.pitch});
  if (!shape.isNarrow())
    return own;
  const int64_t words = shape.wordsOf(shape.ownInputs), row = 2 * words;
  b.where(s.mod(in.features, 2), [&] {
    b.vector(Opcode::Mov, {round.channels},
             Operand::memory(sent, in.features, {row}),
             {Operand::immediate(0)});
  });
  b.vector(Opcode::Mov, {round.channels, in.features},
           Operand::memory(sent, 0, {row, 1}), {own});
  return Operand::memory(asWords(sent), 0, {words, 1});
}

StationaryWriter::Round StationaryWriter::sharedRound(Affine number) {
  return {shape.tokens, number * shape.channels,
          s.div(in.channels, shape.rounds), s.div(in.firstToken, shape.rounds),
          liveOf(number)};
}

/// Of a call of some length a round has those tokens that rows hold next in
/// turn, row by row: of one a row the first are there, of more all or none.
Affine StationaryWriter::liveOf(Affine number) {
  auto parts =
      b.operation()->getAttrOfType<IntegerAttr>(onnx::lengthPartsAttrName);
  const Layout &layout = out.layout;
  if (!parts || layout.batch != 1 || layout.span != parts.getInt() ||
      layout.span != b.height() || shape.isNarrow())
    return shape.tokens;
  Affine length = b.argument(wse::argumentsOf(b.operation()).back());
  Affine left =
      b.compute(pe::ScalarKind::Max, {length + number * -shape.tokens, 0});
  if (shape.channels == 1)
    return b.compute(pe::ScalarKind::Min, {left, shape.tokens});
  return b.compute(pe::ScalarKind::Mul,
                   {b.compute(pe::ScalarKind::Min, {left, 1}), shape.tokens});
}

/// The next tokens, of which few rows have any.
StationaryWriter::Round StationaryWriter::unlikeRound(int64_t number) {
  const int64_t first = number * shape.tokens;
  const int64_t tokens = std::min(shape.tokens, shape.out.tokenCount() - first);
  if (shape.rounds == 1)
    return {tokens, 0, in.channels, in.firstToken, tokens};
  auto inRound = [&](Value token) {
    return s.min(s.max(s.sub(token, first), 0), tokens);
  };
  Value before = inRound(in.firstToken);
  Value channels = s.sub(inRound(s.add(in.firstToken, in.channels)), before);
  Value start = s.mul(s.max(s.sub(first, in.firstToken), 0),
                      s.less(0, channels)); // in the tensor, if there are none
  return {tokens, start, channels, before, tokens, first};
}

/// Brings the activations of the column, from those rows that have them.
void StationaryWriter::fetch(const Round &round, const Affine &depth) {
  const int64_t tokens = round.tokens;
  const Value words = wordsOf(terms);
  b.start(GatherThread, Opcode::Mov, {tokens, words},
          Operand::memory(
              asWords(exchange), 0,
              shape.entries > 1
                  ? SmallVector<int64_t>{shape.wordsOf(shape.ownInputs), 1}
                  : SmallVector<int64_t>{1, tokens}),
          {Operand::fabric(b.color(StreamPattern::KeyCast), 2)});
  Value south = s.sub(tokens, s.add(round.before, round.channels));
  gatherColumn(b, /*pitch=*/0, {round.channels, words},
               ownActivations(round, depth),
               [&](Value) { return s.mul(south, words); });
  b.await(GatherThread);
}

void StationaryWriter::clear(Affine features) {
  b.vector(Opcode::Mov, {features}, Operand::memory(sums, 0, {1}),
           {Operand::immediate(0)});
}

void StationaryWriter::run(const Round &round, bool first) {
  const int64_t tokens = round.tokens;
  live = round.live;
  fetch(round);
  if (tokens == 1 || shape.entries > 1)
    b.where(hasFeatures, [&] { clear(Affine(rowFeatures) * tokens); });
  if (shape.inTurns)
    multiplyInTurns(round);
  for (const Block &block : shape.inTurns ? ArrayRef<Block>() : blocks) {
    if (first && (!shape.resident || shape.entries > 1)) {
      b.await(FillThread);
      if (&block != &blocks.back())
        fill(*(&block + 1));
    }
    multiply(block, round);
  }
  finish(round);
}

/// Adds up along rows, and takes results where they belong.
void StationaryWriter::finish(const Round &round) {
  const int64_t tokens = round.tokens;
  b.where(hasFeatures, [&] { sumRow(rowFeatures, shape.mostSums(), tokens); });
  takeOwn(round);
  const Operand own = Operand::memory(asWords(sent), 0, {1});
  Value isFirst = s.equal(s.px(), 0);
  b.where(hasFeatures, [&] {
    // Where sums were, the first column has its own in front of all others; it
    // must not wait for what it sends from there.
    if (sent == sums) {
      b.where(isFirst, [&] {
        drop(GatherThread, StreamPattern::RowCast,
             Affine(rowFeatures) * tokens);
      });
      b.where(s.logicalNot(isFirst), [&] { keepWindow(tokens, own); });
    } else {
      keepWindow(tokens, own);
    }
    b.where(isFirst,
            [&] { castSums(Affine(rowFeatures) * shape.wordsOf(tokens)); });
  });
  gatherResults(tokens, own);
  if (shape.isNarrow())
    addOwn(round);
}

void StationaryWriter::write() {
  const int64_t perWord = shape.perWord();
  exchange =
      b.scratch("exchange", perWord * shape.exchangeWords(), shape.element);
  sums = b.scratch("sums", shape.tokens * shape.rowFeatures);
  sent = shape.streamsEntries()
             ? sums
             : b.scratch("sent", perWord * shape.sentWords(), shape.element);
  placeWeights();
  if (shape.streamsEntries()) {
    initialise();
    return runEntries();
  }
  if (shape.entries > 1) {
    takeIdsOfHeld();
  } else if (!shape.resident) {
    streamWeights();
    fill(blocks[0]);
  }
  initialise();
  if (!shape.shared) {
    for (int64_t number = 0; number < shape.rounds; ++number)
      run(unlikeRound(number), number == 0);
    return;
  }
  run(sharedRound(0), true);
  b.loop(shape.rounds - 1,
         [&](Affine number) { run(sharedRound(number + Affine(1)), false); });
}

LogicalResult lowerStationary(const MatmulForm &op, RoutineBuilder &b) {
  if (StationaryShape(op, b.machine()).rounds == 0 && op.hasEntries())
    return static_cast<Operation *>(op)->emitOpError(
               "cannot multiply each token by a matrix of its own in the ")
           << b.width() << "x" << b.height()
           << " PEs: this needs f32, several columns and rows, and "
           << 4 * EntryPasses::mostWords << " bytes of SRAM at most";
  if (StationaryShape(op, b.machine()).rounds == 0)
    return static_cast<Operation *>(op)->emitOpError(
               "cannot keep its weights in the ")
           << b.width() << "x" << b.height()
           << " PEs: this needs several columns and rows, for weights that "
              "stream as many result features as I/O channels, and "
           << 4 * StationaryShape::mostWords << " bytes of SRAM at most";
  StationaryWriter(op, b).write();
  return success();
}

} // namespace wsec
