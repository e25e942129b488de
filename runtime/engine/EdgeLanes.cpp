// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/EdgeLanes.h"

#include "runtime/program/Errors.h"

#include <bit>
#include <set>

namespace wsec::runtime {

using program::Direction;

LaneUses laneUses(const program::Program &program, HostPort &host,
                  Direction direction) {
  LaneUses uses;
  std::set<uint32_t> listed;
  for (uint32_t l = 0; l < program.launches()->size(); ++l) {
    const program::Launch &launch = *program.launches()->Get(l);
    if (!launch.streams())
      continue;
    for (uint32_t s : *launch.streams()) {
      if (!program.streams() || s >= program.streams()->size())
        throw Error(ErrorClass::BadProgram,
                    describeLaunch(program, l) +
                        " lists a stream that does not exist");
      const program::HostStream &stream = *program.streams()->Get(s);
      if (!listed.insert(s).second)
        throw Error(ErrorClass::BadProgram, "stream '" + stream.name()->str() +
                                                "' is listed by two launches");
      if (stream.direction() != direction)
        continue;
      for (uint32_t i = 0; i < stream.lanes()->size(); ++i)
        uses[{stream.lanes()->Get(i)->row(), stream.color()}].push_back(
            {l, s, i, host.words(s, i)});
    }
  }
  return uses;
}

std::string describeLane(const program::Program &program, const LaneUse &use,
                         int color, int row) {
  return "stream '" + program.streams()->Get(use.stream)->name()->str() +
         "' (color " + std::to_string(color) + ", row " + std::to_string(row) +
         ")";
}

// ---------------------------------------------------------------- west

WestLane::WestLane(const program::Program &program, int row, int color,
                   std::vector<LaneUse> uses)
    : program(program), row(row), its(color), commands(false),
      uses(std::move(uses)) {}

WestLane::WestLane(const program::Program &program)
    : program(program), row(0), its(program.command_color()), commands(true) {}

void WestLane::open(size_t launches, int64_t when) {
  opened = launches;
  if (!commands)
    since = when + program.machine()->store_latency_cycles();
}

/// Words asked for at a time.
static constexpr size_t viewWords = 1 << 14;

void WestLane::fetch(HostPort &host) {
  view = host.next(uses[use].stream, uses[use].lane, viewWords);
  next = 0;
  const size_t got = view.words();
  if (got == 0 || got > uses[use].words - sent)
    throw Error(ErrorClass::BadProgram,
                describeLane(program, uses[use], its, row) + " has " +
                    std::to_string(sent + got) + " words, " +
                    std::to_string(uses[use].words) + " are announced");
}

bool WestLane::hasWord() {
  if (commands)
    return sent < program.launches()->size();
  for (; use < uses.size() && sent == uses[use].words; ++use)
    sent = 0;
  return use < uses.size() && uses[use].launch < opened;
}

uint32_t WestLane::take(HostPort &host, Observer *observer, double now) {
  if (commands)
    return uint32_t(sent++);
  if (next == view.words())
    fetch(host);
  ++sent;
  ++words;
  if (observer)
    observer->hostWords(uses[use].stream, uses[use].lane, 1, now, now);
  return std::bit_cast<uint32_t>(view.word(next++));
}

// ---------------------------------------------------------------- east

EastLanes::EastLanes(const program::Program &program, HostPort &host,
                     LaunchLog &log, Observer *observer)
    : host(host), log(log), observer(observer) {
  for (auto &[where, uses] : laneUses(program, host, Direction::Out)) {
    Lane &lane = lanes[where];
    lane.uses = std::move(uses);
    skipComplete(lane);
  }
}

void EastLanes::skipComplete(Lane &lane) {
  while (lane.use < lane.uses.size() &&
         lane.taken == lane.uses[lane.use].words) {
    flush(lane);
    ++lane.use;
    lane.taken = 0;
  }
}

void EastLanes::flush(Lane &lane) {
  if (lane.waiting.empty())
    return;
  const LaneUse &use = lane.uses[lane.use];
  const size_t count = lane.waiting.size();
  host.store(use.stream, use.lane,
             {lane.waiting.data(), 1, count, count, nullptr});
  lane.waiting.clear();
}

void EastLanes::leave(int row, int color, uint32_t bits, double when) {
  Lane &lane = lanes[{row, color}];
  if (lane.use == lane.uses.size()) {
    ++lane.tooMany;
    return;
  }
  ++words;
  ++lane.taken;
  lane.waiting.push_back(std::bit_cast<float>(bits));
  const LaneUse &use = lane.uses[lane.use];
  if (observer)
    observer->hostWords(use.stream, use.lane, 1, when, when);
  log.note(use.launch, when, when);
  constexpr size_t most = 1 << 12;
  if (lane.waiting.size() == most)
    flush(lane);
  skipComplete(lane);
}

void EastLanes::finish() {
  for (auto &[where, lane] : lanes)
    flush(lane);
}

void EastLanes::addTo(WaitGraph &graph, size_t launches) const {
  for (const auto &[where, lane] : lanes)
    if (lane.use < lane.uses.size() && lane.uses[lane.use].launch < launches) {
      const LaneUse &use = lane.uses[lane.use];
      graph.addOutput(where.first, where.second, use.stream, lane.taken,
                      use.words);
    }
}

std::vector<std::string> EastLanes::surplus() const {
  std::vector<std::string> result;
  for (const auto &[where, lane] : lanes)
    if (lane.tooMany > 0)
      result.push_back("color " + std::to_string(where.second) +
                       " beyond the east edge at row " +
                       std::to_string(where.first) + ", " +
                       std::to_string(lane.tooMany) + " words");
  return result;
}

} // namespace wsec::runtime
