// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Token times matrix, the matrix streaming past.
//
// broadcast (the result stays): the activations of a row funnel west and are
// multicast along it, a block of features at a time; column n sees its columns
// of the weights, k after k, and does one multiply-add per weight over its
// lanes.
//
// reduce (the activations stay): column k sees row k of the weights, n after n,
// and sums over its own k into a partial result. Partial results travel along
// the row, each PE adding its own, to the column that owns n.

#include "compiler/kernels/KernelLibrary.h"

#include "compiler/machine/Tiling.h"

using namespace mlir;

namespace wsec {
namespace {

using pe::Affine;
using pe::Opcode;
using pe::Operand;
using wse::StreamPattern;

/// Words of scratch memory that blocks of activations or partial results may
/// take: long enough that loop overhead does not show, short enough to fit.
constexpr int64_t blockWords = 512;

struct Shape {
  Layout in, out;
  int64_t k, n, pitch;
  bool reduce;

  Shape(wse::MatmulOp op, const Machine &machine)
      : in(Layout::of(op.getInput())), out(Layout::of(op.getResult())),
        k(in.features.total()), n(out.features.total()),
        pitch(out.pitch(machine.height)),
        reduce(op.getVariant() == wse::MatmulVariant::Reduce) {}

  /// Features per block that fit `blockWords`.
  int64_t block(int64_t features) const {
    return std::max<int64_t>(1, std::min(features, blockWords / pitch));
  }
  /// Whether vectors had better run along the streamed line than over lanes.
  bool lineBuffer(const Machine &machine) const {
    int64_t line = (reduce ? in : out).features.largest(machine.width);
    return pitch < line;
  }
};

class Matmul final : public KernelFor<wse::MatmulOp> {
  KernelCost costOf(wse::MatmulOp op, const Machine &machine) const final;

  SmallVector<StreamNeed> streamsOf(wse::MatmulOp op,
                                    const Machine &machine) const final {
    Shape shape(op, machine);
    SmallVector<StreamNeed> needs = columnStreams(shape.out, machine);
    if (machine.width == 1)
      return needs;
    needs.push_back({StreamPattern::RowWest, {}});
    needs.push_back(
        {shape.reduce ? StreamPattern::RowEast : StreamPattern::RowCast, {}});
    return needs;
  }

  int64_t scratchWords(wse::MatmulOp op, const Machine &machine) const final {
    if (machine.width == 1)
      return 0;
    Shape shape(op, machine);
    int64_t features =
        shape.reduce ? shape.out.features.largest(machine.width) : shape.k;
    return shape.block(features) * shape.pitch;
  }

  LogicalResult lowerOp(wse::MatmulOp op, RoutineBuilder &b) const final;
};

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

KernelCost Matmul::costOf(wse::MatmulOp op, const Machine &machine) const {
  Shape shape(op, machine);
  CostModel model(machine);
  double width = machine.width, lanes = shape.pitch;
  double lines = shape.reduce ? shape.n : shape.k;
  double tile =
      (shape.reduce ? shape.in : shape.out).features.largest(machine.width);
  auto multiply = [&](double tile) {
    return std::min(model.fmacs(lines * tile, lanes),
                    model.fmacs(lines * lanes, tile));
  };
  KernelCost cost;
  cost.compute = multiply(tile);
  if (width > 1) {
    double blocks = std::ceil(lines / shape.block(lines));
    cost.compute += blocks * (machine.loopOverhead + machine.vectorSetup);
    // Activations are copied from the row, partial results added on the way.
    cost.compute += shape.reduce ? model.adds(blocks, lines * lanes / blocks)
                                 : model.copies(lines, lanes);
    cost.fabric = lines * lanes + model.chain(width, 0);
  }
  cost.stream = model.laneWords(lines * tile);
  cost.fabric = std::max(cost.fabric, lines * tile);
  cost.serial = model.launch(/*streams=*/true);
  double weights = double(shape.k) * shape.n;
  cost.lowerBound = std::max(model.leastFmacs(weights / width * lanes),
                             weights / machine.lanesInUse());
  return cost;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

class MatmulWriter {
public:
  MatmulWriter(wse::MatmulOp op, RoutineBuilder &b)
      : op(op), b(b), s(b.scalars()), shape(op, b.machine()),
        in(b.tile(op.getInput())), out(b.tile(op.getResult())),
        weight(b.source(op.getWeight())) {
    lineBuffer.lineBuffer = shape.lineBuffer(b.machine());
  }

  void initialise();
  void broadcast();
  void reduce();

private:
  void multiplyBlock(Affine features);
  void partialOfTile(int64_t owners, Value count, int64_t tile, bool east);
  void inBlocks(int64_t tile, function_ref<void(Affine, Affine)> body);
  void partial(Affine features);
  void passOn(Affine words, bool east);
  void own();

  wse::MatmulOp op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  Shape shape;
  Tile in, out;
  HostTensor weight;
  pe::Issue lineBuffer;
  std::string scratch;
};

/// The result starts as the bias, or as 0.
void MatmulWriter::initialise() {
  Operand start = Operand::immediate(0);
  if (op.getBias()) {
    b.streamVector(*op.getBias(), out.layout.features);
    start = b.columnWords(1);
  }
  b.vector(Opcode::Mov, {out.features, out.lanes},
           Operand::memory(out.buffer, 0, {out.pitch, 1}), {start});
}

void MatmulWriter::broadcast() {
  ColumnWords words;
  words.tensor = weight.symbol;
  words.offset = weight.offset;
  words.features = out.layout.features;
  words.lines = {shape.k, weight.strides[0]};
  words.featureStep = weight.strides[1];
  b.streamToColumns(words);
  b.where(out.active, [&] {
    if (b.width() == 1) {
      b.vector(
          Opcode::Fmac, {shape.k, out.features, out.lanes},
          Operand::memory(out.buffer, 0, {0, out.pitch, 1}),
          {b.columnWords(2), Operand::memory(in.buffer, 0, {in.pitch, 0, 1})},
          lineBuffer);
      return;
    }
    multicastRow(b, in);
    int64_t block = shape.block(shape.k);
    scratch = b.scratch("activations", block * shape.pitch);
    b.loop(shape.k / block, [&](Affine) { multiplyBlock(block); });
    if (shape.k % block)
      multiplyBlock(shape.k % block);
  });
}

/// Takes the next features from the row and multiplies them into the result.
void MatmulWriter::multiplyBlock(Affine features) {
  b.vector(Opcode::Mov, {features, out.lanes},
           Operand::memory(scratch, 0, {out.pitch, 1}),
           {Operand::fabric(b.color(StreamPattern::RowCast), 2)});
  b.vector(Opcode::Fmac, {features, out.features, out.lanes},
           Operand::memory(out.buffer, 0, {0, out.pitch, 1}),
           {b.columnWords(2), Operand::memory(scratch, 0, {out.pitch, 0, 1})},
           lineBuffer);
}

void MatmulWriter::reduce() {
  ColumnWords words;
  words.tensor = weight.symbol;
  words.offset = weight.offset;
  words.features = in.layout.features;
  words.lines = {shape.n, weight.strides[1]};
  words.featureStep = weight.strides[0];
  b.streamToColumns(words);
  b.where(out.active, [&] {
    if (b.width() == 1) {
      b.vector(
          Opcode::Fmac, {shape.n, in.features, out.lanes},
          Operand::memory(out.buffer, 0, {out.pitch, 0, 1}),
          {b.columnWords(2), Operand::memory(in.buffer, 0, {0, in.pitch, 1})},
          lineBuffer);
      return;
    }
    int64_t largest = out.layout.features.largest(b.width());
    scratch = b.scratch("partial", shape.block(largest) * shape.pitch);
    // The first `large` columns own one unit more than the others.
    const FeatureTiling &tiling = out.layout.features;
    int64_t large = tiling.units % b.width();
    int64_t small = tiling.units / b.width() * tiling.unitSize;
    Value px = s.px();
    Value none = s.constant(0);
    Value west = large ? s.min(px, large) : none;
    partialOfTile(large, west, small + tiling.unitSize, /*east=*/false);
    partialOfTile(b.width() - large, s.sub(px, west), small, /*east=*/false);
    own();
    Value east = large ? s.max(s.sub(large, s.add(px, 1)), 0) : none;
    partialOfTile(large, east, small + tiling.unitSize, /*east=*/true);
    partialOfTile(b.width() - large, s.sub(s.sub(b.width() - 1, px), east),
                  small, /*east=*/true);
  });
}

/// body(first feature, features) for a tile of `tile` features in blocks.
void MatmulWriter::inBlocks(int64_t tile,
                            function_ref<void(Affine, Affine)> body) {
  int64_t block = shape.block(out.layout.features.largest(b.width()));
  b.loop(tile / block, [&](Affine number) { body(number * block, block); });
  if (tile % block)
    body(tile / block * block, tile % block);
}

/// Partial results for the next `count` columns that own `tile` features each;
/// `east` if they lie east of this one. `owners` such columns exist at all.
void MatmulWriter::partialOfTile(int64_t owners, Value count, int64_t tile,
                                 bool east) {
  if (owners == 0 || tile == 0)
    return;
  b.loop(count, [&](Affine) {
    inBlocks(tile, [&](Affine, Affine features) {
      partial(features);
      passOn(features, east);
    });
  });
}

/// scratch = products of the next `features` lines with the own activations.
void MatmulWriter::partial(Affine features) {
  b.vector(Opcode::Mov, {features, out.lanes},
           Operand::memory(scratch, 0, {out.pitch, 1}),
           {Operand::immediate(0)});
  b.vector(Opcode::Fmac, {features, in.features, out.lanes},
           Operand::memory(scratch, 0, {out.pitch, 0, 1}),
           {b.columnWords(2), Operand::memory(in.buffer, 0, {0, in.pitch, 1})},
           lineBuffer);
}

/// Sends the partial results one column on; all but the first of the chain add
/// what arrives to them.
void MatmulWriter::passOn(Affine features, bool east) {
  StreamPattern pattern =
      east ? StreamPattern::RowEast : StreamPattern::RowWest;
  Value parity = s.mod(s.px(), 2);
  Value startsChain = s.equal(s.px(), east ? 0 : b.width() - 1);
  Operand mine = Operand::memory(scratch, 0, {out.pitch, 1});
  Operand onward = Operand::fabric(b.parityColor(pattern, parity), 2);
  Operand incoming =
      Operand::fabric(b.parityColor(pattern, s.logicalNot(parity)), 2);
  b.where(startsChain, [&] {
    b.vector(Opcode::Mov, {features, out.lanes}, onward, {mine});
  });
  b.where(s.logicalNot(startsChain), [&] {
    b.vector(Opcode::Add, {features, out.lanes}, onward, {mine, incoming});
  });
}

/// The own features: the own products and what arrives from both sides.
void MatmulWriter::own() {
  Value parity = s.mod(s.px(), 2);
  auto take = [&](Affine first, Affine features) {
    Operand result =
        Operand::memory(out.buffer, first * out.pitch, {out.pitch, 0, 1});
    b.vector(
        Opcode::Fmac, {features, in.features, out.lanes}, result,
        {b.columnWords(2), Operand::memory(in.buffer, 0, {0, in.pitch, 1})},
        lineBuffer);
    result.strides = {out.pitch, 1};
    auto add = [&](StreamPattern pattern, Value guard) {
      b.where(guard, [&] {
        b.vector(
            Opcode::Add, {features, out.lanes}, result,
            {result,
             Operand::fabric(b.parityColor(pattern, s.logicalNot(parity)), 2)});
      });
    };
    add(StreamPattern::RowWest, s.less(s.px(), b.width() - 1));
    add(StreamPattern::RowEast, s.less(0, s.px()));
  };
  int64_t block = shape.block(out.layout.features.largest(b.width()));
  b.loop(s.div(out.features, block),
         [&](Affine number) { take(number * block, block); });
  Value rest = s.mod(out.features, block);
  b.where(rest, [&] {
    Value first = s.sub(out.features, rest);
    take(first, rest);
  });
}

LogicalResult Matmul::lowerOp(wse::MatmulOp op, RoutineBuilder &b) const {
  MatmulWriter writer(op, b);
  Tile out = b.tile(op.getResult());
  b.where(out.active, [&] { writer.initialise(); });
  if (op.getVariant() == wse::MatmulVariant::Reduce)
    writer.reduce();
  else
    writer.broadcast();
  return success();
}

} // namespace

const Kernel *matmulKernel() {
  static const Matmul kernel;
  return &kernel;
}

} // namespace wsec
