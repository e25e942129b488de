// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where on the mesh each region lies. Plain C++: no MLIR in here.

#ifndef WSEC_COMPILER_PLACE_PLACEMENTPROBLEM_H
#define WSEC_COMPILER_PLACE_PLACEMENTPROBLEM_H

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace wsec {

/// The north-west PE of a region.
struct PlacedOrigin {
  int64_t x = 0, y = 0;
  bool operator==(const PlacedOrigin &other) const {
    return x == other.x && y == other.y;
  }
};

/// A region of so many PEs. What is pinned has its place already.
struct RegionRequest {
  std::string name;
  int64_t columns = 0, rows = 0;
  std::optional<PlacedOrigin> pin = std::nullopt;
};

/// The PEs [x, x + columns) x [y, y + rows).
struct PlacedRegion {
  int64_t x = 0, y = 0;
  int64_t columns = 0, rows = 0;
};

/// A region wants its centre close to that of another one, to a PE, or to a
/// side of the mesh. Data that flows between two regions is such a wish.
struct NearWish {
  enum class Target { Region, Pe, North, South, East, West };
  size_t region = 0;
  Target target = Target::Region;
  size_t other = 0; ///< the other region
  PlacedOrigin pe = {};
  int64_t weight = 1;
};

/// What placements are compared by, the smaller the better, in this order.
struct PlacementCost {
  int64_t lost = 0; ///< channels that regions do not have, though tall enough
  int64_t wire = 0; ///< distances of wishes x their weights, in half hops
  int64_t hops = 0; ///< of launches and words to each region, x its PEs
  auto key() const { return std::make_tuple(lost, wire, hops); }
  void add(const PlacementCost &other) {
    lost += other.lost, wire += other.wire, hops += other.hops;
  }
};

struct Placement {
  std::vector<PlacedOrigin> origins; // one per region
};

/// A mesh of 32x32 PEs with I/O channels on rows 0, 8, 16 and 24 of both edges:
///
///   @a 32x16   +--------+ 0      @a has the channels of rows 0 and 8, @b those
///   @b 16x 8   | @a     | 8      of row 16. One row further south @b would
///   have
///              +----+---+ 16     those of row 24, for its last row only; it
///              | @b |            begins at a channel, because a channel takes
///              +----+     24     out the rows from its own on.
///
/// Code, buffers and routes of a region stay in its PEs from load to end, so no
/// two have a PE in common.
class PlacementProblem {
public:
  int64_t width = 0, height = 0;
  std::vector<int64_t> channelRows; // of the mesh, ascending
  std::vector<RegionRequest> regions;
  std::vector<PlacedRegion> keepOuts; // may overlap
  std::vector<NearWish> wishes;

  /// Empty if the input makes sense, else what is wrong with it.
  std::string check() const;

  /// Empty if `placement` is legal, else the first rule it breaks:
  ///   P1 every region has a place, the one it is pinned to if it is
  ///   P2 every region lies inside the mesh
  ///   P3 the first row of every region has an I/O channel
  ///   P4 regions are disjoint
  ///   P5 no region has a PE of a keep-out
  /// `about`: the regions that it concerns, and behind all of these the
  /// keep-outs, by number.
  std::string verify(const Placement &placement,
                     std::vector<size_t> *about = nullptr) const;

  /// Of a region alone: channels whose rows no part of it has, though it is
  /// tall enough to have them; the hops of launches and words on their way to
  /// it. Words leave by the east edge: together, way in and way out are as long
  /// from everywhere.
  PlacementCost costAlone(const RegionRequest &region,
                          PlacedOrigin origin) const;
  /// Of one wish, in half hops.
  int64_t distance(const NearWish &wish, const Placement &placement) const;
  PlacementCost cost(const Placement &placement) const;

  PlacedRegion cellsOf(const Placement &placement, size_t region) const {
    const RegionRequest &its = regions[region];
    const PlacedOrigin at = placement.origins[region];
    return {at.x, at.y, its.columns, its.rows};
  }
};

} // namespace wsec

#endif // WSEC_COMPILER_PLACE_PLACEMENTPROBLEM_H
