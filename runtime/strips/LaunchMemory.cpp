// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/LaunchMemory.h"

#include "runtime/program/check/ScalarChecker.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wsec::runtime {

/// The first layer brings the wafer into the state that the others find, the
/// second is written down: fewer are not worth it.
static constexpr size_t leastLayers = 4;
/// Layers written down before it is given up to find equal states.
static constexpr int mostAttempts = 3;
/// Memory for one layer, and for what is written down of it at a time.
static constexpr size_t layerBytes = size_t(1) << 30, partBytes = 1 << 26;
/// Clocks are sums of what is no binary fraction.
static constexpr double leastDifference = 1e-6;
/// No queue holds words for so many cycles.
static constexpr double longAgo = 1e5;

/// Launches that carry what arguments of their entry decide.
static std::vector<bool> variesWithArguments(const Call &call) {
  std::vector<bool> depends;
  if (const auto *scalars = call.entry().scalars())
    for (const program::ScalarNode *node : *scalars) {
      bool its = node->op() == program::ScalarOp::Argument;
      const int32_t operands[] = {node->a(), node->b(), node->c()};
      for (int i = 0; i < operandCount(node->op()); ++i)
        its = its || depends[size_t(operands[i])];
      depends.push_back(its);
    }
  std::vector<bool> varies(call.launches());
  for (size_t l = 0; l < call.launches(); ++l)
    if (const auto *carried = call.launch(l).arguments())
      for (uint16_t scalar : *carried)
        varies[l] = varies[l] || depends[scalar];
  return varies;
}

LaunchMemory::LaunchMemory(World &world, HostPort &host, WorkerPool &pool,
                           HostChannels &channels, MainThreads &mains,
                           RunUntil runUntil,
                           std::atomic<uint64_t> *furthestLaunch,
                           KeptByLaunch *kept, size_t keptRoom,
                           MemoryRoom *room)
    : world(world), host(host), pool(pool), channels(channels), mains(mains),
      runUntil(std::move(runUntil)), furthestLaunch(furthestLaunch), kept(kept),
      keptRoom(keptRoom), room(room),
      addresses(world.image.classes, world.image.persistent),
      varies(variesWithArguments(world.call)),
      anyVaries(std::find(varies.begin(), varies.end(), true) != varies.end()) {
  world.movesOperands = addresses.any();
}

// ---------------------------------------------------------------- one call

void LaunchMemory::keep(size_t limitBytes) {
  keepsBytes = limitBytes;
  begin();
}

void LaunchMemory::run() {
  numbers = numberLaunches(world.call, host, addresses);
  runSpan(world.call.launches());
}

/// Runs launches below `limit`, and layers among them. What is written down of
/// a layer has no others in it where a call keeps it: each use has its streams.
void LaunchMemory::runSpan(size_t limit) {
  if (!inLayer || !keepsBytes)
    for (const RepeatedLaunches &layers :
         findRepeats(numbers, leastLayers, at, limit))
      run(layers);
  if (inLayer)
    runParts(limit);
  else
    advanceTo(limit);
}

PartUses LaunchMemory::takeParts() {
  close();
  return keepsBytes ? std::move(uses) : PartUses();
}

/// What follows is written down, if somebody wants it.
void LaunchMemory::begin(bool wanted) {
  if (!keepsBytes && !inLayer && !wanted)
    return;
  open = std::make_shared<RecordedPart>(keepsBytes.value_or(layerRoom),
                                        world.image);
  open->begin(world, *channels.order);
}

void LaunchMemory::close() {
  if (!open)
    return;
  open->end(world);
  if (keepsBytes) // The parts that follow have so much less room.
    *keepsBytes -= std::min(*keepsBytes, open->recordedBytes());
  if (!open->usable()) // Nor is the run, which has it among its parts.
    keepsBytes.reset();
  if (!open->isEmpty() || !open->usable())
    uses.push_back({std::move(open)});
  open.reset();
}

/// The end of the launches from one on that all carry what arguments decide, or
/// none of them. The first of these is alone: PEs that were not equally late
/// when it began often are when it ends.
size_t LaunchMemory::nextCut(size_t launch, size_t limit) const {
  if (!kept || !anyVaries)
    return limit;
  const auto from = varies.begin() + ptrdiff_t(launch);
  if (!*from && launch > 0 && *(from - 1))
    return launch + 1;
  return size_t(std::find(from, varies.begin() + ptrdiff_t(limit), !*from) -
                varies.begin());
}

/// Runs, or replays, launches below `limit`; whether nothing is under way then.
bool LaunchMemory::advanceTo(size_t limit) {
  while (at < limit) {
    const size_t to = nextCut(at, limit);
    if (!replayKept(at, to)) {
      const std::shared_ptr<KeptLaunches> its = beginKept(at, to);
      resting = runUntil(to);
      if (its)
        endKept(its);
    }
    at = to;
  }
  return resting;
}

// ---------------------------------------------------------------- layers

RunState LaunchMemory::state() const {
  RunState its{{}, {}, {}, world.commands.lastTaken(), world.work()};
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
/// the layers, for which the next one does not wait as long; or one of a layer
/// behind might, for what is there now.
bool LaunchMemory::awaitsStore(const RepeatedLaunches &layers, size_t layer,
                               double start) const {
  const size_t from = layers.first + layer * layers.period,
               behind = from + layers.period,
               end = layers.first + layers.count * layers.period;
  std::vector<uint32_t> streams = streamsFromBefore(
      world.call, *channels.order, from, layers.period, from - layers.period);
  for (uint32_t stream : streamsFromBefore(world.call, *channels.order, behind,
                                           end - behind, from))
    streams.push_back(stream);
  return std::any_of(streams.begin(), streams.end(), [&](uint32_t stream) {
    const std::optional<double> complete = channels.order->complete(stream);
    return complete && *complete + longAgo > start;
  });
}

/// The cycles by which all clocks that moved did. None if they differ, or if
/// the layer waited for what later ones do not wait for.
std::optional<double>
LaunchMemory::cyclesBetween(const RepeatedLaunches &layers, size_t layer,
                            const RunState &before,
                            const RunState &after) const {
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
      if (cycles && std::abs(its - *cycles) > leastDifference)
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
  size_t words = 0;
  for (size_t i = 0; i < layers.period; ++i)
    words += world.call.commandWords(layers.first + layer * layers.period + i);
  return *cycles >= double(words) ? cycles : std::nullopt;
}

void LaunchMemory::run(const RepeatedLaunches &layers) {
  runSpan(layers.first + layers.period);
  if (resting) {
    RunState before = state();
    for (size_t layer = 1; layer <= mostAttempts && layer + 1 < layers.count;
         ++layer)
      if (runOne(layers, layer, before))
        break;
  }
  while (at < layers.first + layers.count * layers.period)
    runSpan(at + layers.period - (at - layers.first) % layers.period);
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

/// By how many words its moves take operands so many launches later.
std::vector<int64_t> LaunchMemory::wordsMoved(const RecordedPart &part,
                                              uint32_t launches) const {
  std::vector<int64_t> moved;
  for (const Recording::Move &move : part.moves()) {
    int64_t words = 0;
    if (!move.terms.empty()) {
      const std::vector<int64_t> from =
          world.call.carried(world.call.launch(move.launch));
      const std::vector<int64_t> to =
          world.call.carried(world.call.launch(move.launch + launches));
      for (const auto &[argument, scale] : move.terms)
        words += scale * (to[argument] - from[argument]);
    }
    moved.push_back(words);
  }
  return moved;
}

/// The shift of a use, moved on by `later`.
static Replay::Shift behindOf(const PartUse &use, const Replay::Shift &later) {
  Replay::Shift all = {later.launches, later.streams};
  if (use.shift) {
    all.launches += use.shift->launches;
    all.streams = use.shift->streams;
    for (uint32_t &stream : all.streams)
      stream = later.streams[stream];
  }
  return all;
}

/// The parts of a layer for another one behind it, if they can stand for that.
std::optional<PartUses>
LaunchMemory::follower(const PartUses &layer,
                       const Replay::Shift &later) const {
  std::vector<LastingAccesses::Moved> moved;
  PartUses its;
  for (const PartUse &use : layer) {
    its.push_back({use.part, behindOf(use, later)});
    moved.emplace_back(&use.part->accesses,
                       wordsMoved(*use.part, its.back().shift->launches));
    const std::vector<Recording::Move> &moves = use.part->moves();
    for (size_t i = 0; i < moves.size(); ++i)
      its.back().shift->moved.push_back(
          ptrdiff_t(moved.back().second[i] * moves[i].lanes));
  }
  return LastingAccesses::hold(moved) ? std::optional(std::move(its))
                                      : std::nullopt;
}

/// Whether a layer can be replayed behind itself: it leaves each view, of as
/// many as there were, where it was or in memory of its own.
bool LaunchMemory::repeats(const PartUses &layer) const {
  std::optional<std::vector<ptrdiff_t>> all;
  for (const PartUse &use : layer) {
    std::vector<ptrdiff_t> origins = use.part->origins();
    for (ptrdiff_t &its : origins)
      if (all && its >= 0)
        its = (*all)[size_t(its)];
    all = std::move(origins);
  }
  for (size_t i = 0; all && i < all->size(); ++i)
    if ((*all)[i] >= 0 && (*all)[i] != ptrdiff_t(i))
      return false;
  return true;
}

Locations LaunchMemory::locations() const {
  Locations all;
  for (const auto &strip : world.image.strips)
    for (const StripMemory::ViewPlace &view : strip->memory.viewPlaces())
      all.push_back({view.data, strip->memory.ownerOf(view.index)});
  return all;
}

void LaunchMemory::moveViews(const Locations &to) {
  auto location = to.begin();
  for (const auto &strip : world.image.strips)
    for (const StripMemory::ViewPlace &view : strip->memory.viewPlaces()) {
      strip->memory.moveView(view.index, location->data, location->owner);
      ++location;
    }
}

/// Runs a layer in state `before`, which becomes that behind it, and writes it
/// down. True if nothing is left to do for these layers.
bool LaunchMemory::runOne(const RepeatedLaunches &layers, size_t layer,
                          RunState &before) {
  std::vector<Replay::Shift> others = othersBehind(layers, layer);
  if (others.empty())
    return true;
  // Whether this layer is part of one that is written down.
  const bool isPart = std::exchange(inLayer, true);
  if (isPart)
    layerRoom -= std::min(layerRoom, open->recordedBytes());
  else
    layerRoom = layerBytes;
  close();
  const bool awaited = world.awaitsCommands.exchange(false) && isPart;
  auto arrivals = std::exchange(world.arrivals, {});
  auto leave = [&] {
    inLayer = isPart;
    if (!isPart)
      return;
    arrivals.insert(arrivals.end(), world.arrivals.begin(),
                    world.arrivals.end());
    world.arrivals = std::move(arrivals);
    world.awaitsCommands = world.awaitsCommands || awaited;
  };
  const size_t first = uses.size();
  begin();
  const size_t from = layers.first + layer * layers.period;
  const std::shared_ptr<KeptLaunches> head =
      isPart ? nullptr : runHead(from, from + layers.rest, before);
  runSpan(from + layers.period);
  if (!resting && (keepsBytes || isPart)) { // It stays open.
    leave();
    return true;
  }
  inLayer = isPart;
  RunState after = state();
  if (isPart)
    layerRoom -= std::min(layerRoom, open->recordedBytes());
  close();
  const PartUses its(uses.begin() + ptrdiff_t(first), uses.end());
  const bool usable =
      resting && std::all_of(its.begin(), its.end(), [](const PartUse &use) {
        return use.part->usable() && !use.part->mayDiverge();
      });
  std::optional<double> cycles;
  if (usable && after.layouts == before.layouts && repeats(its))
    cycles = cyclesBetween(layers, layer, before, after);
  size_t replayed = 0;
  Locations views = locations();
  for (; cycles && replayed < others.size(); ++replayed) {
    const std::optional<PartUses> behind = follower(its, others[replayed]);
    if (!behind)
      break;
    for (const PartUse &use : its)
      if (!use.part->prepared())
        use.part->prepare(pool, room);
    for (const PartUse &use : *behind)
      use.part->replay(host, furthestLaunch, use.its(), views);
    if (isPart || keepsBytes)
      uses.insert(uses.end(), behind->begin(), behind->end());
  }
  if (replayed) {
    others.resize(replayed);
    moveViews(views);
    skip(layers, layer, others, before, after, *cycles);
    for (size_t i = 0, own = world.arrivals.size(); isPart && i < own; ++i)
      for (const Replay::Shift &shift : others)
        world.arrivals.emplace_back(shift.streams[world.arrivals[i].first],
                                    world.arrivals[i].second +
                                        *cycles * shift.launches /
                                            double(layers.period));
    const size_t behindAll = layers.first + layers.count * layers.period;
    if (head && at == behindAll)
      replayHead(*head, behindAll, double(layers.count - layer) * *cycles);
  }
  close();
  leave();
  if (!isPart && !keepsBytes) // Nobody takes them.
    uses.resize(first);
  begin();
  before = std::move(after);
  return cycles || !usable;
}

/// Runs launches of a layer below `limit`, in parts: what is written down of
/// one goes as soon as it is ready for replays.
void LaunchMemory::runParts(size_t limit) {
  while (at < limit) {
    // Calls keep runs of launches, which parts would cut.
    advanceTo(kept && anyVaries ? limit : at + 1);
    if (!resting || at == limit || open->recordedBytes() < partBytes)
      continue;
    const std::shared_ptr<RecordedPart> its = open;
    close();
    if (its->usable())
      its->prepare(pool, room);
    layerRoom -= std::min(layerRoom, its->bytes());
    begin();
  }
}

/// The first launches of a layer, if those behind the last one are like them.
/// None, if something is under way then, or if they are several parts.
std::shared_ptr<KeptLaunches> LaunchMemory::runHead(size_t from, size_t to,
                                                    const RunState &before) {
  if (from == to || (kept && anyVaries))
    return nullptr;
  auto its = std::make_shared<KeptLaunches>();
  std::map<const StripQueue *, size_t> taken; // Asked only.
  world.forEachQueue(
      [&](StripQueue &queue) { taken[&queue] = queue.wordsTaken(); });
  world.commands.noteTaken(true);
  const std::shared_ptr<RecordedPart> part = open;
  runParts(to);
  its->taken = world.commands.noteTaken(false);
  if (!resting || open != part)
    return nullptr;
  its->begin = from;
  its->end = to;
  its->before = before;
  its->after = state();
  const auto &times = world.launches.all();
  its->launches.assign(times.begin() + ptrdiff_t(from),
                       times.begin() + ptrdiff_t(to));
  its->arrivals = world.arrivals;
  world.forEachQueue([&](StripQueue &queue) {
    its->queues.push_back({&queue, taken[&queue], queue.history()});
  });
  its->part = open;
  layerRoom -= std::min(layerRoom, open->recordedBytes());
  close();
  begin();
  return its;
}

/// In place of the launches from `to` on, so many cycles later.
void LaunchMemory::replayHead(const KeptLaunches &head, size_t to,
                              double cycles) {
  auto streams = matchStreams(world.call, *channels.order, head.begin, to,
                              head.end - head.begin);
  if (!streams)
    return;
  const std::optional<PartUses> its =
      follower({{head.part}}, {uint32_t(to - head.begin), *std::move(streams)});
  if (!its)
    return;
  replay(head, its->front().its(), cycles);
  for (const auto &[queue, before, after] : head.queues)
    if (queue->wordsTaken() != before) // in the layer
      queue->goOn(after, cycles);
  at = to + (head.end - head.begin);
}

/// Brings all but the SRAM into the state behind the others.
void LaunchMemory::skip(const RepeatedLaunches &layers, size_t layer,
                        const std::vector<Replay::Shift> &others,
                        const RunState &before, const RunState &after,
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
  size_t words = 0;
  for (size_t l = to; l < to + skipped; ++l)
    words += world.call.commandWords(l);
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
  at = to + skipped;
}

} // namespace wsec::runtime
