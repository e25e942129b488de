// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/VectorRun.h"

#include "runtime/program/NearestNames.h"
#include "runtime/program/check/Extents.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime::pe {

using program::Opcode;
using program::OperandKind;
using program::Packing;

static constexpr int64_t rowLength = 256;

int64_t VectorRun::Source::skip() {
  const int64_t before = position;
  while (outside()) {
    const int64_t phase = position % total;
    position += phase < offset ? offset - phase : total - phase;
  }
  return position - before;
}

void VectorRun::Source::accept(uint32_t word, bool half) {
  ++position;
  if (!paired) {
    elements.push_back(word);
    return;
  }
  elements.push_back(word & 0xffff);
  if (!half)
    elements.push_back(word >> 16);
}

// ---------------------------------------------------------------- resolving

void VectorRun::fail(ErrorClass errorClass, const std::string &what) const {
  throw Fault{errorClass, describe(*instruction) + " " + what};
}

void VectorRun::begin(const program::Machine &machine, const ClassCode &code,
                      const InstructionCode &what, Bindings bindings) {
  classCode = &code;
  instruction = &what;
  rank = int(what.extents.size());
  stepDepth = 0;
  stepsDone = elementsSent = 0;
  sendColor = -1;
  inner = 1;
  halfFull = false;
  for (Source &source : sources)
    source.clear();
  for (const OperandCode *operand : {&what.dst, &what.a, &what.b})
    if (operand->fabric())
      stepDepth = std::max(stepDepth, operand->depth);
  for (int d = 0; d < rank; ++d)
    extent[d] = what.extents[size_t(d)].value(bindings);
  if (!usableExtents(extent, rank))
    fail(ErrorClass::BadProgram, extentsProblem(extent, rank));
  total = 1;
  stepCount = 1;
  for (int d = 0; d < rank; ++d) {
    total *= uint64_t(extent[d]);
    (d < stepDepth ? stepCount : inner) *= extent[d];
  }
  if (total == 0)
    stepCount = 0;
  price = instructionCost(machine, what, extent, stepDepth);
  resolveSource(machine, 0, what.a, bindings);
  resolveSource(machine, 1, what.b, bindings);
  resolve(dst, what.dst, bindings);
  if (what.dst.fabric()) {
    sendColor = int(what.dst.color.value(bindings));
    if (sendColor < 0 || sendColor >= machine.colors())
      fail(ErrorClass::BadProgram,
           "sends on color " + std::to_string(sendColor));
    wireIndex = what.dst.wireIndex.value(bindings);
  }
}

void VectorRun::resolve(Operand &operand, const OperandCode &code,
                        Bindings bindings) {
  operand.code = &code;
  operand.type = code.type;
  if (code.kind == OperandKind::Immediate)
    operand.constant = immediateNumber(instruction->numbers, code.immediate);
  if (!code.memory())
    return;
  const BufferCode &buffer = classCode->buffers[code.buffer];
  operand.size = int(elementSize(code.type));
  int64_t low = code.offset.value(bindings), high = low;
  operand.address = buffer.address + low * operand.size;
  for (int d = 0; d < rank; ++d) {
    operand.stride[d] = code.strides[size_t(d)] * operand.size;
    const int64_t reach = code.strides[size_t(d)] * (extent[d] - 1);
    (reach < 0 ? low : high) += reach;
  }
  if (total > 0 && (low < 0 || high >= buffer.elements))
    fail(ErrorClass::OutOfBounds,
         "touches elements " + std::to_string(low) + " to " +
             std::to_string(high) + " of buffer " + inQuotes(buffer.name) +
             ", which has " + std::to_string(buffer.elements));
}

void VectorRun::resolveSource(const program::Machine &machine, int index,
                              const OperandCode &code, Bindings bindings) {
  resolve(from[index], code, bindings);
  if (!code.fabric())
    return;
  Source &source = sources[size_t(index)];
  source.color = int(code.color.value(bindings));
  if (source.color < 0 || source.color >= machine.colors())
    fail(ErrorClass::BadProgram,
         "receives color " + std::to_string(source.color));
  source.paired = code.packing == Packing::Pair;
  for (int d = code.depth; d < stepDepth; ++d)
    source.group *= extent[d];
  if (!code.windowed)
    return;
  // One extent: one window; otherwise one for each outermost index.
  const int64_t periods = rank == 1 ? 1 : extent[0];
  source.used = rank == 1 ? extent[0] : 1;
  for (int d = 1; d < code.depth; ++d)
    source.used *= extent[d];
  source.total = code.windowTotal.value(bindings);
  source.offset = source.used > 0 ? code.windowOffset.value(bindings) : 0;
  source.words = periods * std::min(source.total, largestInstruction);
  source.windowed = source.words > 0;
  if (source.offset < 0 || source.total < 0 ||
      source.total > largestInstruction ||
      source.offset + source.used > source.total)
    fail(ErrorClass::OutOfBounds,
         "has a window of " + std::to_string(source.used) + " words at " +
             std::to_string(source.offset) + " in " +
             std::to_string(source.total));
}

Elements VectorRun::elements(const Operand &operand) const {
  if (!operand.code->memory() || total == 0)
    return {};
  return {operand.address, operand.size, rank, extent, operand.stride};
}

// ---------------------------------------------------------------- running

void VectorRun::step(Memory &memory, std::vector<uint32_t> &sent) {
  if (total == 0)
    return;
  // Elements in lexicographic order, a row of the innermost extent at a time.
  int64_t position = stepsDone * inner;
  int64_t left = inner;
  const int last = rank - 1;
  int64_t index[maxExtents] = {};
  int64_t rest = position;
  for (int d = last; d >= 0; --d) {
    index[d] = rest % extent[d];
    rest /= extent[d];
  }
  while (left > 0) {
    const int64_t n = std::min({left, extent[last] - index[last], rowLength});
    runRow(memory, index, n, sent);
    left -= n;
    stepsDone = (position += n) / inner;
    index[last] += n;
    for (int d = last; d > 0 && index[d] == extent[d]; --d) {
      index[d] = 0;
      ++index[d - 1];
    }
  }
  for (Source &source : sources)
    if (source.receives()) {
      const int64_t used =
          stepsDone / source.group - source.firstStep / source.group;
      source.elements.erase(source.elements.begin(),
                            source.elements.begin() + used);
      source.firstStep = stepsDone / source.group * source.group;
    }
}

int64_t VectorRun::address(const Operand &operand, const int64_t *index) const {
  int64_t at = operand.address;
  for (int d = 0; d < rank; ++d)
    at += operand.stride[d] * index[d];
  return at;
}

void VectorRun::requireWritten(Memory &memory, const Operand &operand,
                               int64_t at, int64_t stride,
                               int64_t count) const {
  if (stride == 0)
    count = 1;
  if (count == 1 || stride == operand.size) {
    if (memory.written(at, count * operand.size))
      return;
    stride = operand.size;
  }
  for (int64_t i = 0; i < count; ++i, at += stride)
    if (!memory.written(at, operand.size)) {
      const BufferCode &buffer = classCode->buffers[operand.code->buffer];
      fail(ErrorClass::UninitializedRead,
           "reads element " +
               std::to_string((at - buffer.address) / operand.size) +
               " of buffer " + inQuotes(buffer.name) +
               ", which nothing has written");
    }
}

void VectorRun::requireIntegers(int64_t count, NumberSource a, NumberSource b,
                                const Number *old) const {
  for (int64_t i = 0; i < count; ++i) {
    const Number x = a.data[a.scalar ? 0 : i], y = b.data[b.scalar ? 0 : i];
    if (const char *what =
            integerProblem(instruction->op, instruction->numbers, dst.type,
                           instruction->noWrap, x, y, old[i]))
      fail(ErrorClass::IntegerError,
           std::string(what) + ": its sources are " +
               describeSources(instruction->numbers, x, y));
  }
}

/// Whether an element needs the result of an earlier one of the row.
bool VectorRun::dependent(int64_t at, const int64_t *sourceAddress,
                          int64_t count) const {
  if (!dst.code->memory() || count == 1)
    return false;
  const int64_t step = dst.stride[rank - 1];
  if (std::abs(step) < dst.size)
    return true;
  auto span = [&](int64_t address, int64_t stride, int size) {
    int64_t reach = stride * (count - 1);
    return std::pair(address + std::min<int64_t>(0, reach),
                     address + std::max<int64_t>(0, reach) + size);
  };
  const auto written = span(at, step, dst.size);
  for (int i = 0; i < 2; ++i) {
    if (!from[i].code->memory())
      continue;
    const int64_t stride = from[i].stride[rank - 1];
    if (sourceAddress[i] == at && stride == step && from[i].size == dst.size)
      continue;
    const auto read = span(sourceAddress[i], stride, from[i].size);
    if (read.first < written.second && written.first < read.second)
      return true;
  }
  return false;
}

Number VectorRun::element(Memory &memory, int i, int64_t at, int64_t step) {
  const Operand &operand = from[i];
  if (operand.code->memory()) {
    uint32_t word = 0;
    std::memcpy(&word, memory.at(at), size_t(operand.size));
    return decodeElement(operand.type, instruction->numbers, word);
  }
  if (operand.code->fabric()) {
    const Source &source = sources[size_t(i)];
    return decodeElement(
        operand.type, instruction->numbers,
        source.elements[size_t(step / source.group -
                               source.firstStep / source.group)]);
  }
  return operand.constant;
}

/// One element after the other. Reductions keep their sum at hand.
void VectorRun::runDependent(Memory &memory, int64_t at, const int64_t *where,
                             const int64_t *stride, int64_t count,
                             int64_t step) {
  const NumberKind kind = instruction->numbers;
  const int64_t dstStride = dst.stride[rank - 1];
  const bool old = readsOld(instruction->op);
  int64_t place[2] = {where[0], where[1]};
  for (int64_t i = 0; i < count; ++i) {
    Number values[2] = {};
    for (int s = 0; s < 2; ++s) {
      if (from[s].code->memory())
        requireWritten(memory, from[s], place[s], 0, 1);
      values[s] = element(memory, s, place[s], inner == 1 ? step + i : step);
      place[s] += stride[s];
    }
    Number result{};
    if (old) {
      requireWritten(memory, dst, at, 0, 1);
      uint32_t bits = 0;
      std::memcpy(&bits, memory.at(at), size_t(dst.size));
      result = decodeElement(dst.type, kind, bits);
    }
    if (instruction->checksIntegers())
      requireIntegers(1, {&values[0], true}, {&values[1], true}, &result);
    result = evaluate(instruction->op, kind, values[0], values[1], result);
    const uint32_t bits = encodeElement(dst.type, kind, result);
    std::memcpy(memory.at(at), &bits, size_t(dst.size));
    memory.markWritten(at, dst.size);
    at += dstStride;
  }
}

void VectorRun::fetch(Memory &memory, int i, int64_t at, int64_t stride,
                      int64_t step, int64_t count, Number *numbers,
                      bool &scalar) {
  const Operand &operand = from[i];
  scalar = true;
  if (operand.code->memory() && stride != 0) {
    scalar = false;
    return decodeElements(operand.type, instruction->numbers, size_t(count),
                          memory.at(at), stride, numbers);
  }
  if (operand.code->fabric() && inner == 1 && sources[size_t(i)].group == 1) {
    const Source &source = sources[size_t(i)];
    scalar = false;
    const uint32_t *words = &source.elements[size_t(step - source.firstStep)];
    return decodeElements(operand.type, instruction->numbers, size_t(count),
                          words, 4, numbers);
  }
  if (operand.code->fabric() && inner == 1) {
    scalar = false;
    for (int64_t k = 0; k < count; ++k)
      numbers[k] = element(memory, i, at, step + k);
    return;
  }
  numbers[0] = element(memory, i, at, step);
}

void VectorRun::runRow(Memory &memory, const int64_t *index, int64_t count,
                       std::vector<uint32_t> &sent) {
  const int last = rank - 1;
  const int64_t step = stepsDone;
  int64_t where[2] = {}, stride[2] = {};
  for (int i = 0; i < 2; ++i)
    if (from[i].code->memory()) {
      where[i] = address(from[i], index);
      stride[i] = from[i].stride[last];
    }
  const int64_t at = dst.code->memory() ? address(dst, index) : 0;
  if (dependent(at, where, count))
    return runDependent(memory, at, where, stride, count, step);

  for (int i = 0; i < 2; ++i)
    if (from[i].code->memory())
      requireWritten(memory, from[i], where[i], stride[i], count);
  Number numbers[2][rowLength], results[rowLength];
  bool scalar[2];
  for (int i = 0; i < 2; ++i)
    fetch(memory, i, where[i], stride[i], step, count, numbers[i], scalar[i]);
  const NumberKind kind = instruction->numbers;
  const int64_t dstStride = dst.stride[last];
  if (readsOld(instruction->op)) {
    requireWritten(memory, dst, at, dstStride, count);
    decodeElements(dst.type, kind, size_t(count), memory.at(at), dstStride,
                   results);
  } else {
    std::fill_n(results, count, Number{});
  }
  if (instruction->checksIntegers())
    requireIntegers(count, {numbers[0], scalar[0]}, {numbers[1], scalar[1]},
                    results);
  evaluateElements(instruction->op, kind, size_t(count), results,
                   {numbers[0], scalar[0]}, {numbers[1], scalar[1]});
  if (dst.code->fabric())
    return emit(results, count, sent);
  encodeElements(dst.type, kind, size_t(count), results, memory.at(at),
                 dstStride);
  if (count == 1 || dstStride == dst.size)
    memory.markWritten(at, count * dst.size);
  else
    for (int64_t i = 0; i < count; ++i)
      memory.markWritten(at + i * dstStride, dst.size);
}

void VectorRun::emit(const Number *numbers, int64_t count,
                     std::vector<uint32_t> &sent) {
  const bool pairs = instruction->dst.packing == Packing::Pair;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = encodeElement(dst.type, instruction->numbers, numbers[i]);
    const int64_t number = elementsSent++;
    if (!pairs) {
      if (instruction->dst.indexed)
        bits |= uint32_t(uint16_t(wireIndex + number)) << 16;
      sent.push_back(bits);
      continue;
    }
    if (!halfFull && number + 1 < stepCount) {
      half = bits;
      halfFull = true;
      continue;
    }
    sent.push_back(halfFull ? half | bits << 16 : bits);
    halfFull = false;
  }
}

} // namespace wsec::runtime::pe
