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

/// Every row has one link into the mesh: a word per cycle, the colors that
/// have one taking turns.
class HostChannels : public WestEdge {
public:
  HostChannels(const Call &call, HostPort &host, const StoreOrder &order,
               Fabric &fabric, Agenda &agenda);

  void open(size_t launches, int64_t when) override;
  void resume() override;
  uint64_t delivered() const override;
  /// A row is due in the agenda.
  void step(int row);

private:
  struct Row {
    std::vector<WestChannel> channels;
    size_t first = 0; ///< channel that is asked first
    Cycle stepped = -1;
  };

  HostPort &host;
  Fabric &fabric;
  Agenda &agenda;
  std::vector<Row> rows;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_HOSTCHANNELS_H
