// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The largest features of a token. PEs cannot branch on data, and an address
// that depends on data ends the replay of a run, so all is done by whole
// vectors: comparisons give masks, `select` takes what a mask marks.
//
// Features become keys, integers in the same order: a NaN above all numbers,
// 0 and -0 equal, and `taken` below all. With b the bits of a float as an
// integer and c = 0x7fffff,
//
//   key = (b < 0 ? taken - b : b) - c      so that the NaNs below -inf wrap
//
// and all NaNs are made equal. For the smallest the order is reversed: -1 -
// key.
//
// Own features lie in blocks of about sqrt(features), of which the best are
// kept. In each round every PE finds its best feature in its first block that
// has it, the row agrees on a value and then on the least index, and the owner
// takes it out of its block:
//
//   keys      5 2 | 7 1 | 7 3     blocks of 2; best of them: 5 7 7
//   of block  0     1     0       the mask of the first with a 7
//   block     7 1                 what that marks
//   in block  1 0                 the first 7: feature 2; then it is `taken`
//
// Of one block, which few features are that are looked at once, the keys are
// all there is to look at.

#include "compiler/kernels/elementwise/TopK.h"
#include "compiler/kernels/KernelLibrary.h"
#include "compiler/machine/Tiling.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace wsec {
namespace {

constexpr float taken = float(std::numeric_limits<int32_t>::min());
constexpr float keyShift = 0x7fffff;
/// Above that of infinity, and no more than any of a NaN.
constexpr float keyOfNaN = 0x7f400000;
constexpr float noFeature = 1 << 30; ///< above all indices
/// Features at most that one round looks at in one block: more would take too
/// much scratch.
constexpr int64_t mostOfOneBlock = 64;
/// Digits of numbers that PEs make of scalars.
constexpr int64_t digit = 64;

/// Own features of the PE that has most, in blocks.
struct Blocks {
  Blocks(wse::TopKOp op, const Machine &machine)
      : layout(Layout::of(op.getInput(), machine.height)),
        pitch(layout.pitch(machine.height)),
        features(std::max<int64_t>(1, layout.features.largest(machine.width))),
        found(wse::featuresOf(op.getIndices())),
        size(found == 1 && features <= mostOfOneBlock
                 ? features
                 : int64_t(std::ceil(std::sqrt(double(features))))),
        count((features + size - 1) / size) {}

  /// Words of what is one word for each feature, block, or number in a block.
  int64_t perFeature() const { return count * size * pitch; }
  int64_t perBlock() const { return count * pitch; }
  int64_t inBlock() const { return size * pitch; }
  int64_t results() const { return found * pitch; }
  int64_t numbers() const { return std::max(size, count); }
  bool isOne() const { return count == 1; }
  int64_t scratchWords(bool given) const {
    const int64_t words = perFeature() + 2 * inBlock() + 2 * results() +
                          3 * pitch + (found > 1 ? results() + pitch : 0);
    if (isOne())
      return words + (given ? 0 : numbers());
    return words + (given ? perFeature() : 0) + 2 * perBlock() + inBlock() +
           numbers() + 1 + 2 * pitch;
  }

  Layout layout;
  int64_t pitch, features;
  int64_t found; ///< of each token
  int64_t size, count;
};

class TopK final : public KernelFor<wse::TopKOp> {
  Match match(Operation *op, const Selection &) const final {
    return Match::when(isa<onnx::TopKOp>(op));
  }
  Value build(Operation *op, Selection &selection) const final;

  /// Indices, and keys.
  Value moved(Operation *op) const final { return op->getResult(0); }
  SmallVector<Relay> relays() const final { return allReduceRelays(); }
  SmallVector<StreamNeed> streamsOf(wse::TopKOp op,
                                    const Machine &machine) const final {
    return allReduceStreams(machine, double(Blocks(op, machine).pitch));
  }

  KernelCost costOf(wse::TopKOp op, const Machine &machine) const final;
  int64_t scratchWords(wse::TopKOp op, const Machine &machine) const final {
    return Blocks(op, machine).scratchWords(op.getNumbers() != nullptr);
  }
  LogicalResult lowerOp(wse::TopKOp op, RoutineBuilder &b) const final;
};

/// Of a tensor on the wafer as many of the best features as `op` asks for.
wse::TopKOp createTopK(onnx::TopKOp op, Selection &selection, Value input,
                       Value numbers = {}) {
  const int64_t found = shapeOf(op.getIndices()).back();
  const wse::TokenTiling tiling =
      tilingOf(input).withColumns(wse::ColumnPlacement::Replicated);
  Builder builder(op.getContext());
  return selection.createFor<wse::TopKOp>(
      op, Type(tiling.type(found, builder.getI32Type())),
      Type(tiling.type(found, elementTypeOf(input))), input, numbers,
      op.getSmallestAttr());
}

void storeBest(onnx::TopKOp op, Selection &selection, wse::TopKOp best) {
  selection.storeWhole(op.getIndices(), best.getIndices(), op);
  if (!op.getValues().use_empty())
    selection.storeWhole(op.getValues(), best.getValues(), op);
}

/// In how many pieces a row of `shape` has to come so that there is room to
/// look for its best; 1: at once.
int64_t piecesOf(onnx::TopKOp op, ArrayRef<int64_t> shape,
                 wse::TokenTiling tiling, Selection &selection) {
  const int64_t features = shape.back();
  for (int64_t pieces = 1;; pieces *= 2) {
    SmallVector<int64_t> piece = {tiling.getBatch(), tiling.getTokens(),
                                  tileSizeMax(features, pieces)};
    Value trial = selection.createLoad(
        selection.tensorType(piece, tiling, op.getX()),
        FlatSymbolRefAttr::get(op.getContext(), "piece"), 0, {}, op);
    const int64_t missing = BestOfPieces::lookingIn(trial, op, selection).first;
    trial.getDefiningOp()->erase();
    // What has no room in any number of pieces is refused as a whole.
    const int64_t smaller = features / (2 * pieces);
    if (missing <= 0 || smaller < shapeOf(op.getIndices()).back() ||
        features > BestOfPieces::mostFeatures)
      return missing <= 0 ? pieces : 1;
  }
}

Value TopK::build(Operation *op, Selection &selection) const {
  auto topK = cast<onnx::TopKOp>(op);
  const ArrayRef<int64_t> shape = shapeOf(topK.getX());
  const int64_t features = shape.back();
  const wse::TokenTiling tiling = selection.defaultTiling(shape);
  const int64_t pieces = piecesOf(topK, shape, tiling, selection);
  if (pieces == 1) {
    if (Value input = selection.onWaferByFeatures(topK.getX(), op))
      storeBest(topK, selection, createTopK(topK, selection, input));
    return {};
  }
  wse::WeightAttr row = selection.asWeight(topK.getX(), op);
  if (!row)
    return {};
  BestOfPieces best(topK, selection, tiling, pieces);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t start = tileStart(features, pieces, piece);
    wse::WeightAttr part = row.slice(int64_t(shape.size()) - 1, start,
                                     tileSize(features, pieces, piece));
    best.add(selection.loadAlone(part, tiling, op), start);
  }
  best.finish();
  return {};
}

KernelCost TopK::costOf(wse::TopKOp op, const Machine &machine) const {
  const Blocks blocks(op, machine);
  CostModel model(machine);
  auto adds = [&](double instructions, int64_t words) {
    return instructions * model.adds(1, double(words));
  };
  const double rounds = double(blocks.found);
  KernelCost cost;
  // What makes keys, and then the rounds, of which the last takes nothing out.
  if (blocks.isOne()) {
    cost.compute =
        adds(6, blocks.perFeature()) +
        rounds * (adds(blocks.found > 1 ? 5 : 3, blocks.perFeature()) +
                  adds(4, blocks.pitch));
  } else {
    cost.compute = adds(2, blocks.perFeature()) +
                   double(blocks.count) *
                       (machine.loopOverhead + adds(5, blocks.inBlock()));
    cost.compute +=
        rounds * (machine.loopOverhead + adds(3, blocks.perBlock()) +
                  adds(3, blocks.inBlock()) + adds(1, blocks.perFeature()) +
                  adds(9, blocks.pitch));
    if (blocks.found > 1)
      cost.compute +=
          rounds * (adds(1, blocks.perBlock()) + adds(3, blocks.inBlock()) +
                    adds(1, blocks.perFeature()) + adds(2, blocks.pitch));
  }
  cost.compute += adds(6, blocks.results());
  if (machine.width > 1)
    cost.serial = 2 * rounds * allReduceCycles(machine, double(blocks.pitch));
  cost.lowerBound = std::max(
      model.leastAdds(double(blocks.layout.features.total()) / machine.width *
                      double(blocks.pitch)) *
          (isNarrow(op.getInput()) ? machine.addRate / machine.addRate16 : 1),
      model.leastAcross(machine.width));
  return cost;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// Writes the code of one launch. Extents are blocks, numbers in a block and
/// channels, or what is left of these.
class TopKCode {
public:
  TopKCode(wse::TopKOp op, RoutineBuilder &b)
      : b(b), blocks(op, b.machine()), pitch(blocks.pitch),
        isSmallest(op.getSmallest()), x(b.tile(op.getInput())),
        indices(b.tile(op.getIndices())), values(b.tile(op.getValues())),
        keys(integers("keys", blocks.perFeature())),
        block(integers("block", blocks.inBlock())),
        inBlock(integers("in_block", blocks.inBlock())),
        negated(integers("negated", blocks.results())),
        isNegative(integers("is_negative", blocks.results())),
        own(integers("own", pitch)), agreed(integers("agreed", pitch)),
        place(integers("place", pitch)),
        found(blocks.found > 1 ? integers("found", blocks.results()) : agreed),
        winner(blocks.found > 1 ? integers("winner", pitch) : indices.buffer),
        numbersGiven(op.getNumbers() ? b.tile(op.getNumbers()).buffer : "") {
    if (!blocks.isOne() || numbersGiven.empty())
      numbers = integers("numbers", blocks.numbers());
    if (blocks.isOne())
      return;
    best = integers("best", blocks.perBlock());
    ofBlock = integers("of_block", blocks.perBlock());
    blockNumbers = integers("block_numbers", blocks.inBlock());
    first = integers("first", 1);
    blockNumber = integers("block_number", pitch);
    base = integers("base", pitch);
    if (!numbersGiven.empty())
      given = integers("given", blocks.perFeature());
  }

  void write() {
    if (!numbers.empty())
      countUp();
    if (!blocks.isOne() && numbersGiven.empty())
      numberFirstFeature(first);
    makeKeys();
    if (!blocks.isOne())
      findBestOfBlocks();
    b.loop(blocks.found, [&](Affine round) {
      if (blocks.isOne())
        findBestOfOne();
      else
        findBest();
      if (blocks.found == 1)
        return;
      const Affine at = round * pitch;
      b.vector(Opcode::Mov, {x.channels}, memory(found, {1}, at),
               {memory(agreed, {1})});
      b.vector(Opcode::Mov, {x.channels}, memory(indices.buffer, {1}, at),
               {memory(winner, {1})});
      if (blocks.isOne())
        takeOutOfOne();
      else
        takeOut();
    });
    makeValues();
  }

private:
  std::string integers(StringRef name, int64_t words) {
    return b.scratch(name, words,
                     IntegerType::get(b.operation()->getContext(), 32));
  }
  static Operand memory(StringRef buffer, ArrayRef<int64_t> strides,
                        const Affine &offset = 0) {
    return Operand::memory(buffer, offset, strides);
  }
  static Operand number(float value) { return Operand::immediate(value); }

  void countUp();
  void numberFirstFeature(StringRef into);
  void fillRest(StringRef words, float value);
  void makeKeys();
  void findBestOfBlocks();
  void order(const Operand &bits, const Operand &swapped, const Operand &mask,
             ArrayRef<Affine> extents);
  void selectFirst(StringRef into, float none, const Affine &count,
                   const Operand &mask, const Operand &from);
  void numberBlock();
  void allReduce(Opcode opcode, StringRef mine, StringRef result);
  void findBest();
  void findBestOfOne();
  void takeOut();
  void takeOutOfOne();
  /// Numbers of all own features, which are one block.
  Operand ownNumbers() const {
    return numbersGiven.empty() ? memory(numbers, {1, 0})
                                : memory(numbersGiven, {x.pitch, 1});
  }
  void makeValues();

  RoutineBuilder &b;
  const Blocks blocks;
  const int64_t pitch;
  const bool isSmallest;
  const Tile x, indices, values;
  const std::string keys, block, inBlock, negated, isNegative, own, agreed,
      place, found, winner, numbersGiven; ///< one that is found is as agreed on
  std::string numbers, best, ofBlock, blockNumbers, first, blockNumber, base,
      given; ///< none where they are not needed
};

/// numbers = 0, 1, 2, ..., of one block from its first feature on: each half is
/// the one before it, so many further.
void TopKCode::countUp() {
  if (blocks.isOne())
    numberFirstFeature(numbers);
  else
    b.vector(Opcode::Mov, {1}, memory(numbers, {1}), {number(0)});
  for (int64_t done = 1; done < blocks.numbers(); done *= 2)
    b.vector(Opcode::Add, {std::min(done, blocks.numbers() - done)},
             memory(numbers, {1}, done),
             {memory(numbers, {1}), number(float(done))});
}

/// A vector has no scalars but in its extents: as many ones are added as the
/// digits of the number say.
void TopKCode::numberFirstFeature(StringRef into) {
  ScalarBuilder &s = b.scalars();
  Operand sum = memory(into, {0});
  b.vector(Opcode::Mov, {1}, sum, {number(0)});
  for (int64_t unit = 1; unit < blocks.layout.features.total(); unit *= digit)
    b.vector(Opcode::Add, {s.mod(s.div(x.firstFeature, unit), digit)}, sum,
             {sum, number(float(unit))});
}

/// bits = bits < 0 ? taken - bits : bits, which is its own inverse.
void TopKCode::order(const Operand &bits, const Operand &swapped,
                     const Operand &mask, ArrayRef<Affine> extents) {
  b.vector(Opcode::Less, extents, mask, {bits, number(0)});
  b.vector(Opcode::Sub, extents, swapped, {number(taken), bits});
  b.vector(Opcode::Select, extents, bits, {mask, swapped});
}

/// Behind the own features.
void TopKCode::fillRest(StringRef words, float value) {
  b.vector(Opcode::Mov,
           {Affine(x.features) * -1 + blocks.count * blocks.size, x.channels},
           memory(words, {pitch, 1}, Affine(x.features) * pitch),
           {number(value)});
}

void TopKCode::makeKeys() {
  // An addition makes NaNs quiet, so that none wraps to `taken`.
  b.vector(Opcode::Add, {x.features, x.channels},
           memory(b.wordsOf(keys), {pitch, 1}),
           {memory(x.buffer, {x.pitch, 1}), number(0)});
  if (!blocks.isOne())
    fillRest(keys, 0);
  b.loop(blocks.count, [&](Affine at) {
    SmallVector<Affine> extents = {blocks.size, x.channels};
    if (blocks.isOne())
      extents[0] = x.features;
    Operand key = memory(keys, {pitch, 1}, at * blocks.inBlock());
    order(key, memory(block, {pitch, 1}), memory(inBlock, {pitch, 1}), extents);
    if (isSmallest)
      b.vector(Opcode::Sub, extents, key, {number(keyShift - 1), key});
    else
      b.vector(Opcode::Sub, extents, key, {key, number(keyShift)});
    b.vector(isSmallest ? Opcode::Max : Opcode::Min, extents, key,
             {key, number(isSmallest ? -keyOfNaN : keyOfNaN)});
  });
}

void TopKCode::findBestOfBlocks() {
  fillRest(keys, taken);
  if (!given.empty()) {
    b.vector(Opcode::Mov, {x.features, x.channels}, memory(given, {pitch, 1}),
             {memory(numbersGiven, {x.pitch, 1})});
    fillRest(given, noFeature);
  }
  b.vector(Opcode::Mov, {blocks.count, x.channels}, memory(best, {pitch, 1}),
           {number(taken)});
  Operand bestOfBlock = memory(best, {pitch, 0, 1});
  b.vector(Opcode::Max, {blocks.count, blocks.size, x.channels}, bestOfBlock,
           {bestOfBlock, memory(keys, {blocks.inBlock(), pitch, 1})});
}

/// Of `count` words backwards, from those that the operands are at, the first
/// that `mask` marks: the last of those in that order.
void TopKCode::selectFirst(StringRef into, float none, const Affine &count,
                           const Operand &mask, const Operand &from) {
  b.vector(Opcode::Mov, {x.channels}, memory(into, {1}), {number(none)});
  b.vector(Opcode::Select, {count, x.channels}, memory(into, {0, 1}),
           {mask, from});
}

/// Which features are in the block that `ofBlock` marks.
void TopKCode::numberBlock() {
  const SmallVector<Affine> perNumber = {blocks.size, x.channels};
  if (!given.empty()) {
    b.vector(Opcode::Mov, perNumber, memory(blockNumbers, {pitch, 1}),
             {number(noFeature)});
    return b.vector(Opcode::Select, {blocks.count, blocks.size, x.channels},
                    memory(blockNumbers, {0, pitch, 1}),
                    {memory(ofBlock, {pitch, 0, 1}),
                     memory(given, {blocks.inBlock(), pitch, 1})});
  }
  Operand start = memory(base, {1});
  b.vector(Opcode::Mul, {x.channels}, start,
           {memory(blockNumber, {1}), number(float(blocks.size))});
  b.vector(Opcode::Add, {x.channels}, start, {start, memory(first, {0})});
  b.vector(Opcode::Add, perNumber, memory(blockNumbers, {pitch, 1}),
           {memory(numbers, {1, 0}), memory(base, {0, 1})});
}

void TopKCode::allReduce(Opcode opcode, StringRef mine, StringRef result) {
  if (b.width() > 1)
    allReduceRow(b, opcode, mine, result, x.channels, pitch, [] {});
  else
    b.vector(Opcode::Mov, {x.channels}, memory(result, {1}),
             {memory(mine, {1})});
}

void TopKCode::findBest() {
  const SmallVector<Affine> perBlock = {blocks.count, x.channels};
  const SmallVector<Affine> perNumber = {blocks.size, x.channels};
  b.vector(Opcode::Mov, {x.channels}, memory(own, {1}), {number(taken)});
  b.vector(Opcode::Max, perBlock, memory(own, {0, 1}),
           {memory(own, {0, 1}), memory(best, {pitch, 1})});
  allReduce(Opcode::Max, own, agreed);
  // The first block that has it, if any.
  Operand mask = memory(ofBlock, {pitch, 1});
  b.vector(Opcode::Equal, perBlock, mask,
           {memory(best, {pitch, 1}), memory(agreed, {0, 1})});
  selectFirst(blockNumber, -1, blocks.count,
              memory(ofBlock, {-pitch, 1}, (blocks.count - 1) * pitch),
              memory(numbers, {-1, 0}, blocks.count - 1));
  b.vector(Opcode::Equal, perBlock, mask,
           {memory(numbers, {1, 0}), memory(blockNumber, {0, 1})});
  b.vector(Opcode::Mov, perNumber, memory(block, {pitch, 1}), {number(taken)});
  b.vector(Opcode::Select, {blocks.count, blocks.size, x.channels},
           memory(block, {0, pitch, 1}),
           {memory(ofBlock, {pitch, 0, 1}),
            memory(keys, {blocks.inBlock(), pitch, 1})});
  // Where it is in that.
  b.vector(Opcode::Equal, perNumber, memory(inBlock, {pitch, 1}),
           {memory(block, {pitch, 1}), memory(agreed, {0, 1})});
  numberBlock();
  const int64_t last = (blocks.size - 1) * pitch;
  selectFirst(place, noFeature, blocks.size, memory(inBlock, {-pitch, 1}, last),
              memory(blockNumbers, {-pitch, 1}, last));
  allReduce(Opcode::Min, place, winner);
}

void TopKCode::findBestOfOne() {
  ScalarBuilder &s = b.scalars();
  const SmallVector<Affine> extents = {x.features, x.channels};
  b.vector(Opcode::Mov, {x.channels}, memory(own, {1}), {number(taken)});
  b.vector(Opcode::Max, extents, memory(own, {0, 1}),
           {memory(own, {0, 1}), memory(keys, {pitch, 1})});
  allReduce(Opcode::Max, own, agreed);
  b.vector(Opcode::Equal, extents, memory(inBlock, {pitch, 1}),
           {memory(keys, {pitch, 1}), memory(agreed, {0, 1})});
  const Affine last = s.max(s.sub(x.features, 1), 0);
  Operand from = ownNumbers();
  from.offset = last * from.strides[0];
  from.strides[0] *= -1;
  selectFirst(place, noFeature, x.features,
              memory(inBlock, {-pitch, 1}, last * pitch), from);
  allReduce(Opcode::Min, place, winner);
}

/// Where another PE has the winner, no feature of the block is it.
void TopKCode::takeOut() {
  const SmallVector<Affine> perNumber = {blocks.size, x.channels};
  Operand mask = memory(inBlock, {pitch, 1}), left = memory(block, {pitch, 1});
  b.vector(Opcode::Equal, perNumber, mask,
           {memory(blockNumbers, {pitch, 1}), memory(winner, {0, 1})});
  b.vector(Opcode::Select, perNumber, left, {mask, number(taken)});
  b.vector(Opcode::Select, {blocks.count, blocks.size, x.channels},
           memory(keys, {blocks.inBlock(), pitch, 1}),
           {memory(ofBlock, {pitch, 0, 1}), memory(block, {0, pitch, 1})});
  b.vector(Opcode::Mov, {x.channels}, memory(own, {1}), {number(taken)});
  b.vector(Opcode::Max, perNumber, memory(own, {0, 1}),
           {memory(own, {0, 1}), left});
  b.vector(Opcode::Select, {blocks.count, x.channels}, memory(best, {pitch, 1}),
           {memory(ofBlock, {pitch, 1}), memory(own, {0, 1})});
}

void TopKCode::takeOutOfOne() {
  const SmallVector<Affine> extents = {x.features, x.channels};
  Operand mask = memory(inBlock, {pitch, 1});
  b.vector(Opcode::Equal, extents, mask,
           {ownNumbers(), memory(winner, {0, 1})});
  b.vector(Opcode::Select, extents, memory(keys, {pitch, 1}),
           {mask, number(taken)});
}

/// Keys become floats again.
void TopKCode::makeValues() {
  const SmallVector<Affine> extents = {blocks.found, x.channels};
  Operand key = memory(found, {pitch, 1});
  if (isSmallest)
    b.vector(Opcode::Sub, extents, key, {number(keyShift - 1), key});
  else
    b.vector(Opcode::Add, extents, key, {key, number(keyShift)});
  order(key, memory(negated, {pitch, 1}), memory(isNegative, {pitch, 1}),
        extents);
  b.vector(Opcode::Mov, extents, memory(values.buffer, {pitch, 1}),
           {memory(b.wordsOf(found), {pitch, 1})});
}

LogicalResult TopK::lowerOp(wse::TopKOp op, RoutineBuilder &b) const {
  const Tile x = b.tile(op.getInput());
  b.where(x.active, [&] { TopKCode(op, b).write(); });
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// Features that come in pieces
//===----------------------------------------------------------------------===//

onnx::TopKOp onlyTopK(Value value) {
  return value.hasOneUse() ? dyn_cast<onnx::TopKOp>(*value.user_begin())
                           : onnx::TopKOp();
}

std::pair<int64_t, double> BestOfPieces::lookingIn(Value piece, onnx::TopKOp op,
                                                   Selection &selection) {
  wse::TopKOp trial = createTopK(op, selection, piece);
  const auto takes = selection.cheapest(trial);
  trial.erase();
  return takes;
}

BestOfPieces::BestOfPieces(onnx::TopKOp op, Selection &selection,
                           wse::TokenTiling tiling, int64_t pieces)
    : op(op), selection(selection), tiling(tiling),
      found(shapeOf(op.getIndices()).back()),
      shape({tiling.getBatch(), tiling.getTokens(), pieces * found}),
      candidates(selection.declare(shape, op.getValues(), op)),
      numbers(selection.declare(shape, op.getIndices(), op)) {}

void BestOfPieces::add(Value piece, int64_t first) {
  wse::TopKOp best = createTopK(op, selection, piece);
  starts.append(found, float(first));
  const int64_t all = shape.back(), at = found * added++;
  const int64_t strides[] = {all * tiling.getTokens(), all, 1};
  selection.store(best.getValues(), candidates, at, strides, op);
  selection.store(best.getIndices(), numbers, at, strides, op);
}

/// `numbers` of the candidates, which count from the first of their piece, from
/// the first of all.
Value BestOfPieces::fromStarts(Value numbers) {
  Builder builder(op.getContext());
  auto type = RankedTensorType::get({shape.back()}, builder.getF32Type());
  auto weight = wse::WeightAttr::get(
      op.getContext(),
      selection.parameterOf(DenseElementsAttr::get(type, ArrayRef(starts)),
                            "starts"),
      type, 0, {});
  const Location loc = op.getLoc();
  return selection.elementwise(
      op, numbers.getType(), numbers, {weight},
      [&](OpBuilder &body, ValueRange of) -> Value {
        Value start =
            arith::FPToSIOp::create(body, loc, builder.getI32Type(), of[1]);
        return arith::AddIOp::create(body, loc, of[0], start);
      });
}

/// Of equal candidates the first has the least index: pieces are in order.
void BestOfPieces::finish() {
  Value best = selection.load(wholeOf(candidates), tiling, op);
  Value itsNumbers = fromStarts(selection.load(wholeOf(numbers), tiling, op));
  storeBest(op, selection, createTopK(op, selection, best, itsNumbers));
}

WSEC_DEFINE_KERNEL(TopK)

} // namespace wsec
