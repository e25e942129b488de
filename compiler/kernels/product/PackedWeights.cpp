// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/product/PackedWeights.h"

#include "compiler/kernels/KernelLibrary.h"

#include <cmath>

using namespace mlir;
using namespace wsec;

//===----------------------------------------------------------------------===//
// What can stream so
//===----------------------------------------------------------------------===//

std::optional<PackedWeights> PackedWeights::of(const MatmulForm &op,
                                               const Machine &machine) {
  wse::WeightAttr weight = op.getWeight();
  PackedWeights packed;
  const wse::MatmulVariant variant = op.getVariant();
  if (variant != wse::MatmulVariant::Reduce &&
      variant != wse::MatmulVariant::Broadcast)
    return std::nullopt;
  packed.weights = wse::quantizedOf(op, weight);
  if (!packed.weights || weight.getType().getRank() > 2)
    return std::nullopt;
  packed.name = weight.getName();
  packed.reduce = variant == wse::MatmulVariant::Reduce;
  packed.k = op.inputType().getShape().back();
  packed.n = wse::featuresOf(op.getResult());
  packed.bits = packed.weights.bits();
  packed.offset = weight.getViewOffset();
  const SmallVector<int64_t> strides = weight.viewStrides();
  packed.rowStep = strides[0];
  packed.columnStep = strides[1];
  packed.tiling = Layout::of(packed.reduce ? op.inputType() : op.resultType(),
                             machine.height)
                      .features;
  packed.own = packed.tiling.largest(machine.width);
  const DenseElementsAttr zeros = packed.weights.getZeros();
  packed.hasZeroVectors = zeros && !zeros.isSplat();
  packed.hasVectors =
      packed.hasZeroVectors || !packed.weights.getScales().isSplat();
  packed.block = packed.k;
  if (packed.hasVectors && !packed.findBlocks())
    return std::nullopt;
  // Words of a block of lines begin with its first.
  if (!packed.reduce && packed.blocks() > 1 &&
      packed.block % packed.perWord() != 0)
    return std::nullopt;
  for (int column = 0; column < machine.width; ++column)
    packed.groups =
        std::max(packed.groups, packed.columnBlocks(column, machine.width));
  return packed;
}

LogicalResult PackedWeights::refuse(const MatmulForm &op) {
  mlir::Operation *product = op;
  return product->emitOpError("streams ")
         << op.getWeight().getName()
         << " packed, whose scales are not of "
            "blocks of input features that its "
            "view leaves whole; leave `packed` out";
}

/// How many input features in a row share a scale, from the first on. False
/// where they do not.
bool PackedWeights::findBlocks() {
  const ArrayRef<int64_t> shape = weights.getValues().getType().getShape();
  const ArrayRef<int64_t> scales = weights.getScales().getType().getShape();
  int64_t step = 1;
  bool foundRows = k == 1, foundColumns = n == 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d]) {
    if (shape[d] == 1)
      continue;
    const int64_t first = offset / step % shape[d];
    if (n > 1 && columnStep == step)
      foundColumns = first + n <= shape[d];
    if (k == 1 || rowStep != step)
      continue;
    foundRows = first + k <= shape[d];
    if (scales[d] == 1)
      continue;
    // Nothing is shared, or the first block is not whole.
    if (scales[d] == shape[d] || first % weights.getBlock() != 0)
      return false;
    block = std::min(k, weights.getBlock());
  }
  return foundRows && foundColumns;
}

int64_t PackedWeights::columnBlocks(int64_t column, int64_t width) const {
  const int64_t begin = tiling.before(column, width);
  const int64_t end = tiling.before(column + 1, width);
  return begin == end ? 0 : (end - 1) / block - begin / block + 1;
}

int64_t PackedWeights::step() const {
  return !reduce && hasVectors && blocks() > 1 ? block : perWord();
}

FeatureTiling PackedWeights::streamed() const {
  FeatureTiling words = tiling;
  words.extra = sideWords();
  return words;
}

int64_t PackedWeights::tableLines() const {
  return !reduce && hasVectors ? blocks() * vectorsEach() : 0;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t PackedWeights::scratchWords(int64_t block, int64_t blocks) const {
  const int64_t buffers = std::min<int64_t>(2, blocks);
  return rows(block) * (buffers * pitch() + own) + block * own +
         tableLines() * perHalf() * own;
}

double PackedWeights::cycles(int64_t block, const Machine &machine) const {
  const double all = double(block * own), each = all / double(perHalf());
  const double perStride = machine.strideElements > 0
                               ? std::max(1.0, machine.strideElements / 2)
                               : machine.addRate16;
  double cycles = 0;
  for (int64_t field = 0; field < perHalf(); ++field) {
    const bool isHighest = field == perHalf() - 1;
    cycles += machine.copySetup + each / std::min(machine.addRate16, perStride);
    cycles += machine.copySetup + each / machine.copyRate;
    if (!hasZeroVectors && zeroAt(field) != 0)
      cycles += machine.copySetup +
                each / (isHighest ? machine.addRate : machine.addRate16);
    if (!reduce || !hasVectors)
      cycles += machine.vectorSetup + each / machine.addRate;
    if (!reduce && hasZeroVectors)
      cycles += machine.vectorSetup + each / machine.addRate;
  }
  if (reduce && hasVectors)
    cycles += double(vectorsEach()) *
              (double(groups) * machine.vectorSetup + all / machine.addRate);
  return cycles;
}

double PackedWeights::words(int64_t width) const {
  return double(rows(lines())) * double(tiling.total() + width * sideWords()) +
         double(tableLines()) * double(tiling.total());
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

int64_t PackedWeights::zeroAt(int64_t field) const {
  const int64_t zero = weights.zeroAt(0) - weights.least();
  const bool isHighest = field == perHalf() - 1;
  return (zero - (isHighest ? int64_t(1) << (bits - 1) : 0)) << (bits * field);
}

uint32_t PackedWeights::fieldOf(int64_t row, int64_t column,
                                int64_t field) const {
  const int64_t number =
      weights.valueOf(element(row, column)) - weights.least();
  const bool isHighest = field == perHalf() - 1;
  return uint32_t(number ^ (isHighest ? 1 << (bits - 1) : 0));
}

float PackedWeights::zeroOf(int64_t row, int64_t column, int64_t field) const {
  const int64_t zero =
      weights.zeroAt(weights.placeOf(element(row, column))) - weights.least();
  const bool isHighest = field == perHalf() - 1;
  return std::ldexp(float(zero - (isHighest ? 1 << (bits - 1) : 0)),
                    int(bits * field));
}

float PackedWeights::scaleOf(int64_t row, int64_t column, int64_t field) const {
  return std::ldexp(weights.scaleAt(weights.placeOf(element(row, column))),
                    -int(bits * field));
}

/// The word of `perWord` lines from `line` on; there may be fewer.
uint32_t PackedWeights::wordOf(int64_t line, int64_t feature) const {
  uint32_t word = 0;
  for (int64_t i = 0; i < std::min(perWord(), lines() - line); ++i) {
    const uint32_t field = reduce ? fieldOf(feature, line + i, i % perHalf())
                                  : fieldOf(line + i, feature, i % perHalf());
    word |= field << (bits * i);
  }
  return word;
}

/// Words of any bits, as f32: their values are never looked at.
static DenseElementsAttr asElements(MLIRContext *context,
                                    ArrayRef<uint32_t> words,
                                    ArrayRef<int64_t> shape) {
  return DenseElementsAttr::getFromRawBuffer(
      RankedTensorType::get(shape, Float32Type::get(context)),
      ArrayRef(reinterpret_cast<const char *>(words.data()), words.size() * 4));
}

static uint32_t bitsOf(float number) {
  return llvm::bit_cast<uint32_t>(number);
}

/// Line by line, column by column: words of its features, then, block by block,
/// scales of these lines, then zero points.
DenseElementsAttr PackedWeights::reduceWords(int64_t width) const {
  SmallVector<uint32_t, 0> words;
  for (int64_t line = 0; line < n; line += perWord())
    for (int64_t column = 0; column < width; ++column) {
      const int64_t begin = tiling.before(column, width);
      const int64_t end = tiling.before(column + 1, width);
      for (int64_t feature = begin; feature < end; ++feature)
        words.push_back(wordOf(line, feature));
      const size_t side = words.size();
      words.resize(side + size_t(sideWords()));
      if (sideWords() == 0)
        continue;
      for (int64_t group = 0; group < columnBlocks(column, width); ++group)
        for (int64_t i = 0; i < std::min(perWord(), n - line); ++i) {
          const int64_t row = (begin / block + group) * block;
          const size_t place = side + size_t(group * perWord() + i);
          words[place] = bitsOf(scaleOf(row, line + i, i % perHalf()));
          if (hasZeroVectors)
            words[place + size_t(groups * perWord())] =
                bitsOf(zeroOf(row, line + i, i % perHalf()));
        }
    }
  return asElements(weights.getContext(), words,
                    {rows(n), int64_t(words.size()) / rows(n)});
}

DenseElementsAttr PackedWeights::broadcastWords() const {
  SmallVector<uint32_t, 0> words;
  for (int64_t line = 0; line < k; line += perWord())
    for (int64_t feature = 0; feature < n; ++feature)
      words.push_back(wordOf(line, feature));
  return asElements(weights.getContext(), words, {rows(k), n});
}

/// Those of the lowest field, block by block: scales, then zero points.
DenseElementsAttr PackedWeights::tables() const {
  SmallVector<uint32_t, 0> words;
  for (int64_t which = 0; which < vectorsEach(); ++which)
    for (int64_t row = 0; row < k; row += block)
      for (int64_t column = 0; column < n; ++column)
        words.push_back(
            bitsOf(which ? zeroOf(row, column, 0) : scaleOf(row, column, 0)));
  return asElements(weights.getContext(), words, {tableLines(), n});
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

void PackedWeights::streamLines(RoutineBuilder &b, DenseElementsAttr elements,
                                StringRef what, int64_t count) {
  ColumnWords words;
  words.tensor = b.declareConstant(elements, name.getValue() + what);
  words.features = streamed();
  words.lines = {count, elements.getType().getDimSize(1)};
  b.streamToColumns(words);
}

void PackedWeights::stream(RoutineBuilder &b, Value own, Value active) {
  if (tableLines() > 0) {
    streamLines(b, tables(), ".scales", tableLines());
    b.where(active, [&] { takeTables(b, own); });
  }
  streamLines(b, reduce ? reduceWords(b.width()) : broadcastWords(), ".packed",
              rows(lines()));
}

/// Scales and zero points of the lowest field arrive, those of the others are
/// made of them.
void PackedWeights::takeTables(RoutineBuilder &b, Value own) {
  table = b.scratch("scales", tableLines() * perHalf() * this->own);
  const int64_t each = blocks() * this->own;
  auto at = [&](int64_t which, int64_t field) {
    return pe::Operand::memory(table, (which * perHalf() + field) * each,
                               {this->own, 1});
  };
  const SmallVector<pe::Affine> extents = {blocks(), own};
  for (int64_t which = 0; which < vectorsEach(); ++which) {
    b.vector(pe::Opcode::Mov, extents, at(which, 0), {b.columnWords(2)});
    b.dropColumnWords(pe::Affine(own) * blocks());
  }
  for (int64_t field = 1; field < perHalf(); ++field) {
    const double shifted = std::ldexp(1.0, int(bits * field));
    b.vector(pe::Opcode::Mul, extents, at(0, field),
             {at(0, 0), pe::Operand::immediate(1 / shifted)});
    if (!hasZeroVectors)
      continue;
    pe::Operand zero = at(1, 0);
    if (field == perHalf() - 1) {
      b.vector(pe::Opcode::Sub, extents, at(1, field),
               {zero, pe::Operand::immediate(1 << (bits - 1))});
      zero = at(1, field);
    }
    b.vector(pe::Opcode::Mul, extents, at(1, field),
             {zero, pe::Operand::immediate(shifted)});
  }
}

std::string PackedWeights::arriving(RoutineBuilder &b, int64_t block) {
  return b.scratch("packed", rows(block) * pitch());
}

void PackedWeights::fill(RoutineBuilder &b, const std::string &buffer,
                         int64_t count, Value own) {
  b.start(FillThread, pe::Opcode::Mov,
          {rows(count), pe::Affine(own) + pe::Affine(sideWords())},
          pe::Operand::memory(buffer, 0, {pitch(), 1}), {b.columnWords(2)});
}

/// The multiple of `divisor` that `number` is.
static pe::Affine divided(pe::Affine number, int64_t divisor) {
  number.constant /= divisor;
  for (auto &[value, scale] : number.terms)
    scale /= divisor;
  return number;
}

pe::Operand PackedWeights::expand(RoutineBuilder &b, const std::string &buffer,
                                  pe::Affine first, int64_t count,
                                  int64_t block, Value own) {
  using pe::Opcode;
  using pe::Operand;
  const int64_t most = this->own;
  if (work.empty()) {
    work = b.scratch("weights", block * most);
    fields = b.halvesOf(b.scratch("fields", rows(block) * most));
  }
  const SmallVector<pe::Affine> extents = {rows(count), 2, own};
  const Operand field16 = Operand::memory(fields, 0, {2 * most, 1, 2});
  for (int64_t field = 0; field < perHalf(); ++field) {
    const bool isHighest = field == perHalf() - 1;
    const int64_t shift = bits * field;
    const auto mask = int16_t(((1 << bits) - 1) << shift);
    b.vector(Opcode::BitAnd, extents, field16,
             {Operand::memory(b.halvesOf(buffer), 0, {2 * pitch(), 1, 2}),
              Operand::immediate(mask)});
    const Operand zero = Operand::immediate(double(zeroAt(field)));
    const bool hasZero = !hasZeroVectors && zeroAt(field) != 0;
    if (hasZero && !isHighest) // no difference of two leaves 16 bits
      b.vector(Opcode::Sub, extents, field16, {field16, zero});
    const Operand made = Operand::memory(
        work, field * most, {perWord() * most, perHalf() * most, 1});
    b.vector(Opcode::Mov, extents, made, {field16});
    if (hasZero && isHighest)
      b.vector(Opcode::Sub, extents, made, {made, zero});
    if (!hasVectors)
      b.vector(Opcode::Mul, extents, made,
               {made, Operand::immediate(
                          std::ldexp(weights.scaleAt(0), -int(shift)))});
    if (reduce || !hasVectors)
      continue;
    // Whole blocks, then a last one that is not.
    const int64_t size = std::min(this->block, count);
    const int64_t whole = blocks() > 1 ? count / this->block : 0;
    struct Part {
      int64_t done, number, lines;
    };
    for (const Part &blocks :
         {Part{0, whole, size}, Part{whole, 1, count - whole * size}}) {
      if (blocks.number == 0 || blocks.lines == 0)
        continue;
      const SmallVector<pe::Affine> each = {blocks.number, rows(blocks.lines),
                                            2, own};
      const Operand part =
          Operand::memory(work, (blocks.done * size + field) * most,
                          {size * most, perWord() * most, perHalf() * most, 1});
      auto vector = [&](int64_t which) {
        const int64_t place =
            (which * perHalf() + field) * this->blocks() + blocks.done;
        return Operand::memory(table,
                               divided(first, this->block) * most +
                                   pe::Affine(place * most),
                               {most, 0, 0, 1});
      };
      if (hasZeroVectors)
        b.vector(Opcode::Sub, each, part, {part, vector(1)});
      b.vector(Opcode::Mul, each, part, {part, vector(0)});
    }
  }
  if (reduce && hasVectors)
    scaleInBlocks(b, buffer, count, own);
  return Operand::memory(work, 0, {most, 1, 0});
}

/// Zero points and scales of lines, of the features in each block of a column.
void PackedWeights::scaleInBlocks(RoutineBuilder &b, const std::string &buffer,
                                  int64_t count, Value own) {
  using pe::Operand;
  ScalarBuilder &s = b.scalars();
  Value start = RoutineBuilder::featureStart(s, tiling);
  Value firstBlock = s.div(start, block);
  auto beginOf = [&](int64_t group) -> Value {
    if (group == 0)
      return s.constant(0);
    if (group == groups)
      return own;
    Value begin = s.sub(s.mul(s.add(firstBlock, group), block), start);
    return s.min(begin, own);
  };
  for (int64_t group = 0; group < groups; ++group) {
    Value begin = beginOf(group), features = s.sub(beginOf(group + 1), begin);
    const SmallVector<pe::Affine> extents = {features, rows(count), perWord()};
    const Operand part =
        Operand::memory(work, begin, {1, perWord() * this->own, this->own});
    auto vector = [&](int64_t which) {
      return Operand::memory(
          buffer,
          pe::Affine(own) + pe::Affine((which * groups + group) * perWord()),
          {0, pitch(), 1});
    };
    if (hasZeroVectors)
      b.vector(pe::Opcode::Sub, extents, part, {part, vector(1)});
    b.vector(pe::Opcode::Mul, extents, part, {part, vector(0)});
  }
}
