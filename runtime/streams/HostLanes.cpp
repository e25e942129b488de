// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/streams/HostLanes.h"

#include "runtime/pe/Code.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime::streams {

using program::ElementType;
using program::Packing;

HostLanes::HostLanes(const program::Program &program, Network &network,
                     Agenda &agenda, HostPort &host, Observer *observer)
    : network(network), agenda(agenda), host(host), observer(observer) {
  if (!calledByHost(program) && program.launches()->size() > 0)
    rows[0].lanes.emplace_back(program);
  for (auto &[place, uses] : laneUses(program, host, program::Direction::In))
    rows[place.first].lanes.emplace_back(program, place.first, place.second,
                                         std::move(uses));
  network.west = [this](Station &edge) { return fill(edge); };
}

void HostLanes::open(size_t launches, int64_t when) {
  for (auto &[row, its] : rows) {
    for (WestLane &lane : its.lanes) {
      lane.open(launches, when);
      if (its.lanes.size() > 1)
        agenda.enterEdge(lane.from(), uint32_t(row));
    }
    if (its.lanes.size() == 1)
      network.start(network.westEdge(row, its.lanes[0].color()));
  }
}

void HostLanes::push(Station &edge, WestLane &lane, Cycle when) {
  Word word;
  word.form = pe::wireForm(ElementType::F32, Packing::Single);
  word.ready = when;
  word.payload = lane.take(host, observer, double(when));
  edge.queue.push(word);
  ++edge.delivered;
}

/// The next words of a lane that has its row for itself. They are there before
/// the router can take them.
bool HostLanes::fill(Station &edge) {
  constexpr int most = 256;
  Row &row = rows.at(network.coordinate(edge.pe).y);
  WestLane &lane = row.lanes[0];
  if (row.lanes.size() > 1 || !lane.hasWord())
    return false;
  Cycle when = std::max<Cycle>(lane.from(), edge.lastTaken + 1);
  for (int i = 0; i < most && lane.hasWord(); ++i)
    push(edge, lane, when++);
  return true;
}

/// Lets a word in, of the first lane in turn that has one and room for it.
void HostLanes::step(int index) {
  Row &row = rows.at(index);
  const Cycle now = agenda.now();
  if (std::exchange(row.stepped, now) == now)
    return;
  Cycle next = never;
  const size_t count = row.lanes.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t at = (row.first + i) % count;
    WestLane &lane = row.lanes[at];
    if (now < lane.from() || !lane.hasWord())
      continue;
    Station &edge = network.westEdge(index, lane.color());
    const Cycle room = network.roomAt(edge, 0);
    if (room <= now) {
      push(edge, lane, now);
      network.start(edge);
      row.first = at + 1;
      return agenda.enterEdge(now + 1, uint32_t(index));
    }
    edge.senderWaits |= room == never;
    next = std::min(next, room);
  }
  if (next != never)
    agenda.enterEdge(next, uint32_t(index));
}

uint64_t HostLanes::delivered() const {
  uint64_t words = 0;
  for (const auto &[index, row] : rows)
    for (const WestLane &lane : row.lanes)
      words += lane.delivered();
  return words;
}

} // namespace wsec::runtime::streams
