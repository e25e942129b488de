// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams of a RoutineBuilder: their colors, what the host sends and takes, and
// how injectors relay it.

#include "compiler/kernels/code/RoutineBuilder.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace wsec {

using pe::Opcode;

wse::StreamOp RoutineBuilder::streamOf(StreamPattern pattern) const {
  ArrayAttr streams = cast<wse::KernelOp>(op).getStreamRefs();
  for (auto name : streams.getAsRange<FlatSymbolRefAttr>()) {
    auto stream = SymbolTable::lookupNearestSymbolFrom<wse::StreamOp>(op, name);
    if (stream && stream.getPattern() == pattern)
      return stream;
  }
  return {};
}

ArrayRef<int64_t> RoutineBuilder::colorsOf(StreamPattern pattern) const {
  wse::StreamOp stream = streamOf(pattern);
  return stream ? stream.getColors() : ArrayRef<int64_t>();
}

/// Whether the row of this PE is one of `rows`.
Value RoutineBuilder::isAmong(const RowSet &rows) {
  ScalarBuilder &s = scalars();
  Value row = s.py();
  Value among =
      rows.end() == height() ? s.constant(1) : s.less(row, rows.end());
  if (rows.used < rows.pitch && rows.groups > 1)
    among = s.logicalAnd(among, s.less(s.mod(row, rows.pitch), rows.used));
  return among;
}

/// The rows that hear a stream, and those that the operation asked for.
static std::pair<RowSet, RowSet> rowsOf(wse::StreamOp stream, Operation *op,
                                        const Machine &machine) {
  for (const StreamNeed &need : findKernel(op)->streams(op, machine))
    if (wse::RowSetAttr rows = stream.getRowsAttr();
        rows && need.pattern == stream.getPattern())
      return {rowsThatHear({need.pattern, rows.getRows(), need.from}, need),
              need.rows};
  return {};
}

Value RoutineBuilder::hears(StreamPattern pattern, Value own) {
  wse::StreamOp stream = streamOf(pattern);
  if (!stream)
    return own; // `color` says what it lacks
  const auto [rows, asked] = rowsOf(stream, op, machine());
  return rows == asked ? own : isAmong(rows);
}

Value RoutineBuilder::hearsInVain(StreamPattern pattern) {
  wse::StreamOp stream = streamOf(pattern);
  if (!stream)
    return {};
  const auto [rows, asked] = rowsOf(stream, op, machine());
  if (rows == asked)
    return {};
  ScalarBuilder &s = scalars();
  return s.logicalAnd(isAmong(rows), s.logicalNot(isAmong(asked)));
}

int64_t RoutineBuilder::color(StreamPattern pattern, unsigned parity) {
  if (ArrayRef<int64_t> colors = colorsOf(pattern); parity < colors.size())
    return colors[parity];
  lacks(std::string("a stream of pattern ") + name(pattern) +
        (parity ? " with two colors" : ""));
  return 0;
}

pe::Affine RoutineBuilder::parityColor(StreamPattern pattern, Value parity) {
  int64_t even = color(pattern, 0), odd = color(pattern, 1);
  return Affine(parity) * (odd - even) + Affine(even);
}

pe::Affine RoutineBuilder::eitherColor(Value condition, const Affine &first,
                                       const Affine &other) {
  ScalarBuilder &s = scalars();
  auto scalar = [&](const Affine &color) {
    Value sum = s.constant(color.constant);
    for (auto [value, scale] : color.terms)
      sum = s.add(sum, s.mul(value, scale));
    return sum;
  };
  Value chosen = s.choose(condition, scalar(first), scalar(other));
  either[chosen] = {first, other};
  return Affine(chosen);
}

pe::Affine RoutineBuilder::rowColor(StreamPattern pattern, Value row) {
  ArrayRef<int64_t> colors = colorsOf(pattern);
  if (colors.size() < 2)
    return Affine(color(pattern));
  ScalarBuilder &s = scalars();
  Value turn = s.mod(row, int64_t(colors.size()));
  Value chosen = s.constant(0);
  for (int64_t i = 0; i < int64_t(colors.size()); ++i)
    chosen = s.add(chosen, s.mul(s.equal(turn, i), colors[i]));
  // One of them: the sum of what each may add would say more.
  return Affine(s.min(chosen, *llvm::max_element(colors)));
}

RoutineBuilder::HostStream &
RoutineBuilder::hostStream(StreamPattern pattern,
                           ArrayRef<ChannelPosition> positions) {
  for (HostStream &each : hostStreams)
    if (each.pattern == pattern)
      return each;
  const bool in = pattern.movement == fabric::Movement::In;
  const bool toRows = pattern == StreamPattern::ChannelRow;
  OpBuilder atEnd(op->getContext());
  atEnd.setInsertionPointToEnd(&shared.shared.program.getBody().front());
  SmallVector<Attribute> channels;
  int64_t origin = in ? machine().x : machine().y;
  for (ChannelPosition channel : positions)
    if (channel.begin < channel.end)
      channels.push_back(
          pe::ChannelAttr::get(op->getContext(), machine().y + channel.row,
                               origin + channel.begin, origin + channel.end));
  std::string name = shared.shared.freshSymbol((toRows ? "to_rows_of_"
                                                : in   ? "to_"
                                                       : "from_") +
                                               routine.getSymName().str());
  auto stream = pe::StreamOp::create(
      atEnd, loc, name, in ? pe::Direction::In : pe::Direction::Out,
      color(pattern), atEnd.getArrayAttr(channels));
  if (wire && !toRows)
    stream.setTypeAttr(TypeAttr::get(wire));
  auto scalars = std::make_unique<ScalarBuilder>(
      atEnd.createBlock(&stream.getBody()), loc, machine(),
      /*everywhere=*/toRows || !in);
  hostStreams.push_back({pattern, stream, std::move(scalars)});
  return hostStreams.back();
}

int64_t ColumnWords::innerSize() const {
  int64_t size = 1;
  for (const HostDim &dim : inner)
    size *= dim.size;
  return size;
}

void RoutineBuilder::streamToColumns(ArrayRef<ColumnWords> all) {
  const int64_t lines = hostWords(all);
  relayAtHeads(injector(all[0].features, all[0].innerSize()), lines);
}

Injector RoutineBuilder::injectFromBuffers(ArrayRef<ColumnWords> all) {
  hostWords(all);
  return injector(all[0].features, all[0].innerSize());
}

/// Makes the host's segments. Returns lines.
int64_t RoutineBuilder::hostWords(ArrayRef<ColumnWords> all) {
  HostStream &to = hostStream(StreamPattern::Channel, machine().westChannels());
  ScalarBuilder &s = *to.scalars;
  int64_t lines = 0;
  for (const ColumnWords &words : all) {
    assert(words.innerSize() == all[0].innerSize() &&
           words.features == all[0].features && "one relay serves all");
    pe::Segment segment;
    segment.tensor = words.tensor;
    segment.lines = words.lines.size;
    segment.lineStep = words.lines.step;
    FeatureTiling features = words.pairs ? *words.pairs : words.features;
    features.unitSize /= words.unit.size;
    segment.offset = Affine(featureStart(s, features)) * words.featureStep +
                     Affine(words.offset);
    for (const HostDim &dim : words.inner) {
      segment.extents.push_back(dim.size);
      segment.strides.push_back(dim.step);
    }
    segment.extents.push_back(featureCount(s, features));
    segment.strides.push_back(words.featureStep);
    if (words.unit.size > 1) {
      segment.extents.push_back(words.unit.size);
      segment.strides.push_back(words.unit.step);
    }
    segment.halves = words.halves;
    if (words.halves && !words.pairs) {
      segment.extents.push_back(2);
      segment.strides.push_back(words.halfStep);
    }
    segment.index = words.index;
    OpBuilder atEnd = OpBuilder::atBlockEnd(&to.stream.getBody().front());
    pe::SegmentOp::create(atEnd, loc, segment);
    lines += words.lines.size;
  }
  return lines;
}

SmallVector<pe::Operand, 0>
RoutineBuilder::bringVectors(ArrayRef<wse::WeightAttr> vectors,
                             const FeatureTiling &features, unsigned inner) {
  SmallVector<ColumnWords, 2> all;
  SmallVector<Operand, 0> operands;
  for (wse::WeightAttr vector : vectors) {
    if (wse::ParameterOp parameter = wse::residentOf(op, vector)) {
      SmallVector<int64_t> strides(1 + inner, 0);
      strides.front() = 1;
      operands.push_back(Operand::memory(tile(parameter).buffer, 0, strides));
      continue;
    }
    operands.push_back(columnWords(1));
    HostTensor tensor = source(vector);
    ColumnWords &words = all.emplace_back();
    words.tensor = tensor.symbol;
    words.offset = tensor.offset;
    words.features = features;
    words.featureStep = tensor.strides.back();
  }
  if (!all.empty())
    streamToColumns(all);
  for (size_t i = 0; i < all.size(); ++i)
    dropColumnWords(featureCount(scalars(), features));
  return operands;
}

// A channel carries, for each line, one block per column it serves. The head of
// a column keeps its own block and sends it up and down the column.
Injector RoutineBuilder::injector(const FeatureTiling &features,
                                  int64_t wordsPerFeature) {
  ScalarBuilder &s = scalars();
  int64_t channels = machine().westCount();
  Value channel = s.tileIndex(width(), channels, s.px());
  Value isHead = s.equal(
      s.pyOfMesh(), s.channelRowOfMesh(s.add(channel, machine().shareBegin)));
  Affine block = Affine(featureCount(s, features)) * wordsPerFeature;
  Operand incoming = Operand::fabric(color(StreamPattern::Channel), 2);
  if (width() > channels) {
    Value before =
        featuresBefore(s, features, s.tileStart(width(), channels, channel));
    Value mine = featuresBefore(s, features, s.px());
    Value after = featuresBefore(
        s, features, s.tileStart(width(), channels, s.add(channel, 1)));
    incoming =
        incoming.windowed(Affine(s.sub(mine, before)) * wordsPerFeature,
                          Affine(s.sub(after, before)) * wordsPerFeature);
  }
  return {isHead, block, incoming};
}

void RoutineBuilder::relayAtHeads(const Injector &injector, int64_t lines) {
  // Heads relay whether or not their own row holds tokens.
  SmallVector<Value> outer;
  std::swap(outer, guards);
  start(ColumnThread, Opcode::Mov, {lines, injector.block},
        Operand::fabric(color(StreamPattern::Column), 2), {injector.incoming},
        injector.isHere);
  std::swap(outer, guards);
}

pe::Operand RoutineBuilder::columnWords(unsigned depth) {
  return Operand::fabric(color(StreamPattern::Column), depth);
}

void RoutineBuilder::dropColumnWords(Affine words) {
  Value inVain = hearsInVain(StreamPattern::Column);
  if (!inVain)
    return;
  SmallVector<Value> outer;
  std::swap(outer, guards);
  // A window of no words: the buffer is not touched, and who fills it is not
  // waited for. A row in use would wait here for sums of words to come.
  where(inVain, [&] {
    Operand buffer = Operand::memory(tile(op->getResult(0)).buffer, 0, {1});
    Operand dropped = columnWords(1).windowed(0, words);
    InstructionUse use = useOf(buffer, {dropped}, /*thread=*/-1);
    use.writes.clear();
    emit(use, Opcode::Mov, {scalars().logicalNot(inVain)}, buffer, {dropped},
         {});
  });
  std::swap(outer, guards);
}

void RoutineBuilder::streamToRows(
    function_ref<pe::Segment(ScalarBuilder &)> segment) {
  SmallVector<ChannelPosition> rows;
  for (const ChannelPosition &channel : machine().westChannels())
    rows.push_back({channel.row, 0, int(width())});
  streamSegment(StreamPattern::ChannelRow, rows, segment);
}

void RoutineBuilder::streamToHost(
    function_ref<pe::Segment(ScalarBuilder &)> segment) {
  streamSegment(StreamPattern::OutExit, machine().eastChannels(), segment);
}

void RoutineBuilder::streamFromBands(
    ArrayRef<ChannelPosition> exits,
    function_ref<pe::Segment(ScalarBuilder &)> segment, StreamPattern pattern) {
  SmallVector<ChannelPosition> own;
  for (const ChannelPosition &exit : exits)
    if (exit.begin < exit.end)
      own.push_back({exit.row, exit.row, exit.row + 1});
  streamSegment(pattern, own, segment);
}

void RoutineBuilder::streamSegment(
    StreamPattern pattern, ArrayRef<ChannelPosition> channels,
    function_ref<pe::Segment(ScalarBuilder &)> segment) {
  HostStream &its = hostStream(pattern, channels);
  pe::Segment made = segment(*its.scalars);
  OpBuilder atEnd = OpBuilder::atBlockEnd(&its.stream.getBody().front());
  pe::SegmentOp::create(atEnd, loc, made);
}

SmallVector<std::pair<StreamPattern, std::string>> RoutineBuilder::streams() {
  SmallVector<std::pair<StreamPattern, std::string>> streams;
  for (HostStream &its : hostStreams)
    streams.push_back({its.pattern, its.stream.getSymName().str()});
  return streams;
}

} // namespace wsec
