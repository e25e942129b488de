// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/InstructionRun.h"

#include "runtime/engine/Mesh.h"
#include "runtime/strips/Recording.h"

#include "runtime/program/Errors.h"

#include <algorithm>

namespace wsec::runtime {

using program::Opcode;
using program::OperandKind;

/// Floats of one chunk that an instruction makes: small enough to stay in
/// cache until it is read, large enough to be worth its handling.
static constexpr size_t chunkFloats = 1 << 14;

void InstructionRun::start(double time) {
  began = time;
  now = time + cost.setup;
  if (forwards() && steps > 0)
    return; // It asks as others ask for what it passes on.
  for (Source &source : sources)
    if (source.fabric)
      source.fabric->ask(
          {now, cost.perStep * double(source.group), queued(source)},
          steps / source.group);
}

/// Words of a source that its PE holds before it takes any.
double InstructionRun::queued(const Source &source) const {
  return inboxWords(site.world.image.machine, site.strip.code, source.color);
}

double InstructionRun::wordsReceived(int index) const {
  const Source &source = sources[index];
  return source.fabric ? double(source.fabric->wordsUntil(steps / source.group))
                       : 0;
}

int InstructionRun::echo() const {
  const bool echoes =
      links && links->reach(site.world.queue(site.strip, sendColor), site.lane);
  return echoes ? sendColor : -1;
}

double InstructionRun::slowed() const {
  double slowed = 1;
  for (const Source &source : sources)
    if (source.fabric && source.fabric->windowWords() > 0) {
      const double words = double(source.fabric->windowWords());
      // Those of the router in front of it wait, too.
      const double held =
          queued(source) + routerWords(site.world.image.machine);
      slowed = std::max(slowed, 2 * (words - held) / words);
    }
  return slowed;
}

/// Asks for what all receivers have asked for.
void InstructionRun::askToForward(Actor &actor) {
  FabricSource &source = *sources[0].fabric;
  if (!source.hasAll())
    return;
  Demand demand{now, cost.perStep, queued(sources[0])};
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
  for (Source &source : sources)
    if (source.fabric) {
      if (!source.fabric->finish(actor)) {
        waitsForColor = source.color;
        return false;
      }
      now = std::max({now, source.fabric->dropped(),
                      receivedAt(steps / source.group, source)});
    }
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

bool InstructionRun::step(Actor &actor) {
  if (forwards())
    askToForward(actor);
  for (Source &source : sources)
    if (source.fabric && !source.fabric->peek(source.chunk, actor)) {
      waitsForColor = source.color;
      return false;
    }
  waitsForColor = -1;
  waitsForRoom = links && (site.lane < 0 ? links->full(actor)
                                         : links->full(actor, site.lane));
  if (waitsForRoom)
    return false;

  size_t available = steps - done;
  if (forwards()) {
    forward(available);
    return true;
  }
  for (Source &source : sources)
    if (source.fabric)
      available = fit(source, available);
  if (links)
    available =
        std::min(available, std::max<size_t>(1, chunkFloats / size_t(lanes)));
  compute(chooseBlock(available));
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

void InstructionRun::forward(size_t available) {
  Chunk sent =
      sources[0].chunk.part(0, std::min(available, sources[0].chunk.words()));
  size_t words = sent.words();
  double first;
  advanceTime(words, first);
  sent.first = first;
  sent.last = now;
  sources[0].fabric->pop(words);
  done += words;
  if (site.lane < 0)
    links->push(sent);
  else
    links->push(sent, site.lane);
  site.world.count(0, words * size_t(lanes));
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
      last = std::max({last, source.chunk.arrival(words - 1),
                       receivedAt((done + count) / source.group, source)});
    }
  firstSent = begin + cost.perStep;
  now = std::max(begin + double(count) * std::max(cost.perStep, rampPerStep()),
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

/// Data and strides of a source within a block.
void InstructionRun::bind(const Source &source, const Block &block,
                          Strided<const float> &into) const {
  const int d0 = block.dimension;
  const int count = dimensions - d0;
  switch (source.kind) {
  case OperandKind::None:
    return;
  case OperandKind::Immediate:
    into.data = &source.immediate;
    return;
  case OperandKind::Memory:
    into.stride[count] = source.laneStride;
    if (source.halves)
      return;
    into.data = source.data;
    for (int d = 0; d <= d0 && stepDepth > 0; ++d)
      into.data +=
          ptrdiff_t(done / inner[d] % size_t(extent[d])) * source.stride[d];
    for (int d = 0; d < count; ++d)
      into.stride[d] = source.stride[d0 + d];
    return;
  case OperandKind::Fabric: {
    const Chunk &chunk = source.chunk;
    into.data = chunk.data;
    into.stride[count] = chunk.laneStride;
    if (source.group > 1)
      return;
    for (int d = d0; d < stepDepth; ++d)
      into.stride[d - d0] =
          !chunk.linear() && inner[d] >= chunk.length
              ? ptrdiff_t(inner[d] / chunk.length) * chunk.rowStride
              : ptrdiff_t(inner[d]) * chunk.wordStride;
    return;
  }
  }
}

/// Of operands in whole words.
static WordPart partOf(const OperandCode &operand) {
  const bool isInteger = (operand.memory() || operand.fabric()) &&
                         runtime::isInteger(operand.type);
  return isInteger ? WordPart{program::ElementType::I32} : WordPart{};
}

/// Of elements of 16 bits those that a block begins with.
std::optional<HalfElements>
InstructionRun::halvesOf(const std::optional<HalfElements> &all,
                         const Block &block) const {
  if (!all)
    return {};
  HalfElements elements{all->type, all->first, {}};
  for (int d = 0; d <= block.dimension && stepDepth > 0; ++d)
    elements.first +=
        int64_t(done / inner[d] % size_t(extent[d])) * all->stride[d];
  for (int d = block.dimension; d < dimensions; ++d)
    elements.stride[d - block.dimension] = all->stride[d];
  return elements;
}

void InstructionRun::compute(const Block &block) {
  Nest nest;
  nest.op = site.code.op;
  nest.ordered = ordered;
  nest.types = {site.code.numbers, partOf(site.code.dst), partOf(site.code.a),
                partOf(site.code.b), site.code.noWrap};
  nest.dimensions = dimensions - block.dimension + 1;
  nest.extent[0] = block.count;
  size_t elements = block.count;
  for (int d = block.dimension + 1; d < dimensions; ++d) {
    nest.extent[d - block.dimension] = size_t(extent[d]);
    elements *= size_t(extent[d]);
  }
  nest.extent[nest.dimensions - 1] = size_t(lanes);
  bind(sources[0], block, nest.a);
  bind(sources[1], block, nest.b);
  HalfOperands halves{{},
                      halvesOf(sources[0].halves, block),
                      halvesOf(sources[1].halves, block)};
  site.world.count(0, elements * size_t(lanes));
  if (links) {
    send(block, nest, halves);
  } else {
    place(block, nest, halves);
    carryOut(nest, halves, site.world.sramBuffer(site.strip));
    double first;
    advanceTime(block.steps, first);
  }
  popSources(block.steps);
  done += block.steps;
}

void InstructionRun::place(const Block &block, Nest &nest,
                           HalfOperands &halves) const {
  halves.dst = halvesOf(targetHalves, block);
  nest.dst.stride[nest.dimensions - 1] = targetLaneStride;
  if (halves.dst)
    return;
  nest.dst.data = target;
  for (int d = 0; d <= block.dimension && stepDepth > 0; ++d)
    nest.dst.data +=
        ptrdiff_t(done / inner[d] % size_t(extent[d])) * targetStride[d];
  for (int d = block.dimension; d < dimensions; ++d)
    nest.dst.stride[d - block.dimension] = targetStride[d];
}

void InstructionRun::carryOut(const Nest &nest, const HalfOperands &halves,
                              uint32_t dstBuffer) const try {
  Recording *recording = site.world.recording;
  NestBuffers buffers;
  if (recording)
    buffers = {dstBuffer, recordedBuffer(sources[0]),
               recordedBuffer(sources[1])};
  const NestRunner runner(site.strip, site.lane, recording,
                          site.world.sramBuffer(site.strip));
  if (halves.any())
    runner.run(nest, buffers, halves);
  else
    runner.run(nest, buffers);
} catch (const NestError &error) {
  fail(error.errorClass(), error.what, error.lane);
}

uint32_t InstructionRun::recordedBuffer(const Source &source) const {
  switch (source.kind) {
  case OperandKind::Immediate:
    return site.world.recording->addConstant(source.immediate);
  case OperandKind::Memory:
    return source.buffer;
  case OperandKind::Fabric:
    return source.chunk.buffer;
  default:
    return Recording::nothing;
  }
}

/// Computes a chunk and sends it; lanes that compute the same share one copy.
void InstructionRun::send(const Block &block, Nest &nest,
                          const HalfOperands &halves) {
  const int laneDimension = nest.dimensions - 1;
  bool same =
      nest.a.stride[laneDimension] == 0 && nest.b.stride[laneDimension] == 0;
  size_t width = same ? 1 : size_t(lanes);
  nest.extent[laneDimension] = width;
  std::shared_ptr<float[]> memory(new float[block.steps * width]);
  nest.dst.data = memory.get();
  for (int d = block.dimension; d < dimensions; ++d)
    nest.dst.stride[d - block.dimension] = ptrdiff_t(inner[d] * width);
  nest.dst.stride[laneDimension] = 1;
  Chunk chunk;
  if (Recording *recording = site.world.recording)
    chunk.buffer = recording->addScratch(memory.get(), block.steps * width);
  carryOut(nest, halves, chunk.buffer);

  chunk.data = memory.get();
  chunk.owner = std::move(memory);
  chunk.rows = 1;
  chunk.length = block.steps;
  chunk.wordStride = ptrdiff_t(width);
  chunk.laneStride = same ? 0 : 1;
  advanceTime(block.steps, chunk.first);
  chunk.last = now;
  if (site.lane < 0)
    links->push(chunk);
  else
    links->push(chunk, site.lane);
}

std::string InstructionRun::describeWait() const {
  std::string text = describe(site.code);
  if (waitsForColor >= 0)
    return text + " waits for a word of color " + std::to_string(waitsForColor);
  return text + " waits to send on color " + std::to_string(sendColor);
}

} // namespace wsec::runtime
