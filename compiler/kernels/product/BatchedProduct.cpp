// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row keeps its matrices in a buffer, of each column's features all lines one
// after the other. Meanwhile, and then, its activations are gathered west and
// are multicast along it, a *chunk* of its tokens at a time:
//
//   matrices   feature 0: matrix 3, lines 0 1 2 .. | matrix 4, lines 0 1 2 ..
//   chunk      line 0: tokens 7 8 9 | line 1: tokens 7 8 9 | ..
//
// With one matrix a row multiplies a chunk with it at once, else token by
// token; a table says in which line the matrix of each token begins.

#include "compiler/kernels/product/BatchedProduct.h"
#include "compiler/kernels/PrecisionLevel.h"
#include "compiler/machine/Tiling.h"

using namespace mlir;

namespace wsec {
namespace {

/// Words of SRAM that a chunk may take, together with the matrices of a row, or
/// at least.
constexpr int64_t mostWords = 2048, chunkWords = 512;

/// Chunks of a launch: the proof that nobody waits for ever unrolls loops, to
/// 2^16 operations of a routine at most (runtime/program/proof/FabricUse.cpp).
constexpr int64_t mostChunks = 512;

struct BatchedShape {
  Layout in, out;
  int64_t k;        // lines of a matrix
  int64_t matrices; // in all
  int64_t tokens;   // of a matrix
  int64_t kept = 0; // most matrices of a row
  int64_t pitch;    // most tokens of a row
  int64_t own;      // most features of a column
  int64_t chunk;    // tokens
  bool exchanges;
  Type narrow; // of matrices whose lines come two to a word; null: f32
  bool apart;  // sums are made in f32, beside a result of 16 bits

  BatchedShape(const MatmulForm &op, const Machine &machine);

  int64_t chunks() const { return llvm::divideCeil(pitch, chunk); }
  /// Lines that a row keeps, at most; elements between neighbouring features.
  int64_t lines() const { return kept * k; }
  int64_t linesOfWord() const { return narrow ? 2 : 1; }
  /// Lines of words of all matrices.
  int64_t streamedLines() const { return matrices * k / linesOfWord(); }
  int64_t matrixWords() const { return lines() * own / linesOfWord(); }
  /// Of an activation that is multicast.
  int64_t chunkElements() const { return exchanges ? k * chunk : 0; }
  /// Along lines, own features and tokens: what vectors run along.
  CostModel model(const Machine &machine) const {
    return CostModel(machine, bool(narrow), narrow && !apart);
  }
  size_t inner(const CostModel &model) const {
    const double strides[] = {double(chunk), double(lines()), 1};
    return model.vectorAlong(sizes(), 0, strides);
  }
  std::array<double, 3> sizes() const {
    return {double(k), double(own), kept > 1 ? 1.0 : double(chunk)};
  }
};

/// Tokens of all rows north of `row`.
int64_t tokensBefore(const Layout &layout, int64_t row, int64_t height) {
  if (layout.group == 0)
    return tileStart(layout.batch, height, row) * layout.tokens;
  const int64_t element = row / layout.group;
  if (element >= layout.batch)
    return layout.tokenCount();
  return element * layout.tokens +
         tileStart(layout.tokens, layout.span,
                   std::min(row % layout.group, layout.span));
}

BatchedShape::BatchedShape(const MatmulForm &op, const Machine &machine)
    : in(Layout::of(op.getInput(), machine.height)),
      out(Layout::of(op.getResult(), machine.height)), k(in.features.total()),
      matrices(ShapedType::getNumElements(
          op.getWeight().getType().getShape().drop_back(2))),
      tokens(out.tokenCount() / matrices), pitch(out.pitch(machine.height)),
      own(out.features.largest(machine.width)), exchanges(machine.width > 1),
      apart(isNarrow(op.getResult()) &&
            (k > narrowTerms ||
             !hasPrecisionLevel(op, PrecisionLevel::NarrowAttention))) {
  if (isNarrow(op.getResult()) && k % 2 == 0)
    narrow = elementTypeOf(op.getResult());
  int64_t first = 0;
  for (int64_t row = 1; row <= machine.height; ++row) {
    const int64_t end = tokensBefore(out, row, machine.height);
    if (end > first)
      kept = std::max(kept, (end - 1) / tokens - first / tokens + 1);
    first = end;
  }
  const int64_t most = std::clamp<int64_t>(
      std::max(std::max(chunkWords, mostWords - matrixWords()) / k,
               int64_t(llvm::divideCeil(pitch, mostChunks))),
      1, pitch);
  chunk = exchanges ? llvm::divideCeil(pitch, llvm::divideCeil(pitch, most))
                    : pitch;
}

class BatchedWriter {
public:
  BatchedWriter(const MatmulForm &op, RoutineBuilder &b)
      : op(op), b(b), s(b.scalars()), shape(op, b.machine()),
        in(b.tile(op.getInput())), out(b.tile(op.getResult())),
        inner(shape.inner(shape.model(b.machine()))), sums(out.buffer) {
    matrices = shape.narrow ? b.scratch("matrices", shape.lines() * shape.own,
                                        shape.narrow)
                            : b.scratch("matrices", shape.lines() * shape.own);
    if (shape.exchanges)
      activations = b.scratch("activations", shape.chunkElements(),
                              elementTypeOf(op.getInput()));
    if (shape.apart)
      sums = b.scratch("sums", out.layout.words(b.width(), b.height()));
    if (shape.kept > 1)
      lines = b.scratch("lines", shape.pitch,
                        IntegerType::get(op.getResult().getContext(), 32));
    first = s.div(out.firstToken, shape.tokens);
    Value behind =
        s.div(s.add(s.add(out.firstToken, out.channels), shape.tokens - 1),
              shape.tokens);
    count = s.mul(out.active, s.sub(behind, first));
  }

  void write();

private:
  void keepMatrices();
  void writeLines();
  void multiplyChunk(Affine start, Affine tokens);
  void multiply(Affine start, Affine tokens, const Operand &factors);
  Operand ofResult(const std::string &buffer) {
    return Operand::memory(buffer, 0, {out.pitch, 1});
  }

  MatmulForm op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  const BatchedShape shape;
  const Tile in, out;
  const size_t inner;
  std::string sums; ///< the result, or f32 that become it
  std::string matrices, activations;
  std::string lines;  ///< by token, where its matrix begins
  Value first, count; ///< of the row's matrices
};

void BatchedWriter::write() {
  keepMatrices();
  b.where(out.active, [&] {
    b.vector(Opcode::Mov, {out.features, out.channels}, ofResult(sums),
             {Operand::immediate(0)});
    if (shape.kept > 1)
      writeLines();
    // Some rows may have fewer tokens.
    b.loop(s.div(out.channels, shape.chunk),
           [&](Affine i) { multiplyChunk(i * shape.chunk, shape.chunk); });
    Value rest = s.mod(out.channels, shape.chunk);
    b.where(s.less(0, rest), [&] {
      multiplyChunk(Affine(out.channels) + Affine(rest) * -1, rest);
    });
    if (sums != out.buffer)
      b.vector(Opcode::Mov, {out.features, out.channels}, ofResult(out.buffer),
               {ofResult(sums)});
  });
}

/// All matrices come by; a microthread keeps those of the row's tokens.
void BatchedWriter::keepMatrices() {
  const HostTensor tensor = b.source(op.getWeight());
  const ArrayRef<int64_t> extents = op.getWeight().getType().getShape();
  ColumnWords words;
  words.tensor = tensor.symbol;
  words.offset = tensor.offset;
  words.features = out.layout.features;
  words.featureStep = tensor.strides.back();
  SmallVector<HostDim> dims;
  for (StridedView::Atom atom : StridedView::strided(extents, 0, tensor.strides)
                                    .atoms(0, extents.size() - 1))
    dims.push_back({atom.size, atom.stride});
  if (shape.narrow) {
    words.halves = shape.narrow;
    words.halfStep = dims.back().step;
    dims.back() = {dims.back().size / 2, 2 * dims.back().step};
  }
  words.lines = dims.front();
  words.inner.assign(dims.begin() + 1, dims.end());
  b.streamToColumns(words);

  const int64_t matrix = shape.k / shape.linesOfWord();
  b.where(b.hears(StreamPattern::Column, out.active), [&] {
    b.start(FillThread, Opcode::Mov, {1, s.mul(count, matrix), out.features},
            Operand::memory(shape.narrow ? b.wordsOf(matrices) : matrices, 0,
                            {0, 1, shape.lines() / shape.linesOfWord()}),
            {b.columnWords(3).windowed(
                s.mul(s.mul(first, matrix), out.features),
                Affine(out.features) * shape.streamedLines())});
  });
}

/// `tokens` of the row's from `start` on.
void BatchedWriter::multiplyChunk(Affine start, Affine tokens) {
  if (!shape.exchanges)
    return multiply(start, tokens,
                    Operand::memory(in.buffer, start, {in.pitch, 0, 1}));
  Value east =
      s.sub(in.layout.features.total(), s.add(in.firstFeature, in.features));
  GroupBlock block;
  block.extents = {in.features, tokens};
  block.own = Operand::memory(in.buffer, start, {in.pitch, 1});
  block.wordsBehind = tokens.terms.empty()
                          ? Affine(east) * tokens.constant
                          : Affine(s.mul(east, tokens.terms.front().first));
  block.anyBehind = s.less(0, east);
  multicastBlocks(b, PEGroups::wholeRow(b.machine()), block, {shape.k, tokens},
                  Operand::memory(activations, 0, {shape.chunk, 1}),
                  Operand::fabric(b.color(StreamPattern::RowCast), 2));
  multiply(start, tokens, Operand::memory(activations, 0, {shape.chunk, 0, 1}));
}

/// sums += matrices * factors, over lines, own features and tokens.
void BatchedWriter::multiply(Affine start, Affine tokens,
                             const Operand &factors) {
  auto product = [&](Affine place, Affine line, Affine channels,
                     Operand factors) {
    b.multiplyAdd({shape.k, out.features, channels}, inner,
                  Operand::memory(sums, place, {0, out.pitch, 1}),
                  Operand::memory(matrices, line, {1, shape.lines(), 0}),
                  factors);
  };
  if (shape.kept == 1)
    return product(start, 0, tokens, factors);
  b.loop(tokens, [&](Affine token) {
    Operand its = factors;
    its.offset = its.offset + token;
    product(start + token, b.load(lines, start + token), 1, its);
  });
}

/// Line 0 for all tokens, and one matrix further from each on that is the first
/// of its matrix.
void BatchedWriter::writeLines() {
  b.vector(Opcode::Mov, {out.channels}, Operand::memory(lines, 0, {1}),
           {Operand::immediate(0)});
  Value next = s.sub(s.mul(s.add(first, 1), shape.tokens), out.firstToken);
  b.loop(s.max(s.sub(count, 1), 0), [&](Affine i) {
    const Affine begin = Affine(next) + i * shape.tokens;
    const Operand place = Operand::memory(lines, begin, {1});
    b.vector(Opcode::Add, {Affine(out.channels) + begin * -1}, place,
             {place, Operand::immediate(float(shape.k))});
  });
}

} // namespace

bool isBatched(const MatmulForm &op) {
  return op.getWeight().getType().getRank() > 2;
}

int64_t batchedWords(const MatmulForm &op, const Machine &machine) {
  const BatchedShape shape(op, machine);
  return shape.matrixWords() + (shape.kept > 1 ? shape.pitch : 0) +
         wordsOf(elementTypeOf(op.getInput()), shape.chunkElements()) +
         (shape.apart ? shape.out.words(machine.width, machine.height) : 0);
}

KernelCost batchedCost(const MatmulForm &op, const Machine &machine) {
  const BatchedShape shape(op, machine);
  const CostModel model = shape.model(machine);
  const double strides[] = {double(shape.chunk), double(shape.lines()), 1};
  const double products = double(shape.kept > 1 ? shape.pitch : shape.chunks());
  KernelCost cost;
  // Products wait for all matrices.
  cost.stream = model.channelCycles(shape.out, shape.out.features,
                                    double(shape.streamedLines()));
  cost.fabric = double(shape.streamedLines() * shape.own);
  cost.serial =
      model.copies(double(shape.own), double(shape.pitch)) +
      products * (machine.vectorSetup + machine.loopOverhead +
                  model.product(shape.sizes(), 0, shape.inner(model), strides));
  if (shape.exchanges)
    cost.serial += double(shape.chunks()) *
                   multicastRowCycles(machine, double(shape.chunkElements()));
  return cost;
}

SmallVector<HostFlow> batchedFlows(const MatmulForm &op,
                                   const Machine &machine) {
  const BatchedShape shape(op, machine);
  HostFlow flow =
      CostModel(machine).columnFlow(shape.out.features, shape.streamedLines());
  const KernelCost cost = batchedCost(op, machine);
  flow.lastUse = 1 - cost.serial / cost.total();
  return {flow};
}

LogicalResult lowerBatched(const MatmulForm &op, RoutineBuilder &b) {
  BatchedWriter(op, b).write();
  return success();
}

} // namespace wsec
