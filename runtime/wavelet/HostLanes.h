// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The west edge of the mesh: lanes that bring command wavelets and the host's
// words in.
#ifndef RUNTIME_WAVELET_HOSTLANES_H
#define RUNTIME_WAVELET_HOSTLANES_H

#include "runtime/engine/EdgeLanes.h"
#include "runtime/wavelet/Fabric.h"

#include <vector>

namespace wsec::runtime::wavelet {

/// Every row has one link into the mesh: a word per cycle, the colors that
/// have one taking turns.
class HostLanes : public WestEdge {
public:
  HostLanes(const program::Program &program, HostPort &host, Fabric &fabric,
            Agenda &agenda);

  void open(size_t launches, int64_t when) override;
  uint64_t delivered() const override;
  /// A row is due in the agenda.
  void step(int row);

private:
  struct Row {
    std::vector<WestLane> lanes;
    size_t first = 0; ///< lane that is asked first
    Cycle stepped = -1;
  };

  HostPort &host;
  Fabric &fabric;
  Agenda &agenda;
  std::vector<Row> rows;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_HOSTLANES_H
