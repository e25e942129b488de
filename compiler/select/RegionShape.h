// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SELECT_REGIONSHAPE_H
#define WSEC_COMPILER_SELECT_REGIONSHAPE_H

#include "compiler/machine/Machine.h"

#include <tuple>

namespace wsec::select {

struct RegionShape {
  int64_t columns = 0, rows = 0;
  /// Whether each head has as many columns as there are for it, or one.
  bool spreadHeads = false;
  /// Channels of its own, see wse.region; none: all that its rows have.
  int64_t shareBegin = 0, shareCount = 0;
  auto key() const {
    return std::tie(columns, rows, spreadHeads, shareBegin, shareCount);
  }
  bool operator==(const RegionShape &other) const {
    return key() == other.key();
  }
  /// At the north-west corner of a mesh.
  Machine machineOn(const Machine &mesh) const {
    return mesh.region(0, 0, int(columns), int(rows))
        .withShare(int(shareBegin), int(shareCount));
  }
};

/// What a kernel takes on a region, in its best variant.
struct KernelEstimate {
  double cycles = 0;
  double stream = 0;   ///< of the busiest channel, in cycles
  int64_t working = 0; ///< bytes of a PE: tensors that live meanwhile, scratch
  int64_t held = 0;    ///< bytes of a PE for weights that stay, and their code
  int64_t weights = 0; ///< bytes of those weights alone
  int64_t loaded = 0;  ///< elements of those, for all PEs
};

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_REGIONSHAPE_H
