// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/StationaryProduct.h"

#include "compiler/machine/Tiling.h"

#include <limits>

using namespace mlir;

namespace wsec {

/// Words of SRAM beside operands and result.
static constexpr int64_t mostWords = 6144;
/// The same where the weights are none of it: they and the code of other layers
/// need what is left.
static constexpr int64_t mostResidentWords = 3072;
/// Parts in which a PE takes its weights, each with code of its own.
static constexpr int64_t mostBlocks = 4;
/// Rounds of rows with unlike numbers of tokens, each with code of its own.
static constexpr int64_t mostUnlikeRounds = 8;

/// Whether all rows of the region have tokens, and as many.
static bool sharedEvenly(const Layout &layout, const Machine &machine) {
  if (layout.group == 0)
    return layout.batch % machine.height == 0;
  return layout.batch * layout.group == machine.height &&
         layout.span == layout.group && layout.tokens % layout.span == 0;
}

StationaryShape::StationaryShape(wse::MatmulOp op, const Machine &machine,
                                 bool resident)
    : in(Layout::of(op.getInput(), machine.height)),
      out(Layout::of(op.getResult(), machine.height)), k(in.features.total()),
      n(out.features.total()), resident(resident),
      element(elementTypeOf(op.getInput())) {
  const int64_t height = machine.height, pitch = out.pitch(height);
  if (machine.width < 2 || height < 2 || out.replicatedRows ||
      (!resident && (n % height != 0 || machine.westCount() != height)))
    return;
  if (isNarrow() && !resident)
    pairs = in.features.inPairs(machine.width);
  rowFeatures = (n + height - 1) / height;
  ownInputs = in.features.largest(machine.width);
  ownResults = out.features.largest(machine.width);
  shared = sharedEvenly(out, machine);
  const int64_t mostRounds = shared ? pitch : mostUnlikeRounds;
  for (int64_t count = 1; count <= mostRounds; ++count) {
    if (shared && pitch % count != 0)
      continue;
    channels = pitch / count;
    tokens = (out.tokenCount() + count - 1) / count;
    if (words() > (resident ? mostResidentWords : mostWords))
      continue;
    rounds = (out.tokenCount() + tokens - 1) / tokens;
    // While a PE multiplies with one block the next comes.
    growth = std::max<int64_t>(
        1, int64_t((machine.mapOverhead +
                    CostModel(machine, isNarrow()).leastFmacs(double(tokens))) /
                   machine.width));
    return;
  }
}

int64_t StationaryShape::words() const {
  int64_t words =
      wordsOf(element, tokens * ownInputs) + tokens * (rowFeatures + kept());
  if (!resident) // each block in whole words
    words += wordsOf(element, rowFeatures * ownInputs) +
             (isNarrow() ? mostBlocks : 0);
  return words;
}

SmallVector<int64_t> StationaryShape::blocks() const {
  if (resident)
    return {rowFeatures};
  auto count = [&](int64_t size) {
    int64_t blocks = 0;
    for (int64_t sum = 0; sum < rowFeatures; sum += size, size *= growth)
      ++blocks;
    return blocks;
  };
  // The first comes while activations are gathered.
  int64_t size = std::max<int64_t>(1, 2 * tokens * ownInputs / k);
  while (count(size) > mostBlocks)
    ++size;
  SmallVector<int64_t> sizes;
  for (int64_t rest = rowFeatures; rest > 0; rest -= sizes.back()) {
    sizes.push_back(std::min(rest, size));
    size *= growth;
  }
  return sizes;
}

/// Cycles of the first round, in which weights come block after block: each is
/// multiplied, `feature` cycles for a result feature, while the next comes. A
/// word then takes turns with the steps of the PE it is for, and holds up the
/// row.
static double firstRound(const StationaryShape &shape, const Machine &machine,
                         ArrayRef<int64_t> blocks, double feature) {
  const double tokens = shape.tokens;
  const double words = machine.mapOverhead + tokens;
  const double rate =
      words / (words + CostModel(machine, shape.isNarrow()).leastFmacs(tokens));
  const double k = double(shape.inputWords().total());
  const double ownWords = double(shape.inputWords().largest(machine.width));
  double cycles = std::max(k * blocks[0], 3 * tokens * double(shape.ownInputs));
  for (size_t i = 0; i < blocks.size(); ++i) {
    double multiply = blocks[i] * feature;
    double next = i + 1 < blocks.size() ? double(blocks[i + 1]) : 0;
    multiply += next * ownWords;
    cycles += multiply + std::max(0.0, next * k - rate * multiply);
  }
  return cycles;
}

KernelCost stationaryCost(wse::MatmulOp op, const Machine &machine) {
  StationaryShape shape(op, machine);
  KernelCost cost;
  if (shape.rounds == 0) {
    cost.compute = std::numeric_limits<double>::infinity();
    return cost;
  }
  CostModel model(machine, shape.isNarrow());
  double tokens = shape.tokens, rounds = shape.rounds, rows = shape.rowFeatures;
  SmallVector<int64_t> blocks = shape.blocks();
  double gathered = tokens * shape.ownInputs, sums = tokens * rows;
  double others[] = {rows, double(shape.ownInputs - 1), tokens};
  double product = rows * machine.mapOverhead + sums / machine.addRate +
                   model.product(others, 1, 2, {1, 1, 1});
  // The rows next to the first relay most of what they take: 3 cycles a word,
  // measured on wavelet. The first block of weights comes meanwhile.
  cost.compute = rounds * (3 * gathered + product +
                           double(blocks.size()) * 2 * machine.vectorSetup);
  if (!shape.resident)
    cost.fabric = cost.stream = double(shape.inputWords().total()) * rows;
  double latency =
      model.chain(machine.width, 0) + model.multicast(machine.width, 0) +
      2 * (model.chain(machine.height, 0) + model.multicast(machine.height, 0));
  // What weights of the first round are waited for, and multiplied, beyond the
  // longer of the two.
  double first = 3 * gathered + product;
  if (!shape.resident)
    cost.serial = firstRound(shape, machine, blocks, product / rows) -
                  std::max(cost.stream, first);
  cost.serial += rounds * (latency + model.thereAndBack(sums) +
                           2 * tokens * double(shape.ownResults));
  return cost;
}

/// Weights come while activations and the blocks before them are at work: two
/// cycles a word (1.65 to 2, measured on wavelet).
SmallVector<Relay> stationaryRelays() {
  using P = StreamPattern;
  return {{P::KeyNorth, P::KeyNorth},     {P::KeyNorth, P::KeyCast},
          {P::KeyCast, P::RowWest},       {P::RowCast, P::Column},
          {P::ValueNorth, P::ValueNorth}, {P::ValueNorth, P::ValueCast}};
}

SmallVector<HostFlow> stationaryFlows(wse::MatmulOp op,
                                      const Machine &machine) {
  StationaryShape shape(op, machine);
  KernelCost cost = stationaryCost(op, machine);
  SmallVector<HostFlow> flows;
  if (op.getBias() && !wse::residentOf(op, *op.getBias()))
    flows.push_back(CostModel(machine).columnFlow(shape.out.features, 1,
                                                  /*firstUse=*/0,
                                                  /*lastUse=*/0));
  if (shape.resident)
    return flows;
  flows.push_back({StreamPattern::ChannelRow,
                   shape.inputWords().total() * shape.rowFeatures,
                   /*firstUse=*/0,
                   std::min(1.0, 2 * cost.stream / cost.total())});
  return flows;
}

SmallVector<StreamNeed> stationaryStreams(wse::MatmulOp op,
                                          const Machine &machine) {
  SmallVector<StreamNeed> needs;
  if (op.getBias() && !wse::residentOf(op, *op.getBias()))
    needs = columnStreams(Layout::of(op.getResult(), machine.height), machine);
  RowSet all{1, machine.height, machine.height};
  if (!wse::residentOf(op, op.getWeight()))
    needs.push_back({StreamPattern::ChannelRow, {}});
  needs.append(rowStreams(machine));
  needs.push_back({StreamPattern::KeyNorth, {}});
  needs.push_back({StreamPattern::KeyCast, all});
  return needs;
}

/// Result features as tokens of a tensor with the features of the input: a row
/// holds as many of them, a column those of its inputs.
std::optional<HeldWeight> heldStationary(wse::MatmulOp op,
                                         const Machine &machine) {
  StationaryShape shape(op, machine, /*resident=*/true);
  if (shape.rounds == 0)
    return std::nullopt;
  auto input = wse::TokenTiling::of(op.getInput().getType());
  const auto tiling = wse::TokenTiling(1, shape.n)
                          .withColumns(input.getColumns(), input.getHeadSize())
                          .withHeadColumns(input.getHeadColumns());
  return HeldWeight{tiling.type(shape.k, elementTypeOf(op.getInput())),
                    {1, shape.k}};
}

namespace {

class StationaryWriter {
public:
  StationaryWriter(wse::MatmulOp op, RoutineBuilder &b)
      : op(op), b(b), s(b.scalars()), shape(op, b.machine()),
        in(b.tile(op.getInput())), out(b.tile(op.getResult())) {}

  void write();

private:
  /// Weights of result features of the row, in a buffer.
  struct Block {
    int64_t first;
    Value size;
    std::string weights;
    int64_t output, input; ///< words from one feature to the next
  };
  /// Tokens that are multiplied at a time.
  struct Round {
    int64_t tokens;
    Affine start;   ///< of this row: the first of its channels
    Value channels; ///< and how many
    Value before;   ///< tokens of the rows north
  };
  void initialise();
  void placeWeights();
  void streamWeights();
  void fill(const Block &block);
  Round sharedRound(Affine number);
  Round unlikeRound(int64_t number);
  void run(const Round &round, bool first);
  void multiply(const Block &block, int64_t tokens);
  void sumRow(int64_t tokens);
  void keepResults(int64_t tokens);
  void addOwn(const Round &round);
  void gather(ArrayRef<Affine> extents, const Operand &own, Value south);

  wse::MatmulOp op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  StationaryShape shape;
  Tile in, out;
  Value firstRow;    ///< result feature of the row
  Value rowFeatures; ///< and how many
  Value hasFeatures; ///< whether there are any
  std::string activations, sums, kept;
  SmallVector<Block> blocks;
};

void StationaryWriter::initialise() {
  b.where(out.active, [&] {
    Operand start = Operand::immediate(0);
    if (op.getBias())
      start = b.bringVectors({*op.getBias()}, out.layout.features).front();
    b.vector(Opcode::Mov, {out.features, out.channels},
             Operand::memory(out.buffer, 0, {out.pitch, 1}), {start});
  });
}

/// Where each block lies.
void StationaryWriter::placeWeights() {
  if (wse::ParameterOp parameter = wse::residentOf(op, op.getWeight())) {
    Tile held = b.tile(parameter);
    firstRow = held.firstToken;
    rowFeatures = held.channels;
    hasFeatures = shape.n < b.height() ? held.active : s.constant(1);
    blocks.push_back({0, rowFeatures, held.buffer, held.step, held.pitch});
    return;
  }
  firstRow = s.mul(s.py(), shape.rowFeatures);
  rowFeatures = s.constant(shape.rowFeatures);
  hasFeatures = s.constant(1);
  int64_t first = 0;
  for (int64_t size : shape.blocks()) {
    blocks.push_back(
        {first, s.constant(size),
         b.scratch("weights", size * shape.ownInputs, shape.element),
         shape.ownInputs, 1});
    first += size;
  }
}

/// A block after the other; of each row its features, for each column what it
/// has of the input.
void StationaryWriter::streamWeights() {
  HostTensor weight = b.source(op.getWeight());
  for (const Block &block : blocks)
    b.streamToRows([&](ScalarBuilder &host) {
      const FeatureTiling tiling = shape.inputWords();
      const int64_t step = weight.strides[0] * (shape.pairs ? 2 : 1);
      pe::Segment segment;
      segment.tensor = weight.symbol;
      segment.lines = 1;
      segment.extents = {*ScalarBuilder::known(block.size),
                         RoutineBuilder::featureCount(host, tiling)};
      segment.strides = {weight.strides[1], step};
      segment.offset =
          Affine(RoutineBuilder::featureStart(host, tiling)) * step +
          Affine(host.py()) * (shape.rowFeatures * weight.strides[1]) +
          Affine(weight.offset + block.first * weight.strides[1]);
      if (shape.pairs) {
        segment.extents.push_back(2);
        segment.strides.push_back(weight.strides[0]);
        segment.halves = shape.element;
      }
      return segment;
    });
}

void StationaryWriter::fill(const Block &block) {
  const FeatureTiling tiling = shape.inputWords();
  const std::string words =
      shape.pairs ? b.wordsOf(block.weights) : block.weights;
  const Value first = RoutineBuilder::featureStart(s, tiling);
  b.start(
      FillThread, Opcode::Mov,
      {1, block.size, RoutineBuilder::featureCount(s, tiling)},
      Operand::memory(words, 0, {0, tiling.largest(b.width()), block.input}),
      {Operand::fabric(b.color(StreamPattern::ChannelRow), 3)
           .windowed(s.mul(first, block.size),
                     Affine(block.size) * tiling.total())});
}

/// sums = activations * weights, for a block of result features.
void StationaryWriter::multiply(const Block &block, int64_t tokens) {
  Value size = block.size;
  int64_t first = block.first * tokens;
  Value terms = in.features, hasTerms = s.constant(1);
  if (!shape.in.features.everywhere(b.width())) {
    hasTerms = s.less(0, terms);
    terms = s.max(terms, 1);
    b.where(s.logicalAnd(hasFeatures, s.logicalNot(hasTerms)), [&] {
      b.vector(Opcode::Mov, {Affine(size) * tokens},
               Operand::memory(sums, first, {1}), {Operand::immediate(0)});
    });
  }
  b.where(s.logicalAnd(hasFeatures, hasTerms), [&] {
    b.vector(Opcode::Mul, {size, tokens},
             Operand::memory(sums, first, {tokens, 1}),
             {Operand::memory(block.weights, 0, {block.output, 0}),
              Operand::memory(activations, 0, {0, 1})});
    if (shape.ownInputs > 1)
      b.vector(Opcode::Fmac, {size, s.sub(terms, 1), tokens},
               Operand::memory(sums, first, {tokens, 0, 1}),
               {Operand::memory(block.weights, block.input,
                                {block.output, block.input, 0}),
                Operand::memory(activations, tokens, {0, tokens, 1})});
  });
}

/// Sums over the columns, in a chain west.
void StationaryWriter::sumRow(int64_t tokens) {
  Value parity = s.mod(s.px(), 2);
  Value isFirst = s.equal(s.px(), 0);
  Value isLast = s.equal(s.px(), b.width() - 1);
  Operand mine = Operand::memory(sums, 0, {1});
  Operand west = Operand::fabric(b.parityColor(StreamPattern::RowWest, parity));
  Operand east = Operand::fabric(
      b.parityColor(StreamPattern::RowWest, s.logicalNot(parity)));
  Affine words = Affine(rowFeatures) * tokens;
  b.where(isLast, [&] { b.vector(Opcode::Mov, {words}, west, {mine}); });
  if (b.width() > 2)
    b.where(s.logicalNot(s.add(isFirst, isLast)),
            [&] { b.vector(Opcode::Add, {words}, west, {mine, east}); });
  b.where(isFirst, [&] { b.vector(Opcode::Add, {words}, mine, {mine, east}); });
}

/// Of the row's sums, which the first column multicasts, those of the features
/// of this column; then those of all rows, along the column.
void StationaryWriter::keepResults(int64_t tokens) {
  Value end = s.add(out.firstFeature, out.features);
  Value endRow = s.add(firstRow, rowFeatures);
  Value first = s.max(out.firstFeature, firstRow);
  Value count = s.min(s.max(s.sub(s.min(end, endRow), first), 0), shape.kept());
  Value before = s.min(s.sub(first, firstRow), rowFeatures);
  Affine words = Affine(count) * tokens, all = Affine(rowFeatures) * tokens;
  Operand cast = Operand::fabric(b.color(StreamPattern::RowCast));
  b.where(hasFeatures, [&] {
    b.start(GatherThread, Opcode::Mov, {words}, Operand::memory(kept, 0, {1}),
            {cast.windowed(Affine(before) * tokens, all)});
  });
  b.where(s.logicalAnd(s.equal(s.px(), 0), hasFeatures), [&] {
    b.start(RowThread, Opcode::Mov, {all}, cast,
            {Operand::memory(sums, 0, {1})});
  });
  Value south = s.max(s.sub(end, s.max(out.firstFeature, endRow)), 0);
  gather({words}, Operand::memory(kept, 0, {1}), s.mul(south, tokens));
}

/// Own words, then `south` words of the rows south: north, or from the first
/// row to all.
void StationaryWriter::gather(ArrayRef<Affine> extents, const Operand &own,
                              Value south) {
  Value parity = s.mod(s.py(), 2);
  Value isRoot = s.equal(s.py(), 0);
  // Of rows alone: a guard of rows and columns makes every PE a kind of its own
  // to whoever proves that none waits for ever.
  Value hasSouth = s.less(s.py(), b.height() - 1);
  Affine incoming =
      b.parityColor(StreamPattern::KeyNorth, s.logicalNot(parity));
  auto either = [&](auto part) {
    b.where(isRoot, [&] { part(b.color(StreamPattern::KeyCast)); });
    b.where(s.logicalNot(isRoot),
            [&] { part(b.parityColor(StreamPattern::KeyNorth, parity)); });
  };
  either([&](Affine onward) {
    b.start(KeyThread, Opcode::Mov, extents,
            Operand::fabric(onward, extents.size()), {own});
  });
  either([&](Affine onward) {
    b.start(KeyThread, Opcode::Mov, {south}, Operand::fabric(onward),
            {Operand::fabric(incoming)}, hasSouth);
  });
}

/// Adds the results of own tokens.
void StationaryWriter::addOwn(const Round &round) {
  Operand result = Operand::memory(out.buffer, round.start, {out.pitch, 1});
  b.start(FillThread, Opcode::Add, {out.features, round.channels}, result,
          {result, Operand::fabric(b.color(StreamPattern::KeyCast), 2)
                       .windowed(round.before, round.tokens)});
}

StationaryWriter::Round StationaryWriter::sharedRound(Affine number) {
  return {shape.tokens, number * shape.channels,
          s.div(in.channels, shape.rounds), s.div(in.firstToken, shape.rounds)};
}

/// The next tokens, of which few rows have any.
StationaryWriter::Round StationaryWriter::unlikeRound(int64_t number) {
  const int64_t first = number * shape.tokens;
  const int64_t tokens = std::min(shape.tokens, shape.out.tokenCount() - first);
  if (shape.rounds == 1)
    return {tokens, 0, in.channels, in.firstToken};
  auto inRound = [&](Value token) {
    return s.min(s.max(s.sub(token, first), 0), tokens);
  };
  Value before = inRound(in.firstToken);
  Value channels = s.sub(inRound(s.add(in.firstToken, in.channels)), before);
  Value start = s.mul(s.max(s.sub(first, in.firstToken), 0),
                      s.less(0, channels)); // in the tensor, if there are none
  return {tokens, start, channels, before};
}

void StationaryWriter::run(const Round &round, bool first) {
  const int64_t tokens = round.tokens;
  b.start(GatherThread, Opcode::Mov, {tokens, in.features},
          Operand::memory(activations, 0, {1, tokens}),
          {Operand::fabric(b.color(StreamPattern::KeyCast), 2)});
  Value south = s.sub(tokens, s.add(round.before, round.channels));
  gather({round.channels, in.features},
         Operand::memory(in.buffer, round.start, {1, in.pitch}),
         s.mul(south, in.features));
  b.await(GatherThread);
  for (const Block &block : blocks) {
    if (first && !shape.resident) {
      b.await(FillThread);
      if (&block != &blocks.back())
        fill(*(&block + 1));
    }
    multiply(block, tokens);
  }
  b.where(hasFeatures, [&] { sumRow(tokens); });
  addOwn(round);
  keepResults(tokens);
}

void StationaryWriter::write() {
  activations =
      b.scratch("activations", shape.tokens * shape.ownInputs, shape.element);
  sums = b.scratch("sums", shape.tokens * shape.rowFeatures);
  kept = b.scratch("kept", shape.tokens * shape.kept());
  placeWeights();
  if (!shape.resident) {
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

} // namespace

LogicalResult lowerStationary(wse::MatmulOp op, RoutineBuilder &b) {
  if (StationaryShape(op, b.machine()).rounds == 0)
    return op.emitOpError("cannot keep its weights in the ")
           << b.width() << "x" << b.height()
           << " PEs: this needs several columns and rows, for weights that "
              "stream an I/O channel in each row and result features that the "
              "rows share evenly, and "
           << 4 * mostWords << " bytes of SRAM at most";
  StationaryWriter(op, b).write();
  return success();
}

} // namespace wsec
