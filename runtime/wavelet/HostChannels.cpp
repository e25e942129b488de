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

std::vector<EdgeUse> HostChannels::use() const {
  std::vector<EdgeUse> uses;
  for (size_t row = 0; row < rows.size(); ++row)
    if (rows[row].hasData())
      uses.push_back(
          {int(row), rows[row].delivered(), rows[row].stalledCycles()});
  return uses;
}

void HostChannels::step(int index) {
  Row &row = rows[size_t(index)];
  const Cycle now = agenda.now();
  if (std::exchange(row.stepped, now) == now)
    return;
  Cycle next = pe::never;
  WestChannel *channel = row.choose(now, next, [&](const WestChannel &asked) {
    return fabric.roomAtEdge(index, asked.color());
  });
  if (channel) {
    row.enters(*channel, now);
    fabric.enter(index, channel->color(),
                 channel->take(host, fabric.observer, now));
    next = now + 1;
  }
  if (next != pe::never)
    agenda.enter(next, agendaEntry(Party::Edge, uint32_t(index)));
}

} // namespace wsec::runtime::wavelet
