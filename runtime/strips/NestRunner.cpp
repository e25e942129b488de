// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/NestRunner.h"

#include <algorithm>

namespace wsec::runtime {

using program::ElementType;
using program::Opcode;
using Place = StripMemory::Place;

/// Takes of dimension `dimension` the `extent` indices from `first` on.
static void cut(Nest &nest, NestRunner::Operands &operands, int dimension,
                size_t first, size_t extent) {
  nest.extent[dimension] = extent;
  for (NestOperand *operand : {&operands.dst, &operands.a, &operands.b})
    if (operand->sram) {
      operand->sram->first += int64_t(first) * operand->sram->stride[dimension];
      operand->place = {};
    } else if (operand->place.data)
      operand->place.data +=
          ptrdiff_t(first) * operand->place.stride[dimension];
}

static bool isOfHalves(const NestOperand &operand) {
  return operand.sram && operand.sram->halves();
}

static ptrdiff_t strideOf(const NestOperand &operand, int dimension) {
  return operand.sram ? ptrdiff_t(operand.sram->stride[dimension])
                      : operand.place.stride[dimension];
}

/// The dimension along which elements have to be computed one by one: what is
/// rounded, or copied, stays in one place, or elements of 16 bits read one
/// another.
static int dimensionInOrder(const Nest &nest,
                            const NestRunner::Operands &operands) {
  const bool rounds = isOfHalves(operands.dst);
  if (!rounds && !isOfHalves(operands.a) && !isOfHalves(operands.b))
    return -1;
  const bool inOrder =
      nest.ordered ||
      (rounds && !namesEachOnce(nest.dimensions - 1, nest.extent,
                                operands.dst.sram->stride));
  for (int d = 0; d + 1 < nest.dimensions; ++d) {
    const bool stays =
        strideOf(operands.dst, d) == 0 && (rounds || nest.op == Opcode::Mov);
    if (nest.extent[d] > 1 && (inOrder || stays))
      return d;
  }
  return -1;
}

/// Whether the loops of a nest go over elements one behind the other.
static bool inOrder(const SramElements &elements, const Nest &nest) {
  int64_t next = 1;
  for (int d = nest.dimensions - 1; d-- > 0;) {
    if (nest.extent[d] > 1 && elements.stride[d] != next)
      return false;
    next *= int64_t(nest.extent[d]);
  }
  return true;
}

/// Whether a source of words lies no earlier than the elements of 16 bits that
/// are made of it, one for one: each word is read before it is written.
static bool narrowsInPlace(const NestOperand &source, const NestOperand &dst,
                           const Nest &nest) {
  return !source.sram ||
         (!source.sram->halves() && isOfHalves(dst) &&
          inOrder(*source.sram, nest) && inOrder(*dst.sram, nest) &&
          2 * source.sram->first >= dst.sram->first);
}

bool copiesWords(const Nest &nest) {
  return nest.op == Opcode::Mov && nest.types.dst == nest.types.a &&
         elementSize(nest.types.a.type) == 4;
}

/// Lets the words of a copy stay where they are, if they last.
bool NestRunner::views(const Nest &nest, const Operands &operands) const {
  return (lane >= 0 || first < 0) && copiesWords(nest) && !nest.ordered &&
         operands.a.place.owner && !operands.dst.sram->halves() &&
         memory.view(*operands.dst.sram, nest, operands.a.place, lane);
}

/// Of those lanes.
Place NestRunner::ofLane(Place place) const {
  if (first >= 0)
    place.data += first * place.laneStride;
  if (lane >= 0 || strip.lanes == 1)
    place.laneStride = 0;
  return place;
}

Place NestRunner::locate(const SramElements &elements, const Nest &nest) const {
  std::optional<Place> found = memory.find(elements, nest, lane);
  return ofLane(found ? *std::move(found) : memory.gather(elements, nest));
}

/// Runs a nest piece by piece where a source lies in several views, such as
/// lines that came one after the other. Sums keep the order of their terms: it
/// is cut along its outermost loop over them, or along one over results.
bool NestRunner::splits(const Nest &nest, const Operands &operands,
                        const SramElements &source) const {
  if (!namesEachOnce(nest.dimensions - 1, nest.extent,
                     operands.dst.sram->stride))
    return false;
  int along = -1;
  bool sums = false;
  for (int d = 0; d + 1 < nest.dimensions; ++d) {
    if (nest.extent[d] < 2)
      continue;
    const bool reduces = strideOf(operands.dst, d) == 0;
    const bool keepsOrder = !reduces || !sums;
    sums |= reduces;
    if (keepsOrder && source.stride[d] != 0 &&
        (along < 0 ||
         std::abs(source.stride[d]) > std::abs(source.stride[along])))
      along = d;
  }
  if (along < 0)
    return false;
  auto part = [&](size_t first, size_t extent) {
    std::pair<Nest, Operands> its{nest, operands};
    cut(its.first, its.second, along, first, extent);
    return its;
  };
  auto lies = [&](size_t first, size_t extent) {
    Nest piece = nest;
    piece.extent[along] = extent;
    SramElements elements = source;
    elements.first += int64_t(first) * source.stride[along];
    return memory.find(elements, piece, lane).has_value();
  };
  for (size_t i = 0; i < nest.extent[along]; ++i)
    if (!lies(i, 1))
      return false;
  for (size_t i = 0, count; i < nest.extent[along]; i += count) {
    for (count = 1; i + count < nest.extent[along] && lies(i, count + 1);)
      ++count;
    auto [piece, its] = part(i, count);
    run(piece, its);
  }
  return true;
}

/// The same for both sources. Those that lie in one place are found.
bool NestRunner::splits(const Nest &nest, Operands &operands) const {
  if (nest.ordered)
    return false;
  for (NestOperand *source : {&operands.a, &operands.b}) {
    if (!source->sram || source->sram->halves())
      continue;
    if (std::optional<Place> found = memory.find(*source->sram, nest, lane))
      source->place = ofLane(*std::move(found));
    else if (splits(nest, operands, *source->sram))
      return true;
  }
  return false;
}

/// Whether two operands have words in common, as far as their ends tell.
static bool shareWords(const NestOperand &one, const NestOperand &other,
                       const Nest &nest) {
  auto words = [&](const SramElements &elements) {
    int64_t low = elements.first, high = low;
    for (int d = 0; d + 1 < nest.dimensions; ++d) {
      const int64_t last = int64_t(nest.extent[d]) - 1;
      low += std::min<int64_t>(0, elements.stride[d]) * last;
      high += std::max<int64_t>(0, elements.stride[d]) * last;
    }
    const int shift = elements.halves() ? 1 : 0;
    return std::pair(low >> shift, high >> shift);
  };
  if (!one.sram || !other.sram)
    return false;
  const auto [low, high] = words(*one.sram);
  const auto [first, last] = words(*other.sram);
  return low <= last && first <= high;
}

/// Whether a source lies where the destination does. Words and elements of 16
/// bits lie apart, even of the same SRAM.
static bool touchesResult(const NestOperand &source, const NestOperand &dst,
                          const Nest &nest) {
  return source.sram && source.sram->halves() == dst.sram->halves() &&
         shareWords(source, dst, nest);
}

/// Whether words would have to be elements of two types at once.
static bool differInType(const NestOperand &one, const NestOperand &other,
                         const Nest &nest) {
  return isOfHalves(one) && isOfHalves(other) &&
         one.sram->type != other.sram->type && shareWords(one, other, nest);
}

/// Copies a source to memory of its own.
void NestRunner::copyOut(NestOperand &source, WordPart &part,
                         const Nest &nest) const {
  const int lanesAt = nest.dimensions - 1;
  Nest copy;
  copy.op = Opcode::Mov;
  copy.dimensions = nest.dimensions;
  std::copy_n(nest.extent, nest.dimensions, copy.extent);
  Operands operands{{}, source, {}};
  locateSources(copy, operands);
  copy.types = {}; // Words, whatever is in them.
  Place place;
  size_t size = nest.extent[lanesAt];
  for (int d = lanesAt; d-- > 0; size *= nest.extent[d])
    place.stride[d] = ptrdiff_t(size);
  std::shared_ptr<float[]> words(new float[size]);
  place.data = words.get();
  place.laneStride = lane < 0 && strip.lanes > 1 ? 1 : 0;
  place.owner = words;
  if (Recording *recording = memory.executor().recording())
    place.buffer = recording->addScratch(words.get(), size);
  operands.dst.place = place;
  runLocated(copy, operands);
  part = {takenOut(source.sram->type)};
  source = {{}, place};
}

bool NestRunner::locateSources(Nest &nest, Operands &operands) const {
  bool alike = true;
  auto source = [&](NestOperand &operand, WordPart &part) {
    if (operand.sram) {
      if (!operand.place.data)
        operand.place = locate(*operand.sram, nest);
      if (operand.sram->halves())
        part = {takenOut(operand.sram->type)};
    }
    alike &= !operand.place.data || operand.place.laneStride == 0;
  };
  source(operands.a, nest.types.a);
  source(operands.b, nest.types.b);
  return alike;
}

static void bind(const Place &place, int dimensions, Strided<const float> &to) {
  to.data = place.data;
  std::copy_n(place.stride, maxDimensions, to.stride);
  to.stride[dimensions - 1] = place.laneStride;
}

void NestRunner::runLocated(Nest &nest, const Operands &operands) const {
  bind(operands.a.place, nest.dimensions, nest.a);
  bind(operands.b.place, nest.dimensions, nest.b);
  const Place &dst = operands.dst.place;
  nest.dst.data = const_cast<float *>(dst.data);
  std::copy_n(dst.stride, maxDimensions, nest.dst.stride);
  nest.dst.stride[nest.dimensions - 1] = dst.laneStride;
  try {
    const Place &a = operands.a.place, &b = operands.b.place;
    memory.executor().run(nest, {dst.buffer, a.buffer, b.buffer, a.owner,
                                 b.owner, a.lasts && b.lasts, a.constant});
  } catch (NestError &error) {
    // Lanes are innermost.
    const size_t lanes = nest.extent[nest.dimensions - 1];
    error.lane = int(size_t(error.element - nest.dst.data) %
                     (lanes > 1 && pitch > 0 ? size_t(pitch) : lanes));
    throw;
  }
}

/// Whether each PE has one word of it.
static bool isOneWord(const SramElements &elements, const Nest &nest) {
  return !elements.halves() && elements.bufferBegin < elements.bufferEnd &&
         std::all_of(
             nest.extent, nest.extent + nest.dimensions - 1,
             [](size_t n) { return n == 1; });
}

void NestRunner::run(Nest &nest, Operands &operands) const {
  if (std::any_of(nest.extent, nest.extent + nest.dimensions,
                  [](size_t n) { return n == 0; }))
    return;
  if (nest.ordered && !readsOld(nest.op) &&
      narrowsInPlace(operands.a, operands.dst, nest) &&
      narrowsInPlace(operands.b, operands.dst, nest))
    nest.ordered = false;
  if (const int d = dimensionInOrder(nest, operands); d >= 0) {
    for (size_t i = 0; i < nest.extent[d]; ++i) {
      Nest part = nest;
      Operands its = operands;
      cut(part, its, d, i, 1);
      run(part, its);
    }
    return;
  }
  if (views(nest, operands) || splits(nest, operands))
    return;
  if (differInType(operands.a, operands.dst, nest) ||
      differInType(operands.a, operands.b, nest))
    copyOut(operands.a, nest.types.a, nest);
  if (differInType(operands.b, operands.dst, nest))
    copyOut(operands.b, nest.types.b, nest);
  const SramElements &dst = *operands.dst.sram;
  const bool readsResult = readsOld(nest.op) ||
                           touchesResult(operands.a, operands.dst, nest) ||
                           touchesResult(operands.b, operands.dst, nest);
  bool alike = locateSources(nest, operands) && !nest.ordered;
  if (!alike && isOneWord(dst, nest) &&
      memory.isAlike(ElementType::F32, dst.first)) {
    // Others of the buffer are likely to follow, one by one.
    memory.bringHome(dst.bufferBegin, dst.bufferEnd);
    for (NestOperand *source : {&operands.a, &operands.b})
      if (source->sram)
        source->place = {};
    alike = locateSources(nest, operands) && !nest.ordered;
  }
  operands.dst.place =
      memory.write(dst, nest, {alike, readsResult, first < 0, nest.ordered});
  Place &target = operands.dst.place;
  for (NestOperand *source :
       {&operands.a, &operands.b}) // Its words may have moved.
    if (readsResult && touchesResult(*source, operands.dst, nest))
      source->place = locate(*source->sram, nest);
  if (target.laneStride == 0) {
    nest.extent[nest.dimensions - 1] = 1;
    if (strip.lanes > 1 && nest.op == Opcode::Mov && nest.types.plain() &&
        operands.a.place.constant)
      memory.noteFill(dst, nest, *operands.a.place.data);
  } else if (first >= 0)
    target.data += first;
  if (dst.halves()) {
    nest.types.dst = {takenOut(dst.type)};
    nest.types.rounded =
        nest.types.dst.type == ElementType::F32 ? dst.type : ElementType::F32;
  }
  runLocated(nest, operands);
}

} // namespace wsec::runtime
