// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose weights stay: weights come, and are multiplied by.

#include "compiler/kernels/product/StationaryWriter.h"

using namespace mlir;

namespace wsec {

void StationaryWriter::fill(const Block &block) {
  const FeatureTiling tiling = shape.inputWords();
  const std::string words =
      shape.pairs ? b.wordsOf(block.weights) : block.weights;
  const int64_t row =
      shape.pairs ? shape.wordsOf(shape.ownInputs) : block.output;
  const Value one = s.constant(1);
  const Value lines = shape.pairs ? block.size : one;
  const Value together = shape.pairs ? one : block.size;
  b.where(hasFeatures, [&] {
    b.start(
        FillThread, Opcode::Mov,
        {lines, together, RoutineBuilder::featureCount(s, tiling)},
        Operand::memory(words, 0, {row, row, block.input}),
        {Operand::fabric(b.color(StreamPattern::ChannelRow), 3)
             .windowed(s.mul(RoutineBuilder::featureStart(s, tiling), together),
                       Affine(together) * tiling.total())});
  });
}

/// sums = activations * weights, for a block of result features.
void StationaryWriter::multiply(const Block &block, const Round &round) {
  const int64_t tokens = round.tokens;
  if (shape.entries > 1)
    return b.where(hasFeatures, [&] { multiplyEntries(block, round); });
  if (tokens == 1)
    return b.where(hasFeatures, [&] { multiplyOne(block); });
  if (shape.isNarrow())
    return multiplyPairs(block, tokens);
  Value size = block.size;
  const Affine first = block.first * tokens;
  Value terms = in.features, hasTerms = s.constant(1);
  if (!shape.in.features.everywhere(b.width())) {
    hasTerms = s.less(0, terms);
    terms = s.max(terms, 1);
    b.where(s.logicalAnd(hasFeatures, s.logicalNot(hasTerms)), [&] {
      b.vector(Opcode::Mov, {Affine(size) * tokens},
               Operand::memory(sums, first, {1}), {Operand::immediate(0)});
    });
  }
  b.where(s.logicalAnd(hasFeatures, hasTerms), [&] {
    b.vector(Opcode::Mul, {size, tokens},
             Operand::memory(sums, first, {tokens, 1}),
             {Operand::memory(block.weights, 0, {block.output, 0}),
              Operand::memory(exchange, 0, {0, 1})});
    if (shape.ownInputs > 1)
      b.multiplyAdd({size, s.sub(terms, 1), live}, shape.inner(b.machine()),
                    Operand::memory(sums, first, {tokens, 0, 1}),
                    Operand::memory(block.weights, block.input,
                                    {block.output, block.input, 0}),
                    Operand::memory(exchange, tokens, {0, tokens, 1}));
  });
}

/// sums += activations * weights of one of so many tokens, each of which has
/// its own activations behind one another.
void StationaryWriter::multiplyOne(const Block &block, int64_t tokens,
                                   Affine token, Affine weights) {
  const int64_t each = shape.perWord() * shape.wordsOf(shape.ownInputs);
  b.multiplyAdd(
      {block.size, terms}, shape.inner(b.machine()),
      Operand::memory(sums, block.first * tokens + token, {tokens, 0}),
      Operand::memory(block.weights, weights, {block.output, block.input}),
      Operand::memory(exchange, token * each, {0, 1}));
}

/// The same of activations that lie in pairs of features, a pair for each
/// token: feature 2 i + h of token t is element (i * tokens + t) * 2 + h.
void StationaryWriter::multiplyPairs(const Block &block, int64_t tokens) {
  const Affine first = block.first * tokens;
  const int64_t weight = block.input;
  Value odd = s.mod(in.features, 2), pairs = s.div(in.features, 2);
  Value whole = s.sub(in.features, odd);
  b.where(hasFeatures, [&] {
    b.vector(Opcode::Mov, {Affine(block.size) * tokens},
             Operand::memory(sums, first, {1}), {Operand::immediate(0)});
    if (shape.ownInputs > 1)
      b.vector(Opcode::Fmac, {block.size, pairs, 2, tokens},
               Operand::memory(sums, first, {tokens, 0, 0, 1}),
               {Operand::memory(block.weights, 0,
                                {block.output, 2 * weight, weight, 0}),
                Operand::memory(exchange, 0, {0, 2 * tokens, 1, 2})});
    b.where(odd, [&] {
      b.vector(Opcode::Fmac, {block.size, tokens},
               Operand::memory(sums, first, {tokens, 1}),
               {Operand::memory(block.weights, Affine(whole) * weight,
                                {block.output, 0}),
                Operand::memory(exchange, Affine(whole) * tokens, {0, 2})});
    });
  });
}

/// The same of all features of the row: one buffer is filled while the other
/// is used.
void StationaryWriter::multiplyInTurns(const Round &round) {
  const int64_t size = shape.inTurns;
  const int64_t whole = (shape.rowFeatures - !rowsAreAlike()) / size;
  const int64_t count = int64_t(shape.blocks().size());
  auto block = [&](int64_t number, Affine first) {
    Block its = blocks[number % 2];
    its.first = first;
    its.size = number + 1 < count ? s.constant(size)
                                  : sizeOf(s, number * size,
                                           shape.rowFeatures - number * size);
    return its;
  };
  auto step = [&](int64_t number, Affine first) {
    b.await(FillThread);
    if (number + 1 < count)
      fill(block(number + 1, 0));
    multiply(block(number, first), round);
  };
  const int64_t pairs = (whole - 1) / 2;
  b.loop(pairs, [&](Affine pair) {
    for (int64_t half : {0, 1})
      step(half, pair * (2 * size) + Affine(half * size));
  });
  for (int64_t number = 2 * pairs; number < count; ++number)
    step(number, number * size);
}

} // namespace wsec
