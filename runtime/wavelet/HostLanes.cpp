// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/HostLanes.h"

#include <utility>

namespace wsec::runtime::wavelet {

HostLanes::HostLanes(const program::Program &program, HostPort &host,
                     Fabric &fabric, Agenda &agenda)
    : host(host), fabric(fabric), agenda(agenda),
      rows(size_t(program.machine()->height())) {
  if (!calledByHost(program) && program.launches()->size() > 0)
    rows[0].lanes.emplace_back(program);
  for (auto &[where, uses] : laneUses(program, host, program::Direction::In))
    rows[size_t(where.first)].lanes.emplace_back(program, where.first,
                                                 where.second, std::move(uses));
}

void HostLanes::open(size_t launches, int64_t when) {
  for (size_t row = 0; row < rows.size(); ++row)
    for (WestLane &lane : rows[row].lanes) {
      lane.open(launches, when);
      agenda.enter(lane.from(), agendaEntry(Party::Edge, uint32_t(row)));
    }
}

uint64_t HostLanes::delivered() const {
  uint64_t words = 0;
  for (const Row &row : rows)
    for (const WestLane &lane : row.lanes)
      words += lane.delivered();
  return words;
}

void HostLanes::step(int index) {
  Row &row = rows[size_t(index)];
  const Cycle now = agenda.now();
  if (std::exchange(row.stepped, now) == now)
    return;
  const size_t count = row.lanes.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t at = (row.first + i) % count;
    WestLane &lane = row.lanes[at];
    if (now < lane.from() || !lane.hasWord() ||
        !fabric.roomAtEdge(index, lane.color()))
      continue;
    Word word;
    word.ready = now;
    word.payload = lane.take(host, fabric.observer, double(now));
    fabric.enter(index, lane.color(), word);
    row.first = at + 1;
    agenda.enter(now + 1, agendaEntry(Party::Edge, uint32_t(index)));
    return;
  }
}

} // namespace wsec::runtime::wavelet
