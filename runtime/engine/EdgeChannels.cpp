// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/EdgeChannels.h"

#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <bit>
#include <cmath>

namespace wsec::runtime {

using program::Direction;

ChannelUses channelUses(const Call &call, HostPort &host, Direction direction) {
  const program::Program &program = call.program();
  ChannelUses uses;
  for (uint32_t l = 0; l < call.launches(); ++l) {
    const program::Launch &launch = call.launch(l);
    if (!launch.streams())
      continue;
    for (uint32_t index = 0; index < launch.streams()->size(); ++index) {
      const uint32_t s = launch.streams()->Get(index);
      const uint64_t order =
          launch.slots() ? launch.slots()->Get(index)->order() + uint64_t(1)
                         : 0;
      if (!program.streams() || s >= program.streams()->size())
        throw Error(ErrorClass::BadProgram,
                    describeLaunch(call, l) +
                        " lists a stream that does not exist");
      const program::HostStream &stream = *program.streams()->Get(s);
      if (stream.direction() != direction)
        continue;
      for (uint32_t i = 0; i < stream.channels()->size(); ++i)
        uses[{stream.channels()->Get(i)->row(), stream.color()}].push_back(
            {l, s, i, host.words(s, i),
             pe::wireForm(stream.type(), stream.packing()), order});
    }
  }
  return uses;
}

std::string describeChannel(const program::Program &program,
                            const ChannelUse &use, int color, int row) {
  return "stream " +
         inQuotes(program.streams()->Get(use.stream)->name()->str()) +
         " (color " + std::to_string(color) + ", row " + std::to_string(row) +
         ")";
}

// ---------------------------------------------------------------- west

WestChannel::WestChannel(const program::Program &program, int row, int color,
                         std::vector<ChannelUse> uses, const StoreOrder &order)
    : program(program), row(row), its(color), order(&order), commands(false),
      uses(std::move(uses)) {}

WestChannel::WestChannel(const Call &call)
    : program(call.program()), row(0), its(program.launch_color()),
      commands(true) {
  for (uint32_t l = 0; l < call.launches(); ++l) {
    if (!call.follows(l))
      launches.push_back(l);
    for (int64_t value : call.carried(call.launch(l)))
      launches.push_back(uint32_t(value));
  }
}

void WestChannel::open(size_t launches, int64_t when) {
  opened = launches;
  if (!commands)
    since = when + program.machine()->store_latency_cycles();
}

/// Words asked for at a time.
static constexpr size_t viewWords = 1 << 14;

void WestChannel::fetch(HostPort &host) {
  view = host.next(uses[use].stream, uses[use].channel, viewWords);
  next = 0;
  const size_t got = view.words();
  if (got == 0 || got > uses[use].words - sent)
    throw Error(ErrorClass::BadProgram,
                describeChannel(program, uses[use], its, row) + " has " +
                    std::to_string(sent + got) + " words, " +
                    std::to_string(uses[use].words) + " are announced");
}

bool WestChannel::hasWord() {
  if (commands)
    return sent < launches.size();
  for (; use < uses.size() && sent == uses[use].words; ++use)
    sent = 0;
  if (use == uses.size() || uses[use].launch >= opened)
    return false;
  const std::optional<double> complete = order->complete(uses[use].stream);
  if (complete && *complete > 0)
    ordered = int64_t(std::ceil(*complete)) +
              program.machine()->store_latency_cycles();
  return complete.has_value();
}

pe::Word WestChannel::take(HostPort &host, Observer *observer, pe::Cycle now) {
  pe::Word word;
  word.ready = now;
  if (commands) {
    word.payload = launches[sent++];
    return word;
  }
  if (next == view.words())
    fetch(host);
  ++sent;
  ++words;
  if (observer)
    observer->hostWords(uses[use].stream, uses[use].channel, 1, double(now),
                        double(now));
  word.form = uint8_t(uses[use].form | (view.half(next) ? pe::halfFilled : 0));
  word.payload = std::bit_cast<uint32_t>(view.word(next++));
  return word;
}

WestChannel *WestRow::choose(int64_t now, int64_t &later,
                             const std::function<bool(WestChannel &)> &room) {
  WestChannel *best = nullptr;
  size_t after = first;
  for (size_t i = 0; i < channels.size(); ++i) {
    const size_t at = (first + i) % channels.size();
    WestChannel &channel = channels[at];
    if (!channel.hasWord())
      continue;
    if (now < channel.from()) {
      later = std::min(later, channel.from());
      continue;
    }
    if (best && channel.slot() >= best->slot())
      continue;
    if (room(channel)) {
      best = &channel;
      after = at + 1;
    }
  }
  first = after;
  return best;
}

void WestRow::enters(const WestChannel &chosen, int64_t now) {
  if (chosen.carriesCommands())
    return;
  int64_t since = now;
  for (WestChannel &channel : channels)
    if (!channel.carriesCommands() && channel.hasWord())
      since = std::min(since, channel.from());
  stalled += uint64_t(now - std::max(since, next));
  next = now + 1;
}

uint64_t WestRow::delivered() const {
  uint64_t words = 0;
  for (const WestChannel &channel : channels)
    words += channel.delivered();
  return words;
}

bool WestRow::hasData() const {
  return std::any_of(
      channels.begin(), channels.end(),
      [](const WestChannel &channel) { return !channel.carriesCommands(); });
}

// ---------------------------------------------------------------- east

EastChannels::EastChannels(const Call &call, HostPort &host, LaunchLog &log,
                           StoreOrder &order, Observer *observer)
    : program(call.program()), host(host), log(log), order(order),
      observer(observer) {
  for (auto &[where, uses] : channelUses(call, host, Direction::Out)) {
    Channel &channel = channels[where];
    channel.uses = std::move(uses);
    skipComplete(channel);
  }
}

void EastChannels::skipComplete(Channel &channel) {
  while (channel.use < channel.uses.size() &&
         channel.taken == channel.uses[channel.use].words) {
    flush(channel);
    ++channel.use;
    channel.taken = 0;
  }
}

void EastChannels::flush(Channel &channel) {
  if (channel.waiting.empty())
    return;
  const ChannelUse &use = channel.uses[channel.use];
  const size_t count = channel.waiting.size();
  host.store(use.stream, use.channel,
             {channel.waiting.data(), 1, count, count, nullptr, 1,
              channel.halves.empty() ? nullptr : channel.halves.data()});
  channel.waiting.clear();
  channel.halves.clear();
}

void EastChannels::leave(int row, int color, const pe::Word &word,
                         double when) {
  Channel &channel = channels[{row, color}];
  if (channel.use == channel.uses.size()) {
    ++channel.tooMany;
    return;
  }
  const ChannelUse &use = channel.uses[channel.use];
  const bool half = word.form & pe::halfFilled;
  if ((word.form & ~pe::halfFilled) != use.form)
    throw Error(ErrorClass::PackingMismatch,
                describeChannel(program, use, color, row) + " takes " +
                    pe::describeForm(use.form) + ", " +
                    pe::describeForm(word.form) + " comes");
  ++words;
  ++channel.taken;
  channel.waiting.push_back(std::bit_cast<float>(word.payload));
  if (use.form & 1)
    channel.halves.push_back(half);
  if (observer)
    observer->hostWords(use.stream, use.channel, 1, when, when);
  log.note(use.launch, when, when);
  constexpr size_t most = 1 << 12;
  if (channel.waiting.size() == most)
    flush(channel);
  if (channel.taken < use.words)
    return;
  // Nobody reads the tensor before all of it is handed over.
  flush(channel);
  const bool completes = order.arrived(use.stream, when);
  skipComplete(channel);
  if (completes && onComplete)
    onComplete();
}

void EastChannels::finish() {
  for (auto &[where, channel] : channels)
    flush(channel);
}

void EastChannels::addTo(WaitGraph &graph, size_t launches) const {
  for (const auto &[where, channel] : channels)
    if (channel.use < channel.uses.size() &&
        channel.uses[channel.use].launch < launches) {
      const ChannelUse &use = channel.uses[channel.use];
      graph.addOutput(where.first, where.second, use.stream, channel.taken,
                      use.words);
    }
}

std::vector<std::string> EastChannels::surplus() const {
  std::vector<std::string> result;
  for (const auto &[where, channel] : channels)
    if (channel.tooMany > 0)
      result.push_back("color " + std::to_string(where.second) +
                       " beyond the east edge at row " +
                       std::to_string(where.first) + ", " +
                       std::to_string(channel.tooMany) + " words");
  return result;
}

} // namespace wsec::runtime
