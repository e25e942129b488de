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
// Transposed, groups are of input features, and results stay: activations are
// multicast along the row, those of some groups at once, and column n gets the
// records of its own features:
//
//   y[n] += value * activations[index .. + channels]
//
// A microthread takes the records of the next group into one of two buffers
// while the main thread uses the other, unless there is room for one only.

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/product/Product.h"

using namespace mlir;

namespace wsec {
namespace {

using pe::SparseAttr;
/// Weights that the inner loop uses in one turn.
constexpr int64_t unrolled = 8;
/// Words that two buffers of records may take; larger ones are one.
constexpr int64_t mostBufferWords = 4096;
/// Words of activations of a row, all that a PE hears at once.
constexpr int64_t mostHeardWords = 4096;

struct Shape {
  Layout in, out;
  wse::SparsityAttr sparsity;
  bool transposed;
  /// Who have records, and whose features are in groups.
  FeatureTiling holders, grouped;
  int64_t k, n, pitch; ///< of these the features
  bool exchanges;
  int64_t own; ///< most features of a PE

  Shape(wse::SparseMatmulOp op, const Machine &machine)
      : in(Layout::of(op.getInput(), machine.height)),
        out(Layout::of(op.getResult(), machine.height)),
        sparsity(op.getSparsity()), transposed(op.getTransposed()),
        holders((transposed ? out : in).features),
        grouped((transposed ? in : out).features), k(holders.total()),
        n(grouped.total()), pitch(out.pitch(machine.height)),
        exchanges(machine.width > 1), own(holders.largest(machine.width)) {}

  int64_t wholeGroups() const { return sparsity.wholeGroups(n); }
  int64_t lastGroup() const { return sparsity.lastGroup(n); }
  /// Features of the largest group there is.
  int64_t group() const {
    return wholeGroups() ? sparsity.getGroup() : lastGroup();
  }
  int64_t words(int64_t kept) const { return SparseAttr::recordWords(kept); }
  /// Words of a feature that has records.
  int64_t rowWords() const {
    return wholeGroups() * words(sparsity.getKept()) +
           words(sparsity.getRest());
  }
  /// Words of a buffer: the records of the largest group.
  int64_t bufferWords() const {
    return own * std::max(wholeGroups() ? words(sparsity.getKept()) : 0,
                          words(sparsity.getRest()));
  }
  int64_t groups() const { return wholeGroups() + (lastGroup() ? 1 : 0); }
  /// Groups whose activations a PE hears at once; of partial sums all count.
  int64_t groupsAtOnce() const {
    if (!exchanges || !transposed)
      return groups();
    const int64_t times = (n * pitch + mostHeardWords - 1) / mostHeardWords;
    return std::max<int64_t>(1, groups() / times);
  }
  int64_t times() const {
    return (groups() + groupsAtOnce() - 1) / groupsAtOnce();
  }
  /// Words of what is sent to others in the row, or heard from them.
  int64_t exchangedWords() const {
    if (!exchanges)
      return 0;
    const int64_t heard = std::min(n, groupsAtOnce() * sparsity.getGroup());
    return (transposed ? heard : group()) * pitch;
  }
  int64_t buffers() const {
    const int64_t heard = transposed ? exchangedWords() : 0;
    return wholeGroups() > 1 && 2 * bufferWords() + heard <= mostBufferWords
               ? 2
               : 1;
  }
};

class SparseMatmul final : public KernelFor<wse::SparseMatmulOp> {
  Match match(Operation *op, const Selection &) const final {
    return matchProduct(op, /*sparse=*/true);
  }
  Value build(Operation *op, Selection &selection) const final {
    return buildProduct(
        op, *this, selection,
        [&](Value input, wse::WeightAttr weight, wse::WeightAttr bias,
            wse::TokenTiling tiling, wse::EntryAttr) -> Value {
          return selection.createFor<wse::SparseMatmulOp>(
              op,
              Type(
                  selection.tensorType(tiling, weight.getType().getDimSize(1))),
              input, weight, bias,
              op->getAttrOfType<wse::SparsityAttr>(wse::sparsityAttrName),
              op->getAttrOfType<UnitAttr>(wse::transposedAttrName));
        });
  }

  KernelCost costOf(wse::SparseMatmulOp op, const Machine &machine) const final;

  SmallVector<Relay> relays() const final {
    SmallVector<Relay> relays = columnRelays();
    relays.append(rowRelays());
    return relays;
  }
  SmallVector<StreamNeed> streamsOf(wse::SparseMatmulOp op,
                                    const Machine &machine) const final {
    SmallVector<StreamNeed> needs =
        columnStreams(Layout::of(op.getResult(), machine.height), machine);
    needs.append(rowStreams(machine));
    return needs;
  }

  SmallVector<HostFlow> flowsOf(wse::SparseMatmulOp op,
                                const Machine &machine) const final {
    Shape shape(op, machine);
    CostModel model(machine);
    HostFlow flow = model.columnFlow(shape.holders, shape.rowWords());
    if (op.getBias())
      flow.words += model.columnFlow(shape.out.features, 1).words;
    return {flow};
  }

  int64_t scratchWords(wse::SparseMatmulOp op,
                       const Machine &machine) const final {
    Shape shape(op, machine);
    return shape.buffers() * shape.bufferWords() + shape.exchangedWords();
  }

  LogicalResult lowerOp(wse::SparseMatmulOp op, RoutineBuilder &b) const final;
};

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Of a group of `features` of which each holder of records has `kept` weights.
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
  if (shape.exchanges && !shape.transposed)
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
  if (shape.exchanges && shape.transposed) {
    cost.serial = double(shape.times()) *
                  multicastRowCycles(machine, double(shape.exchangedWords()));
  } else if (shape.exchanges) {
    cost.fabric = std::max(cost.fabric, double(shape.n) * channels);
    cost.serial = model.chain(width, 0) + model.multicast(width, 0);
  }
  cost.stream = model.channelCycles(shape.in, shape.holders, rowWords);
  double kept = double(shape.k) * double(sparsity.keptOfRow(shape.n));
  cost.lowerBound = std::max(model.leastFmacs(kept / width * channels),
                             double(shape.k) * rowWords / machine.westCount());
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
  int64_t base;      ///< feature that is first in what is exchanged
};

class SparseMatmulWriter {
public:
  SparseMatmulWriter(wse::SparseMatmulOp op, RoutineBuilder &b)
      : op(op), b(b), s(b.scalars()), shape(op, b.machine()),
        in(b.tile(op.getInput())), out(b.tile(op.getResult())) {}

  void write();

private:
  const Tile &holders() const { return shape.transposed ? out : in; }
  void initialise();
  void hearActivations(int64_t from, int64_t to);
  SparseAttr records(const HostTensor &weight);
  void stream(StringRef tensor, const Groups &groups);
  void multiplyAll(StringRef tensor, const Groups &groups);
  void multiply(const Groups &groups);
  void fill(const Groups &groups, int64_t buffer);
  void addGroup(const Groups &groups, Affine number, int64_t buffer);
  void addProducts(const Groups &groups, Affine feature, Affine first,
                   StringRef buffer);

  wse::SparseMatmulOp op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  Shape shape;
  Tile in, out;
  /// Of partial results of a group, or of all activations of the row.
  std::string buffers[2], exchanged;
};

/// The result starts as the bias, or as 0.
void SparseMatmulWriter::initialise() {
  Operand start = Operand::immediate(0);
  if (op.getBias())
    start = b.bringVectors({*op.getBias()}, out.layout.features).front();
  b.where(out.active, [&] {
    b.vector(Opcode::Mov, {out.features, out.channels},
             Operand::memory(out.buffer, 0, {out.pitch, 1}), {start});
  });
}

/// Indices are offsets of partial results, or of activations.
SparseAttr SparseMatmulWriter::records(const HostTensor &weight) {
  wse::SparsityAttr sparsity = shape.sparsity;
  MLIRContext *context = op.getContext();
  SmallVector<int64_t, 4> strides = weight.strides;
  if (shape.transposed)
    std::swap(strides[0], strides[1]);
  return SparseAttr::get(
      context, FlatSymbolRefAttr::get(context, weight.symbol), weight.offset,
      strides, shape.k, shape.n, sparsity.getKept(), sparsity.getGroup(),
      sparsity.getRest(), static_cast<pe::SparsityMethod>(sparsity.getMethod()),
      sparsity.seedOf(op.getWeight().getName()), shape.pitch);
}

/// A line for each group: the records of the column's features.
void SparseMatmulWriter::stream(StringRef tensor, const Groups &groups) {
  const int64_t words = shape.words(groups.kept);
  ColumnWords column;
  column.tensor = tensor.str();
  column.offset = groups.firstWord;
  column.features = shape.holders;
  column.features.words = words;
  column.lines = {groups.count, shape.k * words};
  b.streamToColumns(column);
}

/// One buffer is filled while the other is used, if there are two.
void SparseMatmulWriter::multiply(const Groups &groups) {
  const int64_t count = groups.count, turn = shape.buffers();
  auto use = [&](Affine number, int64_t buffer, bool last) {
    if (turn == 1)
      fill(groups, 0);
    b.await(FillThread);
    if (turn == 2 && !last)
      fill(groups, 1 - buffer);
    addGroup(groups, number, buffer);
  };
  if (turn == 2)
    fill(groups, 0);
  const int64_t turns = (count - 1) / turn;
  b.loop(turns, [&](Affine number) {
    for (int64_t i = 0; i < turn; ++i)
      use(number * turn + Affine(i), i, false);
  });
  for (int64_t number = turns * turn; number < count; ++number)
    use(number, number % turn, number + 1 == count);
}

void SparseMatmulWriter::fill(const Groups &groups, int64_t buffer) {
  if (groups.kept > 0)
    b.start(FillThread, Opcode::Mov,
            {s.mul(holders().features, shape.words(groups.kept))},
            Operand::memory(buffers[buffer], 0, {1}), {b.columnWords(1)});
}

void SparseMatmulWriter::addGroup(const Groups &groups, Affine number,
                                  int64_t buffer) {
  const bool passesSums = shape.exchanges && !shape.transposed;
  if (passesSums)
    b.vector(Opcode::Mov, {groups.features, out.channels},
             Operand::memory(exchanged, 0, {out.pitch, 1}),
             {Operand::immediate(0)});
  const Affine first =
      number * groups.features + Affine(groups.firstFeature - groups.base);
  if (groups.kept > 0)
    b.loop(holders().features, [&](Affine feature) {
      addProducts(groups, feature, first, buffers[buffer]);
    });
  if (passesSums)
    passRowSums(b, out, Operand::memory(exchanged, 0, {out.pitch, 1}),
                groups.features);
}

/// Those of one feature with its record: to the result features from `first`
/// on, or of the input features from there.
void SparseMatmulWriter::addProducts(const Groups &groups, Affine feature,
                                     Affine first, StringRef buffer) {
  const int64_t words = shape.words(groups.kept);
  const int64_t firstValue = words - groups.kept;
  const std::string indices = b.halvesOf(buffer);
  const std::string &grouped = shape.exchanges    ? exchanged
                               : shape.transposed ? in.buffer
                                                  : out.buffer;
  // Sums of a group are in a buffer of its own.
  const bool isWhole = shape.transposed || !shape.exchanges;
  const int64_t pitch = holders().pitch;
  auto add = [&](Affine number) {
    Affine place = b.load(indices, feature * (2 * words) + number);
    if (isWhole)
      place = place + first * shape.pitch;
    Operand others = Operand::memory(grouped, place, {1});
    Operand own = Operand::memory(holders().buffer, feature * pitch, {1});
    if (shape.transposed)
      std::swap(others, own);
    b.vector(
        Opcode::Fmac, {out.channels}, others,
        {own, Operand::memory(
                  buffer, feature * words + number + Affine(firstValue), {0})});
  };
  const int64_t turns = groups.kept / unrolled;
  b.loop(turns, [&](Affine turn) {
    for (int64_t i = 0; i < unrolled; ++i)
      add(turn * unrolled + Affine(i));
  });
  for (int64_t i = turns * unrolled; i < groups.kept; ++i)
    add(i);
}

/// Features [from, to) of the row, which columns have in their order.
void SparseMatmulWriter::hearActivations(int64_t from, int64_t to) {
  auto place = [&](Value feature) { return s.min(s.max(feature, from), to); };
  const Value begin = place(in.firstFeature);
  const Value end = place(s.add(in.firstFeature, in.features));
  const Value own = s.sub(end, begin), behind = s.sub(to, end);
  GroupBlock block;
  block.extents = {own, in.channels};
  block.own = Operand::memory(
      in.buffer,
      Affine(s.min(s.sub(begin, in.firstFeature), in.features)) * in.pitch,
      {in.pitch, 1});
  block.anyOwn = s.less(0, own);
  block.wordsBehind = s.mul(behind, in.channels);
  block.anyBehind = s.less(0, behind);
  b.where(in.active, [&] {
    multicastBlocks(b, PEGroups::wholeRow(b.machine()), block,
                    {to - from, in.channels},
                    Operand::memory(exchanged, 0, {shape.pitch, 1}),
                    Operand::fabric(b.color(StreamPattern::RowCast), 2));
  });
}

void SparseMatmulWriter::write() {
  initialise();
  SparseAttr sparse = records(b.source(op.getWeight()));
  const std::string tensor = b.declareSparse(sparse);
  const int64_t whole = shape.wholeGroups(), size = sparse.getGroup();
  for (int64_t i = 0; i < shape.buffers(); ++i)
    buffers[i] = b.scratch("records", shape.bufferWords());
  if (shape.exchanges) {
    exchanged = b.scratch("partial", shape.exchangedWords());
    if (!shape.transposed)
      b.where(out.active, [&] { keepRowSums(b, out, shape.n); });
  }
  const int64_t wholeGroupWords = shape.k * shape.words(sparse.getKept());
  for (int64_t begin = 0; begin < shape.groups();
       begin += shape.groupsAtOnce()) {
    const int64_t end = std::min(begin + shape.groupsAtOnce(), shape.groups());
    const int64_t base = begin * size;
    if (shape.exchanges && shape.transposed)
      hearActivations(base, std::min(end * size, shape.n));
    multiplyAll(tensor, {std::min(end, whole) - begin, base, size,
                         sparse.getKept(), begin * wholeGroupWords, base});
    if (end > whole)
      multiplyAll(tensor, {1, whole * size, shape.lastGroup(), sparse.getRest(),
                           sparse.getWholeWords(), base});
  }
}

void SparseMatmulWriter::multiplyAll(StringRef tensor, const Groups &groups) {
  if (groups.count <= 0)
    return;
  if (groups.kept > 0)
    stream(tensor, groups);
  // Indices are loaded where there are tokens: a guard holds up vectors only.
  b.loop(out.active, [&](Affine) { multiply(groups); });
  if (Value inVain = b.hearsInVain(StreamPattern::Column))
    b.loop(inVain, [&](Affine) {
      b.loop(groups.count, [&](Affine) { fill(groups, 0); });
    });
}

LogicalResult SparseMatmul::lowerOp(wse::SparseMatmulOp op,
                                    RoutineBuilder &b) const {
  SparseMatmulWriter(op, b).write();
  return success();
}

} // namespace

WSEC_DEFINE_KERNEL(SparseMatmul)

} // namespace wsec
