// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches that a call has in common with an earlier one of its entry.
#include "runtime/strips/LaunchMemory.h"

#include <algorithm>
#include <cmath>

namespace wsec::runtime {

/// Of the same launches, in different states.
static constexpr size_t mostKept = 24;
/// Clocks are sums of what is no binary fraction.
static constexpr double tolerance = 1e-6;

static bool isZero(double cycles) { return std::abs(cycles) <= tolerance; }

size_t KeptLaunches::bytes() const {
  size_t sum = footprint->bytes() + part->bytes();
  for (const RunState *state : {&before, &after})
    for (const StripMemory::Layout &layout : state->layouts)
      sum += layout.forms.size() + layout.views.size() * 64;
  return sum;
}

/// Words of the channels of all their streams.
std::vector<uint64_t> LaunchMemory::wordsOf(size_t from, size_t to) const {
  std::vector<uint64_t> words;
  for (size_t l = from; l < to; ++l)
    if (const auto *streams = world.call.launch(l).streams())
      for (uint32_t s : *streams) {
        const auto &channels =
            *world.call.program().streams()->Get(s)->channels();
        for (uint32_t i = 0; i < channels.size(); ++i)
          words.push_back(host.words(s, i));
      }
  return words;
}

/// Of their streams that bring what launches before them have stored, when that
/// was complete.
std::vector<std::pair<uint32_t, double>>
LaunchMemory::completesOf(size_t from, size_t to) const {
  std::vector<std::pair<uint32_t, double>> completes;
  for (size_t l = from; l < to; ++l)
    if (const auto *streams = world.call.launch(l).streams())
      for (uint32_t s : *streams)
        if (const auto when = channels.order->complete(s); when && *when > 0)
          completes.emplace_back(s, *when);
  return completes;
}

/// Launches [from, to) are about to run: what they find, if it is worth
/// keeping.
std::shared_ptr<KeptLaunches> LaunchMemory::beginKept(size_t from, size_t to) {
  if (!kept || !anyVaries || !resting || varies[from] || keptRoom == 0 ||
      kept->count(from) >= mostKept)
    return nullptr;
  for (size_t l = from; l < to; ++l)
    for (const auto &main : mains)
      if (!main->where().code.routine(world.call.launch(l).routine()))
        return nullptr;
  close();
  auto its = std::make_shared<KeptLaunches>();
  its->begin = from;
  its->end = to;
  its->before = state();
  its->completes = completesOf(from, to);
  its->words = wordsOf(from, to);
  its->footprint = std::make_unique<Footprint>(world.image);
  begin(/*wanted=*/true);
  its->part = open;
  world.footprint = its->footprint.get();
  world.commands.noteTaken(true);
  awaitedBefore = world.awaitsCommands.exchange(false);
  arrivalsBefore = world.arrivals.size();
  for (const auto &main : mains)
    main->takeLead();
  for (const auto &input : channels.inputs)
    input->takeMargin();
  return its;
}

void LaunchMemory::endKept(const std::shared_ptr<KeptLaunches> &its) {
  world.footprint = nullptr;
  its->footprint->close();
  its->taken = world.commands.noteTaken(false);
  its->awaits =
      world.awaitsCommands.exchange(world.awaitsCommands || awaitedBefore);
  if (!resting) { // It is not kept; what is written down of it may be wanted.
    if (!keepsBytes && !inLayer)
      close();
    return;
  }
  its->lead = INFINITY;
  for (const auto &main : mains)
    its->lead = std::min(its->lead, main->takeLead());
  for (const auto &input : channels.inputs)
    its->margins.push_back(input->takeMargin());
  its->after = state();
  const auto &times = world.launches.all();
  its->launches.assign(times.begin() + ptrdiff_t(its->begin),
                       times.begin() + ptrdiff_t(its->end));
  its->arrivals.assign(world.arrivals.begin() + ptrdiff_t(arrivalsBefore),
                       world.arrivals.end());
  close();
  if (its->part->usable() && !its->part->mayDiverge()) {
    kept->emplace(its->begin, its);
    keptRoom -= std::min(keptRoom, its->bytes());
  }
  begin();
}

/// How many cycles later launches would do what they did, if the run is in the
/// state in which they were, but for the time.
std::optional<double> LaunchMemory::cyclesSince(const KeptLaunches &its) const {
  if (mains.empty())
    return {};
  const double cycles = mains.front()->clock() - its.before.mains.front();
  for (size_t i = 0; i < mains.size(); ++i)
    if (!isZero(mains[i]->clock() - its.before.mains[i] - cycles))
      return {};
  // What is later than it was must not have held up anything.
  auto mayBeLater = [](double by, double margin) {
    return isZero(by) || (margin >= 0 && by <= margin);
  };
  for (size_t i = 0; i < channels.inputs.size(); ++i)
    if (its.after.inputs[i] != its.before.inputs[i] &&
        !mayBeLater(channels.inputs[i]->clock() - its.before.inputs[i] - cycles,
                    its.margins[i]))
      return {};
  const std::vector<double> taken = world.commands.lastTaken();
  for (size_t i = 0; i < taken.size(); ++i)
    if (!mayBeLater(taken[i] - its.before.commands[i] - cycles, its.lead))
      return {};
  // The host sends them at fixed times: of a later run no later.
  if (cycles > tolerance ? its.awaits : !mayBeLater(-cycles, its.lead))
    return {};
  const auto completes = completesOf(its.begin, its.end);
  if (completes.size() != its.completes.size())
    return {};
  for (size_t i = 0; i < completes.size(); ++i)
    if (!isZero(completes[i].second - its.completes[i].second - cycles))
      return {};
  const bool fromStore = !completes.empty() || !its.arrivals.empty();
  if (fromStore && !isZero(cycles - std::round(cycles)))
    return {}; // The store begins with whole cycles.
  for (const auto &strip : world.image.strips) {
    strip->memory.sortViews();
    if (!strip->memory.hasLayout(its.before.layouts[size_t(strip->index)]))
      return {};
  }
  return wordsOf(its.begin, its.end) == its.words &&
                 its.footprint->holds(world.image)
             ? std::optional(cycles)
             : std::nullopt;
}

bool LaunchMemory::replayKept(size_t from, size_t to) {
  if (!kept || !resting)
    return false;
  const auto [first, last] = kept->equal_range(from);
  for (auto at = first; at != last; ++at) {
    const KeptLaunches &its = *at->second;
    if (its.end != to)
      continue;
    const std::optional<double> cycles = cyclesSince(its);
    if (!cycles)
      continue;
    its.footprint->apply(world.image);
    replay(its, nullptr, *cycles);
    return true;
  }
  return false;
}

/// In place of them, or of the launches that a shift leads to.
void LaunchMemory::replay(const KeptLaunches &its, const Replay::Shift *shift,
                          double cycles) {
  close();
  if (!its.part->prepared())
    its.part->prepare(pool, room);
  Locations views = locations();
  its.part->replay(host, furthestLaunch, shift, views);
  for (const auto &strip : world.image.strips)
    strip->memory.setLayout(its.after.layouts[size_t(strip->index)]);
  moveViews(views);
  goOnBehind(its, shift, cycles);
  uses.push_back({its.part});
  if (shift)
    uses.back().shift = *shift;
  begin();
}

/// Brings all but the SRAM into the state behind them.
void LaunchMemory::goOnBehind(const KeptLaunches &its,
                              const Replay::Shift *shift, double cycles) {
  const size_t later = shift ? shift->launches : 0;
  auto moved = [&](double before, double after, double now) {
    return after == before ? 0 : after + cycles - now;
  };
  for (size_t i = 0; i < mains.size(); ++i)
    mains[i]->skip(
        its.end - its.begin,
        moved(its.before.mains[i], its.after.mains[i], mains[i]->clock()));
  for (size_t i = 0; i < channels.inputs.size(); ++i)
    channels.inputs[i]->skip(its.end + later,
                             moved(its.before.inputs[i], its.after.inputs[i],
                                   channels.inputs[i]->clock()));
  for (const auto &output : channels.outputs)
    output->skip(its.end + later);
  if (its.awaits)
    world.awaitsCommands.store(true, std::memory_order_relaxed);
  // Word by word: none gets ahead of what the others let pass.
  size_t most = 0;
  for (const auto &words : its.taken)
    most = std::max(most, words.size());
  for (size_t word = 0; word < most; ++word)
    for (size_t strip = 0; strip < its.taken.size(); ++strip)
      if (word < its.taken[strip].size())
        world.commands.take(int(strip), its.taken[strip][word] + cycles);
  for (size_t l = its.begin; l < its.end; ++l) {
    const LaunchTime &time = its.launches[l - its.begin];
    world.launches.note(l + later, time.start + cycles, time.end + cycles);
  }
  for (const auto &[stream, when] : its.arrivals) {
    const uint32_t other = shift ? shift->streams[stream] : stream;
    channels.order->arrived(other, when + cycles);
    world.noteArrival(other, when + cycles);
  }
  world.repeat(1, {its.after.work.instructions - its.before.work.instructions,
                   its.after.work.operations - its.before.work.operations,
                   its.after.work.spent - its.before.work.spent});
  remembered += its.end - its.begin;
}

} // namespace wsec::runtime
