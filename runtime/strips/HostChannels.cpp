// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/HostChannels.h"

#include "runtime/pe/Costs.h"
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
                           const StoreOrder &order, InputRow &row, int color)
    : Actor(row.group), world(world), host(host), order(order), row(row),
      color(color), links(world.hostLinks(color, row.index)),
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

void InputChannel::run() { row.run(); }

bool InputChannel::fetch() {
  if (left > 0)
    return true;
  if (links.full(*this) || isHeld())
    return false;
  const ChannelUse &use = uses[next];
  if (deliveredOfUse == 0) {
    const std::optional<double> complete = order.complete(use.stream);
    if (!complete)
      return false;
    if (*complete > 0)
      now = std::max(now, std::ceil(*complete) +
                              world.image.machine.store_latency_cycles());
  }
  const Pace pace = released ? *released : this->pace(/*ofAll=*/true);
  waits = pace.words == 0;
  if (waits)
    return false;
  released.reset();
  WordView view = host.next(use.stream, use.channel, pace.words);
  const size_t words = view.words();
  if (words == 0 || words > use.words - deliveredOfUse)
    throw Error(ErrorClass::BadProgram,
                describe() + " has " + std::to_string(deliveredOfUse + words) +
                    " words, " + std::to_string(use.words) + " are announced");
  fetched = {};
  fetched.data = view.data;
  fetched.rows = view.rows;
  fetched.length = view.length;
  fetched.rowStride = ptrdiff_t(view.stride);
  fetched.wordStride = ptrdiff_t(view.wordStride);
  perWord = pace.perWord;
  const double own = now + double(words - 1) * perWord;
  const double asked =
      pace.start + std::max(0.0, double(words) - pace.ahead) * perWord;
  fetched.last = std::max(own, asked);
  fetched.first = fetched.last - double(words - 1) * perWord;
  if (margin == INFINITY)
    margin = row.channels.size() > 1 ? -1 : asked - own;
  if (world.recording)
    fetched.buffer =
        world.recording->addView(0, use.stream, use.channel, pace.words, view);
  fetched.owner = std::move(view.owner);
  fetched.paced = true;
  left = words;
  return true;
}

void InputChannel::skipComplete() {
  for (; !done() && deliveredOfUse == uses[next].words; ++next)
    deliveredOfUse = 0;
}

void InputChannel::enter(size_t words, double first, double cyclesPerWord) {
  const bool whole = words == fetched.words();
  Chunk chunk =
      whole ? std::move(fetched) : fetched.part(fetched.words() - left, words);
  if (!whole || first != chunk.first || cyclesPerWord != perWord) {
    words = chunk.words();
    chunk.first = first;
    chunk.last = first + double(words - 1) * cyclesPerWord;
  }
  const ChannelUse &use = uses[next];
  if (world.observer)
    world.observer->hostWords(use.stream, use.channel, words, chunk.first,
                              chunk.last);
  now = chunk.last + cyclesPerWord;
  if (row.channels.size() > 1) {
    constexpr size_t most = 64;
    if (entered.size() == most)
      entered.erase(entered.begin());
    entered.push_back({first, now, 1 / cyclesPerWord, {use.order, use.launch}});
  }
  left -= words;
  delivered += words;
  deliveredOfUse += words;
  links.push(chunk, nullptr);
  skipComplete();
}

void InputChannel::skip(size_t launch, double cycles) {
  for (; !done() && uses[next].launch < launch; ++next)
    delivered += uses[next].words;
  now += cycles;
  for (Entered &its : entered) {
    its.begin += cycles;
    its.end += cycles;
  }
}

std::string InputChannel::describe() const {
  return describeChannel(world.image.program,
                         uses[std::min(next, uses.size() - 1)], color,
                         row.index);
}

void InputRow::run() {
  for (;;) {
    InputChannel *chosen = nullptr, *unknown = nullptr;
    for (InputChannel *channel : channels) {
      channel->skipComplete();
      if (channel->done())
        continue;
      const bool known = channel->fetch();
      if (!known && channel->isHeld())
        continue;
      InputChannel *&first = known ? chosen : unknown;
      if (!first || priorityOf(*channel) < priorityOf(*first))
        first = channel;
    }
    waits = nullptr;
    if (!chosen)
      return;
    if (!std::exchange(released, false) && unknown &&
        !(priorityOf(*chosen) < priorityOf(*unknown))) {
      waits = chosen;
      return;
    }
    enter(*chosen);
  }
}

bool InputRow::release() {
  if (!waits)
    return false;
  released = true;
  waits->world.scheduler.wake(*waits);
  return true;
}

/// Lets the next words of a channel enter, evenly, as far as what enters beside
/// them allows.
void InputRow::enter(InputChannel &chosen) {
  const size_t gone = chosen.fetched.words() - chosen.left;
  double begin = chosen.fetched.arrival(gone), perWord = chosen.perWord;
  if (channels.size() == 1)
    return chosen.enter(chosen.left, begin, perWord);
  begin = std::max(begin, chosen.now);
  const Priority its = priorityOf(chosen);
  // Those without slots that are about to enter share what is left.
  int turns = 1;
  double end, room;
  do {
    end = INFINITY;
    room = 1;
    for (const InputChannel *other : channels) {
      if (other == &chosen)
        continue;
      for (const Entered &beside : other->entered)
        if (!(its < beside.priority) && begin < beside.end) {
          const bool now = begin >= beside.begin;
          room -= now ? beside.perCycle : 0;
          end = std::min(end, now ? beside.end : beside.begin);
        }
    }
  } while (room < 1e-6 && (begin = end, true));
  for (InputChannel *other : channels)
    turns += other != &chosen && other->left > 0 && its.first == 0 &&
             priorityOf(*other) == its;
  perWord = std::max(perWord, turns / room);
  size_t words = chosen.left;
  if (begin + double(words - 1) * perWord >= end)
    words = size_t(std::ceil((end - begin) / perWord));
  const double last = begin + double(words) * perWord;
  for (InputChannel *other : channels)
    for (const Entered &behind : other->entered)
      if (other != &chosen && its < behind.priority)
        other->now += std::max(0.0, std::min(last, behind.end) -
                                        std::max(begin, behind.begin)) *
                      std::max(0.0, 1 / perWord + behind.perCycle - 1);
  chosen.enter(words, begin, perWord);
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
    const WordView view{chunk.data,   chunk.rows,
                        chunk.length, size_t(chunk.rowStride),
                        chunk.owner,  size_t(chunk.wordStride)};
    if (world.recording)
      world.recording->store(uint32_t(world.exitReader(row)), use.stream,
                             use.channel, view, chunk.buffer);
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
    if (result.rows.empty() || result.rows.back()->index != where.first)
      result.rows.push_back(std::make_unique<InputRow>(where.first));
    result.inputs.push_back(std::make_unique<InputChannel>(
        world, host, *result.order, *result.rows.back(), where.second));
    result.inputs.back()->uses = std::move(uses);
    result.rows.back()->channels.push_back(result.inputs.back().get());
    inputs.push_back(result.inputs.back().get());
  }
  for (auto &[where, uses] : channelUses(world.call, host, Direction::Out)) {
    for (const ChannelUse &use : uses)
      if (use.words && world.call.launch(use.launch).streams()->size() > 1)
        world.exitWords[{use.launch, where.first}][where.second] += use.words;
    result.outputs.push_back(std::make_unique<OutputChannel>(
        world, host, *result.order, where.second, where.first));
    result.outputs.back()->uses = std::move(uses);
    result.outputs.back()->waiting = inputs;
  }
  return result;
}

} // namespace wsec::runtime
