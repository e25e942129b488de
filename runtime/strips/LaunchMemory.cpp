// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/LaunchMemory.h"

#include "runtime/strips/MovedOperands.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wsec::runtime {

/// The first layer brings the wafer into the state that the others find, the
/// second is written down: fewer are not worth it.
static constexpr size_t leastLayers = 4;
/// Layers written down before it is given up to find equal states.
static constexpr int mostAttempts = 3;
/// Memory for one layer.
static constexpr size_t layerBytes = size_t(1) << 28;
/// Clocks are sums of what is no binary fraction.
static constexpr double tolerance = 1e-6;
/// No queue holds words for so many cycles.
static constexpr double longAgo = 1e5;

void LaunchMemory::run() {
  for (const RepeatedLaunches &layers : findRepeatedLaunches(
           world.call, host, {world.image.classes, world.image.persistent},
           leastLayers))
    run(layers);
}

LaunchMemory::State LaunchMemory::state() const {
  State its{{}, {}, {}, world.commands.lastTaken(), world.work()};
  for (const auto &strip : world.image.strips) {
    strip->memory.sortViews();
    its.layouts.push_back(strip->memory.layout());
  }
  for (const auto &main : mains)
    its.mains.push_back(main->clock());
  for (const auto &input : channels.inputs)
    its.inputs.push_back(input->clock());
  return its;
}

/// Whether a stream may have waited for a tensor that was in the store before
/// the layers, for which the next one does not wait as long.
bool LaunchMemory::awaitsStore(const RepeatedLaunches &layers, size_t layer,
                               double start) const {
  const size_t from = layers.first + layer * layers.period;
  const std::vector<uint32_t> streams = streamsFromBefore(
      world.call, *channels.order, from, layers.period, from - layers.period);
  return std::any_of(streams.begin(), streams.end(), [&](uint32_t stream) {
    const std::optional<double> complete = channels.order->complete(stream);
    return complete && *complete + longAgo > start;
  });
}

/// The cycles by which all clocks that moved did. None if they differ, or if
/// the layer waited for what later ones do not wait for.
std::optional<double>
LaunchMemory::cyclesBetween(const RepeatedLaunches &layers, size_t layer,
                            const State &before, const State &after) const {
  double start = INFINITY;
  for (size_t i = 0; i < mains.size(); ++i)
    if (after.mains[i] != before.mains[i])
      start = std::min(start, before.mains[i]);
  std::optional<double> cycles;
  auto same = [&](const std::vector<double> &from,
                  const std::vector<double> &to, double since = 0) {
    for (size_t i = 0; i < from.size(); ++i) {
      const double its = to[i] - from[i];
      if (its == 0 || to[i] < since)
        continue;
      if (cycles && std::abs(its - *cycles) > tolerance)
        return false;
      cycles = cycles.value_or(its);
    }
    return true;
  };
  if (!same(before.mains, after.mains) || !same(before.inputs, after.inputs) ||
      !same(before.commands, after.commands, start) || !cycles ||
      world.awaitsCommands || awaitsStore(layers, layer, start))
    return {};
  // Launch wavelets come earlier and earlier before they are awaited.
  size_t words = layers.period;
  for (size_t i = 0; i < layers.period; ++i) {
    const size_t launch = layers.first + layer * layers.period + i;
    words += world.call.carried(world.call.launch(launch)).size();
  }
  return *cycles >= double(words) ? cycles : std::nullopt;
}

void LaunchMemory::keep(size_t limitBytes) {
  keepsBytes = limitBytes;
  open = std::make_unique<RecordedPart>(limitBytes, world.image);
  open->begin(world, *channels.order);
}

std::vector<std::unique_ptr<RecordedPart>> LaunchMemory::takeParts() {
  open->end(world);
  parts.push_back(std::move(open));
  for (const auto &part : parts)
    if (!part->prepared() && !part->usable())
      return {};
  return std::move(parts);
}

/// The parts that follow have so much less room.
void LaunchMemory::takeFromKept(size_t bytes) {
  if (keepsBytes)
    *keepsBytes -= std::min(*keepsBytes, bytes);
}

void LaunchMemory::run(const RepeatedLaunches &layers) {
  if (!runUntil(layers.first + layers.period))
    return;
  State before = state();
  for (size_t layer = 1; layer <= mostAttempts && layer + 1 < layers.count;
       ++layer)
    if (runOne(layers, layer, before))
      return;
}

/// What the layers behind one take and bring in place of its streams.
std::vector<Replay::Shift>
LaunchMemory::othersBehind(const RepeatedLaunches &layers, size_t layer) const {
  const size_t from = layers.first + layer * layers.period;
  std::vector<Replay::Shift> others;
  for (size_t i = layer + 1; i < layers.count; ++i) {
    const size_t its = layers.first + i * layers.period;
    auto streams =
        matchStreams(world.call, *channels.order, from, its, layers.period);
    if (!streams)
      break;
    others.push_back({uint32_t(its - from), std::move(*streams)});
  }
  return others;
}

/// Finds how far their operands lie from those of the recorded layer.
void LaunchMemory::move(const Recording &recording,
                        std::vector<Replay::Shift> &others) const {
  for (Replay::Shift &shift : others)
    for (const Recording::Move &move : recording.moves) {
      ptrdiff_t words = 0;
      if (!move.terms.empty()) {
        const std::vector<int64_t> from =
            world.call.carried(world.call.launch(move.launch));
        const std::vector<int64_t> to =
            world.call.carried(world.call.launch(move.launch + shift.launches));
        for (const auto &[argument, scale] : move.terms)
          words += ptrdiff_t(scale * (to[argument] - from[argument]));
      }
      shift.moved.push_back(words * ptrdiff_t(move.lanes));
    }
}

/// Runs a layer in state `before`, which becomes that behind it, and writes it
/// down. True if nothing is left to do for these layers.
bool LaunchMemory::runOne(const RepeatedLaunches &layers, size_t layer,
                          State &before) {
  std::vector<Replay::Shift> others = othersBehind(layers, layer);
  if (others.empty())
    return true;
  if (open) {
    open->end(world);
    takeFromKept(open->recorded().bytes());
    parts.push_back(std::move(open));
  }
  world.awaitsCommands = false;
  world.arrivals.clear();
  auto part = std::make_unique<RecordedPart>(keepsBytes.value_or(layerBytes),
                                             world.image);
  part->begin(world, *channels.order);
  LastingAccesses accesses;
  world.accesses = &accesses;
  const bool rests = runUntil(layers.first + (layer + 1) * layers.period);
  world.accesses = nullptr;
  if (!rests && keepsBytes) {
    open = std::move(part);
    return true;
  }
  State after = state();
  part->end(world);
  takeFromKept(part->recorded().bytes());
  const bool usable = rests && part->usable() && !part->recorded().mayFail();
  std::optional<double> cycles;
  if (usable && after.layouts == before.layouts && part->repeats())
    cycles = cyclesBetween(layers, layer, before, after);
  if (cycles) {
    move(part->recorded(), others);
    size_t held = 0;
    while (held < others.size() &&
           accesses.holdMoved(part->recorded(), others[held].moved))
      ++held;
    others.resize(held);
  }
  if (cycles && !others.empty()) {
    part->prepare(pool);
    Locations locations;
    for (const auto &strip : world.image.strips)
      for (const StripMemory::ViewPlace &view : strip->memory.viewPlaces())
        locations.push_back({view.data});
    for (const Replay::Shift &shift : others)
      part->replay(host, furthestLaunch, &shift, locations);
    auto location = locations.begin();
    for (const auto &strip : world.image.strips)
      for (const StripMemory::ViewPlace &view : strip->memory.viewPlaces()) {
        if (view.data != location->data)
          strip->memory.moveView(view.index, location->data, location->owner);
        ++location;
      }
    skip(layers, layer, others, before, after, *cycles);
    part->shifts = std::move(others);
  }
  if (keepsBytes) {
    parts.push_back(std::move(part));
    open = std::make_unique<RecordedPart>(*keepsBytes, world.image);
    open->begin(world, *channels.order);
  }
  before = std::move(after);
  return cycles || !usable;
}

/// Brings all but the SRAM into the state behind the others.
void LaunchMemory::skip(const RepeatedLaunches &layers, size_t layer,
                        const std::vector<Replay::Shift> &others,
                        const State &before, const State &after,
                        double cycles) {
  const auto count = uint64_t(others.size());
  const size_t from = layers.first + layer * layers.period,
               to = from + layers.period, skipped = count * layers.period;
  world.repeat(count, {after.work.instructions - before.work.instructions,
                       after.work.operations - before.work.operations,
                       after.work.spent - before.work.spent});
  auto later = [&](double clockBefore, double clock) {
    return clock == clockBefore ? 0 : double(count) * cycles;
  };
  size_t words = skipped;
  for (size_t l = to; l < to + skipped; ++l)
    words += world.call.carried(world.call.launch(l)).size();
  world.commands.skip(words, double(count) * cycles);
  for (size_t i = 0; i < mains.size(); ++i)
    mains[i]->skip(skipped, later(before.mains[i], after.mains[i]));
  for (size_t i = 0; i < channels.inputs.size(); ++i)
    channels.inputs[i]->skip(to + skipped,
                             later(before.inputs[i], after.inputs[i]));
  for (const auto &output : channels.outputs)
    output->skip(to + skipped);
  for (const Replay::Shift &shift : others) {
    const double behind = cycles * shift.launches / double(layers.period);
    for (size_t l = from; l < to; ++l) {
      const LaunchTime &time = world.launches.all()[l];
      world.launches.note(l + shift.launches, time.start + behind,
                          time.end + behind);
    }
    for (const auto &[stream, when] : world.arrivals)
      channels.order->arrived(shift.streams[stream], when + behind);
  }
  remembered += skipped;
}

} // namespace wsec::runtime
