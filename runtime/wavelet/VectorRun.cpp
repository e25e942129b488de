// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/VectorRun.h"

#include "runtime/engine/VectorKernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace wsec::runtime::wavelet {

using program::ElementType;
using program::Opcode;
using program::OperandKind;
using program::Packing;

// ---------------------------------------------------------------- wire format

/// What a receiver must expect: type, and how many of how many elements.
static uint8_t formOf(const OperandCode &operand, bool halfFilled) {
  return uint8_t(uint8_t(operand.type) |
                 (operand.packing == Packing::Pair ? 16 : 0) |
                 (halfFilled ? 32 : 0));
}

static std::string describeForm(uint8_t form) {
  std::string text = program::EnumNameElementType(ElementType(form & 15));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (form & 16)
    text += form & 32 ? ", half a pair" : " in pairs";
  return text;
}

// ---------------------------------------------------------------- resolving

void VectorRun::fail(const Place &place, ErrorClass errorClass,
                     const std::string &what) const {
  throw Error(errorClass, describeLaunch(place.program, launchIndex) +
                              ", class '" + place.code.name + "', PE " +
                              toString(place.fabric.coordinate(place.pe)) +
                              ": " + describe(*source) + " " + what);
}

void VectorRun::begin(const Place &place, const InstructionCode &code,
                      Bindings bindings, size_t launch) {
  source = &code;
  launchIndex = launch;
  dimensions = int(code.extents.size());
  stepDepth = 0;
  steps = total = 1;
  done = 0;
  pairHalf = ordered = false;
  waiting = {};
  std::fill(std::begin(index), std::end(index), 0);
  for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
    if (operand->fabric())
      stepDepth = std::max(stepDepth, operand->depth);
  for (int d = 0; d < dimensions; ++d) {
    extent[d] = code.extents[size_t(d)].value(bindings);
    if (extent[d] < 0)
      fail(place, ErrorClass::BadProgram,
           "has a negative extent " + std::to_string(extent[d]));
    total *= uint64_t(extent[d]);
    if (d < stepDepth)
      steps *= size_t(extent[d]);
  }
  if (total == 0)
    steps = 0;
}

void VectorRun::resolve(const Place &place, Bindings bindings, bool snapshot) {
  const InstructionCode &code = *source;
  price = costOf(place.machine, code, extent, stepDepth);
  plain = code.numbers == NumberKind::Single;
  for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
    if (operand->memory() || operand->fabric())
      plain &= operand->type == ElementType::F32;
  needsOld = code.op == Opcode::Fmac || code.op == Opcode::Select;
  resolveSource(place, sources[0], code.a, bindings, snapshot);
  resolveSource(place, sources[1], code.b, bindings, snapshot);
  target = {};
  sendColor = -1;
  if (code.dst.fabric()) {
    sendColor = int(code.dst.color.value(bindings));
    firstIndex = code.dst.wireIndex.value(bindings);
  } else {
    resolveMemory(place, target, code.dst, bindings);
    for (const Source &from : sources)
      if (from.span.overlaps(target.span) && from.snapshot.empty())
        ordered |=
            from.address != target.address ||
            !std::equal(from.stride, from.stride + dimensions, target.stride);
  }
  closed = steps == 0 && !sources[0].windowed && !sources[1].windowed;
}

void VectorRun::resolveMemory(const Place &place, MemoryOperand &operand,
                              const OperandCode &from,
                              Bindings bindings) const {
  const BufferCode &buffer = place.code.buffers[from.buffer];
  const auto size = int64_t(elementSize(from.type));
  const int64_t offset = from.offset.value(bindings);
  int64_t low = offset, high = offset;
  for (int d = 0; d < dimensions; ++d) {
    const int64_t reach = from.strides[size_t(d)] * (extent[d] - 1);
    (reach < 0 ? low : high) += reach;
    operand.stride[d] = from.strides[size_t(d)] * size;
  }
  if (total == 0)
    return;
  if (low < 0 || high >= buffer.elements)
    fail(place, ErrorClass::OutOfBounds,
         "touches elements " + std::to_string(low) + " to " +
             std::to_string(high) + " of buffer '" + buffer.name +
             "', which has " + std::to_string(buffer.elements));
  operand.address = buffer.address + offset * size;
  operand.data = place.memory.at(operand.address);
  operand.span = {buffer.address + low * size,
                  buffer.address + (high + 1) * size};
  operand.unchecked = place.memory.initialised(
      operand.span.low, operand.span.high - operand.span.low);
}

void VectorRun::resolveSource(const Place &place, Source &operand,
                              const OperandCode &from, Bindings bindings,
                              bool snapshot) {
  operand.snapshot.clear();
  static_cast<MemoryOperand &>(operand) = {};
  operand.kind = from.kind;
  operand.type = from.type;
  operand.color = -1;
  operand.windowed = operand.hasRest = false;
  operand.group = 1;
  operand.received = 0;
  if (from.kind == OperandKind::Immediate)
    operand.number = immediateNumber(source->numbers, from.immediate);
  if (from.memory()) {
    resolveMemory(place, operand, from, bindings);
    if (snapshot && total > 0)
      takeSnapshot(place, operand, from);
  }
  if (!from.fabric())
    return;
  operand.color = int(from.color.value(bindings));
  for (int d = from.depth; d < stepDepth; ++d)
    operand.group *= size_t(extent[d]);
  if (from.windowed)
    resolveWindow(place, operand, from, bindings);
}

void VectorRun::resolveWindow(const Place &place, Source &operand,
                              const OperandCode &from, Bindings bindings) {
  operand.windowed = true;
  operand.periods = dimensions == 1 ? 1 : size_t(extent[0]);
  operand.used = dimensions == 1 ? size_t(extent[0]) : 1;
  for (int d = 1; d < from.depth; ++d)
    operand.used *= size_t(extent[d]);
  const int64_t words = from.windowTotal.value(bindings);
  const int64_t offset = operand.used ? from.windowOffset.value(bindings) : 0;
  if (offset < 0 || words < 0 || offset + int64_t(operand.used) > words)
    fail(place, ErrorClass::OutOfBounds,
         "has a window of " + std::to_string(operand.used) + " words at " +
             std::to_string(offset) + " in " + std::to_string(words));
  operand.total = size_t(words);
  operand.offset = size_t(offset);
  if (operand.total == 0 || operand.periods == 0)
    operand.windowed = false;
}

void VectorRun::checkInitialised(const Place &place, const Source &operand,
                                 const OperandCode &from) const {
  if (!from.memory() || operand.unchecked || total == 0)
    return;
  int64_t at[maxExtents] = {};
  for (uint64_t i = 0; i < total; ++i) {
    const uint8_t *element = operand.data;
    for (int d = 0; d < dimensions; ++d)
      element += at[d] * operand.stride[d];
    load(place, operand, element, from); // checks
    for (int d = dimensions; d-- > 0 && ++at[d] == extent[d];)
      at[d] = 0;
  }
}

void VectorRun::checkSources(const Place &place) const {
  checkInitialised(place, sources[0], source->a);
  checkInitialised(place, sources[1], source->b);
}

/// Memory is read when the instruction is issued: what happens to it afterwards
/// does not matter.
void VectorRun::takeSnapshot(const Place &place, Source &operand,
                             const OperandCode &from) {
  checkInitialised(place, operand, from);
  const MemorySpan span = operand.span;
  operand.snapshot.assign(place.memory.at(span.low),
                          place.memory.at(span.low) + (span.high - span.low));
  operand.data = operand.snapshot.data() + (operand.address - span.low);
  operand.unchecked = true;
}

InstructionUse VectorRun::use() const {
  return {source->thread,
          target.span,
          {sources[0].span, sources[1].span},
          {sources[0].color, sources[1].color},
          sendColor};
}

// ---------------------------------------------------------------- waiting

/// Whether the oldest word of a color is there at `now`; one that follows a
/// word of the same cycle is there in the next.
static VectorRun::Wait wordAt(const Place &place, int color, Cycle now) {
  using Wait = VectorRun::Wait;
  const Buffer *inbox = place.fabric.inbox(place.pe, color);
  if (!inbox || inbox->empty())
    return {Wait::Word, 0, color};
  const Cycle ready = inbox->popped(now) ? now + 1 : inbox->front().ready;
  if (ready > now)
    return {Wait::Time, ready, color};
  return {};
}

void VectorRun::noteReceived(const Place &place, Source &operand) {
  ++operand.received;
  if (Observer *observer = place.fabric.observer)
    observer->received({&place.pe, 1}, operand.color, 1);
}

VectorRun::Wait VectorRun::drop(const Place &place, Cycle now) {
  waiting = {};
  for (Source &operand : sources)
    while (operand.outside()) {
      Wait wait = wordAt(place, operand.color, now);
      if (wait.kind != Wait::Nothing) {
        waiting = wait;
        break;
      }
      place.fabric.receive(place.pe, operand.color);
      noteReceived(place, operand);
    }
  return waiting;
}

/// Waits for the word that the next step uses.
VectorRun::Wait VectorRun::awaitWord(const Place &place, Source &operand,
                                     Cycle now) {
  Wait wait = wordAt(place, operand.color, now);
  if (wait.kind != Wait::Nothing)
    return wait;
  const Buffer &inbox = *place.fabric.inbox(place.pe, operand.color);
  if (!inbox.front().control)
    return {};
  if (source->onControl == program::OnControl::Task)
    return {Wait::Word, 0, operand.color};
  place.fabric.receive(place.pe, operand.color);
  steps = done;
  closed = true;
  return {};
}

VectorRun::Wait VectorRun::prepare(const Place &place, Cycle now) {
  if (drop(place, now).kind != Wait::Nothing)
    return waiting;
  if (done == steps) {
    closed = true;
    return waiting;
  }
  for (Source &operand : sources)
    if (operand.needsWord(done)) {
      waiting = awaitWord(place, operand, now);
      if (waiting.kind != Wait::Nothing || done == steps)
        return waiting;
    }
  if (sendColor >= 0 && !place.fabric.roomToSend(place.pe, sendColor))
    waiting = {Wait::Room, 0, sendColor};
  return waiting;
}

std::string VectorRun::describeWait() const {
  std::string text = describe(*source);
  if (waiting.kind == Wait::Room)
    return text + " waits to send on color " + std::to_string(waiting.color);
  return text + " waits for a word of color " + std::to_string(waiting.color);
}

std::string VectorRun::describeState() const {
  const std::string at =
      ", step " + std::to_string(done) + " of " + std::to_string(steps);
  const bool waits = waiting.kind == Wait::Room || waiting.kind == Wait::Word;
  const std::string text = waits ? describeWait() : "";
  const size_t name = describe(*source).size();
  return describe(*source) + at + (waits ? "," + text.substr(name) : "");
}

// ---------------------------------------------------------------- steps

void VectorRun::takeWord(const Place &place, Source &operand,
                         const OperandCode &from) {
  uint32_t bits;
  if (operand.hasRest) {
    operand.hasRest = false;
    bits = operand.rest;
  } else {
    const Wavelet wavelet = place.fabric.receive(place.pe, operand.color);
    noteReceived(place, operand);
    const bool pairs = from.packing == Packing::Pair;
    const bool tail = pairs && done + 1 == steps;
    if (wavelet.form != formOf(from, tail))
      fail(place, ErrorClass::PackingMismatch,
           "receives " + describeForm(wavelet.form) + " on color " +
               std::to_string(operand.color) + " where it expects " +
               describeForm(formOf(from, tail)));
    bits = wavelet.payload;
    operand.hasRest = pairs && !tail;
    operand.rest = bits >> 16;
  }
  operand.number = decodeElement(from.type, source->numbers, bits);
}

void VectorRun::advance() {
  ++done;
  for (int d = stepDepth; d-- > 0 && ++index[d] == extent[d];)
    index[d] = 0;
  if (done == steps)
    closed = !sources[0].windowed && !sources[1].windowed;
}

/// Of the current step.
const uint8_t *VectorRun::start(const MemoryOperand &operand) const {
  const uint8_t *at = operand.data;
  for (int d = 0; d < stepDepth; ++d)
    at += index[d] * operand.stride[d];
  return at;
}

void VectorRun::step(const Place &place, Cycle now) {
  for (int i = 0; i < 2; ++i) {
    Source &operand = sources[i];
    if (operand.color >= 0 && done % operand.group == 0)
      takeWord(place, operand, i == 0 ? source->a : source->b);
  }
  if (sendColor >= 0)
    sendResult(place, now);
  else
    compute(place);
  advance();
}

Number VectorRun::load(const Place &place, const MemoryOperand &operand,
                       const uint8_t *at, const OperandCode &from) const {
  const uint32_t size = elementSize(from.type);
  if (!operand.unchecked) {
    const int64_t address = operand.address + (at - operand.data);
    if (!place.memory.initialised(address, size)) {
      const BufferCode &buffer = place.code.buffers[from.buffer];
      fail(place, ErrorClass::UninitializedRead,
           "reads element " +
               std::to_string((address - buffer.address) / size) +
               " of buffer '" + buffer.name + "', which nothing has written");
    }
  }
  uint32_t bits = 0;
  std::memcpy(&bits, at, size);
  return decodeElement(from.type, source->numbers, bits);
}

/// The element of a step that has only one, as it is sent.
uint32_t VectorRun::result(const Place &place) {
  Number values[2] = {};
  const OperandCode *operands[] = {&source->a, &source->b};
  for (int i = 0; i < 2; ++i)
    values[i] = operands[i]->memory()
                    ? load(place, sources[i], start(sources[i]), *operands[i])
                    : sources[i].number;
  return encodeElement(
      source->dst.type, source->numbers,
      evaluate(source->op, source->numbers, values[0], values[1], Number{}));
}

void VectorRun::sendResult(const Place &place, Cycle now) {
  const OperandCode &dst = source->dst;
  uint32_t bits = result(place);
  const bool last = done + 1 == steps;
  bool halfFilled = false;
  if (dst.packing == Packing::Pair) {
    if (!pairHalf && !last) {
      pairHalf = true;
      firstOfPair = bits;
      return;
    }
    halfFilled = !pairHalf;
    if (pairHalf)
      bits = firstOfPair | bits << 16;
    pairHalf = false;
  } else if (dst.indexed) {
    bits |= uint32_t(uint16_t(firstIndex + int64_t(done))) << 16;
  }
  // What comes from memory is at hand when its step begins; a word of the
  // fabric takes the step to come in.
  const bool relays = sources[0].color >= 0 || sources[1].color >= 0;
  Wavelet wavelet;
  wavelet.ready = now + place.machine.ramp_cycles() +
                  Cycle(std::ceil(price.work)) - (relays ? 0 : 1);
  wavelet.payload = bits;
  wavelet.form = formOf(dst, halfFilled);
  place.fabric.send(place.pe, sendColor, wavelet);
  if (Observer *observer = place.fabric.observer)
    observer->sent({&place.pe, 1}, launchIndex, sendColor, 1, double(now),
                   double(now));
}

// ---------------------------------------------------------------- elements

/// All elements of a step whose destination is memory.
void VectorRun::compute(const Place &place) {
  const uint8_t *a = sources[0].data ? start(sources[0]) : nullptr;
  const uint8_t *b = sources[1].data ? start(sources[1]) : nullptr;
  auto *dst = const_cast<uint8_t *>(start(target));
  if (stepDepth >= dimensions - 1)
    return computeRow(place, dst, a, b, dimensions - 1);
  // The extents between the steps and the innermost one.
  int64_t at[maxExtents] = {};
  const int last = dimensions - 1;
  for (;;) {
    ptrdiff_t toDst = 0, toA = 0, toB = 0;
    for (int d = stepDepth; d < last; ++d) {
      toDst += at[d] * target.stride[d];
      toA += at[d] * sources[0].stride[d];
      toB += at[d] * sources[1].stride[d];
    }
    computeRow(place, dst + toDst, a ? a + toA : a, b ? b + toB : b, last);
    int d = last;
    while (d-- > stepDepth && ++at[d] == extent[d])
      at[d] = 0;
    if (d < stepDepth)
      return;
  }
}

static VectorSource vectorSource(const uint8_t *memory, ptrdiff_t stride,
                                 const Number &number) {
  if (!memory)
    return {&number.real, true};
  return {reinterpret_cast<const float *>(memory), stride == 0};
}

/// The elements along dimension `d`, or one if steps run over that.
void VectorRun::computeRow(const Place &place, uint8_t *dst, const uint8_t *a,
                           const uint8_t *b, int d) {
  const size_t n = d < stepDepth ? 1 : size_t(extent[d]);
  const ptrdiff_t aStride = sources[0].stride[d],
                  bStride = sources[1].stride[d], dstStride = target.stride[d];
  auto dense = [](const uint8_t *memory, ptrdiff_t stride) {
    return !memory || stride == 0 || stride == 4;
  };
  const bool checked = (!a || sources[0].unchecked) &&
                       (!b || sources[1].unchecked) &&
                       (!needsOld || target.unchecked);
  const bool vector = n == 1 || (!ordered && dstStride == 4 &&
                                 dense(a, aStride) && dense(b, bStride));
  if (plain && checked && vector) {
    applyVector(source->op, n, reinterpret_cast<float *>(dst),
                vectorSource(a, n == 1 ? 0 : aStride, sources[0].number),
                vectorSource(b, n == 1 ? 0 : bStride, sources[1].number));
    if (!target.unchecked)
      place.memory.mark(target.address + (dst - target.data), int64_t(n) * 4);
    return;
  }
  const uint32_t size = elementSize(source->dst.type);
  for (size_t i = 0; i < n; ++i) {
    Number x = a ? load(place, sources[0], a, source->a) : sources[0].number;
    Number y = b ? load(place, sources[1], b, source->b) : sources[1].number;
    Number old = needsOld ? load(place, target, dst, source->dst) : Number{};
    const uint32_t bits =
        encodeElement(source->dst.type, source->numbers,
                      evaluate(source->op, source->numbers, x, y, old));
    std::memcpy(dst, &bits, size);
    if (!target.unchecked)
      place.memory.mark(target.address + (dst - target.data), size);
    a = a ? a + aStride : a;
    b = b ? b + bStride : b;
    dst += dstStride;
  }
}

} // namespace wsec::runtime::wavelet
