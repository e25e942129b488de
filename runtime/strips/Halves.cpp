// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Halves.h"

#include <algorithm>

namespace wsec::runtime {

using program::ElementType;
using program::Opcode;

void NestRunner::run(const Nest &nest, const NestBuffers &buffers) const try {
  if (recording)
    recording->compute(uint32_t(strip.index), nest, buffers.dst, buffers.a,
                       buffers.b);
  else
    execute(nest);
} catch (NestError &error) {
  // Lanes are innermost.
  error.lane = int(size_t(error.element - nest.dst.data) %
                   nest.extent[nest.dimensions - 1]);
  throw;
}

/// Goes on from the first element of a dimension to those `step` apart.
static void cut(Nest &nest, HalfOperands &halves, int dimension, size_t first,
                size_t step, size_t extent) {
  nest.extent[dimension] = extent;
  auto cutStrided = [&](auto &operand) {
    if (operand.data)
      operand.data += ptrdiff_t(first) * operand.stride[dimension];
    operand.stride[dimension] *= ptrdiff_t(step);
  };
  cutStrided(nest.dst);
  cutStrided(nest.a);
  cutStrided(nest.b);
  for (std::optional<HalfElements> *elements :
       {&halves.dst, &halves.a, &halves.b})
    if (*elements) {
      (*elements)->first += int64_t(first) * (*elements)->stride[dimension];
      (*elements)->stride[dimension] *= int64_t(step);
    }
}

/// The dimension along which elements have to be computed one by one: they may
/// read one another, or what is rounded or copied stays in one place.
static int dimensionInOrder(const Nest &nest, const HalfOperands &halves) {
  for (int d = 0; d + 1 < nest.dimensions; ++d) {
    const int64_t stride =
        halves.dst ? halves.dst->stride[d] : nest.dst.stride[d];
    const bool stays = stride == 0 && (halves.dst || nest.op == Opcode::Mov);
    if (nest.extent[d] > 1 && (nest.ordered || stays))
      return d;
  }
  return -1;
}

void NestRunner::run(Nest nest, NestBuffers buffers,
                     HalfOperands halves) const {
  if (std::any_of(nest.extent, nest.extent + nest.dimensions,
                  [](size_t n) { return n == 0; }))
    return;
  if (const int d = dimensionInOrder(nest, halves); d >= 0) {
    for (size_t i = 0; i < nest.extent[d]; ++i) {
      Nest part = nest;
      HalfOperands its = halves;
      cut(part, its, d, i, 1, 1);
      run(part, buffers, its);
    }
    return;
  }
  if (nest.op == Opcode::Mov)
    return copy(nest, buffers, halves);
  std::unique_ptr<float[]> memory[3];
  auto source = [&](const std::optional<HalfElements> &elements,
                    std::unique_ptr<float[]> &memory,
                    Strided<const float> &operand, WordPart &part,
                    Recording::BufferId &buffer) {
    if (!elements)
      return;
    Strided<float> taken;
    memory = takeOut(*elements, nest, /*fill=*/true, taken, buffer);
    operand.data = taken.data;
    std::copy_n(taken.stride, maxDimensions, operand.stride);
    part = {takenOut(elements->type)};
  };
  source(halves.a, memory[0], nest.a, nest.types.a, buffers.a);
  source(halves.b, memory[1], nest.b, nest.types.b, buffers.b);
  if (!halves.dst)
    return run(nest, buffers);
  memory[2] =
      takeOut(*halves.dst, nest, readsOld(nest.op), nest.dst, buffers.dst);
  nest.types.dst = {takenOut(halves.dst->type)};
  run(nest, buffers);

  Nest back = nest;
  back.op = Opcode::Mov;
  back.types = {nest.types.numbers, {halves.dst->type}, nest.types.dst, {}};
  if (back.types.numbers == NumberKind::Half)
    back.types.numbers = NumberKind::Single;
  back.a = {nest.dst.data, {}};
  std::copy_n(nest.dst.stride, maxDimensions, back.a.stride);
  back.b = {};
  copy(back, {sram, buffers.dst, Recording::nothing}, {halves.dst, {}, {}});
}

/// Memory of one float for each element, laid out as the nest goes; the
/// elements are put into it if they are asked for.
std::unique_ptr<float[]>
NestRunner::takeOut(const HalfElements &elements, const Nest &nest, bool fill,
                    Strided<float> &into, Recording::BufferId &buffer) const {
  const int last = nest.dimensions - 1;
  Nest taken = nest;
  into = {};
  into.stride[last] = 1;
  size_t size = nest.extent[last];
  for (int d = last; d-- > 0;) {
    if (elements.stride[d] == 0) {
      taken.extent[d] = 1;
      continue;
    }
    into.stride[d] = ptrdiff_t(size);
    size *= nest.extent[d];
  }
  std::unique_ptr<float[]> memory(new float[size]);
  into.data = memory.get();
  if (recording)
    buffer = recording->addScratch(memory.get(), size);
  if (!fill)
    return memory;
  taken.op = Opcode::Mov;
  const bool isInteger = runtime::isInteger(elements.type);
  taken.types = {isInteger ? NumberKind::Integer : NumberKind::Single,
                 {takenOut(elements.type)},
                 {elements.type},
                 {}};
  taken.dst = into;
  taken.b = {};
  copy(taken, {buffer, sram, Recording::nothing}, {{}, elements, {}});
  return memory;
}

/// Along a dimension with an odd stride halves take turns: first all of even
/// numbers, then all of odd ones.
void NestRunner::copy(Nest nest, NestBuffers buffers,
                      HalfOperands halves) const {
  const int last = nest.dimensions - 1;
  for (int d = 0; d < last; ++d) {
    const bool takesTurns = (halves.dst && halves.dst->stride[d] % 2 != 0) ||
                            (halves.a && halves.a->stride[d] % 2 != 0);
    if (!takesTurns || nest.extent[d] < 2)
      continue;
    for (const size_t parity : {0, 1}) {
      Nest part = nest;
      HalfOperands its = halves;
      cut(part, its, d, parity, 2, (nest.extent[d] + 1 - parity) / 2);
      copy(part, buffers, its);
    }
    return;
  }
  auto place = [&](const std::optional<HalfElements> &elements, auto &operand,
                   WordPart &part) {
    if (!elements)
      return;
    operand.data = strip.sram(elements->first / 2) + std::max(0, lane);
    for (int d = 0; d < last; ++d)
      operand.stride[d] = ptrdiff_t(elements->stride[d] / 2) * strip.lanes;
    operand.stride[last] = 1;
    part = {elements->type, elements->first % 2 != 0};
  };
  place(halves.dst, nest.dst, nest.types.dst);
  place(halves.a, nest.a, nest.types.a);
  run(nest, buffers);
}

} // namespace wsec::runtime
