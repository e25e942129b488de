// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of an instruction at one place and time, what the machine refuses
// about them, and how fast their words come.
#include "runtime/strips/InstructionRun.h"

#include "runtime/engine/Mesh.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/check/Extents.h"
#include "runtime/strips/Footprint.h"
#include "runtime/strips/MovedOperands.h"

#include <algorithm>
#include <cmath>

namespace wsec::runtime {

using program::Opcode;
using program::OperandKind;

static bool isOfHalves(const OperandCode &operand) {
  return operand.memory() && elementSize(operand.type) == 2;
}

// ---------------------------------------------------------------- patterns

void MemoryPattern::close() {
  lowest = highest = first;
  for (int d = 0; d < dimensions; ++d) {
    const int64_t reach = stride[d] * (extent[d] - 1);
    (reach < 0 ? lowest : highest) += reach;
    none |= extent[d] <= 0;
  }
}

bool MemoryPattern::operator==(const MemoryPattern &other) const {
  return first == other.first && dimensions == other.dimensions &&
         std::equal(extent, extent + dimensions, other.extent) &&
         std::equal(stride, stride + dimensions, other.stride);
}

bool MemoryPattern::sharesHalves(const MemoryPattern &other) const {
  if (empty() || other.empty() || !overlaps(other))
    return false;
  const int64_t from = std::max(low(), other.low());
  const int64_t to = std::min(high(), other.high());
  std::vector<bool> mine(size_t(to - from + 1));
  forEachRun(*this, [&](int64_t half, int64_t count) {
    for (int64_t end = std::min(half + count, to + 1),
                 at = std::max(half, from);
         at < end; ++at)
      mine[size_t(at - from)] = true;
  });
  bool shared = false;
  forEachRun(other, [&](int64_t half, int64_t count) {
    for (int64_t end = std::min(half + count, to + 1),
                 at = std::max(half, from);
         at < end && !shared; ++at)
      shared = mine[size_t(at - from)];
  });
  return shared;
}

/// Whether all halves between the first and the last of a pattern are written,
/// as most are most of the time: then it need not be walked through.
static bool allInitialised(Strip &strip, const MemoryPattern &pattern,
                           int lane) {
  const int64_t end = pattern.high() + 1;
  return strip.firstUninitialised(pattern.low(), end - pattern.low(), lane) ==
         end;
}

void markInitialised(Strip &strip, const MemoryPattern &pattern, int lane) {
  if (pattern.empty() || allInitialised(strip, pattern, lane))
    return;
  forEachRun(pattern, [&](int64_t half, int64_t count) {
    strip.markInitialised(half, count, lane);
  });
}

bool isWritten(Strip &strip, const MemoryPattern &pattern, int lane,
               const std::function<bool(int64_t half)> &isOwn) {
  bool all = true;
  forEachRun(pattern, [&](int64_t half, int64_t count) {
    const int64_t end = half + count;
    while (all &&
           (half = strip.firstUninitialised(half, end - half, lane)) < end)
      all = isOwn(half++);
  });
  return all;
}

// ---------------------------------------------------------------- resolving

void InstructionRun::fail(ErrorClass errorClass, const std::string &what,
                          int lane) const {
  Coordinate pe = site.strip.pe(std::max(lane, site.lane));
  throw Error(errorClass, site.world.describeLaunch(site.launch) + ", class " +
                              inQuotes(site.strip.code.name) + ", PE " +
                              toString(pe) + ": " + describe(site.code) + " " +
                              what);
}

InstructionRun::InstructionRun(const RunSite &where, Bindings bindings)
    : site(where), lanes(where.lane < 0 ? where.strip.lanes : where.count) {
  resolve(bindings);
}

void InstructionRun::resolve(Bindings bindings) {
  const InstructionCode &code = site.code;
  dimensions = int(code.extents.size());
  for (int d = 0; d < dimensions; ++d)
    extent[d] = code.extents[d].value(bindings);
  if (!usableExtents(extent, dimensions))
    fail(ErrorClass::BadProgram, extentsProblem(extent, dimensions));
  for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
    if (operand->fabric())
      stepDepth = std::max(stepDepth, operand->depth);
  for (int d = stepDepth; d-- > 0;) {
    inner[d] = steps;
    steps *= size_t(extent[d]);
  }
  if (std::any_of(extent, extent + dimensions,
                  [](int64_t n) { return n == 0; }))
    steps = 0;
  cost = instructionCost(site.world.image.machine, code, extent, stepDepth);
  resolveSource(sources[0], code.a, bindings);
  resolveSource(sources[1], code.b, bindings);
  resolveDestination(bindings);
  site.world.count(site.strip, uint64_t(lanes), 0);
}

MemoryPattern InstructionRun::pattern(const OperandCode &operand,
                                      Bindings bindings) const {
  const BufferCode &buffer = site.strip.code.buffers[operand.buffer];
  const int64_t size = isOfHalves(operand) ? 1 : 2, base = buffer.address / 2;
  MemoryPattern result;
  result.first = base + operand.offset.value(bindings) * size;
  result.dimensions = dimensions + 1;
  std::copy_n(extent, maxExtents, result.extent);
  for (int d = 0; d < dimensions; ++d)
    result.stride[d] = operand.strides[size_t(d)] * size;
  result.extent[dimensions] = size;
  result.stride[dimensions] = 1;
  result.close();
  if (!result.empty() &&
      (result.low() < base || result.high() >= base + buffer.elements * size))
    fail(ErrorClass::OutOfBounds,
         "touches elements " + std::to_string((result.low() - base) / size) +
             " to " + std::to_string((result.high() - base) / size) +
             " of buffer " + inQuotes(buffer.name) + ", which has " +
             std::to_string(buffer.elements));
  return result;
}

void InstructionRun::checkInitialised(const MemoryPattern &read,
                                      const OperandCode &operand,
                                      int ofLane) const {
  if (allInitialised(site.strip, read, ofLane))
    return;
  forEachRun(read, [&](int64_t half, int64_t count) {
    const int64_t end = half + count;
    while ((half = site.strip.firstUninitialised(half, end - half, ofLane)) <
           end) {
      // An instruction may read what it wrote itself, element by element.
      bool own = ordered && written && half >= written->low() &&
                 half <= written->high();
      if (!own)
        break;
      ++half;
    }
    if (half == end)
      return;
    int lane = std::max(0, ofLane);
    while (site.strip.firstUninitialised(half, 1, lane) != half)
      ++lane;
    const BufferCode &buffer = site.strip.code.buffers[operand.buffer];
    fail(ErrorClass::UninitializedRead,
         "reads element " +
             std::to_string((half - buffer.address / 2) /
                            (isOfHalves(operand) ? 1 : 2)) +
             " of buffer " + inQuotes(buffer.name) +
             ", which nothing has written",
         lane);
  });
}

void InstructionRun::resolveSource(Source &source, const OperandCode &operand,
                                   Bindings bindings) {
  source.kind = operand.kind;
  source.immediate = operand.immediate;
  if (operand.fabric())
    return resolveFabric(source, operand, bindings);
  if (!operand.memory())
    return;
  MemoryPattern read = pattern(operand, bindings);
  reads[&source - sources] = read;
  source.sram = elementsOf(operand, read);
}

SramElements InstructionRun::elementsOf(const OperandCode &operand,
                                        const MemoryPattern &pattern) const {
  const BufferCode &buffer = site.strip.code.buffers[operand.buffer];
  const int64_t size = isOfHalves(operand) ? 1 : 2;
  SramElements elements{operand.type, pattern.first / size};
  elements.bufferBegin = buffer.firstWord;
  elements.bufferEnd = buffer.firstWord + buffer.words;
  std::copy_n(operand.strides.begin(), dimensions, elements.stride);
  elements.move = moveOf(operand);
  return elements;
}

/// How the arguments of the launch move an operand, for a recording.
uint32_t InstructionRun::moveOf(const OperandCode &operand) const {
  Recording *recording = site.world.recording;
  const std::vector<AffineTerm> &terms = operand.offset.terms;
  if (!recording || std::none_of(terms.begin(), terms.end(),
                                 [](const auto &term) { return term.local; }))
    return 0;
  const RoutineCode *routine = site.strip.code.routine(site.code.routine);
  Recording::Move move{uint32_t(site.launch), uint32_t(site.strip.lanes)};
  for (const AffineTerm &term : terms)
    if (term.local && term.index < routine->arguments)
      move.terms.push_back({term.index, term.scale});
  return move.terms.empty() ? 0 : recording->addMove(std::move(move));
}

/// Tells those who want to know what is used of the words that last.
void InstructionRun::noteAccess(const std::optional<MemoryPattern> &pattern,
                                const OperandCode &operand, int lane,
                                bool reads, bool writes) const {
  LastingAccesses *accesses = site.world.accesses;
  if (accesses && pattern && !pattern->empty() &&
      site.strip.memory.staysHome(pattern->low() / 2, pattern->high() / 2 + 1))
    accesses->note(site.strip, lane, *pattern, operand, moveOf(operand), reads,
                   writes);
}

/// Notes whether words that code loads follow from the program alone: no words
/// of the fabric, nor what arguments place.
void InstructionRun::noteOrigin(int lane, bool readsOld) const {
  ProgramWords &words = site.strip.programWords;
  if (!written || !site.world.recording ||
      !words.areLoaded(written->low(), written->high() + 1))
    return;
  const auto ofProgram = [&](const MemoryPattern &read) {
    bool all = true;
    forEachRun(read, [&](int64_t half, int64_t count) {
      all = all && words.hold(half, count, lane);
    });
    return all;
  };
  bool its =
      (!readsOld || ofProgram(*written)) &&
      !site.strip.memory.staysHome(written->low() / 2, written->high() / 2 + 1);
  for (int i = 0; i < 2; ++i)
    its = its && !sources[i].fabric && (!reads[i] || ofProgram(*reads[i]));
  forEachRun(*written, [&](int64_t half, int64_t count) {
    words.set(half, count, lane, its);
  });
}

void InstructionRun::resolveFabric(Source &source, const OperandCode &operand,
                                   Bindings bindings) {
  source.color = int(operand.color.value(bindings));
  source.depth = operand.depth;
  for (int d = operand.depth; d < stepDepth; ++d)
    source.group *= size_t(extent[d]);
  StripQueue &queue = site.world.queue(site.strip, source.color);
  if (!operand.windowed) {
    source.fabric.emplace(queue, lanes, site.lane);
    return;
  }
  Window window;
  int64_t total = operand.windowTotal.value(bindings);
  window.periods = dimensions == 1 ? 1 : size_t(extent[0]);
  window.used = dimensions == 1 ? size_t(extent[0]) : 1;
  for (int d = 1; d < operand.depth; ++d)
    window.used *= size_t(extent[d]);
  auto offsetIn = [&](Bindings where) {
    int64_t offset = operand.windowOffset.value(where);
    if (offset < 0 || total < 0 || total > largestInstruction ||
        offset + int64_t(window.used) > total)
      fail(ErrorClass::OutOfBounds,
           "has a window of " + std::to_string(window.used) + " words at " +
               std::to_string(offset) + " in " + std::to_string(total));
    return size_t(offset);
  };
  window.total = size_t(total);
  window.offset = window.used ? offsetIn(bindings) : 0;
  bool varies = std::any_of(
      operand.windowOffset.terms.begin(), operand.windowOffset.terms.end(),
      [&](const AffineTerm &term) {
        return !term.atRunTime() && site.strip.varying[term.index];
      });
  if (site.lane < 0 && lanes > 1 && varies && window.used) {
    std::vector<uint16_t> which;
    for (const AffineTerm &term : operand.windowOffset.terms)
      if (!term.atRunTime())
        which.push_back(uint16_t(term.index));
    for (int lane = 0; lane < lanes; ++lane) {
      const std::vector<int64_t> &scalars = site.strip.laneScalars(lane, which);
      window.laneOffsets.push_back(
          offsetIn({scalars.data(), bindings.loops, bindings.locals}));
    }
  }
  source.fabric.emplace(queue, lanes, site.lane, std::move(window));
}

void InstructionRun::checkSender() const {
  const std::vector<int> &mute = links->mute;
  bool silent = site.lane < 0
                    ? !mute.empty()
                    : std::binary_search(mute.begin(), mute.end(), site.lane);
  if (silent) // Says what is wrong.
    site.world.image.router.trace(
        sendColor, site.strip.pe(site.lane < 0 ? mute.front() : site.lane),
        program::Port::Ramp);
}

void InstructionRun::resolveDestination(Bindings bindings) {
  const OperandCode &dst = site.code.dst;
  if (dst.fabric()) {
    sendColor = int(dst.color.value(bindings));
    links = &site.world.links(site.strip, sendColor);
    if (links->exitRow >= 0)
      linkPerStep =
          site.world.exitPerWord(site.launch, links->exitRow, sendColor);
    if (steps)
      checkSender();
  } else {
    written = pattern(dst, bindings);
    target = elementsOf(dst, *written);
    findOverlap();
  }
  for (std::optional<MemoryPattern> *p : {&written, &reads[0], &reads[1]})
    if (*p && (*p)->empty())
      p->reset();
}

void InstructionRun::touch() {
  touch(site.lane);
  for (int i = 1; i < site.count; ++i)
    touch(site.lane + i);
}

void InstructionRun::touch(int lane) {
  const bool readsOld =
      site.code.op == Opcode::Fmac || site.code.op == Opcode::Select;
  if (Footprint *footprint = site.world.footprint)
    for (const auto *read :
         {&reads[0], &reads[1], readsOld ? &written : nullptr})
      if (read && *read)
        footprint->read(site.strip, lane, **read);
  if (site.world.footprint && written)
    site.world.footprint->write(site.strip, lane, *written);
  noteAccess(reads[0], site.code.a, lane, true, false);
  noteAccess(reads[1], site.code.b, lane, true, false);
  noteAccess(written, site.code.dst, lane, readsOld, true);
  noteOrigin(lane, readsOld);
  if (reads[0])
    checkInitialised(*reads[0], site.code.a, lane);
  if (reads[1])
    checkInitialised(*reads[1], site.code.b, lane);
  if (written && readsOld)
    checkInitialised(*written, site.code.dst, lane);
  if (written && !site.code.asynchronous())
    markInitialised(site.strip, *written, lane);
}

bool InstructionRun::touches(const MemoryPattern &pattern) const {
  return writes(pattern) || (reads[0] && reads[0]->sharesHalves(pattern)) ||
         (reads[1] && reads[1]->sharesHalves(pattern));
}

/// A source that shares words with the destination, but not the same ones at
/// the same time, fixes the order of the elements.
void InstructionRun::findOverlap() {
  if (written->empty())
    return;
  for (int i = 0; i < 2; ++i)
    if (reads[i] && !(*reads[i] == *written) && reads[i]->overlaps(*written))
      ordered = true;
}

// ---------------------------------------------------------------- paces

double InstructionRun::apart(bool works) const {
  // A step takes its word, and hears it, in every second cycle.
  const bool hears = echo() >= 0;
  const double perWord = (hears ? 2 : 1) * (works ? 2 : 1);
  double cycles = hears ? perWord : 0;
  for (const Source &source : sources)
    if (source.fabric && source.fabric->periods() > 1 &&
        source.fabric->windowWords() > 0) {
      const auto words = double(source.fabric->windowWords());
      // Those of the router in front of it wait, too.
      const double held =
          source.fabric->inbox() + routerWords(site.world.image.machine);
      // Columns take their words of a line one after the other.
      const double line = feedCycles(words, held, perWord, hears) *
                          double(source.fabric->periodWords()) / words;
      cycles = std::max(perWord, line / words);
    }
  return cycles;
}

bool InstructionRun::isAhead() const {
  if (wordsReceived() == 0)
    return links != nullptr;
  return apart(false) == 0 &&
         std::all_of(sources, sources + 2, [](const Source &source) {
           return !source.fabric || source.fabric->isFromHost();
         });
}

bool InstructionRun::isOfRow() const {
  const auto &source = sources[0].fabric;
  return !links && source && source->isFromHost() && source->windowWords() > 0;
}

/// PEs take the `words` of their windows one after the other of a channel's
/// period, in `apart` cycles each, and drop the others in one. A word enters
/// when all have room, `held` words behind the last that the slowest took: the
/// longest way through their steps decides.
static double slowedBy(double apart, double words, double held, double period) {
  const double whole = (words * apart + period - words) / period, // of one PE
      next = apart * (words - held) / words; // from each to the next
  // All of one, what is held, and on to the window that begins then.
  const double windows = std::ceil((words + held) / words);
  const double further =
      windows * words <= period
          ? (words * apart + (windows - 1) * words - held) / (windows * words)
          : 1;
  return std::max({1.0, whole, next, further});
}

Datapath::Slowed InstructionRun::slowed() const {
  Datapath::Slowed slowed;
  for (const Source &source : sources)
    if (source.fabric && source.fabric->windowWords() > 0) {
      const double words = double(source.fabric->windowWords());
      // Those of the router in front of it wait, too.
      const double held =
          source.fabric->inbox() + routerWords(site.world.image.machine);
      const double period = double(source.fabric->periodWords());
      const double byTwo = slowedBy(4, words, held, period);
      if (byTwo > slowed.byTwo)
        slowed = {slowedBy(2, words, held, period), byTwo, words / period};
    }
  return slowed;
}

} // namespace wsec::runtime
