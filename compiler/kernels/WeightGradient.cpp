// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum over all tokens of the products of two tensors' features, off the
// wafer: the way of a weight, reversed. The tensor with fewer features is
// multicast along the rows, the other one stays. A PE multiplies a block of
// features of the first by its own of the other, over its own tokens. A column
// sums up these blocks from north to south, as far as the row of its exit,
// where they go east:
//
//   row 0   x0 x0 x0    dy0 | dy0 | dy0      block  x^T dy of its tokens
//       1   x1 x1 x1    dy1 | dy1 | dy1        |      v
//       2                                    sums ..  > * ==>
//
// A channel lists block after block, of each its columns from east to west.

#include "compiler/kernels/WeightGradient.h"
#include "compiler/kernels/ColumnExits.h"
#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/Product.h"

#include "compiler/machine/Tiling.h"

#include <limits>

using namespace mlir;

namespace wsec {
namespace {

/// Words of SRAM that a block takes, and what is multicast, at most.
constexpr int64_t blockWords = 512, castWords = 4096;
/// Blocks of a launch: the proof that nobody waits for ever unrolls them.
constexpr int64_t mostBlocks = 512;

/// What it runs on.
struct GradientShape {
  GradientShape(RankedTensorType kept, RankedTensorType cast,
                const Machine &machine);
  GradientShape(wse::WeightGradientOp op, const Machine &machine)
      : GradientShape(cast<RankedTensorType>(op.getKept().getType()),
                      cast<RankedTensorType>(op.getCast().getType()), machine) {
  }

  bool applies() const {
    return exits.used() && lines * pitch <= castWords &&
           block * own <= 2 * blockWords && blocks() <= mostBlocks;
  }
  int64_t blocks() const { return lines / block; }
  /// Vectors run along features that stay, or else along those of the block.
  bool alongKept() const { return own >= block; }
  int64_t scratchWords() const {
    return (exchanges ? lines * pitch : 0) + block * own;
  }
  int64_t mostWords() const {
    int64_t most = 0;
    for (const ChannelPosition &exit : exits.exits)
      most = std::max(most, exits.features(exit) * lines);
    return most;
  }
  /// Tokens but the first, features of a block, features that stay.
  std::array<double, 3> sizes() const {
    return {double(pitch - 1), double(block), double(own)};
  }
  size_t inner(const CostModel &model) const {
    const double strides[] = {1, double(pitch), double(pitch)};
    return model.vectorAlong(sizes(), 0, strides);
  }
  KernelCost cost() const;

  const Machine &machine;
  const Layout kept;
  const ColumnExits exits;
  const int64_t lines; ///< features that are multicast
  const int64_t own, pitch;
  const bool exchanges;
  int64_t block = 1; ///< of them, at once: a divisor
};

GradientShape::GradientShape(RankedTensorType keptType,
                             RankedTensorType castType, const Machine &machine)
    : machine(machine), kept(Layout::of(keptType, machine.height)),
      exits(kept, machine), lines(castType.getShape().back()),
      own(kept.features.largest(machine.width)),
      pitch(kept.pitch(machine.height)), exchanges(machine.width > 1) {
  for (int64_t size = 2; size <= lines && size * own <= blockWords; ++size)
    if (lines % size == 0)
      block = size;
}

KernelCost GradientShape::cost() const {
  CostModel model(machine);
  KernelCost cost;
  if (!applies()) {
    cost.compute = std::numeric_limits<double>::infinity();
    return cost;
  }
  const double words = double(block * own);
  const double strides[] = {1, double(pitch), double(pitch)};
  const double calls = double(std::min(own, block));
  const double each =
      machine.loopOverhead + model.adds(calls, words / calls) +
      (pitch > 1 ? machine.vectorSetup +
                       model.product(sizes(), 0, inner(model), strides)
                 : 0) +
      2 * machine.vectorSetup + words;
  double last = 0; // of an exit that has tokens, too
  for (const ChannelPosition &exit : exits.exits)
    if (exit.row == exits.last)
      last = double(exits.features(exit) * lines);
  cost.compute = double(blocks()) * each + last;
  cost.stream = double(mostWords());
  if (exchanges)
    cost.serial += multicastRowCycles(machine, double(lines * pitch));
  const double hops = double(exits.exits.back().row - exits.last);
  cost.serial += std::min(double(blocks()), 1.0) * each +
                 model.chain(exits.rowCount(), 0) + machine.hopCycles * hops;
  const double products = double(kept.features.total() * lines);
  const double tokens = double(kept.tokenCount());
  cost.lowerBound = std::max(products / machine.channelsInUse(),
                             products * tokens / machine.peCount() /
                                 std::max(machine.fmacRate, machine.addRate));
  return cost;
}

class WeightGradient final : public KernelFor<wse::WeightGradientOp> {
  Match match(Operation *op, const Selection &selection) const final {
    return Match::when(isSummedAlongColumns(op, selection));
  }
  Value build(Operation *op, Selection &selection) const final;

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
    SmallVector<Relay> relays = ColumnExits::relays();
    relays.append(rowRelays());
    return relays;
  }
  KernelCost costOf(wse::WeightGradientOp op,
                    const Machine &machine) const final {
    return GradientShape(op, machine).cost();
  }
  SmallVector<HostFlow> flowsOf(wse::WeightGradientOp op,
                                const Machine &machine) const final {
    return {{StreamPattern::OutBand, GradientShape(op, machine).mostWords()}};
  }
  SmallVector<StreamNeed> streamsOf(wse::WeightGradientOp op,
                                    const Machine &machine) const final {
    SmallVector<StreamNeed> needs = rowStreams(machine);
    needs.append(GradientShape(op, machine).exits.streams());
    return needs;
  }
  int64_t scratchWords(wse::WeightGradientOp op,
                       const Machine &machine) const final {
    return GradientShape(op, machine).scratchWords();
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
  if (wse::featuresOf(outer.kept) < wse::featuresOf(outer.cast)) {
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

class GradientWriter {
public:
  GradientWriter(wse::WeightGradientOp op, RoutineBuilder &b)
      : op(op), b(b), s(b.scalars()), shape(op, b.machine()),
        kept(b.tile(op.getKept())), cast(b.tile(op.getCast())),
        factors(cast.buffer), exit(shape.exits.ofColumn(s)),
        west(b, shape.exits, exit, kept) {
    if (shape.exchanges)
      factors = b.scratch("factors", shape.lines * shape.pitch);
    sums = b.scratch("sums", shape.block * shape.own);
  }

  void write();

private:
  pe::Segment segment(ScalarBuilder &host);
  void multiply(Affine block);
  void sendOwn(Affine onward);
  void sendRow(Affine onward);

  wse::WeightGradientOp op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  const GradientShape shape;
  const Tile kept, cast;
  std::string factors, sums;
  const ColumnExits::OfColumn exit;
  const WordsFromWest west;
};

void GradientWriter::write() {
  b.streamFromBands(shape.exits.exits,
                    [&](ScalarBuilder &host) { return segment(host); });
  if (shape.exchanges)
    b.where(cast.active, [&] {
      multicastRow(b, cast, {shape.lines, cast.channels},
                   Operand::memory(factors, 0, {shape.pitch, 1}),
                   Operand::fabric(b.color(StreamPattern::RowCast), 2));
    });
  const Value isExit = s.equal(s.pyOfMesh(), exit.row);
  const Value parity = s.mod(shape.exits.rowsNorth(s), 2);
  b.loop(shape.blocks(), [&](Affine block) {
    b.where(kept.active, [&] { multiply(block); });
    if (shape.exits.linksRows())
      b.where(s.logicalNot(isExit), [&] {
        b.where(kept.active, [&] {
          sendOwn(b.parityColor(StreamPattern::OutColumn, parity));
        });
      });
    b.where(isExit, [&] {
      Affine east = b.color(StreamPattern::OutBand);
      if (b.width() > 1)
        east = b.eitherColor(
            s.equal(s.px(), exit.last), east,
            b.parityColor(StreamPattern::RowEast, s.mod(s.px(), 2)));
      sendRow(east);
    });
  });
}

/// What a channel lists of each column and block, at the row of its exit.
pe::Segment GradientWriter::segment(ScalarBuilder &host) {
  const Tile tile = RoutineBuilder::describe(host, shape.kept);
  const int64_t perKept = op.getKeptFirst() ? shape.lines : 1;
  const int64_t perLine = op.getKeptFirst() ? 1 : shape.kept.features.total();
  const Value here = host.logicalAnd(
      host.inColumns(),
      host.equal(host.pyOfMesh(), shape.exits.ofColumn(host).row));
  pe::Segment segment;
  segment.tensor = op.getOutput().str();
  segment.lines = shape.blocks();
  segment.lineStep = shape.block * perLine;
  segment.extents = {shape.block, host.mul(here, tile.features)};
  segment.strides = {perLine, perKept};
  segment.offset = Affine(tile.firstFeature) * perKept;
  return segment;
}

/// sums = factors * kept of the first token, and += of the others.
void GradientWriter::multiply(Affine block) {
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

/// The block, with the sums of the rows north of this one added.
void GradientWriter::sendOwn(Affine onward) {
  const Value north = shape.exits.rowsNorth(s);
  const Operand own = Operand::memory(sums, 0, {shape.own, 1});
  const Operand to = Operand::fabric(onward, 2);
  auto send = [&](Value guard, Opcode opcode, ArrayRef<Operand> sources) {
    b.start(RowThread, opcode, {shape.block, kept.features}, to, sources,
            guard);
  };
  send(s.equal(north, 0), Opcode::Mov, {own});
  if (shape.exits.last == 0)
    return;
  send(s.less(0, north), Opcode::Add,
       {own, Operand::fabric(b.parityColor(StreamPattern::OutColumn,
                                           s.logicalNot(s.mod(north, 2))),
                             2)});
}

/// In the row of the exit: the column's sums, then those of the columns west.
void GradientWriter::sendRow(Affine onward) {
  b.where(kept.active, [&] { sendOwn(onward); });
  if (shape.exits.linksRows())
    b.start(RowThread, Opcode::Mov, {shape.block, kept.features},
            Operand::fabric(onward, 2),
            {Operand::fabric(
                b.parityColor(StreamPattern::OutColumn,
                              s.logicalNot(s.mod(shape.exits.rowsNorth(s), 2))),
                2)},
            s.logicalNot(kept.active));
  west.relay(onward, shape.block);
}

LogicalResult WeightGradient::lowerOp(wse::WeightGradientOp op,
                                      RoutineBuilder &b) const {
  const GradientShape shape(op, b.machine());
  if (!shape.exits.used())
    return op.emitOpError("has tokens in row ")
           << shape.exits.last << ", south of all "
           << b.machine().channelsInUse()
           << " channels of its region, where no column has an exit";
  if (!shape.applies())
    return op.emitOpError("multicasts ")
           << shape.lines << " features of " << shape.pitch
           << " tokens in blocks of " << shape.block
           << ", of which a PE has room for " << castWords << " words and "
           << mostBlocks << " blocks";
  GradientWriter(op, b).write();
  return success();
}

} // namespace

bool isSummedAlongColumns(Operation *op, const Selection &selection) {
  const std::optional<Outer> outer = outerOf(op, selection);
  if (!outer)
    return false;
  const Machine &machine = selection.machine();
  const GradientShape shape(cast<RankedTensorType>(outer->kept.getType()),
                            cast<RankedTensorType>(outer->cast.getType()),
                            machine);
  if (!shape.applies())
    return false;
  // By way of the store both and the result leave, and both come back.
  const double kept = double(wse::featuresOf(outer->kept));
  const double cast = double(wse::featuresOf(outer->cast));
  const double tokens = double(shape.kept.tokenCount());
  const double words = 2 * tokens * (kept + cast) + kept * cast;
  return shape.cost().total() <=
         words / machine.channelsInUse() +
             kept * cast * tokens / machine.peCount() / machine.fmacRate;
}

WSEC_DEFINE_KERNEL(WeightGradient)

} // namespace wsec
