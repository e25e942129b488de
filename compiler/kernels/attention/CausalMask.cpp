// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/attention/CausalMask.h"

using namespace mlir;

namespace wsec {

using pe::Affine;
using pe::Opcode;
using pe::Operand;

CausalMask::CausalMask(RoutineBuilder &builder, const Tile &queries,
                       Affine asked, int64_t block, int64_t channels,
                       const std::string &hidden, bool isDealt)
    : b(builder), queries(queries), asked(std::move(asked)), channels(channels),
      isDealt(isDealt), apart(isDealt ? queries.layout.span : 1),
      hidden(hidden), number(b.scratch("number", block)),
      limits(b.scratch("limit", channels)) {}

/// Groups of `size` words from `first` on: each is the one before, `step` more.
/// What is known, doubled.
void CausalMask::countUp(const std::string &buffer, int64_t count,
                         int64_t first, int64_t size, int64_t step) {
  for (int64_t known = 1; known < count && size > 0; known *= 2)
    b.vector(Opcode::Add, {std::min(known, count - known) * size},
             Operand::memory(buffer, first + known * size, {1}),
             {Operand::memory(buffer, first, {1}),
              Operand::immediate(known * step)});
}

void CausalMask::numberKeys(int64_t rows, int64_t larger, int64_t least,
                            int64_t tokensOfLarger, int64_t tokens) {
  auto number = [&](int64_t count, int64_t first, int64_t size, int64_t ofRow,
                    int64_t firstKey) {
    if (count == 0 || size == 0)
      return;
    b.vector(Opcode::Mov, {1}, Operand::memory(this->number, first, {1}),
             {Operand::immediate(firstKey)});
    countUp(this->number, size, first, 1, apart);
    countUp(this->number, count, first, size, ofRow);
  };
  const int64_t ofLarger = isDealt ? 1 : least + 1;
  number(larger, 0, tokensOfLarger, ofLarger, 0);
  number(rows - larger, larger * tokensOfLarger, tokens, isDealt ? 1 : least,
         larger * ofLarger);
}

void CausalMask::prepare() {
  ScalarBuilder &s = b.scalars();
  Operand first = Operand::memory(limits, 0, {1});
  b.vector(Opcode::Mov, {1}, first, {Operand::immediate(1)});
  const Layout &layout = queries.layout;
  if (layout.group != 0) {
    // Tokens of the rows north: the first `larger` rows hold one token more.
    int64_t size = isDealt ? 1 : layout.tokens / layout.span;
    int64_t larger = isDealt ? 0 : layout.tokens % layout.span;
    Value row = s.mod(s.py(), layout.group);
    Value rowsLarger = larger ? s.min(row, larger) : s.constant(0);
    // On a microthread, so that all rows run the same main thread.
    auto skip = [&](Value rows, float tokens) {
      b.start(RowThread, Opcode::Fmac, {rows}, Operand::memory(limits, 0, {0}),
              {Operand::immediate(tokens), Operand::immediate(1)});
    };
    if (larger)
      skip(rowsLarger, size + 1);
    skip(s.sub(row, rowsLarger), size);
    b.await(RowThread);
  }
  countUp(limits, channels, 0, 1, apart);
}

/// `hidden` becomes 1 for later keys, 0 for others.
void CausalMask::findLater(int64_t keys) {
  b.vector(Opcode::LessOrEqual, {keys, asked}, rows(hidden),
           {Operand::memory(limits, 0, {0, 1}),
            Operand::memory(number, firstKey, {1, 0})});
}

void CausalMask::replace(const std::string &scores, int64_t keys,
                         float number) {
  findLater(keys);
  b.vector(Opcode::Select, {keys, asked}, rows(scores),
           {rows(hidden), Operand::immediate(number)});
}

void CausalMask::add(const std::string &scores, int64_t keys, float number) {
  findLater(keys);
  const bool isInfinite = number == -infinity;
  for (int times = 0; times < (isInfinite ? 2 : 1); ++times)
    b.vector(
        Opcode::Fmac, {keys, asked}, rows(scores),
        {rows(hidden), Operand::immediate(isInfinite ? lowestScore : number)});
}

void CausalMask::limit(int64_t keys, float number) {
  findLater(keys);
  auto apply = [&](Opcode opcode, float other) {
    b.vector(opcode, {keys, asked}, rows(hidden),
             {rows(hidden), Operand::immediate(other)});
  };
  apply(Opcode::Sub, 0.5f);
  apply(Opcode::Mul, -infinity);
  if (number != -infinity)
    apply(Opcode::Max, number);
}

void CausalMask::advance(int64_t keys) {
  Operand first = Operand::memory(limits, 0, {1});
  b.vector(Opcode::Sub, {asked}, first,
           {first, Operand::immediate(keys * apart)});
}

} // namespace wsec
