// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STREAMS_HOSTCHANNELS_H
#define RUNTIME_STREAMS_HOSTCHANNELS_H

#include "runtime/engine/EdgeChannels.h"
#include "runtime/streams/Network.h"

#include <deque>
#include <map>
#include <vector>

namespace wsec::runtime::streams {

/// The west edge: words of the host and launch wavelets enter channel by
/// channel. Channels of one row share its link into the mesh, a word per cycle.
class HostChannels : public WestEdge {
public:
  HostChannels(const Call &call, Network &network, Agenda &agenda,
               HostPort &host, const StoreOrder &order, Observer *observer);

  void open(size_t launches, int64_t when) override;
  void resume() override;
  std::vector<EdgeUse> use() const override;
  /// A row is due in the agenda.
  void step(int row);

private:
  struct Row : WestRow {
    Cycle stepped = -1;
    /// The way in of a channel that has the row for itself.
    const Station *edge = nullptr;
  };

  bool fill(Station &edge);
  void push(Station &edge, WestChannel &channel, Cycle when);

  Network &network;
  Agenda &agenda;
  HostPort &host;
  Observer *observer;
  std::map<int, Row> rows;
};

} // namespace wsec::runtime::streams

#endif // RUNTIME_STREAMS_HOSTCHANNELS_H
