// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/InstructionRun.h"

#include "runtime/strips/Recording.h"

#include "runtime/program/Errors.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace wsec::runtime {

using program::Opcode;
using program::OperandKind;

/// Floats of one chunk that an instruction makes: small enough to stay in
/// cache until it is read, large enough to be worth its handling.
static constexpr size_t chunkFloats = 1 << 14;

namespace {

struct FreeRuns {
  static constexpr size_t most = 2048;
  std::vector<void *> memory;

  ~FreeRuns() {
    for (void *its : memory)
      ::operator delete(its);
  }
};
thread_local FreeRuns freeRuns;

} // namespace

void *InstructionRun::operator new(size_t bytes) {
  std::vector<void *> &memory = freeRuns.memory;
  if (memory.empty())
    return ::operator new(bytes);
  void *last = memory.back();
  memory.pop_back();
  return last;
}

void InstructionRun::operator delete(void *memory, size_t) {
  if (freeRuns.memory.size() < FreeRuns::most)
    freeRuns.memory.push_back(memory);
  else
    ::operator delete(memory);
}

void InstructionRun::start(double time) {
  began = time;
  now = taking = time + cost.setup;
  if (forwards() && steps > 0)
    return; // It asks as others ask for what it passes on.
  for (Source &source : sources)
    if (source.fabric)
      source.fabric->ask(
          {now, cost.perStep * double(source.group), source.fabric->inbox()},
          steps / source.group);
}

double InstructionRun::wordsReceived(int index) const {
  const Source &source = sources[index];
  return source.fabric ? double(source.fabric->wordsUntil(steps / source.group))
                       : 0;
}

int InstructionRun::echo() const {
  if (!links)
    return -1;
  if (!hears)
    hears = links->reach(site.world.queue(site.strip, sendColor), site.lane);
  return *hears ? sendColor : -1;
}

/// Asks for what all receivers have asked for.
void InstructionRun::askToForward(Actor &actor) {
  FabricSource &source = *sources[0].fabric;
  if (!source.hasAll())
    return;
  source.catchUp(done);
  Demand demand{now, cost.perStep, source.inbox()};
  const size_t uses =
      std::min(steps - done, links->asked(actor, site.lane, demand));
  if (uses == 0)
    return;
  demand.start = std::max(now, demand.start - cost.perStep);
  demand.perWord = std::max(cost.perStep, demand.perWord);
  demand.relays = true;
  demand.echo = echo() >= 0;
  if (demand.echo)
    demand.perWord += cost.perStep; // Of the same datapath.
  source.ask(demand, uses);
}

bool InstructionRun::advance(Actor &actor) {
  while (done < steps)
    if (!step(actor))
      return false;
  if (!settle())
    return false;
  if (links && steps > 0 && !isPaced && !awaited) {
    awaitAll(actor);
    if (!settle())
      return false;
  }
  for (Source &source : sources)
    if (source.fabric) {
      if (!source.fabric->finish(actor)) {
        waitsForColor = source.color;
        return false;
      }
      now = std::max({now, source.fabric->dropped(),
                      receivedAt(steps / source.group, source)});
    }
  acknowledge();
  waitsForColor = -1;
  if (site.world.observer)
    report(*site.world.observer);
  return true;
}

/// Tells what it did, once it is complete.
void InstructionRun::report(Observer &observer) const {
  const ObservedPes pes = site.world.observedPes(site.strip, site.lane);
  const double busy = cost.setup + double(steps) * cost.perStep;
  const double wait = std::max(0.0, now - began - busy);
  uint64_t elements = steps;
  for (int d = stepDepth; d < dimensions; ++d)
    elements *= uint64_t(extent[d]);
  for (const Source &source : sources)
    if (source.fabric)
      observer.received(pes, source.color, source.fabric->wordsReceived());
  if (links)
    observer.sent(pes, site.launch, sendColor, steps, began + cost.setup, now);
  observer.instruction(
      pes, {site.code, site.launch, began, now, busy, wait, 0, elements});
}

/// Steps of `available` that `source` has words for, in a shape that a nest
/// can walk through.
size_t InstructionRun::fit(Source &source, size_t available) {
  if (source.group > 1)
    return std::min(available, source.group - done % source.group);
  Chunk &chunk = source.chunk;
  if (!chunk.linear()) {
    bool rowsMatch = false;
    for (int d = 0; d < stepDepth; ++d)
      rowsMatch |= inner[d] == chunk.length && done % inner[d] == 0;
    if (!rowsMatch)
      chunk = chunk.part(0, chunk.length);
  }
  return std::min(available, chunk.words());
}

/// Sends words. What channels bring is paced by who takes it; of others, some
/// have to be taken before the next can leave.
void InstructionRun::send(Chunk chunk, Actor &actor) {
  awaitsTaken = !chunk.paced && chunk.words() > links->leastRoom;
  isPaced |= chunk.paced;
  if (awaitsTaken)
    openTicket(actor);
  Ticket *const its = awaitsTaken ? &ticket : nullptr;
  if (site.lane < 0)
    links->push(chunk, its);
  else
    links->push(std::move(chunk), site.lane, its);
  if (awaitsTaken)
    --ticket.open;
}

/// Until all is sent.
void InstructionRun::openTicket(Actor &actor) {
  ticket.sender = &actor;
  if (!ownQueue)
    ownQueue = &site.world.queue(site.strip, sendColor);
  ticket.own = ownQueue;
  ticket.open = 1;
  ticket.when = 0;
  ticket.released = false;
}

/// Of what it sent in chunks that fit some has to be taken, too.
void InstructionRun::awaitAll(Actor &actor) {
  awaited = awaitsTaken = true;
  openTicket(actor);
  links->await(site.lane, ticket);
  --ticket.open;
}

/// What it sent last has left it, and what it took for that is taken; false if
/// that is not known yet.
bool InstructionRun::settle() {
  if (awaitsTaken) {
    if (ticket.open > 0) {
      waitsForColor = -1;
      return false;
    }
    if (!ticket.released)
      now = std::max(now, ticket.when.load());
    awaitsTaken = false;
  }
  acknowledge();
  return true;
}

void InstructionRun::acknowledge() {
  for (Source &source : sources)
    if (source.fabric)
      source.fabric->acknowledge(taking, now);
  taking = now;
}

bool InstructionRun::step(Actor &actor) {
  if (!settle())
    return false;
  const bool relays = forwards();
  const bool asks = relays && sources[0].fabric->isAsked();
  if (asks)
    askToForward(actor);
  const Passed passed = relays ? forwardChunks(actor) : Passed::None;
  if (passed == Passed::Some)
    return true;
  if (passed == Passed::Waits) {
    if (!asks && sources[0].fabric->isAsked())
      return true; // It is to ask first.
    waitsForColor = sources[0].color;
    return false;
  }
  for (Source &source : sources)
    if (source.fabric && !source.fabric->peek(source.chunk, actor)) {
      if (relays && !asks && source.fabric->isAsked())
        return true; // It is to ask first.
      waitsForColor = source.color;
      return false;
    }
  waitsForColor = -1;
  waitsForRoom = links && (site.lane < 0 ? links->full(actor)
                                         : links->full(actor, site.lane));
  if (waitsForRoom)
    return false;

  size_t available = steps - done;
  if (relays) {
    forward(available, false, actor);
    return true;
  }
  for (Source &source : sources)
    if (source.fabric)
      available = fit(source, available);
  if (links)
    available =
        std::min(available, std::max<size_t>(1, chunkFloats / size_t(lanes)));
  compute(chooseBlock(available), actor);
  return true;
}

/// A block that starts at step `done`: as large as fits.
InstructionRun::Block InstructionRun::chooseBlock(size_t available) const {
  if (stepDepth == 0)
    return {0, size_t(extent[0]), 1};
  for (int d = 0;; ++d) {
    size_t size = inner[d];
    if (done % size != 0 || available < size)
      continue;
    size_t index = done / size % size_t(extent[d]);
    size_t count = std::min(available / size, size_t(extent[d]) - index);
    return {d, count, count * size};
  }
}

/// `mov fabric <- fabric`: passes views on.
bool InstructionRun::forwards() const {
  return links && site.code.op == Opcode::Mov && sources[0].fabric &&
         sources[0].group == 1 && site.code.a.type == site.code.dst.type;
}

/// Passes on whole chunks that one lane has got, all at once, until one comes
/// of which others have to take words first; none if there is no room.
InstructionRun::Passed InstructionRun::forwardChunks(Actor &actor) {
  Source &source = sources[0];
  if (!source.fabric->takesChunks() || links->full(actor, site.lane))
    return Passed::None;
  thread_local std::vector<Chunk> chunks; // Memory that is used again.
  chunks.clear();
  if (!source.fabric->take(steps - done, chunks, links->leastRoom, actor))
    return Passed::Waits;
  const size_t before = done;
  for (Chunk &chunk : chunks) {
    const size_t words = chunk.words();
    if (!chunk.paced && words > links->leastRoom) {
      source.chunk = std::move(chunk);
      forward(words, true, actor);
      return Passed::Some;
    }
    double first;
    source.chunk = std::move(chunk);
    advanceTime(words, first);
    chunk = std::move(source.chunk);
    chunk.first = first;
    chunk.last = now;
    isPaced |= chunk.paced;
    done += words;
    source.fabric->acknowledge(std::exchange(taking, now), now, words);
  }
  site.world.count(site.strip, 0, done - before);
  if (done == before)
    return Passed::None;
  links->push(chunks, site.lane);
  return Passed::Some;
}

/// `taken`: from the queue, the whole chunk.
void InstructionRun::forward(size_t available, bool taken, Actor &actor) {
  Chunk &chunk = sources[0].chunk, sent;
  if (!taken)
    sent = chunk.part(0, std::min(available, chunk.words()));
  const size_t words = taken ? available : sent.words();
  double first;
  advanceTime(words, first);
  if (taken)
    sent = std::move(chunk);
  sent.first = first;
  sent.last = now;
  if (!taken)
    sources[0].fabric->pop(words);
  done += words;
  send(std::move(sent), actor);
  site.world.count(site.strip, 0, words * size_t(lanes));
}

/// When it has received the word of a use, if all were there: one a cycle.
double InstructionRun::receivedAt(size_t uses, const Source &source) const {
  return began + cost.setup + double(source.fabric->wordsUntil(uses)) - 1;
}

/// Words that a step takes off the ramp, where those that are sent come back
/// over it. Channels know who hears what he relays.
double InstructionRun::rampPerStep() const {
  return echo() < 0 || sources[0].chunk.paced
             ? 0
             : 1 + wordsReceived() / double(steps);
}

/// Words are used as soon as they are there, one step after the other.
void InstructionRun::advanceTime(size_t count, double &firstSent) {
  double begin = now, last = 0;
  for (Source &source : sources)
    if (source.fabric) {
      begin = std::max({begin, source.chunk.first, source.fabric->dropped()});
      size_t words = source.group > 1 ? 1 : count;
      last = std::max(
          {last, source.chunk.arrival(words - 1),
           receivedAt(source.group == 1 ? done + count
                                        : (done + count) / source.group,
                      source)});
    }
  firstSent = begin + cost.perStep;
  now = std::max(begin + double(count) * std::max({cost.perStep, rampPerStep(),
                                                   linkPerStep}),
                 last + cost.perStep);
}

void InstructionRun::popSources(size_t count) {
  for (Source &source : sources)
    if (source.fabric) {
      if (source.group == 1)
        source.fabric->pop(count);
      else if ((done + count) % source.group == 0)
        source.fabric->pop(1);
    }
}

/// Of an operand in SRAM the elements that a block touches.
std::optional<SramElements>
InstructionRun::within(const std::optional<SramElements> &all,
                       const Block &block) const {
  if (!all)
    return {};
  SramElements elements = *all;
  std::fill_n(elements.stride, maxDimensions, 0);
  for (int d = 0; d <= block.dimension && stepDepth > 0; ++d)
    elements.first +=
        int64_t(done / inner[d] % size_t(extent[d])) * all->stride[d];
  for (int d = block.dimension; d < dimensions; ++d)
    elements.stride[d - block.dimension] = all->stride[d];
  return elements;
}

/// A source within a block.
NestOperand InstructionRun::operand(const Source &source,
                                    const Block &block) const {
  NestOperand result;
  StripMemory::Place &place = result.place;
  switch (source.kind) {
  case OperandKind::None:
    break;
  case OperandKind::Immediate: {
    const OperandCode &code = &source == sources ? site.code.a : site.code.b;
    place.data = &code.immediate;
    place.constant = true;
    if (Recording *recording = site.world.recording)
      // That of the recording, of which all instructions have the same.
      std::tie(place.buffer, place.data) =
          recording->addConstant(code.immediate);
    break;
  }
  case OperandKind::Memory:
    result.sram = within(source.sram, block);
    break;
  case OperandKind::Fabric: {
    const Chunk &chunk = source.chunk;
    place.data = chunk.data;
    place.laneStride = chunk.laneStride;
    place.buffer = chunk.buffer;
    place.owner = chunk.owner;
    place.lasts = chunk.owner != nullptr;
    if (source.group > 1)
      break;
    for (int d = block.dimension; d < stepDepth; ++d)
      place.stride[d - block.dimension] =
          !chunk.linear() && inner[d] >= chunk.length
              ? ptrdiff_t(inner[d] / chunk.length) * chunk.rowStride
              : ptrdiff_t(inner[d]) * chunk.wordStride;
    break;
  }
  }
  return result;
}

/// Of operands in whole words.
static WordPart partOf(const OperandCode &operand) {
  const bool isInteger = (operand.memory() || operand.fabric()) &&
                         runtime::isInteger(operand.type);
  return isInteger ? WordPart{program::ElementType::I32} : WordPart{};
}

/// The loops of a block, without its operands.
Nest InstructionRun::nestOf(const Block &block) const {
  Nest nest;
  nest.op = site.code.op;
  nest.ordered = ordered;
  nest.types = {site.code.numbers, partOf(site.code.dst), partOf(site.code.a),
                partOf(site.code.b), site.code.noWrap};
  nest.dimensions = dimensions - block.dimension + 1;
  nest.extent[0] = block.count;
  for (int d = block.dimension + 1; d < dimensions; ++d)
    nest.extent[d - block.dimension] = size_t(extent[d]);
  nest.extent[nest.dimensions - 1] = size_t(lanes);
  return nest;
}

void InstructionRun::compute(const Block &block, Actor &actor) try {
  Nest nest = nestOf(block);
  NestRunner::Operands operands{{within(target, block), {}},
                                operand(sources[0], block),
                                operand(sources[1], block)};
  size_t elements = 1;
  for (int d = 0; d < nest.dimensions; ++d)
    elements *= nest.extent[d];
  site.world.count(site.strip, 0, elements);
  if (links) {
    send(block, nest, operands, actor);
  } else {
    NestRunner(site.strip, site.lane, site.count).run(nest, operands);
    double first;
    advanceTime(block.steps, first);
  }
  popSources(block.steps);
  done += block.steps;
} catch (const NestError &error) {
  fail(error.errorClass(), error.what, std::max(0, site.lane) + error.lane);
}

/// Sends words that lie in rows, and last, as they are.
bool InstructionRun::sendView(const Nest &nest, const StripMemory::Place &place,
                              Chunk &chunk) const {
  if (!copiesWords(nest) || !place.owner || dimensions != stepDepth)
    return false;
  const std::optional<WordRows> rows =
      rowsOf(nest.extent, place.stride, nest.dimensions - 1);
  if (!rows)
    return false;
  chunk.rows = rows->rows;
  chunk.length = rows->length;
  chunk.rowStride = rows->rowStride;
  chunk.data = place.data;
  chunk.owner = place.owner;
  chunk.buffer = place.buffer;
  chunk.wordStride = rows->wordStride;
  chunk.laneStride = place.laneStride;
  return true;
}

/// Computes a chunk and sends it; lanes that compute the same share one copy.
void InstructionRun::send(const Block &block, Nest &nest,
                          NestRunner::Operands &operands, Actor &actor) {
  const NestRunner runner(site.strip, site.lane);
  const bool same = runner.locateSources(nest, operands);
  Chunk chunk;
  if (!sendView(nest, operands.a.place, chunk)) {
    const size_t width = same ? 1 : size_t(lanes);
    nest.extent[nest.dimensions - 1] = width;
    const auto memory =
        std::make_shared_for_overwrite<float[]>(block.steps * width);
    StripMemory::Place &to = operands.dst.place;
    to.data = memory.get();
    to.laneStride = same ? 0 : 1;
    for (int d = block.dimension; d < dimensions; ++d)
      to.stride[d - block.dimension] = ptrdiff_t(inner[d] * width);
    if (Recording *recording = site.world.recording)
      to.buffer = recording->addScratch(memory.get(), block.steps * width);
    runner.runLocated(nest, operands);
    site.strip.memory.executor().flush();
    chunk.rows = 1;
    chunk.length = block.steps;
    chunk.data = memory.get();
    chunk.owner = memory;
    chunk.buffer = to.buffer;
    chunk.wordStride = ptrdiff_t(width);
    chunk.laneStride = to.laneStride;
  }
  advanceTime(block.steps, chunk.first);
  chunk.last = now;
  send(chunk, actor);
}

std::string InstructionRun::describeWait() const {
  std::string text = describe(site.code);
  if (waitsForColor >= 0)
    return text + " waits for a word of color " + std::to_string(waitsForColor);
  return text + " waits to send on color " + std::to_string(sendColor);
}

} // namespace wsec::runtime
