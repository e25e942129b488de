// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/RoutineBuilder.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace wsec {

using pe::Opcode;
using wse::StreamPattern;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The type of the words that an operation moves as they are; null where that
/// is f32.
static Type wireOf(Operation *op) {
  const Kernel *library = findKernel(op);
  Value moved = library ? library->moved(op) : Value();
  if (!moved)
    return {};
  Type element = cast<RankedTensorType>(moved.getType()).getElementType();
  return element.isInteger() ? element : Type();
}

static pe::Operand typed(pe::Operand operand, Type wire) {
  if (operand.kind == pe::Operand::Kind::Fabric && !operand.type)
    operand.type = wire;
  return operand;
}

RoutineBuilder::RoutineBuilder(ClassBuilder &shared, Operation *op,
                               StringRef name)
    : shared(shared), op(op), builder(op->getContext()), loc(op->getLoc()) {
  builder.setInsertionPointToEnd(&shared.peClass.getBody().front());
  routine = pe::RoutineOp::create(builder, loc, builder.getStringAttr(name));
  Block *body = builder.createBlock(&routine.getBody());
  for (BlockArgument argument : wse::argumentsOf(op))
    carried[argument] = body->addArgument(pe::ScalarType::get(op->getContext()),
                                          argument.getLoc());
  wire = wireOf(op);
}

Value RoutineBuilder::inSomeUnit(ScalarBuilder &scalars,
                                 const FeatureTiling &tiling) {
  int64_t columns = tiling.units * tiling.columns;
  return columns >= scalars.width() ? scalars.constant(1)
                                    : scalars.less(scalars.px(), columns);
}

Value RoutineBuilder::featureCount(ScalarBuilder &scalars,
                                   const FeatureTiling &tiling) {
  if (tiling.extra > 0)
    return scalars.add(featureCount(scalars, tiling.withoutExtra()),
                       tiling.extra);
  if (tiling.replicated)
    return scalars.constant(tiling.total());
  if (tiling.columns > 1) {
    Value size = scalars.spreadSize(tiling.unitSize, tiling.columns,
                                    scalars.mod(scalars.px(), tiling.columns));
    return scalars.mul(scalars.mul(size, inSomeUnit(scalars, tiling)),
                       tiling.words);
  }
  return scalars.mul(
      scalars.spreadSize(tiling.units, scalars.width(), scalars.px()),
      tiling.unitSize * tiling.words);
}

Value RoutineBuilder::featureStart(ScalarBuilder &scalars,
                                   const FeatureTiling &tiling) {
  if (tiling.replicated)
    return scalars.constant(0);
  return featuresBefore(scalars, tiling, scalars.px());
}

Value RoutineBuilder::featuresBefore(ScalarBuilder &scalars,
                                     const FeatureTiling &tiling,
                                     Value column) {
  if (tiling.extra > 0)
    return scalars.add(featuresBefore(scalars, tiling.withoutExtra(), column),
                       scalars.mul(column, tiling.extra));
  if (tiling.replicated)
    return scalars.mul(column, tiling.total());
  if (tiling.columns > 1) {
    Value within = scalars.spreadStart(tiling.unitSize, tiling.columns,
                                       scalars.mod(column, tiling.columns));
    Value start =
        scalars.mul(scalars.add(scalars.mul(scalars.div(column, tiling.columns),
                                            tiling.unitSize),
                                within),
                    tiling.words);
    return tiling.everywhere(scalars.width())
               ? start
               : scalars.min(start, tiling.total());
  }
  return scalars.mul(scalars.spreadStart(tiling.units, scalars.width(), column),
                     tiling.unitSize * tiling.words);
}

/// Whether row `row` belongs to some batch element.
static Value inSomeGroup(ScalarBuilder &scalars, const Layout &layout,
                         Value row) {
  if (layout.batch * layout.group >= scalars.height())
    return scalars.constant(1);
  return scalars.less(scalars.div(row, layout.group), layout.batch);
}

Value RoutineBuilder::tokensBefore(ScalarBuilder &scalars, const Layout &layout,
                                   Value row) {
  if (layout.group == 0)
    return scalars.mul(scalars.tileStart(layout.batch, scalars.height(), row),
                       layout.tokens);
  Value batch = scalars.min(scalars.div(row, layout.group), layout.batch);
  Value first = scalars.mul(batch, layout.tokens);
  if (layout.replicatedRows)
    return first;
  Value local = scalars.mod(row, layout.group);
  if (layout.span < layout.group)
    local = scalars.min(local, layout.span);
  Value within = scalars.tileStart(layout.tokens, layout.span, local);
  return scalars.add(first,
                     scalars.mul(within, inSomeGroup(scalars, layout, row)));
}

Tile RoutineBuilder::describe(ScalarBuilder &s, const Layout &layout) {
  Tile tile;
  tile.layout = layout;
  tile.pitch = layout.pitch(s.height());
  tile.features = featureCount(s, layout.features);
  tile.firstFeature = featureStart(s, layout.features);
  tile.firstToken = tokensBefore(s, layout, s.py());
  if (layout.group == 0) {
    tile.active = s.constant(1);
    tile.sequences = layout.batch % s.height()
                         ? s.tileSize(layout.batch, s.height(), s.py())
                         : s.constant(layout.batch / s.height());
    tile.tokens = s.constant(layout.tokens);
    tile.channels = s.mul(tile.sequences, layout.tokens);
    return tile;
  }
  tile.sequences = inSomeGroup(s, layout, s.py());
  Value local = s.mod(s.py(), layout.group);
  Value used =
      layout.span < layout.group ? s.less(local, layout.span) : s.constant(1);
  tile.active = s.logicalAnd(tile.sequences, used);
  if (layout.replicatedRows)
    tile.tokens = s.mul(used, layout.tokens);
  else if (layout.span == layout.group && layout.tokens % layout.span == 0)
    tile.tokens = s.constant(layout.tokens / layout.span);
  else
    tile.tokens = s.tileSize(layout.tokens, layout.span, local);
  tile.channels = s.mul(tile.tokens, tile.sequences);
  return tile;
}

/// The operation that owns the SRAM of `tensor`.
static wse::KernelOp producerOf(Value tensor) {
  return cast<wse::KernelOp>(tensor.getDefiningOp());
}

static StringRef firstNode(wse::KernelOp kernel) {
  ArrayAttr nodes = kernel.getNodeNames();
  if (!nodes || nodes.empty())
    return "";
  return cast<StringAttr>(nodes[0]).getValue();
}

static Type elementOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

void RoutineBuilder::lacks(const Twine &what) {
  if (!incomplete)
    op->emitOpError("cannot be lowered: it lacks ")
        << what << "; --wse-verify-routed and --wse-verify-scheduled say what "
        << "a program has to decide";
  incomplete = true;
}

LogicalResult RoutineBuilder::finish() {
  awaitAll(discipline.threadsInUse());
  return failure(incomplete);
}

Tile RoutineBuilder::tile(Value tensor) {
  Tile tile = describe(scalars(), Layout::of(tensor, height()));
  wse::KernelOp producer = producerOf(tensor);
  if (!producer.getResultAddress())
    lacks("the address of a tensor that " + producer.getReportName() +
          " computes");
  const int64_t address = producer.getResultAddress().value_or(0);
  int64_t bytes = 4 * tile.layout.words(width(), height());
  tile.buffer = shared.buffer("tensor_" + std::to_string(address), address,
                              bytes, elementOf(tensor), firstNode(producer));
  return tile;
}

Tile RoutineBuilder::tile(wse::PersistentOp held) {
  Tile tile = describe(scalars(), Layout::of(held.getHeldType(), height()));
  // The tensor in the store has the name of the parameter.
  StringRef prefix = isa<wse::ParameterOp>(*held) ? "resident_" : "";
  if (!held.getHeldAddress())
    lacks("the address of " + held.getHeldName().getValue() +
          ", which stays on the wafer");
  tile.buffer = shared.buffer((prefix + held.getHeldName().getValue()).str(),
                              held.getHeldAddress().value_or(0),
                              4 * tile.layout.words(width(), height()),
                              held.getHeldType().getElementType(),
                              firstNode(cast<wse::KernelOp>(op)),
                              /*persistent=*/true);
  return tile;
}

std::string RoutineBuilder::scratch(StringRef name, int64_t words,
                                    Type element) {
  if (!element)
    element = builder.getF32Type();
  auto kernel = cast<wse::KernelOp>(op);
  int64_t address = kernel.getScratch().value_or(0) + scratchUsed;
  scratchUsed += 4 * words;
  if (const int64_t has = kernel.getScratchSize().value_or(0);
      scratchUsed > has)
    lacks(Twine(scratchUsed) + " bytes of scratch, of which it has " +
          Twine(has));
  return shared.buffer("scratch_" + std::to_string(address), address, 4 * words,
                       element, firstNode(kernel));
}

std::string RoutineBuilder::halvesOf(StringRef buffer) {
  return shared.halvesOf(buffer, firstNode(cast<wse::KernelOp>(op)));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// The value of an affine expression that is the same in every PE.
static std::optional<int64_t> known(const pe::Affine &affine) {
  int64_t sum = affine.constant;
  for (auto [value, scale] : affine.terms) {
    std::optional<int64_t> term = ScalarBuilder::known(value);
    if (!term)
      return std::nullopt;
    sum += *term * scale;
  }
  return sum;
}

/// All guards in force as one scalar; null where there is none. Nothing if one
/// of them holds nowhere.
static std::optional<Value> combine(ScalarBuilder &scalars,
                                    ArrayRef<Value> guards) {
  Value all;
  for (Value guard : guards) {
    if (!guard)
      continue;
    if (std::optional<int64_t> value = ScalarBuilder::known(guard)) {
      if (*value == 0)
        return std::nullopt;
      continue;
    }
    all = all ? scalars.logicalAnd(all, guard) : guard;
  }
  return all;
}

InstructionUse RoutineBuilder::useOf(const Operand &dst,
                                     ArrayRef<Operand> sources,
                                     int thread) const {
  InstructionUse use;
  use.thread = thread;
  if (dst.kind == Operand::Kind::Memory)
    use.writes.push_back(shared.range(dst.buffer));
  else
    use.sends.push_back(dst.color);
  for (const Operand &source : sources)
    if (source.kind == Operand::Kind::Memory)
      use.reads.push_back(shared.range(source.buffer));
    else if (source.kind == Operand::Kind::Fabric)
      use.receives.push_back(source.color);
  return use;
}

void RoutineBuilder::vector(Opcode opcode, ArrayRef<Affine> extents,
                            const Operand &dst, ArrayRef<Operand> sources,
                            pe::Issue issue) {
  where(issue.guard, [&] {
    std::optional<Value> guard = combine(scalars(), guards);
    if (!guard)
      return;
    issue.guard = *guard;
    InstructionUse use = useOf(dst, sources, issue.thread);
    for (Value held : guards)
      if (held)
        use.guards.push_back(held);
    awaitAll(discipline.threadsToAwait(use));
    discipline.issue(use);
    SmallVector<Operand, 2> from;
    for (const Operand &source : sources)
      from.push_back(typed(source, wire));
    pe::VectorOp::create(builder, loc, opcode, typed(dst, wire), from, extents,
                         issue);
  });
}

pe::Affine RoutineBuilder::compute(pe::ScalarKind kind,
                                   ArrayRef<Affine> inputs) {
  pe::AffineEncoder encoder(op->getContext());
  ArrayAttr encoded = encoder.encode(inputs);
  return Affine(pe::ComputeOp::create(builder, loc,
                                      pe::ScalarType::get(op->getContext()),
                                      kind, encoder.getValues(), encoded)
                    .getResult());
}

pe::Affine RoutineBuilder::load(StringRef buffer, const Affine &offset) {
  InstructionUse use;
  use.reads.push_back(shared.range(buffer));
  awaitAll(discipline.threadsToAwait(use));
  discipline.issue(use);
  return Affine(pe::LoadOp::create(builder, loc, buffer, offset).getResult());
}

void RoutineBuilder::start(Thread thread, Opcode opcode,
                           ArrayRef<Affine> extents, const Operand &dst,
                           ArrayRef<Operand> sources, Value guard) {
  pe::Issue issue;
  issue.guard = guard;
  issue.thread = thread;
  vector(opcode, extents, dst, sources, issue);
}

void RoutineBuilder::multiplyAdd(ArrayRef<Affine> extents, size_t inner,
                                 Operand sums, Operand a, Operand b) {
  SmallVector<Affine> ordered(extents);
  std::rotate(ordered.begin() + inner, ordered.begin() + inner + 1,
              ordered.end());
  for (Operand *operand : {&sums, &a, &b})
    std::rotate(operand->strides.begin() + inner,
                operand->strides.begin() + inner + 1, operand->strides.end());
  vector(Opcode::Fmac, ordered, sums, {a, b});
}

static SmallVector<int64_t> listThreads(unsigned threads) {
  SmallVector<int64_t> list;
  for (int64_t thread = 0; threads >> thread; ++thread)
    if (threads >> thread & 1)
      list.push_back(thread);
  return list;
}

void RoutineBuilder::awaitAll(unsigned threads) {
  threads &= discipline.threadsInUse();
  if (!threads)
    return;
  discipline.await(threads);
  pe::AwaitOp::create(builder, loc, listThreads(threads));
}

void RoutineBuilder::loop(Affine count, function_ref<void(Affine)> body) {
  std::optional<int64_t> times = known(count);
  if (times && *times <= 0)
    return;
  if (times && *times == 1)
    return body(Affine(0));
  std::optional<Value> guard = combine(scalars(), guards);
  if (!guard)
    return;
  auto loop = pe::ForOp::create(builder, loc, count, *guard);
  OpBuilder::InsertionGuard restore(builder);
  Block &block = loop.getBody().front();
  builder.setInsertionPointToEnd(&block);
  SmallVector<Value> outer;
  std::swap(outer, guards); // the loop holds them for its body
  discipline.enterLoop();
  body(Affine(loop.getVariable()));
  unsigned threads = discipline.leaveLoop(/*runs=*/times && !*guard);
  std::swap(outer, guards);
  builder.setInsertionPointToStart(&block);
  if (threads)
    pe::AwaitOp::create(builder, loc, listThreads(threads));
}

void RoutineBuilder::where(Value guard, function_ref<void()> body) {
  guards.push_back(guard);
  body();
  guards.pop_back();
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> RoutineBuilder::colorsOf(StreamPattern pattern) const {
  ArrayAttr streams = cast<wse::KernelOp>(op).getStreamRefs();
  for (auto name : streams.getAsRange<FlatSymbolRefAttr>()) {
    auto stream = SymbolTable::lookupNearestSymbolFrom<wse::StreamOp>(op, name);
    if (stream && stream.getPattern() == pattern)
      return stream.getColors();
  }
  return {};
}

int64_t RoutineBuilder::color(StreamPattern pattern, unsigned parity) {
  if (ArrayRef<int64_t> colors = colorsOf(pattern); parity < colors.size())
    return colors[parity];
  lacks("a stream of pattern " + wse::stringifyStreamPattern(pattern) +
        (parity ? " with two colors" : ""));
  return 0;
}

pe::Affine RoutineBuilder::parityColor(StreamPattern pattern, Value parity) {
  int64_t even = color(pattern, 0), odd = color(pattern, 1);
  return Affine(parity) * (odd - even) + Affine(even);
}

pe::Affine RoutineBuilder::rowColor(StreamPattern pattern) {
  ArrayRef<int64_t> colors = colorsOf(pattern);
  if (colors.size() < 2)
    return Affine(color(pattern));
  ScalarBuilder &s = scalars();
  Value turn = s.mod(s.py(), int64_t(colors.size()));
  Value chosen = s.constant(0);
  for (int64_t i = 0; i < int64_t(colors.size()); ++i)
    chosen = s.add(chosen, s.mul(s.equal(turn, i), colors[i]));
  // One of them: the sum of what each may add would say more.
  return Affine(s.min(chosen, *llvm::max_element(colors)));
}

pe::StreamOp RoutineBuilder::hostStream(pe::Direction direction) {
  bool in = direction == pe::Direction::In;
  pe::StreamOp &stream = in ? input : output;
  if (stream)
    return stream;
  OpBuilder atEnd(op->getContext());
  atEnd.setInsertionPointToEnd(&shared.shared.program.getBody().front());
  SmallVector<Attribute> channels;
  int64_t origin = in ? machine().x : machine().y;
  for (ChannelPosition channel :
       in ? machine().westChannels() : machine().eastChannels())
    if (channel.begin < channel.end)
      channels.push_back(
          pe::ChannelAttr::get(op->getContext(), machine().y + channel.row,
                               origin + channel.begin, origin + channel.end));
  std::string name = shared.shared.freshSymbol((in ? "to_" : "from_") +
                                               routine.getSymName().str());
  stream = pe::StreamOp::create(
      atEnd, loc, name, direction,
      color(in ? StreamPattern::Channel : StreamPattern::OutExit),
      atEnd.getArrayAttr(channels));
  if (wire)
    stream.setTypeAttr(TypeAttr::get(wire));
  Block *body = atEnd.createBlock(&stream.getBody());
  (in ? inputScalars : outputScalars) =
      std::make_unique<ScalarBuilder>(body, loc, machine(), /*everywhere=*/!in);
  return stream;
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

Injector RoutineBuilder::injectFromBuffers(const ColumnWords &words) {
  hostWords(words);
  return injector(words.features, words.innerSize());
}

/// Makes the host's segments. Returns lines.
int64_t RoutineBuilder::hostWords(ArrayRef<ColumnWords> all) {
  pe::StreamOp stream = hostStream(pe::Direction::In);
  ScalarBuilder &s = *inputScalars;
  int64_t lines = 0;
  for (const ColumnWords &words : all) {
    assert(words.innerSize() == all[0].innerSize() &&
           words.features == all[0].features && "one relay serves all");
    pe::Segment segment;
    segment.tensor = words.tensor;
    segment.lines = words.lines.size;
    segment.lineStep = words.lines.step;
    segment.offset =
        Affine(featureStart(s, words.features)) * words.featureStep +
        Affine(words.offset);
    for (const HostDim &dim : words.inner) {
      segment.extents.push_back(dim.size);
      segment.strides.push_back(dim.step);
    }
    segment.extents.push_back(featureCount(s, words.features));
    segment.strides.push_back(words.featureStep);
    segment.indexTensor = words.indexTensor;
    segment.indexStep = words.indexStep;
    segment.indexRows = words.indexRows;
    OpBuilder atEnd = OpBuilder::atBlockEnd(&stream.getBody().front());
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
  return operands;
}

// A channel carries, for each line, one block per column it serves. The head of
// a column keeps its own block and sends it up and down the column.
Injector RoutineBuilder::injector(const FeatureTiling &features,
                                  int64_t wordsPerFeature) {
  ScalarBuilder &s = scalars();
  int64_t channels = machine().channelsInUse();
  Value channel = s.tileIndex(width(), channels, s.px());
  Value isHead = s.equal(s.pyOfMesh(), s.channelRowOfMesh(channel));
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

void RoutineBuilder::streamToRows(
    function_ref<pe::Segment(ScalarBuilder &)> segment) {
  if (!rowInput) {
    OpBuilder atEnd(op->getContext());
    atEnd.setInsertionPointToEnd(&shared.shared.program.getBody().front());
    SmallVector<Attribute> channels;
    for (const ChannelPosition &channel : machine().westChannels())
      channels.push_back(
          pe::ChannelAttr::get(op->getContext(), machine().y + channel.row,
                               machine().x, machine().x + width()));
    rowInput = pe::StreamOp::create(
        atEnd, loc,
        shared.shared.freshSymbol("to_rows_of_" + routine.getSymName().str()),
        pe::Direction::In, color(StreamPattern::ChannelRow),
        atEnd.getArrayAttr(channels));
    rowInputScalars = std::make_unique<ScalarBuilder>(
        atEnd.createBlock(&rowInput.getBody()), loc, machine(),
        /*everywhere=*/true);
  }
  pe::Segment made = segment(*rowInputScalars);
  OpBuilder atEnd = OpBuilder::atBlockEnd(&rowInput.getBody().front());
  pe::SegmentOp::create(atEnd, loc, made);
}

void RoutineBuilder::streamToHost(
    function_ref<pe::Segment(ScalarBuilder &)> segment) {
  pe::StreamOp stream = hostStream(pe::Direction::Out);
  OpBuilder atEnd = OpBuilder::atBlockEnd(&stream.getBody().front());
  pe::Segment made = segment(*outputScalars);
  atEnd.setInsertionPointToEnd(&stream.getBody().front());
  pe::SegmentOp::create(atEnd, loc, made);
}

SmallVector<std::pair<StreamPattern, std::string>> RoutineBuilder::streams() {
  SmallVector<std::pair<StreamPattern, std::string>> streams;
  auto add = [&](pe::StreamOp stream, StreamPattern pattern) {
    if (stream)
      streams.push_back({pattern, stream.getSymName().str()});
  };
  add(input, StreamPattern::Channel);
  add(rowInput, StreamPattern::ChannelRow);
  add(output, StreamPattern::OutExit);
  return streams;
}

} // namespace wsec
