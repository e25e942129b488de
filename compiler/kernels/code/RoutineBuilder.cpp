// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/code/RoutineBuilder.h"

#include "compiler/kernels/move/HostTokens.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace wsec {

using pe::Opcode;

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
                         Value row, int64_t height) {
  if (layout.batch * layout.group >= height)
    return scalars.constant(1);
  return scalars.less(scalars.div(row, layout.group), layout.batch);
}

Value RoutineBuilder::tokensBefore(ScalarBuilder &scalars, const Layout &layout,
                                   Value row, int64_t height) {
  if (layout.group == 0)
    return scalars.mul(scalars.tileStart(layout.batch, height, row),
                       layout.tokens);
  Value batch = scalars.min(scalars.div(row, layout.group), layout.batch);
  Value first = scalars.mul(batch, layout.tokens);
  if (layout.replicatedRows)
    return first;
  Value local = scalars.mod(row, layout.group);
  if (layout.span < layout.group)
    local = scalars.min(local, layout.span);
  Value within = scalars.tileStart(layout.tokens, layout.span, local);
  return scalars.add(
      first, scalars.mul(within, inSomeGroup(scalars, layout, row, height)));
}

Tile RoutineBuilder::describe(ScalarBuilder &s, const Layout &layout) {
  Tile tile;
  tile.layout = layout;
  tile.pitch = layout.pitch(s.height());
  tile.features = featureCount(s, layout.features);
  tile.firstFeature = featureStart(s, layout.features);
  tile.firstToken = tokensBefore(s, layout, s.py());
  if (layout.cyclic && layout.group > 0) {
    tile.firstToken = s.add(s.mul(s.div(s.py(), layout.group), layout.tokens),
                            s.mod(s.py(), layout.group));
    tile.tokenStep = layout.span;
  }
  if (layout.group == 0) {
    tile.active = s.constant(1);
    tile.sequences = layout.batch % s.height()
                         ? s.tileSize(layout.batch, s.height(), s.py())
                         : s.constant(layout.batch / s.height());
    tile.tokens = s.constant(layout.tokens);
    tile.channels = s.mul(tile.sequences, layout.tokens);
    return tile;
  }
  tile.sequences = inSomeGroup(s, layout, s.py(), s.height());
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

/// Whole words that hold so many elements.
static int64_t bytesOf(Type element, int64_t elements) {
  return wse::wholeWords(elements * pe::elementBytes(element));
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
  const int64_t address =
      producer.getResultAddress().value_or(0) +
      wse::bytesBefore(cast<OpResult>(tensor), width(), height());
  int64_t bytes =
      bytesOf(elementOf(tensor), tile.layout.words(width(), height()));
  tile.buffer = shared.buffer("tensor_" + std::to_string(address), address,
                              bytes, elementOf(tensor), firstNode(producer));
  return tile;
}

Tile RoutineBuilder::tile(Value tensor, Pairing pairing) {
  Tile elements = tile(tensor);
  if (pairing == Pairing::None)
    return elements;
  Tile words =
      describe(scalars(), *elements.layout.inPairs(pairing, width(), height()));
  words.buffer = wordsOf(elements.buffer);
  return words;
}

Tile RoutineBuilder::tile(wse::PersistentOp held) {
  const RankedTensorType type = held.getHeldType();
  Tile tile = describe(scalars(), Layout::of(type, height()));
  const int64_t elementsOfWord = 4 / pe::elementBytes(type.getElementType());
  if (isa<wse::ParameterOp>(*held) &&
      heldWords(type, machine()).pairing != Pairing::Channels) {
    tile.pitch = 1;
    tile.step =
        llvm::alignTo(tile.layout.features.largest(width()), elementsOfWord);
  }
  if (!held.getHeldAddress())
    lacks("the address of " + held.getHeldName().getValue() +
          ", which stays on the wafer");
  tile.buffer =
      shared.buffer(held.getHeldName(), held.getHeldAddress().value_or(0),
                    held.getHeldBytes(width(), height()), type.getElementType(),
                    firstNode(cast<wse::KernelOp>(op)),
                    /*persistent=*/true);
  return tile;
}

std::string RoutineBuilder::scratch(StringRef name, int64_t elements,
                                    Type element) {
  if (!element)
    element = builder.getF32Type();
  auto kernel = cast<wse::KernelOp>(op);
  int64_t address = kernel.getScratch().value_or(0) + scratchUsed;
  const int64_t bytes = bytesOf(element, elements);
  scratchUsed += bytes;
  if (const int64_t has = kernel.getScratchSize().value_or(0);
      scratchUsed > has)
    lacks(Twine(scratchUsed) + " bytes of scratch, of which it has " +
          Twine(has));
  return shared.buffer("scratch_" + std::to_string(address), address, bytes,
                       element, firstNode(kernel));
}

std::string RoutineBuilder::halvesOf(StringRef buffer, Type element) {
  return shared.view(buffer, "_halves", firstNode(cast<wse::KernelOp>(op)),
                     element ? element : builder.getI16Type());
}

std::string RoutineBuilder::wordsOf(StringRef buffer) {
  return shared.view(buffer, "_words", firstNode(cast<wse::KernelOp>(op)),
                     builder.getF32Type());
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
  Value all, last;
  for (Value guard : guards) {
    if (!guard || guard == std::exchange(last, guard))
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
  auto addColor = [&](SmallVector<Affine, 2> &colors, const Affine &color) {
    SmallVector<Affine> rest{color};
    while (!rest.empty()) {
      const Affine one = rest.pop_back_val();
      auto found = one.terms.empty() ? either.end()
                                     : either.find(one.terms.front().first);
      if (found == either.end())
        colors.push_back(one);
      else
        rest.append({found->second.second, found->second.first});
    }
  };
  if (dst.kind == Operand::Kind::Memory)
    use.writes.push_back(shared.range(dst.buffer));
  else
    addColor(use.sends, dst.color);
  for (const Operand &source : sources)
    if (source.kind == Operand::Kind::Memory)
      use.reads.push_back(shared.range(source.buffer));
    else if (source.kind == Operand::Kind::Fabric)
      addColor(use.receives, source.color);
  return use;
}

void RoutineBuilder::vector(Opcode opcode, ArrayRef<Affine> extents,
                            const Operand &dst, ArrayRef<Operand> sources,
                            pe::Issue issue) {
  InstructionUse use = useOf(dst, sources, issue.thread);
  // Of no elements nothing is written.
  if (llvm::any_of(extents, [](const Affine &extent) {
        return extent.terms.empty() && extent.constant == 0;
      }))
    use.writes.clear();
  emit(std::move(use), opcode, extents, dst, sources, issue);
}

void RoutineBuilder::emit(InstructionUse use, Opcode opcode,
                          ArrayRef<Affine> extents, const Operand &dst,
                          ArrayRef<Operand> sources, pe::Issue issue) {
  where(issue.guard, [&] {
    std::optional<Value> guard = combine(scalars(), guards);
    if (!guard)
      return;
    issue.guard = *guard;
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
  if (threads)
    emitAwait(threads);
}

void RoutineBuilder::emitAwait(unsigned threads) {
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

} // namespace wsec
