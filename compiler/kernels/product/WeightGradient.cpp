// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum over all tokens of the products of two tensors' features, off the
// wafer: the way of a weight, reversed. The tensor with fewer features is
// multicast along the rows, where need be in parts, the other one stays. A PE
// multiplies a block of features of the first by its own of the other, over its
// own tokens. A column sums up these blocks, from north to south and from south
// to north, as far as the row of its exit, where they go east:
//
//   row 0   x0 x0 x0    dy0 | dy0 | dy0      block  x^T dy of its tokens
//       1   x1 x1 x1    dy1 | dy1 | dy1        |      v
//       2                                    sums ..  > * ==>
//
// A channel lists block after block, of each its columns from east to west.
// Channels in rows with tokens are exits where that is faster: their PEs have
// more to do than others.

#include "compiler/kernels/product/WeightGradient.h"
#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/product/Product.h"
#include "compiler/kernels/product/WeightGradientShape.h"

#include <limits>

using namespace mlir;

namespace wsec {
namespace {

/// Columns for each channel of a wide wafer, at least.
constexpr int64_t columnsOfChannel = 4;
/// Columns of an exit, at most, and tokens of a row, at least, for which it is
/// chosen where it saves a tenth.
constexpr int64_t fewColumns = 2, manyTokens = 8;
/// Not that of the multicast, which the next part waits for.
constexpr Thread LeavingThread = FillThread;

class WeightGradient final : public KernelFor<wse::WeightGradientOp> {
  Match match(Operation *op, const Selection &selection) const final {
    return Match::when(isSummedAlongColumns(op, selection));
  }
  Value build(Operation *op, Selection &selection) const final;

  int variantOf(Operation *op) const final {
    return GradientShape::variantOf(op);
  }
  void take(Operation *op, int variant) const final {
    for (auto [bit, name] :
         {std::pair(GradientShape::SmallBlocks, wse::smallBlocksAttrName),
          std::pair(GradientShape::TwoLanes, wse::twoLanesAttrName)})
      if (variant & bit)
        op->setAttr(name, UnitAttr::get(op->getContext()));
      else
        op->removeAttr(name);
  }
  StringRef variantName(int variant) const final {
    constexpr StringLiteral names[] = {"large blocks", "small blocks",
                                       "large blocks, two lanes",
                                       "small blocks, two lanes"};
    return names[variant];
  }
  SmallVector<Offer> offers(Operation *op, const Machine &machine) const final {
    auto gradient = cast<wse::WeightGradientOp>(op);
    auto offerOf = [&](int variant) -> Offer {
      const auto shape = GradientShape::of(
          gradient.getKept(), gradient.getCast(), machine, variant);
      return {.variant = variant,
              .cost = shape.cost(),
              .scratchBytes = 4 * shape.scratchWords(),
              .addsColor = shape.exits.twoLanes};
    };
    SmallVector<Offer> offers = {offerOf(0)};
    const Offer small = offerOf(GradientShape::SmallBlocks);
    if (small.applies() && small.scratchBytes < offers[0].scratchBytes)
      offers.push_back(small);
    // Blocks of two lanes have the size that is fastest.
    const Offer its = offerOf(GradientShape::TwoLanes);
    if (llvm::all_of(offers, [&](const Offer &other) {
          return its.cost.total() < other.cost.total();
        }))
      offers.push_back(its);
    return offers;
  }

  std::optional<std::pair<StringAttr, RankedTensorType>>
  stored(Operation *op) const final {
    auto gradient = cast<wse::WeightGradientOp>(op);
    return {
        {gradient.getOutputAttr(), cast<RankedTensorType>(gradient.getType())}};
  }
  bool isPlace(NamedAttribute attribute) const final {
    const StringRef name = attribute.getName();
    return name == "output" || name == "type";
  }

  SmallVector<Relay> relays() const final {
    using P = StreamPattern;
    SmallVector<Relay> relays = ColumnExits::relays();
    relays.append(rowRelays());
    relays.append({{P::KeyNorth, P::KeyNorth},
                   {P::KeyNorth, P::RowEast},
                   {P::KeyNorth, P::OutBand},
                   {P::KeyNorth, P::OutHalf},
                   {P::OutColumn, P::OutHalf},
                   {P::RowEast, P::OutHalf}});
    return relays;
  }
  KernelCost costOf(wse::WeightGradientOp op,
                    const Machine &machine) const final {
    return GradientShape::of(op, machine).cost();
  }
  SmallVector<HostFlow> flowsOf(wse::WeightGradientOp op,
                                const Machine &machine) const final {
    const GradientShape shape = GradientShape::of(op, machine);
    SmallVector<HostFlow> flows;
    for (const StreamPattern &lane : shape.exits.lanes())
      flows.push_back({lane, shape.mostWords(lane)});
    return flows;
  }
  SmallVector<StreamNeed> streamsOf(wse::WeightGradientOp op,
                                    const Machine &machine) const final {
    return streamsIn(op, variantOf(op), machine);
  }
  SmallVector<StreamNeed> streamsIn(Operation *op, int variant,
                                    const Machine &machine) const final {
    auto gradient = cast<wse::WeightGradientOp>(op);
    SmallVector<StreamNeed> needs = rowStreams(machine);
    needs.append(GradientShape::of(gradient.getKept(), gradient.getCast(),
                                   machine, variant)
                     .exits.streams());
    return needs;
  }
  int64_t scratchWords(wse::WeightGradientOp op,
                       const Machine &machine) const final {
    return GradientShape::of(op, machine).scratchWords();
  }
  LogicalResult lowerOp(wse::WeightGradientOp op,
                        RoutineBuilder &b) const final;
};

//===----------------------------------------------------------------------===//
// What it computes of a model
//===----------------------------------------------------------------------===//

/// The operands of such a sum on the wafer, that with more features first, and
/// where the result goes.
struct Outer {
  Value kept, cast;
  bool keptFirst = false;
  OpOperand *output = nullptr;
};

std::optional<Outer> outerOf(Operation *op, const Selection &selection) {
  auto product = dyn_cast<onnx::BatchMatMulOp>(op);
  auto transpose =
      product ? product.getA().getDefiningOp<onnx::TransposeOp>() : nullptr;
  if (!transpose || shapeOf(product.getA()).size() != 2 ||
      shapeOf(product.getB()).size() != 2)
    return std::nullopt;
  const SmallVector<OpOperand *> outputs = onlyOutputs(product.getY());
  if (outputs.size() != 1)
    return std::nullopt;
  Outer outer{selection.alreadyOnWafer(transpose.getX()),
              selection.alreadyOnWafer(product.getB()), true, outputs.front()};
  auto isOfRows = [](Value tensor) {
    if (!tensor || !elementTypeOf(tensor).isF32())
      return false;
    const wse::TokenTiling tiling = tilingOf(tensor);
    return tiling.splitsRows() && !tiling.isCyclic() &&
           tiling.getColumns() != wse::ColumnPlacement::Replicated;
  };
  auto type = cast<RankedTensorType>(outer.output->get().getType());
  if (!isOfRows(outer.kept) || !isOfRows(outer.cast) ||
      !tilingOf(outer.kept).sameRows(tilingOf(outer.cast)) ||
      !type.getElementType().isF32() ||
      wse::featuresOf(outer.kept) != shapeOf(product.getY())[0] ||
      wse::featuresOf(outer.cast) != shapeOf(product.getY())[1])
    return std::nullopt;
  // Of as many features those stay that lie better.
  const int64_t more =
      wse::featuresOf(outer.kept) - wse::featuresOf(outer.cast);
  auto cycles = [&](Value kept, Value cast) {
    return GradientShape::of(kept, cast, selection.machine()).cost().total();
  };
  if (more < 0 || (more == 0 && cycles(outer.cast, outer.kept) <
                                    cycles(outer.kept, outer.cast))) {
    std::swap(outer.kept, outer.cast);
    outer.keptFirst = false;
  }
  return outer;
}

Value WeightGradient::build(Operation *op, Selection &selection) const {
  const Outer outer = *outerOf(op, selection);
  const StringAttr name = selection.takeOutput(*outer.output);
  selection.createFor<wse::WeightGradientOp>(
      op, outer.kept, outer.cast, name,
      TypeAttr::get(outer.output->get().getType()),
      outer.keptFirst ? UnitAttr::get(op->getContext()) : UnitAttr());
  return {};
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

class WeightGradientWriter {
public:
  WeightGradientWriter(wse::WeightGradientOp op, RoutineBuilder &b)
      : op(op), b(b), s(b.scalars()), shape(GradientShape::of(op, b.machine())),
        kept(b.tile(op.getKept())), cast(b.tile(op.getCast())),
        factors(cast.buffer), exit(shape.exits.ofColumn(s)),
        west(b, shape.exits, exit, kept), row(s.py()),
        isExit(s.equal(s.pyOfMesh(), exit.row)),
        isNorth(s.less(s.channelOfRow(), exit.channel)) {
    if (shape.exchanges)
      factors = b.scratch("factors", shape.ofPart() * shape.pitch);
    sums = b.scratch("sums", shape.block * shape.own);
    if (shape.takesTurns())
      leaving = b.scratch("leaving", shape.block * shape.own);
  }

  void write();

private:
  pe::Segment segment(ScalarBuilder &host, int64_t part, bool west);
  void multicast(Affine part);
  void multiply(Affine block);
  Operand fromNorth();
  Operand fromSouth() {
    return link(StreamPattern::KeyNorth, s.logicalNot(s.mod(row, 2)));
  }
  void sumSouth();
  void sumNorth();
  void sendEast();
  /// An instruction for each word of the block. Who is next waits for nobody
  /// but those before, and what is relayed, so the main thread may wait.
  void pass(Value guard, Opcode opcode, const Operand &to,
            ArrayRef<Operand> sources) {
    pe::Issue issue;
    issue.guard = guard;
    b.vector(opcode, {shape.block, kept.features}, to, sources, issue);
  }
  Operand own() const { return Operand::memory(sums, 0, {shape.own, 1}); }
  Operand link(StreamPattern pattern, Value parity) {
    return Operand::fabric(b.parityColor(pattern, parity), 2);
  }

  wse::WeightGradientOp op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  const GradientShape shape;
  const Tile kept, cast;
  std::string factors, sums;
  std::string leaving; ///< of an exit: while it makes the next block
  const ColumnExits::OfColumn exit;
  const WordsFromWest west;
  const Value row;             ///< of the region
  const Value isExit, isNorth; ///< of the row; north of the exit
};

void WeightGradientWriter::write() {
  for (int64_t part = 0; part < shape.parts; ++part)
    for (const StreamPattern &lane : shape.exits.lanes())
      b.streamFromBands(
          shape.exits.ofLane(lane),
          [&](ScalarBuilder &host) {
            return segment(host, part, lane == StreamPattern::OutHalf);
          },
          lane);
  b.loop(shape.parts, [&](Affine part) {
    if (shape.exchanges)
      b.where(cast.active, [&] { multicast(part); });
    b.loop(shape.blocks() / shape.parts, [&](Affine block) {
      b.where(kept.active, [&] { multiply(block); });
      sumSouth();
      sumNorth();
      b.where(isExit, [&] { sendEast(); });
    });
  });
}

void WeightGradientWriter::multicast(Affine part) {
  multicastRow(b, cast, {shape.ofPart(), cast.channels},
               Operand::memory(factors, 0, {shape.pitch, 1}),
               Operand::fabric(b.color(StreamPattern::RowCast), 2), part,
               shape.parts);
}

/// What a channel lists of each column of a lane and block of a part, at the
/// row of its exit.
pe::Segment WeightGradientWriter::segment(ScalarBuilder &host, int64_t part,
                                          bool west) {
  const Tile tile = RoutineBuilder::describe(host, shape.kept);
  const int64_t perKept = op.getKeptFirst() ? shape.lines : 1;
  const int64_t perLine = op.getKeptFirst() ? 1 : shape.kept.features.total();
  const ColumnExits::OfColumn exit = shape.exits.ofColumn(host);
  Value here =
      host.logicalAnd(host.inColumns(), host.equal(host.pyOfMesh(), exit.row));
  if (exit.west)
    here = host.logicalAnd(here, west ? exit.west : host.logicalNot(exit.west));
  pe::Segment segment;
  segment.tensor = op.getOutput().str();
  segment.lines = shape.blocks() / shape.parts;
  segment.lineStep = shape.block * shape.parts * perLine;
  segment.extents = {shape.block, host.mul(here, tile.features)};
  segment.strides = {shape.parts * perLine, perKept};
  segment.offset = Affine(tile.firstFeature) * perKept + Affine(part * perLine);
  return segment;
}

/// sums = factors * kept of the first token, and += of the others.
void WeightGradientWriter::multiply(Affine block) {
  const int64_t pitch = shape.exchanges ? shape.pitch : cast.pitch;
  const Affine first = block * (shape.block * pitch);
  Operand all = Operand::memory(sums, 0, {shape.own, 1});
  Operand lines = Operand::memory(factors, first, {pitch, 0});
  Operand own = Operand::memory(kept.buffer, 0, {0, kept.pitch});
  SmallVector<Affine> extents = {shape.block, kept.features};
  if (!shape.alongKept()) {
    std::swap(extents[0], extents[1]);
    for (Operand *operand : {&all, &lines, &own})
      std::swap(operand->strides[0], operand->strides[1]);
  }
  b.vector(Opcode::Mul, extents, all, {lines, own});
  if (shape.pitch == 1)
    return;
  b.multiplyAdd({s.sub(kept.channels, 1), shape.block, kept.features},
                shape.inner(CostModel(b.machine())),
                Operand::memory(sums, 0, {0, shape.own, 1}),
                Operand::memory(factors, first + Affine(1), {1, pitch, 0}),
                Operand::memory(kept.buffer, 1, {1, 0, kept.pitch}));
}

/// The words of the rows north of this one, in their column.
Operand WeightGradientWriter::fromNorth() {
  return link(StreamPattern::OutColumn,
              s.logicalNot(s.mod(shape.exits.rowsNorth(s), 2)));
}

/// North of the exit: the block, with the sums of the rows north added. Where
/// others come from the south these end in the block of the exit's row.
void WeightGradientWriter::sumSouth() {
  if (!shape.exits.linksRows())
    return;
  const bool inAll = shape.exits.where == ColumnExits::AnyRow;
  const Value north = shape.exits.rowsNorth(s), hears = s.less(0, north);
  const Value others = s.logicalNot(kept.active);
  const Operand to = link(StreamPattern::OutColumn, s.mod(north, 2));
  const Value before = s.logicalNot(isExit);
  b.where(inAll ? s.logicalAnd(before, isNorth) : before, [&] {
    pass(s.logicalAnd(kept.active, s.logicalNot(hears)), Opcode::Mov, to,
         {own()});
    if (shape.exits.last > 0)
      pass(s.logicalAnd(kept.active, hears), Opcode::Add, to,
           {own(), fromNorth()});
    if (inAll)
      pass(others, Opcode::Mov, to, {fromNorth()});
  });
  if (inAll)
    b.where(s.logicalAnd(isExit, hears), [&] {
      pass(kept.active, Opcode::Add, own(), {own(), fromNorth()});
      pass(others, Opcode::Mov, own(), {fromNorth()});
    });
}

/// South of the exit, as far as there are tokens: likewise, toward the north.
void WeightGradientWriter::sumNorth() {
  if (!shape.exits.hasRowsSouth())
    return;
  const Value isLast = s.equal(row, shape.exits.last);
  const Value inner = s.less(row, shape.exits.last);
  const Value parity = s.mod(row, 2);
  const Operand to = link(StreamPattern::KeyNorth, parity);
  b.where(s.logicalNot(isExit), [&] {
    b.where(s.logicalNot(isNorth), [&] {
      pass(isLast, Opcode::Mov, to, {own()});
      pass(s.logicalAnd(inner, kept.active), Opcode::Add, to,
           {own(), fromSouth()});
      pass(s.logicalAnd(inner, s.logicalNot(kept.active)), Opcode::Mov, to,
           {fromSouth()});
    });
  });
}

/// In the row of the exit: the column's sums, then those of the columns west.
void WeightGradientWriter::sendEast() {
  Affine onward = b.color(StreamPattern::OutBand);
  if (exit.west)
    onward = b.eitherColor(exit.west, b.color(StreamPattern::OutHalf), onward);
  if (b.width() > 1)
    onward =
        b.eitherColor(s.equal(s.px(), exit.last), onward,
                      b.parityColor(StreamPattern::RowEast, s.mod(s.px(), 2)));
  const Operand east = Operand::fabric(onward, 2);
  Operand to = east;
  if (shape.takesTurns()) {
    // Words of the block before go by while this one is made.
    b.awaitTurnBefore(LeavingThread);
    to = Operand::memory(leaving, 0, {shape.own, 1});
  }
  const ColumnExits &exits = shape.exits;
  if (exits.where == ColumnExits::SouthOfTokens) {
    const Value hears = s.less(0, exits.rowsNorth(s));
    pass(s.logicalAnd(kept.active, s.logicalNot(hears)), Opcode::Mov, to,
         {own()});
    if (exits.linksRows()) {
      pass(s.logicalAnd(kept.active, hears), Opcode::Add, to,
           {own(), fromNorth()});
      pass(s.logicalNot(kept.active), Opcode::Mov, to, {fromNorth()});
    }
  } else {
    const Value hears = s.less(row, exits.last);
    if (exits.hasRowsSouth())
      pass(hears, Opcode::Add, to, {own(), fromSouth()});
    pass(s.logicalNot(hears), Opcode::Mov, to, {own()});
  }
  if (!shape.takesTurns())
    return;
  b.start(LeavingThread, Opcode::Mov, {shape.block, kept.features}, east, {to});
  west.relay(LeavingThread, onward, shape.block);
}

LogicalResult WeightGradient::lowerOp(wse::WeightGradientOp op,
                                      RoutineBuilder &b) const {
  const GradientShape shape = GradientShape::of(op, b.machine());
  if (!shape.applies())
    return op.emitOpError("multicasts ")
           << shape.ofPart() << " features of " << shape.pitch
           << " tokens in blocks of " << shape.block
           << ", of which a PE has room for " << GradientShape::castWords
           << " words and " << GradientShape::mostBlocks << " blocks";
  WeightGradientWriter(op, b).write();
  return success();
}

/// Of the cheapest offer that has room.
double leastCycles(Operation *kernel, int64_t room, const Machine &machine) {
  double least = std::numeric_limits<double>::infinity();
  for (const Offer &offer : findKernel(kernel)->offers(kernel, machine))
    if (offer.scratchBytes <= room)
      least = std::min(least, offer.cost.total());
  return least;
}

/// Chosen where it takes at most so much of the way by the store. Its chains
/// are followed row by row, and where they saved a third, on 32x32 PEs, a step
/// took 5 % fewer cycles but the emulator twice the time. Of many tokens a row
/// multiplies longer than that. On wafers with many columns for a channel it is
/// as much as there is to save, where rows without tokens have the exits:
/// nobody waits for ever there, which is proved, as it is where exits have few
/// columns.
double mostOfStore(const GradientShape &shape) {
  const Machine &machine = shape.machine;
  const bool isWide =
      machine.width > columnsOfChannel * int64_t(machine.channelsInUse());
  if (isWide && shape.exits.where == ColumnExits::SouthOfTokens)
    return 1;
  return shape.pitch >= manyTokens && shape.columnsOfLane() <= fewColumns ? 0.9
                                                                          : 0.5;
}

/// What the product takes by way of the store: both operands leave, one comes
/// back as the input of a product whose weight is the other, and its result
/// leaves. These kernels are made to be asked, and are gone after it.
double cyclesByStore(Operation *op, const Outer &outer,
                     const Selection &selection) {
  auto product = cast<onnx::BatchMatMulOp>(op);
  MLIRContext *context = op->getContext();
  OpBuilder builder(context);
  builder.setInsertionPointAfterValue(outer.kept);
  const auto somewhere = FlatSymbolRefAttr::get(context, "somewhere");
  SmallVector<Operation *> kernels;
  auto made = [&](Operation *kernel) {
    kernels.push_back(kernel);
    return kernel->getResult(0);
  };
  const FlatSymbolRefAttr region = selection.region();
  const Location loc = op->getLoc();
  auto store = [&](Value tensor, ArrayRef<int64_t> shape) {
    kernels.push_back(
        createStore(builder, loc, region, tensor, somewhere.getAttr(),
                    RankedTensorType::get(shape, builder.getF32Type())));
  };
  auto stored = [&](ArrayRef<int64_t> shape) {
    return wse::WeightAttr::get(
        context, somewhere, RankedTensorType::get(shape, builder.getF32Type()),
        0, {});
  };
  const int64_t rows = shapeOf(product.getY())[0];
  const int64_t columns = shapeOf(product.getY())[1];
  const int64_t depth = shapeOf(product.getB())[0];
  store(outer.kept, {depth, wse::featuresOf(outer.kept)});
  store(outer.cast, {depth, wse::featuresOf(outer.cast)});
  const wse::TokenTiling tiling = selection.defaultTiling({1, rows, depth});
  const Value left =
      made(createLoad(builder, loc, region, selection.tensorType(tiling, depth),
                      stored({rows, depth})));
  const Value result = made(createKernel<wse::MatmulOp>(
      builder, loc, builder.getArrayAttr({}), region,
      Type(selection.tensorType(tiling, columns)), left,
      stored({depth, columns}), wse::WeightAttr(),
      wse::MatmulVariantAttr::get(context, wse::MatmulVariant::Reduce),
      UnitAttr(), wse::EntryAttr()));
  store(result, {rows, columns});
  double cycles = 0;
  const int64_t room = selection.roomForOutput(outer.kept);
  for (Operation *kernel : kernels)
    cycles += leastCycles(kernel, room, selection.machine());
  for (Operation *kernel : llvm::reverse(kernels))
    kernel->erase();
  return cycles;
}

} // namespace

bool isSummedAlongColumns(Operation *op, const Selection &selection) {
  const std::optional<Outer> outer = outerOf(op, selection);
  if (!outer || selection.hasLittleScratch())
    return false;
  const Machine &machine = selection.machine();
  for (const int variant : {0, int(GradientShape::SmallBlocks)}) {
    const auto shape =
        GradientShape::of(outer->kept, outer->cast, machine, variant);
    if (shape.applies() &&
        4 * shape.scratchWords() <= selection.roomForOutput(outer->kept))
      return shape.cost().total() <=
             mostOfStore(shape) * cyclesByStore(op, *outer, selection);
  }
  return false;
}

WSEC_DEFINE_KERNEL(WeightGradient)

} // namespace wsec
