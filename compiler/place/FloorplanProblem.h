// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floorplanning: shape and position of each block, chosen together. Plain C++:
// no MLIR in here.

#ifndef WSEC_COMPILER_PLACE_FLOORPLANPROBLEM_H
#define WSEC_COMPILER_PLACE_FLOORPLANPROBLEM_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wsec {

/// A rectangle that a block may be, and what the block costs then (its time,
/// say).
struct BlockShape {
  int64_t width = 0, height = 0;
  double cost = 0;
};

/// The cells [x, x + width) x [y, y + height).
struct CellRectangle {
  int64_t x = 0, y = 0, width = 0, height = 0;
};

struct FloorplanBlock {
  std::string name;
  size_t shapeSet = 0; ///< equal blocks share one
};

/// Data that flows between two blocks, from centre to centre.
struct FloorplanEdge {
  size_t from = 0, to = 0;
  double weight = 1;
};

/// Where a block lies and as what. `rotated` swaps width and height.
struct PlacedBlock {
  size_t shape = 0;
  bool rotated = false;
  int64_t x = 0, y = 0;
};

struct Floorplan {
  std::vector<PlacedBlock> blocks;
};

struct FloorplanScore {
  double cost = 0; ///< of the block that costs most
  double wire = 0; ///< sum over edges of weight x L1 distance of the centres
  double total = 0;
};

/// Blocks side by side, disjoint, each in one of its shapes:
///
///   +------+-----------+
///   | a    | b         |     score = costWeight x (largest cost of a block)
///   |      +-----+-----+           + wireWeight x (weighted distances)
///   |      | c   | d   |
///   +------+-----+-----+
///
/// A larger rectangle costs a block less and its neighbours more. The largest
/// cost alone counts: it bounds the throughput of a pipeline.
class FloorplanProblem {
public:
  int64_t width = 0, height = 0;
  double costWeight = 1, wireWeight = 1;
  std::vector<std::vector<BlockShape>> shapeSets;
  std::vector<FloorplanBlock> blocks;
  std::vector<FloorplanEdge> edges;

  /// Empty if the input makes sense, else what is wrong with it.
  std::string check() const;

  /// Empty if `floorplan` is legal, else the first rule it breaks:
  ///   F1 every block has a place and one of its shapes
  ///   F2 every block lies inside the area
  ///   F3 blocks are disjoint
  std::string verify(const Floorplan &floorplan) const;

  CellRectangle cellsOf(const Floorplan &floorplan, size_t block) const;
  FloorplanScore score(const Floorplan &floorplan) const;

  /// No floorplan has a smaller largest cost: with less, the smallest shapes
  /// together have more cells than there are. Infinite if none fits.
  double costBound() const;

  /// The blocks depth first along the edges, each after all that it reads,
  /// cycles aside.
  std::vector<size_t> flowOrder() const;
};

} // namespace wsec

#endif // WSEC_COMPILER_PLACE_FLOORPLANPROBLEM_H
