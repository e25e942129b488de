// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/HostEdges.h"

#include <algorithm>
#include <set>

namespace wsec::runtime::wavelet {

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
                    "launch " + std::to_string(l) +
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

static std::string describeLane(const program::Program &program,
                                const LaneUse &use, int color, int row) {
  return "stream '" + program.streams()->Get(use.stream)->name()->str() +
         "' (color " + std::to_string(color) + ", row " + std::to_string(row) +
         ")";
}

// ---------------------------------------------------------------- west

WestEdge::WestEdge(const program::Program &program, HostPort &host,
                   Fabric &fabric, Agenda &agenda)
    : program(program), host(host), fabric(fabric), agenda(agenda),
      rows(size_t(fabric.height())) {
  if (!launchedByRemoteCalls(program) && program.launches()->size() > 0)
    rows[0].lanes.push_back({program.command_color(), {}, 0, 0, {}, 0, 0});
  for (auto &[where, uses] : laneUses(program, host, Direction::In))
    rows[size_t(where.first)].lanes.push_back(
        {where.second,
         std::move(uses),
         0,
         0,
         {},
         0,
         program.machine()->store_latency_cycles()});
  for (size_t row = 0; row < rows.size(); ++row)
    for (const Lane &lane : rows[row].lanes)
      agenda.enter(lane.from, agendaEntry(Party::Edge, uint32_t(row)));
}

/// Words asked for at a time.
static constexpr size_t viewWords = 1 << 14;

void WestEdge::fetch(Lane &lane) {
  const LaneUse &use = lane.uses[lane.use];
  lane.view = host.next(use.stream, use.lane, viewWords);
  lane.next = 0;
  const size_t got = lane.view.words();
  if (got != 0 && got <= use.words - lane.sent)
    return;
  throw Error(ErrorClass::BadProgram,
              describeLane(program, use, lane.color, 0) + " has " +
                  std::to_string(lane.sent + got) + " words, " +
                  std::to_string(use.words) + " are announced");
}

bool WestEdge::hasWord(Lane &lane) {
  if (lane.uses.empty())
    return lane.sent < program.launches()->size();
  while (lane.use < lane.uses.size() &&
         lane.sent == lane.uses[lane.use].words) {
    ++lane.use;
    lane.sent = 0;
  }
  return lane.use < lane.uses.size();
}

Wavelet WestEdge::take(Lane &lane, Cycle now) {
  if (lane.uses.empty()) {
    Wavelet command;
    command.ready = now;
    command.payload = uint32_t(lane.sent++);
    return command;
  }
  if (lane.next == lane.view.words())
    fetch(lane);
  const size_t at = lane.next++;
  ++lane.sent;
  ++words;
  if (fabric.observer)
    fabric.observer->hostWords(lane.uses[lane.use].stream,
                               lane.uses[lane.use].lane, 1, double(now),
                               double(now));
  return Wavelet::word(now, lane.view.word(at));
}

void WestEdge::step(int index) {
  Row &row = rows[size_t(index)];
  const Cycle now = agenda.now();
  if (std::exchange(row.stepped, now) == now)
    return;
  const size_t count = row.lanes.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t at = (row.first + i) % count;
    Lane &lane = row.lanes[at];
    if (now < lane.from || !hasWord(lane) ||
        !fabric.roomAtEdge(index, lane.color))
      continue;
    fabric.enter(index, lane.color, take(lane, now));
    row.first = at + 1;
    agenda.enter(now + 1, agendaEntry(Party::Edge, uint32_t(index)));
    return;
  }
}

// ---------------------------------------------------------------- east

EastLanes::EastLanes(const program::Program &program, HostPort &host,
                     Ledger &ledger)
    : program(program), host(host), ledger(ledger) {
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

void EastLanes::leave(int row, int color, const Wavelet &wavelet) {
  Lane &lane = lanes[{row, color}];
  if (wavelet.control)
    return;
  if (lane.use == lane.uses.size()) {
    ++lane.tooMany;
    return;
  }
  ++words;
  ++lane.taken;
  lane.waiting.push_back(wavelet.number());
  if (Observer *observer = ledger.options.observer)
    observer->hostWords(lane.uses[lane.use].stream, lane.uses[lane.use].lane, 1,
                        double(wavelet.ready), double(wavelet.ready));
  ledger.recordLaunch(lane.uses[lane.use].launch, double(wavelet.ready),
                      double(wavelet.ready));
  constexpr size_t most = 1 << 12;
  if (lane.waiting.size() == most)
    flush(lane);
  skipComplete(lane);
}

void EastLanes::finish() {
  for (auto &[where, lane] : lanes)
    flush(lane);
}

std::vector<std::string> EastLanes::waits() const {
  std::vector<std::string> result;
  for (const auto &[where, lane] : lanes)
    if (lane.use < lane.uses.size()) {
      const LaneUse &use = lane.uses[lane.use];
      result.push_back("output " +
                       describeLane(program, use, where.second, where.first) +
                       " has " + std::to_string(lane.taken) + " of " +
                       std::to_string(use.words) + " words");
    }
  return result;
}

std::vector<std::string> EastLanes::surplus() const {
  std::vector<std::string> result;
  for (const auto &[where, lane] : lanes)
    if (lane.tooMany > 0)
      result.push_back("color " + std::to_string(where.second) +
                       " beyond the east edge at row " +
                       std::to_string(where.first));
  return result;
}

} // namespace wsec::runtime::wavelet
