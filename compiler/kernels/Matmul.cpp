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
// and sums over its own k into partial results, a block of features at a time.
// A block travels west along the row, each PE adding its own; the first column
// multicasts the sums, of which every PE keeps the features it owns.

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
  /// Lines that the columns see, how one is tiled, and its largest part.
  int64_t lines() const { return reduce ? n : k; }
  const FeatureTiling &tiling() const { return (reduce ? in : out).features; }
  int64_t line(const Machine &machine) const {
    return tiling().largest(machine.width);
  }
  /// Whether every row with tokens has just one.
  bool oneLane() const { return pitch == 1 && out.group != 0; }
};

class Matmul final : public KernelFor<wse::MatmulOp> {
  KernelCost costOf(wse::MatmulOp op, const Machine &machine) const final;

  SmallVector<StreamNeed> streamsOf(wse::MatmulOp op,
                                    const Machine &machine) const final {
    Shape shape(op, machine);
    SmallVector<StreamNeed> needs = columnStreams(shape.out, machine);
    needs.append(rowStreams(machine));
    return needs;
  }

  int64_t scratchWords(wse::MatmulOp op, const Machine &machine) const final {
    if (machine.width == 1)
      return 0;
    Shape shape(op, machine);
    return shape.block(shape.lines()) * shape.pitch;
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
  double lines = shape.lines(), line = shape.line(machine);
  KernelCost cost;
  cost.compute = model.streamedFmacs(lines, line, lanes);
  cost.serial = model.launch(/*streams=*/true);
  if (width > 1) {
    double blocks = std::ceil(lines / shape.block(lines));
    double words = lines * lanes;
    cost.compute += blocks * (machine.loopOverhead + machine.vectorSetup) +
                    model.copies(blocks, words / blocks);
    cost.fabric = words;
    if (shape.reduce) {
      cost.compute += model.adds(blocks, words / blocks);
      cost.serial += model.chain(width, 0) + model.multicast(width, 0);
    } else {
      cost.fabric += model.chain(width, 0);
    }
  }
  cost.stream = model.laneWords(shape.tiling(), lines);
  cost.fabric = std::max(cost.fabric, lines * line);
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
        weight(b.source(op.getWeight())) {}

  void initialise();
  void broadcast();
  void reduce();

private:
  void streamWeights(int64_t lineStep, int64_t featureStep);
  void inBlocks(function_ref<void(int64_t)> body);
  void multiply(int64_t lines, Value line, Operand sums, Operand kept);
  void passOn(int64_t features);
  void keepOwn();

  wse::MatmulOp op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  Shape shape;
  Tile in, out;
  HostTensor weight;
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

void MatmulWriter::streamWeights(int64_t lineStep, int64_t featureStep) {
  ColumnWords words;
  words.tensor = weight.symbol;
  words.offset = weight.offset;
  words.features = shape.tiling();
  words.lines = {shape.lines(), lineStep};
  words.featureStep = featureStep;
  b.streamToColumns(words);
}

/// body(features) for all lines in blocks.
void MatmulWriter::inBlocks(function_ref<void(int64_t)> body) {
  int64_t lines = shape.lines(), block = shape.block(lines);
  b.loop(lines / block, [&](Affine) { body(block); });
  if (lines % block)
    body(lines % block);
}

/// sums += weight * kept for `lines` lines of weights, as
/// CostModel::streamedFmacs counts on.
void MatmulWriter::multiply(int64_t lines, Value line, Operand sums,
                            Operand kept) {
  if (shape.oneLane()) {
    sums.strides.pop_back();
    kept.strides.pop_back();
    b.vector(Opcode::Fmac, {lines, line}, sums, {b.columnWords(2), kept});
    return;
  }
  pe::Issue issue;
  issue.lineBuffer =
      CostModel(b.machine()).keepsLine(shape.line(b.machine()), shape.pitch);
  b.vector(Opcode::Fmac, {lines, line, out.lanes}, sums,
           {b.columnWords(2), kept}, issue);
}

void MatmulWriter::broadcast() {
  streamWeights(weight.strides[0], weight.strides[1]);
  b.where(out.active, [&] {
    Operand sums = Operand::memory(out.buffer, 0, {0, out.pitch, 1});
    if (b.width() == 1)
      return multiply(shape.k, out.features, sums,
                      Operand::memory(in.buffer, 0, {in.pitch, 0, 1}));
    multicastRow(b, in);
    scratch = b.scratch("activations", shape.block(shape.k) * shape.pitch);
    inBlocks([&](int64_t features) {
      b.vector(Opcode::Mov, {features, out.lanes},
               Operand::memory(scratch, 0, {out.pitch, 1}),
               {Operand::fabric(b.color(StreamPattern::RowCast), 2)});
      multiply(features, out.features, sums,
               Operand::memory(scratch, 0, {out.pitch, 0, 1}));
    });
  });
}

void MatmulWriter::reduce() {
  streamWeights(weight.strides[1], weight.strides[0]);
  b.where(out.active, [&] {
    Operand kept = Operand::memory(in.buffer, 0, {0, in.pitch, 1});
    if (b.width() == 1)
      return multiply(shape.n, in.features,
                      Operand::memory(out.buffer, 0, {out.pitch, 0, 1}), kept);
    keepOwn();
    scratch = b.scratch("partial", shape.block(shape.n) * shape.pitch);
    inBlocks([&](int64_t features) {
      b.vector(Opcode::Mov, {features, out.lanes},
               Operand::memory(scratch, 0, {out.pitch, 1}),
               {Operand::immediate(0)});
      multiply(features, in.features,
               Operand::memory(scratch, 0, {out.pitch, 0, 1}), kept);
      passOn(features);
    });
  });
}

/// Starts to add what the first column multicasts of the own features.
void MatmulWriter::keepOwn() {
  Operand row = Operand::fabric(b.color(StreamPattern::RowCast), 3);
  Operand result = Operand::memory(out.buffer, 0, {0, out.pitch, 1});
  b.start(RowThread, Opcode::Add, {1, out.features, out.lanes}, result,
          {result, row.windowed(s.mul(out.firstFeature, out.lanes),
                                Affine(out.lanes) * shape.n)});
}

/// Sends partial results west; all but the last column add what arrives.
void MatmulWriter::passOn(int64_t features) {
  Value parity = s.mod(s.px(), 2);
  Value isFirst = s.equal(s.px(), 0);
  Value isLast = s.equal(s.px(), b.width() - 1);
  Operand mine = Operand::memory(scratch, 0, {out.pitch, 1});
  Operand west =
      Operand::fabric(b.parityColor(StreamPattern::RowWest, parity), 2);
  Operand east = Operand::fabric(
      b.parityColor(StreamPattern::RowWest, s.logicalNot(parity)), 2);
  Operand cast = Operand::fabric(b.color(StreamPattern::RowCast), 2);
  auto send = [&](Value guard, Opcode opcode, const Operand &onward,
                  ArrayRef<Operand> sources) {
    b.where(guard,
            [&] { b.vector(opcode, {features, out.lanes}, onward, sources); });
  };
  send(isLast, Opcode::Mov, west, {mine});
  if (b.width() > 2)
    send(s.logicalNot(s.add(isFirst, isLast)), Opcode::Add, west, {mine, east});
  send(isFirst, Opcode::Add, cast, {mine, east});
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
