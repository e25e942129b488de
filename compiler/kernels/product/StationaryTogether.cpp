// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several products of a token with weights that stay, with the norm of what
// they have in common, and those whose input or results lie along the rows:
//
//   a token in a row       down to all rows; sums west, and back along the rows
//   results along rows     each row keeps its own there
//   results in a row       each column keeps its own, and sends them north
//   a token along the rows each PE has what it multiplies; sums go north alone

#include "compiler/kernels/product/StationaryWriter.h"

#include <tuple>

using namespace mlir;

namespace wsec {

/// Of the sum of squares one over the root of their mean. In 16 bits that is
/// exp(-log / 2), in a third of the time.
static void divideByRoot(RoutineBuilder &b, wse::ProductsOp norm,
                         const Operand &squares, int64_t features) {
  auto apply = [&](Opcode opcode, std::optional<float> other = {}) {
    SmallVector<Operand, 0> operands = {squares};
    if (other)
      operands.push_back(Operand::immediate(*other));
    b.vector(opcode, {1}, squares, operands);
  };
  apply(Opcode::Mul, float(1.0 / double(features)));
  apply(Opcode::Add, float(norm.getEpsilon()->convertToDouble()));
  if (!isNarrow(norm.getInput()))
    return apply(Opcode::Rsqrt);
  apply(Opcode::Log);
  apply(Opcode::Mul, -0.5f);
  apply(Opcode::Exp);
}

static double rootCycles(const Machine &machine, bool narrow) {
  const CostModel model(machine);
  return 2 * model.adds(1, 1) + (narrow
                                     ? model.adds(1, 1) + 2 * model.functions(1)
                                     : model.divides(1));
}

TogetherShape::TogetherShape(ArrayRef<MatmulForm> products,
                             const Machine &machine)
    : toRows(wse::liesAlongRows(products.front().getResult())) {
  for (const MatmulForm &product : products)
    shapes.emplace_back(product, machine, /*resident=*/true);
  Operation *op = products.front();
  if (auto all = dyn_cast<wse::ProductsOp>(op))
    squares = all.getScale() ? 1 : 0;
}

bool TogetherShape::canBe(const Machine &machine) const {
  return words() <= StationaryShape::mostResidentWords &&
         llvm::all_of(shapes, [&](const StationaryShape &shape) {
           return shape.rounds == 1 && shape.tokens == 1 && shape.resident &&
                  !shape.shared && shape.n >= machine.height;
         });
}

int64_t TogetherShape::sums() const {
  int64_t sums = squares;
  for (const StationaryShape &shape : shapes)
    sums += shape.rowFeatures;
  return sums;
}

int64_t TogetherShape::exchangeWords() const {
  int64_t results = 0;
  for (const StationaryShape &shape : shapes)
    results += shape.ownResults;
  return std::max(shapes.front().exchangeWords() + squares,
                  toRows ? 0 : results);
}

int64_t TogetherShape::sentWords() const {
  int64_t results = 0;
  for (const StationaryShape &shape : shapes)
    results += shape.kept();
  return std::max({shapes.front().sentWords(), toRows ? 0 : results,
                   squares * (1 + shapes.front().exchangeWords())});
}

KernelCost TogetherShape::cost(const Machine &machine) const {
  const StationaryShape &one = shapes.front();
  const bool narrow = one.isNarrow();
  const CostModel model(machine);
  KernelCost cost;
  cost.compute = 2 * double(one.wordsOf(one.ownInputs) + squares);
  for (const StationaryShape &shape : shapes)
    cost.compute += oneTokenCycles(shape, machine) +
                    oneTokenMoves(shape, machine, toRows) +
                    2 * machine.vectorSetup;
  // Sums are multiplied as they would be rounded.
  if (squares) {
    const double inputs = double(one.ownInputs);
    cost.compute += CostModel(machine, narrow).fmacs(1, inputs) +
                    2 * model.copies(1, 1) + rootCycles(machine, narrow);
    if (!narrow)
      cost.compute += model.adds(1, inputs) + model.adds(1, double(sums()));
  }
  cost.serial = sumCycles(shapes, machine, toRows, double(squares));
  return cost;
}

/// The activations of a column, times the scale, and the sum of their squares.
void StationaryWriter::fetchSquares(wse::WeightAttr factors,
                                    const Round &round) {
  const Operand scale = b.bringVectors({factors}, in.layout.features).front();
  const Value words = wordsOf(in.features), all = s.add(words, 1);
  const Operand own = Operand::memory(in.buffer, 0, {in.pitch});
  const Operand squares = Operand::memory(asWords(sent), words, {0});
  Operand scaled = scale;
  scaled.strides = {1};
  b.where(in.active, [&] {
    b.vector(Opcode::Mov, {1}, squares, {Operand::immediate(0)});
    b.vector(Opcode::Fmac, {in.features}, squares, {own, own});
    if (shape.isNarrow())
      b.where(s.mod(in.features, 2), [&] {
        b.vector(Opcode::Mov, {1}, Operand::memory(sent, in.features, {1}),
                 {Operand::immediate(0)});
      });
    b.vector(Opcode::Mul, {in.features}, Operand::memory(sent, 0, {1}),
             {own, scaled});
  });
  b.start(GatherThread, Opcode::Mov, {1, all},
          Operand::memory(asWords(exchange), 0, {1, 1}),
          {Operand::fabric(b.color(StreamPattern::KeyCast), 2)});
  Value south = s.sub(1, s.add(round.before, round.channels));
  gatherColumn(b, /*pitch=*/0, {round.channels, all},
               Operand::memory(asWords(sent), 0, {1, 1}),
               [&](Value) { return s.mul(south, all); });
  b.await(GatherThread);
}

/// Of each product the sums of the row, in all its columns.
void StationaryWriter::keepRows(std::vector<StationaryWriter> &all,
                                ArrayRef<Value> firstSums) {
  StationaryWriter &one = all.front();
  RoutineBuilder &b = one.b;
  const Affine cast = b.color(StreamPattern::RowCast);
  for (auto [its, first] : llvm::zip_equal(all, firstSums)) {
    const Value words = its.wordsOf(its.rowFeatures);
    const Operand sums = Operand::memory(its.sums, first, {1});
    b.where(one.s.equal(one.s.px(), 0), [&] {
      b.start(RowThread, Opcode::Mov, {words}, Operand::fabric(cast), {sums});
    });
    b.vector(Opcode::Mov, {words},
             Operand::memory(its.asWords(its.out.buffer), 0, {1}),
             {Operand::fabric(cast)});
  }
}

/// Of each product the results of the column, in the row of the token.
void StationaryWriter::keepResults(std::vector<StationaryWriter> &all,
                                   const Round &round, Value features) {
  StationaryWriter &one = all.front();
  RoutineBuilder &b = one.b;
  ScalarBuilder &s = one.s;
  const int64_t perWord = one.shape.perWord();
  Value results = s.constant(0);
  SmallVector<Value> firstResults;
  for (StationaryWriter &its : all) {
    firstResults.push_back(results);
    results = s.add(results, its.out.features);
  }
  b.start(FillThread, Opcode::Mov, {results, round.channels},
          Operand::memory(one.asWords(one.exchange), 0, {1, 1}),
          {Operand::fabric(b.color(StreamPattern::KeyCast), 2).windowed(0, 1)});
  SmallVector<Operand, 0> owns;
  int64_t before = 0;
  for (StationaryWriter &its : all) {
    owns.push_back(Operand::memory(its.asWords(its.sent), before, {1}));
    before += its.shape.kept();
    its.keepWindow(1, owns.back());
    if (owns.size() == 1)
      b.where(s.equal(s.px(), 0), [&] { its.castSums(features); });
  }
  for (auto [its, own] : llvm::zip_equal(all, owns))
    its.gatherResults(1, own);
  b.await(FillThread);
  for (auto [its, first] : llvm::zip_equal(all, firstResults))
    b.vector(
        Opcode::Mov, {its.out.features, round.channels},
        Operand::memory(its.out.buffer, 0, {its.out.pitch, 1}),
        {Operand::memory(one.exchange, Affine(first) * perWord, {perWord, 1})});
}

/// Sums lie one behind the other, so do the results that a PE sends, and those
/// that arrive: of each a column has a word for each feature. The last sum is
/// that of squares.
void StationaryWriter::writeTogether(std::vector<StationaryWriter> &all,
                                     const TogetherShape &shape) {
  StationaryWriter &one = all.front();
  RoutineBuilder &b = one.b;
  ScalarBuilder &s = one.s;
  const Round round = one.unlikeRound(0);
  auto norm = cast<wse::ProductsOp>(b.operation());
  const int64_t perWord = one.shape.perWord();
  const std::string exchange =
      b.scratch("exchange", perWord * shape.exchangeWords(), one.shape.element);
  const std::string sums = b.scratch("sums", shape.sums());
  const std::string sent =
      b.scratch("sent", perWord * shape.sentWords(), one.shape.element);
  Value features = s.constant(0);
  SmallVector<Value> firstSums;
  for (StationaryWriter &its : all) {
    std::tie(its.exchange, its.sums, its.sent) = std::tie(exchange, sums, sent);
    its.placeWeights();
    firstSums.push_back(features);
    features = s.add(features, its.rowFeatures);
  }
  const Operand squares = Operand::memory(sums, features, {0});
  if (norm.getScale())
    one.fetchSquares(*norm.getScale(), round);
  else
    one.fetch(round);
  one.clear(features);
  for (auto [its, firstSum] : llvm::zip_equal(all, firstSums)) {
    Block block = its.blocks.front();
    block.first = firstSum;
    its.multiplyOne(block);
  }
  if (!norm.getScale() && !shape.toRows) {
    one.sumRow(features, shape.sums(), 1);
    return keepResults(all, round, features);
  }
  Affine words = features;
  if (norm.getScale()) {
    words = words + Affine(1);
    b.vector(Opcode::Mov, {1}, squares,
             {Operand::memory(one.asWords(exchange),
                              one.wordsOf(one.in.features), {1})});
  }
  one.addRow(words, shape.sums(), nullptr);
  b.where(s.equal(s.px(), 0), [&] {
    if (norm.getScale())
      divideByRoot(b, norm, squares, one.shape.k);
    const std::string halves =
        perWord == 2 ? b.halvesOf(sums, one.shape.element) : sums;
    auto finish = [&](Value count, Value first, int64_t step) {
      SmallVector<Operand, 0> operands = {Operand::memory(sums, first, {1})};
      if (norm.getScale())
        operands.push_back(squares);
      if (norm.getScale() || perWord == 2)
        b.vector(norm.getScale() ? Opcode::Mul : Opcode::Mov, {count},
                 Operand::memory(halves, Affine(first) * perWord, {step}),
                 operands);
    };
    if (shape.toRows) {
      for (auto [its, first] : llvm::zip_equal(all, firstSums))
        finish(its.rowFeatures, first, 1);
      return;
    }
    finish(features, s.constant(0), perWord);
    if (perWord == 2)
      b.vector(Opcode::Mov, {features}, Operand::memory(halves, 1, {2}),
               {Operand::immediate(0)});
  });
  if (shape.toRows)
    return keepRows(all, firstSums);
  keepResults(all, round, features);
}

void lowerTogether(ArrayRef<MatmulForm> products, RoutineBuilder &b) {
  std::vector<StationaryWriter> all;
  for (const MatmulForm &product : products)
    all.emplace_back(product, b);
  StationaryWriter::writeTogether(all, TogetherShape(products, b.machine()));
}

//===----------------------------------------------------------------------===//
// Of an input along the rows
//===----------------------------------------------------------------------===//

RowsProducts::RowsProducts(ArrayRef<MatmulForm> products,
                           const Machine &machine)
    : in(Layout::of(products.front().inputType(), machine.height)),
      inputs(in.pitch(machine.height)),
      narrow(wsec::isNarrow(products.front().inputType())),
      op(cast<wse::ProductsOp>(static_cast<Operation *>(products.front()))) {
  for (const MatmulForm &product : products)
    results.push_back({product, Layout::of(product.getResult(), machine.height)
                                    .features.largest(machine.width)});
}

int64_t RowsProducts::sums() const {
  int64_t sums = 0;
  for (const Result &result : results)
    sums += result.most;
  return sums;
}

int64_t RowsProducts::scratchWords() const {
  return sums() + (op.getScale()
                       ? 1 + wordsOf(elementTypeOf(op.getInput()), inputs)
                       : 0);
}

bool RowsProducts::canBe(const Machine &machine) const {
  return machine.width > 1 && machine.height > 1 &&
         in.tokens >= machine.height &&
         scratchWords() <= StationaryShape::mostResidentWords;
}

/// Features of the input as batch elements of a token each: no two share a
/// word.
std::optional<HeldWeight> RowsProducts::held(wse::WeightAttr weight) const {
  if (op.getScale() == weight)
    return HeldWeight{op.getInput().getType(), {1}};
  for (const Result &result : results) {
    if (result.form.getWeight() != weight)
      continue;
    const auto tiling = wse::TokenTiling::of(result.form.resultType());
    const int64_t n = wse::featuresOf(result.form.getResult());
    return HeldWeight{
        wse::TokenTiling(in.tokens, 1)
            .withColumns(tiling.getColumns(), tiling.getHeadSize())
            .withHeadColumns(tiling.getHeadColumns())
            .type(n, elementTypeOf(op.getInput())),
        {n, 1}};
  }
  return std::nullopt;
}

size_t RowsProducts::inner(const Result &result, const Machine &machine) const {
  return product(result, machine, 0) < product(result, machine, 1) ? 0 : 1;
}

double RowsProducts::product(const Result &result, const Machine &machine,
                             size_t inner) const {
  const double sizes[] = {double(result.most), double(inputs)};
  const double strides[] = {1, double(result.most)};
  return CostModel(machine, narrow).product(sizes, 1, inner, strides);
}

KernelCost RowsProducts::cost(const Machine &machine) const {
  CostModel model(machine);
  const double all = double(sums());
  KernelCost cost;
  cost.compute = model.copies(1, all);
  for (const Result &result : results)
    cost.compute += machine.vectorSetup +
                    product(result, machine, inner(result, machine)) +
                    (op.getScale() ? model.adds(1, double(result.most))
                                   : model.copies(1, double(result.most)));
  const double sums = reduceBatchCycles(machine, machine.height, all);
  cost.serial = 2 * machine.vectorSetup + sums;
  if (!op.getScale())
    return cost;
  // The root is made where sums end, while these are on their way.
  cost.serial += std::max(0.0, rootCycles(machine, narrow) - sums) +
                 std::max(0.0, reduceBatchCycles(machine, machine.height, 1) -
                                   cost.compute);
  cost.compute += CostModel(machine, narrow).fmacs(1, double(inputs)) +
                  model.copies(1, 1) +
                  model.nest(1, double(inputs),
                             narrow ? machine.addRate16 : machine.addRate) +
                  2 * (machine.vectorSetup + machine.asyncIssue);
  return cost;
}

SmallVector<StreamNeed> RowsProducts::streams(const Machine &machine) const {
  SmallVector<StreamNeed> needs = {{StreamPattern::KeyNorth, {}}};
  needs.append(reduceBatchStreams(machine, machine.height));
  return needs;
}

void RowsProducts::lower(RoutineBuilder &b) const {
  ScalarBuilder &s = b.scalars();
  const Tile x = b.tile(op.getInput());
  const std::string sums = b.scratch("sums", this->sums());
  SmallVector<Value> first = {s.constant(0)};
  SmallVector<Tile, 0> tiles;
  for (const Result &result : results) {
    tiles.push_back(b.tile(result.form.getResult()));
    first.push_back(s.add(first.back(), tiles.back().features));
  }
  b.vector(Opcode::Mov, {first.back()}, Operand::memory(sums, 0, {1}),
           {Operand::immediate(0)});
  Operand input = Operand::memory(x.buffer, 0, {1});
  // The sum of squares is on its way while products are made.
  const PEGroups rows = PEGroups::ofBatch(tiles.front().layout);
  std::optional<StartedReduction> ofSquares;
  Operand squares;
  if (op.getScale()) {
    ofSquares.emplace(
        StartedReduction{b, rows, Opcode::Add, b.scratch("squares", 1), 1});
    squares = Operand::memory(ofSquares->buffer, 0, {0});
    b.vector(Opcode::Mov, {1}, squares, {Operand::immediate(0)});
    const Tile scale = b.tile(wse::residentOf(op, *op.getScale()));
    const Operand scaled = Operand::memory(
        b.scratch("scaled", inputs, elementTypeOf(op.getInput())), 0, {1});
    b.vector(Opcode::Fmac, {x.channels}, squares, {input, input});
    ofSquares->inGroups();
    b.vector(Opcode::Mul, {x.channels}, scaled,
             {input, Operand::memory(scale.buffer, 0, {scale.step})});
    input = scaled;
  }
  input.strides = {0, 1};
  for (auto [result, tile, at] : llvm::zip(results, tiles, first)) {
    const Tile weights = b.tile(result.form.residentWeight());
    b.multiplyAdd(
        {tile.features, x.channels}, inner(result, b.machine()),
        Operand::memory(sums, at, {1, 0}),
        Operand::memory(weights.buffer, 0, {weights.pitch, weights.step}),
        input);
    if (ofSquares && &result == &results.front())
      ofSquares->ofRoots();
  }
  if (ofSquares)
    b.where(tiles.front().active,
            [&] { divideByRoot(b, op, squares, in.tokens); });
  reduceBatch(b, rows, Opcode::Add, sums, first.back());
  b.where(tiles.front().active, [&] {
    for (const auto &[tile, at] : llvm::zip(tiles, first)) {
      SmallVector<Operand, 0> sources = {Operand::memory(sums, at, {1})};
      if (op.getScale())
        sources.push_back(squares);
      b.vector(op.getScale() ? Opcode::Mul : Opcode::Mov, {tile.features},
               Operand::memory(tile.buffer, 0, {tile.pitch}), sources);
    }
  });
}

} // namespace wsec
