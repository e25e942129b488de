// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where on the mesh each kernel runs. Plain C++: no MLIR in here.

#ifndef WSEC_COMPILER_PLACE_PLACEMENTPROBLEM_H
#define WSEC_COMPILER_PLACE_PLACEMENTPROBLEM_H

#include <cstdint>
#include <string>
#include <vector>

namespace wsec {

/// The PEs [x, x + columns) x [y, y + rows).
struct PlacedRegion {
  int64_t x = 0, y = 0;
  int64_t columns = 0, rows = 0;
};

/// What one kernel needs. Kernels of one co-location group read each other's
/// tensors where they lie, so their regions share an origin.
struct KernelFootprint {
  std::string name;
  int64_t columns = 0, rows = 0;
  int64_t group = 0;
};

/// One I/O channel. A west channel brings the words of columns [begin, end) in,
/// an east channel takes the words of rows [begin, end) out; both sit at `row`.
struct PlacedChannel {
  int64_t row = 0;
  int64_t begin = 0, end = 0;
};

struct Placement {
  std::vector<PlacedRegion> regions; // one per kernel
  std::vector<PlacedChannel> west, east;
};

/// A 32x32 mesh, two kernels that share a tensor and one that does not:
///
///   qkv     32x16, group 0        +----------------+  qkv and softmax at
///   softmax 32x16, group 0        | qkv, softmax   |  (0,0), pooler below
///   pooler  32x 4, group 1        +----------------+  them at (0,16): it has
///                                 | pooler         |  its own tensors, so it
///                                 +----------------+  may move.
///
/// With `timeShared` (weight streaming: kernels run one after the other and
/// each may use the whole mesh) groups may overlap; without it (resident mode:
/// all kernels run at once) they may not.
class PlacementProblem {
public:
  int64_t width = 0, height = 0;
  int64_t channels = 0; // per edge, at most one per row
  bool timeShared = true;
  std::vector<KernelFootprint> kernels;

  /// Empty if the input makes sense, else what is wrong with it.
  std::string check() const;

  /// Empty if `placement` is legal, else the first rule it breaks:
  ///   P1 one region per kernel, of the size the kernel asked for
  ///   P2 every region lies inside the mesh
  ///   P3 kernels of one group share their origin
  ///   P4 unless time-shared, regions of different groups are disjoint
  ///   P5 channels lie on different rows of the mesh, and the west channels
  ///   serve
  ///      every column, the east channels every row, exactly once
  std::string verify(const Placement &placement) const;
};

} // namespace wsec

#endif // WSEC_COMPILER_PLACE_PLACEMENTPROBLEM_H
