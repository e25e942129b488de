// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/HostChannels.h"

#include "runtime/pe/Costs.h"
#include "runtime/pe/VectorKernels.h"
#include "runtime/program/Errors.h"
#include "runtime/strips/Recording.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wsec::runtime {

using program::Direction;

/// Words asked for at a time.
static constexpr size_t inputWords = 1 << 14;

InputChannel::InputChannel(World &world, HostPort &host,
                           const StoreOrder &order, int color, int row)
    : world(world), host(host), order(order), color(color), row(row),
      links(world.hostLinks(color, row)),
      now(world.image.machine.store_latency_cycles()) {}

InputChannel::Pace InputChannel::pace(bool ofAll) {
  Pace pace;
  size_t words = SIZE_MAX;
  double feed = 0, usedShare = 0;
  for (const Link &link : links.links) {
    Demand column;
    const size_t its = link.queue->asked(link.to, link.count, *this, column);
    if (its == 0 && ofAll)
      return {};
    if (its == 0)
      continue;
    words = std::min(words, its);
    const auto used = double(column.used), total = double(column.total);
    pace.start = std::max(pace.start, column.start - link.latency);
    pace.perWord = std::max(pace.perWord, column.perWord * used / total);
    // Who relays lets words of other columns by.
    const bool whole = column.relays && column.queued >= used;
    pace.ahead = std::min(pace.ahead,
                          whole ? column.queued * total / used : column.queued);
    feed +=
        feedCycles(used, column.queued, column.perWord, column.echo) / total;
    usedShare += used / total;
  }
  // Columns take their words one after the other, unless several take the same.
  feed = usedShare > 1 ? feed / usedShare : feed + 1 - usedShare;
  pace.perWord = std::max(pace.perWord, feed);
  pace.words = std::min(words, inputWords);
  return pace;
}

bool InputChannel::release() {
  if (!std::exchange(waits, false))
    return false;
  released = pace(/*ofAll=*/false);
  world.scheduler.wake(*this);
  return true;
}

void InputChannel::run() {
  while (next < uses.size()) {
    if (links.full(*this))
      return;
    const ChannelUse &use = uses[next];
    if (deliveredOfUse == use.words) {
      ++next;
      deliveredOfUse = 0;
      continue;
    }
    if (use.launch >= world.untilLaunch)
      return;
    if (deliveredOfUse == 0) {
      const std::optional<double> complete = order.complete(use.stream);
      if (!complete)
        return;
      if (*complete > 0)
        now = std::max(now, std::ceil(*complete) +
                                world.image.machine.store_latency_cycles());
    }
    const Pace pace = released ? *released : this->pace(/*ofAll=*/true);
    waits = pace.words == 0;
    if (waits)
      return;
    released.reset();
    WordView view = host.next(use.stream, use.channel, pace.words);
    size_t words = view.words();
    if (words == 0 || words > use.words - deliveredOfUse)
      throw Error(ErrorClass::BadProgram,
                  describe() + " has " +
                      std::to_string(deliveredOfUse + words) + " words, " +
                      std::to_string(use.words) + " are announced");
    Chunk chunk;
    chunk.data = view.data;
    chunk.rows = view.rows;
    chunk.length = view.length;
    chunk.rowStride = ptrdiff_t(view.stride);
    chunk.wordStride = ptrdiff_t(view.wordStride);
    const double own = now + double(words - 1) * pace.perWord;
    const double asked =
        pace.start + std::max(0.0, double(words) - pace.ahead) * pace.perWord;
    chunk.last = std::max(own, asked);
    if (margin == INFINITY)
      margin = asked - own;
    chunk.first = chunk.last - double(words - 1) * pace.perWord;
    chunk.owner = std::move(view.owner);
    chunk.paced = true;
    if (world.recording)
      chunk.buffer = world.recording->addView(0, use.stream, use.channel,
                                              pace.words, view);
    if (world.observer)
      world.observer->hostWords(use.stream, use.channel, words, chunk.first,
                                chunk.last);
    now = chunk.last + pace.perWord;
    deliveredOfUse += words;
    delivered += words;
    links.push(chunk, nullptr);
  }
}

void InputChannel::skip(size_t launch, double cycles) {
  for (; !done() && uses[next].launch < launch; ++next)
    delivered += uses[next].words;
  now += cycles;
}

std::string InputChannel::describe() const {
  return describeChannel(world.image.program,
                         uses[std::min(next, uses.size() - 1)], color, row);
}

OutputChannel::OutputChannel(World &world, HostPort &host, StoreOrder &order,
                             int color, int row)
    : world(world), host(host), order(order), color(color), row(row),
      queue(world.exitStripQueue(color, row)) {}

void OutputChannel::run() {
  while (next < uses.size()) {
    const ChannelUse &use = uses[next];
    if (storedOfUse == use.words) {
      ++next;
      storedOfUse = 0;
      continue;
    }
    Chunk chunk;
    if (!queue.front(chunk, *this))
      return;
    chunk = chunk.part(
        0, std::min<uint64_t>(chunk.words(), use.words - storedOfUse));
    WordView view{chunk.data, chunk.rows, chunk.length, size_t(chunk.rowStride),
                  chunk.owner};
    if (chunk.wordStride != 1) {
      std::shared_ptr<float[]> copy(new float[chunk.words()]);
      copyStrided({chunk.rows, chunk.length, copy.get(),
                   ptrdiff_t(chunk.length), 1, chunk.data, chunk.rowStride,
                   chunk.wordStride});
      view = {copy.get(), 1, chunk.words(), chunk.words(), copy};
    }
    if (world.recording)
      record(use, chunk, view);
    host.store(use.stream, use.channel, view);
    if (world.observer)
      world.observer->hostWords(use.stream, use.channel, chunk.words(),
                                chunk.first, chunk.last);
    storedOfUse += chunk.words();
    stored += chunk.words();
    world.recordLaunch(use.launch, chunk.last);
    queue.pop(chunk.words());
    if (storedOfUse == use.words && world.recording)
      world.noteArrival(use.stream, chunk.last);
    if (storedOfUse == use.words && order.arrived(use.stream, chunk.last))
      for (Actor *actor : waiting)
        world.scheduler.wake(*actor);
  }
}

void OutputChannel::skip(size_t launch) {
  for (; !done() && uses[next].launch < launch; ++next)
    stored += uses[next].words;
}

void OutputChannel::record(const ChannelUse &use, const Chunk &from,
                           const WordView &view) const {
  Recording &recording = *world.recording;
  const uint32_t actor = uint32_t(world.exitReader(row));
  uint32_t buffer = from.buffer;
  if (view.data != from.data) {
    buffer = recording.addScratch(view.data, view.words());
    recording.copy(
        actor, from.rows, from.length,
        {const_cast<float *>(view.data), {ptrdiff_t(from.length), 1}}, buffer,
        {from.data, {from.rowStride, from.wordStride}}, from.buffer);
  }
  recording.store(actor, use.stream, use.channel, view, buffer);
}

void OutputChannel::addTo(WaitGraph &graph) const {
  if (done())
    return;
  const ChannelUse &use = uses[next];
  graph.addOutput(row, color, use.stream, storedOfUse, use.words);
}

HostChannels makeHostChannels(World &world, HostPort &host) {
  HostChannels result;
  result.order = std::make_unique<StoreOrder>(world.call, host);
  std::vector<Actor *> inputs;
  for (auto &[where, uses] : channelUses(world.call, host, Direction::In)) {
    result.inputs.push_back(std::make_unique<InputChannel>(
        world, host, *result.order, where.second, where.first));
    result.inputs.back()->uses = std::move(uses);
    inputs.push_back(result.inputs.back().get());
  }
  for (auto &[where, uses] : channelUses(world.call, host, Direction::Out)) {
    result.outputs.push_back(std::make_unique<OutputChannel>(
        world, host, *result.order, where.second, where.first));
    result.outputs.back()->uses = std::move(uses);
    result.outputs.back()->waiting = inputs;
  }
  return result;
}

} // namespace wsec::runtime
