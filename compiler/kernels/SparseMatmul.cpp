// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Token times matrix, with only those weights that are kept.
//
// Activations stay. For each group of result features column k gets a record
// for each of its own features: indices, then values. A PE adds
//
//   sums[index .. + channels] += value * x[k]
//
// for each, one vector over its channels, to partial results of the group.
// These travel west along the row, each PE adding its own, and return as a
// multicast, as in the reduce variant of Matmul.cpp. Every input feature keeps
// as many weights of a group: relays, loops and words are known without the
// weights.
//
// A microthread takes the records of the next group, or of a part of one, into
// one of two buffers while the main thread uses the other.

#include "compiler/kernels/KernelLibrary.h"

using namespace mlir;

namespace wsec {
namespace {

using pe::Affine;
using pe::Opcode;
using pe::Operand;
using pe::SparseAttr;
using wse::StreamPattern;

/// Weights that the inner loop uses in one turn.
constexpr int64_t unrolled = 4;
/// Words that one of the two buffers of records may take, if that is enough.
constexpr int64_t mostBufferWords = 1536;

/// How the records of a group share the buffers: in `parts`, an even number or
/// one. All parts but the last are of `features`, which every column has; the
/// last has what is left, at most `last`.
struct Parts {
  int64_t parts = 1;
  int64_t features = 0;
  int64_t last = 0;

  Parts(const FeatureTiling &tiling, int64_t width, int64_t recordWords)
      : last(tiling.largest(width)) {
    const int64_t most = last, least = most - tiling.unitSize;
    auto words = [&] { return std::max(features, last) * recordWords; };
    while (words() > mostBufferWords && parts < least) {
      parts += parts == 1 ? 1 : 2;
      features = least / (parts - 1);
      last = most - (parts - 1) * features;
    }
  }
  int64_t largest() const { return std::max(features, last); }
};

struct Shape {
  Layout in, out;
  wse::SparsityAttr sparsity;
  int64_t k, n, pitch;
  bool exchanges;
  int64_t own; ///< most features of a PE

  Shape(wse::SparseMatmulOp op, const Machine &machine)
      : in(Layout::of(op.getInput())), out(Layout::of(op.getResult())),
        sparsity(op.getSparsity()), k(in.features.total()),
        n(out.features.total()), pitch(out.pitch(machine.height)),
        exchanges(machine.width > 1), own(in.features.largest(machine.width)) {}

  int64_t wholeGroups() const { return sparsity.wholeGroups(n); }
  int64_t lastGroup() const { return sparsity.lastGroup(n); }
  /// Features of the largest group there is.
  int64_t group() const {
    return wholeGroups() ? sparsity.getGroup() : lastGroup();
  }
  int64_t words(int64_t kept) const { return SparseAttr::recordWords(kept); }
  /// Words of an input feature.
  int64_t rowWords() const {
    return wholeGroups() * words(sparsity.getKept()) +
           words(sparsity.getRest());
  }
  Parts parts(int64_t kept, int64_t width) const {
    return Parts(in.features, width, words(kept));
  }
  /// Words of one of the two buffers.
  int64_t bufferWords(int64_t width) const {
    int64_t most = 0;
    for (auto [groups, kept] : {std::pair(wholeGroups(), sparsity.getKept()),
                                std::pair(lastGroup(), sparsity.getRest())})
      if (groups > 0)
        most = std::max(most, parts(kept, width).largest() * words(kept));
    return most;
  }
};

class SparseMatmul final : public KernelFor<wse::SparseMatmulOp> {
  KernelCost costOf(wse::SparseMatmulOp op, const Machine &machine) const final;

  SmallVector<StreamNeed> streamsOf(wse::SparseMatmulOp op,
                                    const Machine &machine) const final {
    SmallVector<StreamNeed> needs =
        columnStreams(Layout::of(op.getResult()), machine);
    needs.append(rowStreams(machine));
    return needs;
  }

  int64_t scratchWords(wse::SparseMatmulOp op,
                       const Machine &machine) const final {
    Shape shape(op, machine);
    return 2 * shape.bufferWords(machine.width) +
           (shape.exchanges ? shape.group() * shape.pitch : 0);
  }

  LogicalResult lowerOp(wse::SparseMatmulOp op, RoutineBuilder &b) const final;
};

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Of a group of `features` of which each input feature has `kept` weights.
double groupCycles(const Shape &shape, const Machine &machine, double features,
                   double kept) {
  CostModel model(machine);
  double channels = shape.pitch;
  // Its index is loaded from an address with two variables; three operands
  // have addresses, the value's with two.
  double weight = machine.loadCycles + machine.axpySetup +
                  6 * machine.scalarCycles + channels / machine.fmacRate;
  double cycles = double(shape.own) * (machine.loopOverhead + kept * weight +
                                       kept / unrolled * machine.loopOverhead);
  // The words of the records arrive; an injector also relays them.
  cycles += 2 * double(shape.own) * shape.words(int64_t(kept));
  if (shape.exchanges)
    cycles += model.copies(1, features * channels) + machine.vectorSetup +
              features * channels;
  return cycles;
}

KernelCost SparseMatmul::costOf(wse::SparseMatmulOp op,
                                const Machine &machine) const {
  Shape shape(op, machine);
  CostModel model(machine);
  wse::SparsityAttr sparsity = shape.sparsity;
  double width = machine.width, channels = shape.pitch;
  KernelCost cost;
  cost.compute = double(shape.wholeGroups()) *
                 groupCycles(shape, machine, double(sparsity.getGroup()),
                             double(sparsity.getKept()));
  if (shape.lastGroup())
    cost.compute += groupCycles(shape, machine, double(shape.lastGroup()),
                                double(sparsity.getRest()));
  double rowWords = double(shape.rowWords());
  cost.fabric = rowWords * double(shape.own);
  if (shape.exchanges) {
    cost.fabric = std::max(cost.fabric, double(shape.n) * channels);
    cost.serial = model.chain(width, 0) + model.multicast(width, 0);
  }
  cost.stream = model.channelWords(shape.in.features, rowWords);
  double kept = double(shape.k) * double(sparsity.keptOfRow(shape.n));
  cost.lowerBound =
      std::max(model.leastFmacs(kept / width * channels),
               double(shape.k) * rowWords / machine.channelsInUse());
  return cost;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// Groups of features that follow one another, of equal size.
struct Groups {
  int64_t count;
  int64_t firstFeature;
  int64_t features; ///< of each
  int64_t kept;
  int64_t firstWord; ///< in the stored records
};

class SparseMatmulWriter {
public:
  SparseMatmulWriter(wse::SparseMatmulOp op, RoutineBuilder &b)
      : op(op), b(b), s(b.scalars()), shape(op, b.machine()),
        in(b.tile(op.getInput())), out(b.tile(op.getResult())) {}

  void write();

private:
  void initialise();
  SparseAttr records(const HostTensor &weight);
  void stream(StringRef tensor, const Groups &groups);
  void multiply(const Groups &groups);
  void multiplyInParts(const Groups &groups, const Parts &parts, Affine first);
  void fill(const Groups &groups, int64_t buffer, Value features);
  void clear(int64_t features);
  void useRecords(const Groups &groups, Affine own, Value features,
                  Affine first, int64_t buffer);
  void addProducts(const Groups &groups, Affine record, Affine activations,
                   Affine first, StringRef buffer);
  Affine firstOf(const Groups &groups, Affine number) const {
    return number * groups.features + Affine(groups.firstFeature);
  }
  void keepOwn();
  void passOn(int64_t features);

  wse::SparseMatmulOp op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  Shape shape;
  Tile in, out;
  std::string buffers[2], partial;
};

/// The result starts as the bias, or as 0.
void SparseMatmulWriter::initialise() {
  Operand start = Operand::immediate(0);
  if (op.getBias()) {
    b.streamVectors({*op.getBias()}, out.layout.features);
    start = b.columnWords(1);
  }
  b.where(out.active, [&] {
    b.vector(Opcode::Mov, {out.features, out.channels},
             Operand::memory(out.buffer, 0, {out.pitch, 1}), {start});
  });
}

/// Indices are offsets of partial results.
SparseAttr SparseMatmulWriter::records(const HostTensor &weight) {
  wse::SparsityAttr sparsity = shape.sparsity;
  MLIRContext *context = op.getContext();
  return SparseAttr::get(
      context, FlatSymbolRefAttr::get(context, weight.symbol), weight.offset,
      weight.strides, shape.k, shape.n, sparsity.getKept(), sparsity.getGroup(),
      sparsity.getRest(), static_cast<pe::SparsityMethod>(sparsity.getMethod()),
      sparsity.seedOf(op.getWeight().getName()), shape.pitch);
}

/// A line for each group: the records of the column's features.
void SparseMatmulWriter::stream(StringRef tensor, const Groups &groups) {
  const int64_t words = shape.words(groups.kept);
  ColumnWords column;
  column.tensor = tensor.str();
  column.offset = groups.firstWord;
  column.features = shape.in.features;
  column.features.unitSize *= words;
  column.lines = {groups.count, shape.k * words};
  b.streamToColumns(column);
}

/// One buffer is filled while the other is used.
void SparseMatmulWriter::multiply(const Groups &groups) {
  const Parts parts = shape.parts(groups.kept, b.width());
  if (parts.parts > 1)
    return b.loop(groups.count, [&](Affine number) {
      multiplyInParts(groups, parts, firstOf(groups, number));
    });
  auto use = [&](int64_t buffer, Affine number) {
    clear(groups.features);
    useRecords(groups, 0, in.features, firstOf(groups, number), buffer);
    passOn(groups.features);
  };
  fill(groups, 0, in.features);
  const int64_t pairs = (groups.count - 1) / 2;
  b.loop(pairs, [&](Affine pair) {
    for (int64_t half : {0, 1}) {
      b.await(FillThread);
      fill(groups, 1 - half, in.features);
      use(half, pair * 2 + Affine(half));
    }
  });
  for (int64_t number = 2 * pairs; number < groups.count; ++number) {
    b.await(FillThread);
    if (number + 1 < groups.count)
      fill(groups, (number + 1) % 2, in.features);
    use(number % 2, number);
  }
}

/// A group whose records do not fit a buffer.
void SparseMatmulWriter::multiplyInParts(const Groups &groups,
                                         const Parts &parts, Affine first) {
  const Value size = s.constant(parts.features);
  const Value rest = s.sub(in.features, (parts.parts - 1) * parts.features);
  auto use = [&](int64_t buffer, Affine part, Value features) {
    useRecords(groups, part * parts.features, features, first, buffer);
  };
  clear(groups.features);
  fill(groups, 0, size);
  b.loop(parts.parts / 2 - 1, [&](Affine pair) {
    for (int64_t half : {0, 1}) {
      b.await(FillThread);
      fill(groups, 1 - half, size);
      use(half, pair * 2 + Affine(half), size);
    }
  });
  b.await(FillThread);
  fill(groups, 1, rest);
  use(0, parts.parts - 2, size);
  b.await(FillThread);
  use(1, parts.parts - 1, rest);
  passOn(groups.features);
}

void SparseMatmulWriter::fill(const Groups &groups, int64_t buffer,
                              Value features) {
  if (groups.kept > 0)
    b.start(FillThread, Opcode::Mov,
            {s.mul(features, shape.words(groups.kept))},
            Operand::memory(buffers[buffer], 0, {1}), {b.columnWords(1)});
}

void SparseMatmulWriter::clear(int64_t features) {
  if (shape.exchanges)
    b.vector(Opcode::Mov, {features, out.channels},
             Operand::memory(partial, 0, {out.pitch, 1}),
             {Operand::immediate(0)});
}

/// The products of `features` of this PE's, from `own` on, with the records in
/// a buffer: of the group of result features from `first` on.
void SparseMatmulWriter::useRecords(const Groups &groups, Affine own,
                                    Value features, Affine first,
                                    int64_t buffer) {
  if (groups.kept > 0)
    b.loop(features, [&](Affine record) {
      addProducts(groups, record, (record + own) * in.pitch, first,
                  buffers[buffer]);
    });
}

/// Those of one record with the feature at `activations`.
void SparseMatmulWriter::addProducts(const Groups &groups, Affine record,
                                     Affine activations, Affine first,
                                     StringRef buffer) {
  const int64_t words = shape.words(groups.kept);
  const int64_t firstValue = words - groups.kept;
  const std::string indices = b.halvesOf(buffer);
  const std::string &sums = shape.exchanges ? partial : out.buffer;
  auto add = [&](Affine number) {
    Affine place = b.load(indices, record * (2 * words) + number);
    if (!shape.exchanges)
      place = place + first * out.pitch;
    b.vector(Opcode::Fmac, {out.channels}, Operand::memory(sums, place, {1}),
             {Operand::memory(in.buffer, activations, {1}),
              Operand::memory(
                  buffer, record * words + number + Affine(firstValue), {0})});
  };
  const int64_t turns = groups.kept / unrolled;
  b.loop(turns, [&](Affine turn) {
    for (int64_t i = 0; i < unrolled; ++i)
      add(turn * unrolled + Affine(i));
  });
  for (int64_t i = turns * unrolled; i < groups.kept; ++i)
    add(i);
}

/// Starts to add what the first column multicasts of the own features.
void SparseMatmulWriter::keepOwn() {
  Operand row = Operand::fabric(b.color(StreamPattern::RowCast), 3);
  Operand result = Operand::memory(out.buffer, 0, {0, out.pitch, 1});
  b.start(RowThread, Opcode::Add, {1, out.features, out.channels}, result,
          {result, row.windowed(s.mul(out.firstFeature, out.channels),
                                Affine(out.channels) * shape.n)});
}

/// Sends partial results west; all but the last column add what arrives.
void SparseMatmulWriter::passOn(int64_t features) {
  if (!shape.exchanges)
    return;
  Value parity = s.mod(s.px(), 2);
  Value isFirst = s.equal(s.px(), 0);
  Value isLast = s.equal(s.px(), b.width() - 1);
  Operand mine = Operand::memory(partial, 0, {out.pitch, 1});
  Operand west =
      Operand::fabric(b.parityColor(StreamPattern::RowWest, parity), 2);
  Operand east = Operand::fabric(
      b.parityColor(StreamPattern::RowWest, s.logicalNot(parity)), 2);
  Operand cast = Operand::fabric(b.color(StreamPattern::RowCast), 2);
  auto send = [&](Value guard, Opcode opcode, const Operand &onward,
                  ArrayRef<Operand> sources) {
    b.where(guard, [&] {
      b.vector(opcode, {features, out.channels}, onward, sources);
    });
  };
  send(isLast, Opcode::Mov, west, {mine});
  if (b.width() > 2)
    send(s.logicalNot(s.add(isFirst, isLast)), Opcode::Add, west, {mine, east});
  send(isFirst, Opcode::Add, cast, {mine, east});
}

void SparseMatmulWriter::write() {
  initialise();
  SparseAttr sparse = records(b.source(op.getWeight()));
  const std::string tensor = b.declareSparse(sparse);
  const int64_t whole = shape.wholeGroups(), size = sparse.getGroup();
  for (std::string &buffer : buffers)
    buffer = b.scratch("records", shape.bufferWords(b.width()));
  if (shape.exchanges) {
    partial = b.scratch("partial", shape.group() * shape.pitch);
    b.where(out.active, [&] { keepOwn(); });
  }
  for (Groups groups : {Groups{whole, 0, size, sparse.getKept(), 0},
                        Groups{1, whole * size, shape.lastGroup(),
                               sparse.getRest(), sparse.getWholeWords()}}) {
    if (groups.count == 0 || groups.features == 0)
      continue;
    if (groups.kept > 0)
      stream(tensor, groups);
    // Indices are loaded where there are tokens: a guard holds up vectors only.
    b.loop(out.active, [&](Affine) { multiply(groups); });
  }
}

LogicalResult SparseMatmul::lowerOp(wse::SparseMatmulOp op,
                                    RoutineBuilder &b) const {
  SparseMatmulWriter(op, b).write();
  return success();
}

} // namespace

const Kernel *sparseMatmulKernel() {
  static const SparseMatmul kernel;
  return &kernel;
}

} // namespace wsec
