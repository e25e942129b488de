// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The west edge of the mesh: channels that bring launch wavelets and the host's
// words in.
#ifndef RUNTIME_WAVELET_HOSTCHANNELS_H
#define RUNTIME_WAVELET_HOSTCHANNELS_H

#include "runtime/engine/EdgeChannels.h"
#include "runtime/wavelet/Fabric.h"

#include <vector>

namespace wsec::runtime::wavelet {

/// The channels of the west edge. Every row has one link into the mesh: a word
/// per cycle.
class HostChannels {
public:
  HostChannels(const Call &call, HostPort &host, const StoreOrder &order,
               Fabric &fabric, Agenda &agenda);

  /// From cycle `when` on the streams of launches below `launches` flow, and
  /// launch wavelets.
  void open(size_t launches, int64_t when);
  /// An intermediate tensor is complete in the store: what waited for it goes
  /// on.
  void resume();
  /// What each row did, from the north.
  std::vector<EdgeUse> use() const;
  /// A row is due in the agenda.
  void step(int row);

private:
  struct Row : WestRow {
    Cycle stepped = -1;
  };

  HostPort &host;
  Fabric &fabric;
  Agenda &agenda;
  std::vector<Row> rows;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_HOSTCHANNELS_H
