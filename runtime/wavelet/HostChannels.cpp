// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/HostChannels.h"

#include <utility>

namespace wsec::runtime::wavelet {

HostChannels::HostChannels(const Call &call, HostPort &host,
                           const StoreOrder &order, Fabric &fabric,
                           Agenda &agenda)
    : host(host), fabric(fabric), agenda(agenda),
      rows(size_t(call.program().machine()->height())) {
  if (!calledByHost(call.program()) && call.launches() > 0)
    rows[0].channels.emplace_back(call);
  for (auto &[where, uses] : channelUses(call, host, program::Direction::In))
    rows[size_t(where.first)].channels.emplace_back(
        call.program(), where.first, where.second, std::move(uses), order);
}

void HostChannels::resume() {
  for (size_t row = 0; row < rows.size(); ++row)
    if (!rows[row].channels.empty())
      agenda.enter(agenda.now() + 1, agendaEntry(Party::Edge, uint32_t(row)));
}

void HostChannels::open(size_t launches, int64_t when) {
  for (size_t row = 0; row < rows.size(); ++row)
    for (WestChannel &channel : rows[row].channels) {
      channel.open(launches, when);
      agenda.enter(channel.from(), agendaEntry(Party::Edge, uint32_t(row)));
    }
}

uint64_t HostChannels::delivered() const {
  uint64_t words = 0;
  for (const Row &row : rows)
    for (const WestChannel &channel : row.channels)
      words += channel.delivered();
  return words;
}

void HostChannels::step(int index) {
  Row &row = rows[size_t(index)];
  const Cycle now = agenda.now();
  if (std::exchange(row.stepped, now) == now)
    return;
  const size_t count = row.channels.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t at = (row.first + i) % count;
    WestChannel &channel = row.channels[at];
    if (!channel.hasWord())
      continue;
    if (now < channel.from()) {
      agenda.enter(channel.from(), agendaEntry(Party::Edge, uint32_t(index)));
      continue;
    }
    if (!fabric.roomAtEdge(index, channel.color()))
      continue;
    fabric.enter(index, channel.color(),
                 channel.take(host, fabric.observer, now));
    row.first = at + 1;
    agenda.enter(now + 1, agendaEntry(Party::Edge, uint32_t(index)));
    return;
  }
}

} // namespace wsec::runtime::wavelet
