// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/streams/HostChannels.h"

#include "runtime/pe/Code.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime::streams {

HostChannels::HostChannels(const Call &call, Network &network, Agenda &agenda,
                           HostPort &host, const StoreOrder &order,
                           Observer *observer)
    : network(network), agenda(agenda), host(host), observer(observer) {
  if (!calledByHost(call.program()) && call.launches() > 0)
    rows[0].channels.emplace_back(call);
  for (auto &[place, uses] : channelUses(call, host, program::Direction::In))
    rows[place.first].channels.emplace_back(
        call.program(), place.first, place.second, std::move(uses), order);
  network.west = [this](Station &edge) { return fill(edge); };
}

void HostChannels::open(size_t launches, int64_t when) {
  for (auto &[row, its] : rows) {
    for (WestChannel &channel : its.channels) {
      channel.open(launches, when);
      if (its.channels.size() > 1)
        agenda.enterEdge(channel.from(), uint32_t(row));
    }
    if (its.channels.size() == 1) {
      Station &edge = network.westEdge(row, its.channels[0].color());
      edge.countsStalls = true;
      its.edge = &edge;
      network.start(edge);
    }
  }
}

void HostChannels::resume() {
  for (auto &[row, its] : rows)
    agenda.enterEdge(agenda.now() + 1, uint32_t(row));
}

void HostChannels::push(Station &edge, WestChannel &channel, Cycle when) {
  edge.queue.push(channel.take(host, observer, when));
  ++edge.delivered;
}

/// The next words of a channel that has its row for itself. They are there
/// before the router can take them.
bool HostChannels::fill(Station &edge) {
  constexpr int most = 256;
  Row &row = rows.at(network.coordinate(edge.pe).y);
  WestChannel &channel = row.channels[0];
  if (row.channels.size() > 1 || !channel.hasWord())
    return false;
  Cycle when = std::max<Cycle>(channel.from(), edge.lastTaken + 1);
  for (int i = 0; i < most && channel.hasWord(); ++i) {
    when = std::max<Cycle>(when, channel.from());
    push(edge, channel, when++);
  }
  return true;
}

/// Lets a word in, if a channel has one and room for it.
void HostChannels::step(int index) {
  Row &row = rows.at(index);
  const Cycle now = agenda.now();
  if (std::exchange(row.stepped, now) == now)
    return;
  if (row.channels.size() == 1)
    return network.start(network.westEdge(index, row.channels[0].color()));
  Cycle next = never;
  WestChannel *channel = row.choose(now, next, [&](const WestChannel &asked) {
    Station &edge = network.westEdge(index, asked.color());
    const Cycle room = network.roomAt(edge, 0);
    edge.senderWaits |= room == never;
    if (room > now)
      next = std::min(next, room);
    return room <= now;
  });
  if (channel) {
    row.enters(*channel, now);
    Station &edge = network.westEdge(index, channel->color());
    push(edge, *channel, now);
    network.start(edge);
    next = now + 1;
  }
  if (next != never)
    agenda.enterEdge(next, uint32_t(index));
}

std::vector<EdgeUse> HostChannels::use() const {
  std::vector<EdgeUse> uses;
  for (const auto &[index, row] : rows)
    if (row.hasData())
      uses.push_back({index, row.delivered(),
                      row.edge ? row.edge->stalled : row.stalledCycles()});
  return uses;
}

} // namespace wsec::runtime::streams
