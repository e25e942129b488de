// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Placements that are cut, again and again, from side to side; a solver's tool.

#ifndef WSEC_TOOLS_PLACE_SLICINGTREE_H
#define WSEC_TOOLS_PLACE_SLICINGTREE_H

#include "compiler/placement/PlacementProblem.h"
#include "compiler/placement/RandomNumbers.h"

namespace wsec {

/// The least rows that a region needs within so many columns, of shapes that
/// cost no more than a limit, and the least columns within so many rows.
class ShapeCurves {
public:
  /// Above every extent that is looked at.
  static constexpr int16_t none = 16000;

  explicit ShapeCurves(const PlacementProblem &problem);

  /// Rising; the largest cost of a region is one of them.
  const std::vector<double> &limits() const { return costLimits; }
  /// Regions may lie outside the mesh up to here, on the way to a solution.
  int32_t reach() const { return extent; }
  const int16_t *heights(size_t limit, size_t set) const {
    return curve(rowsWithin, limit, set);
  }
  const int16_t *widths(size_t limit, size_t set) const {
    return curve(isSymmetric ? rowsWithin : columnsWithin, limit, set);
  }

private:
  using Curves = std::vector<int16_t>;
  const int16_t *curve(const Curves &curves, size_t limit, size_t set) const {
    return curves.data() + (limit * sets + set) * (extent + 1);
  }
  Curves curvesOf(const PlacementProblem &problem, bool columns) const;

  std::vector<double> costLimits;
  size_t sets;
  int32_t extent;
  Curves rowsWithin, columnsWithin;
  bool isSymmetric; ///< both are the same, where all shapes may be turned
};

/// Blocks with a set of shapes each, rooms that hold them, and what pulls them
/// together: each other, points, and lines, which have one coordinate only.
struct SlicingProblem {
  struct Edge {
    int32_t from, to;
    double words;
  };
  struct Pull {
    int32_t block;
    std::optional<int32_t> x, y; ///< doubled
    double words;
  };
  std::vector<size_t> sets;
  std::vector<PlacedRegion> rooms; ///< disjoint
  std::vector<Edge> edges;
  std::vector<Pull> pulls;
  std::vector<int32_t> order; ///< of the flow

  int32_t blocks() const { return int32_t(sets.size()); }
};

/// A binary tree for each room, whose leaves are the blocks; the two parts of
/// every other node lie side by side or one above the other. Each node has its
/// curve of least heights, the sum of its parts' (or of their least widths):
/// the shapes of all blocks are chosen together, from the root's rectangle
/// down.
///
/// A change is tried, looked at, and kept or undone; a change of one leaf costs
/// the curves on its way to the root. Where there are several rooms, each has a
/// leaf without PEs that stays, its anchor.
class SlicingTree {
public:
  struct Node {
    int32_t parent = -1, part[2] = {-1, -1};
    bool sideBySide = false;
    uint8_t align = 1; ///< of the smaller part: low, middle, high
    uint8_t lean = 0;  ///< quarters of spare room that the first part gets
    int32_t curve = -1;
  };
  /// What a tree is, without what follows from it.
  struct Plan {
    std::vector<Node> nodes;
    std::vector<int32_t> roots; ///< of each room
    size_t limit = 0;
  };

  SlicingTree(const SlicingProblem &problem, const ShapeCurves &curves);

  using Columns = std::vector<std::vector<int32_t>>;
  /// In each room columns side by side, each a stack of blocks from north to
  /// south.
  void buildColumns(const std::vector<Columns> &rooms, size_t limit);
  void restore(const Plan &plan);
  const Plan &plan() const { return tree; }
  size_t limit() const { return tree.limit; }

  /// Tries a change drawn at random; false if that one changes nothing.
  bool change(RandomNumbers &random);
  void changeLimit(size_t limit);
  void keep();
  void undo();

  /// PEs by which the blocks stick out of the rooms, width and height added.
  int32_t overflow();
  /// Lays the blocks out, within the rooms unless they overflow; returns the
  /// weighted distances of their centres, in hops.
  double layOut();
  /// The room of a block in the layout, which holds one of its shapes.
  PlacedRegion cellsOf(int32_t block) const;

private:
  struct Curve {
    std::vector<int16_t> heights, widths; // each if it is known
    bool hasHeights = false, hasWidths = false;
  };
  struct Extents {
    int32_t width = 0, height = 0;
  };

  bool isLeaf(int32_t node) const { return node < blocks + anchors; }
  int32_t nodes() const { return 2 * blocks + (anchors ? anchors : -1); }
  int32_t inner(RandomNumbers &random) const {
    const int32_t leaves = blocks + anchors;
    return leaves + random.below(nodes() - leaves);
  }
  bool stays(int32_t node) const;
  int32_t neighbour(int32_t leaf, RandomNumbers &random) const;
  bool contains(int32_t outer, int32_t node) const;
  int32_t takeCurve();
  const int16_t *leafCurve(int32_t leaf, bool widths) const;
  const int16_t *heights(int32_t node);
  const int16_t *widths(int32_t node);
  void invert(const std::vector<int16_t> &from, std::vector<int16_t> &to) const;
  void combine(int32_t node);
  void combineAll(int32_t node);
  void renew(int32_t node);
  void renewUpwards(int32_t node);
  void save(int32_t node);
  void replacePart(int32_t parent, int32_t from, int32_t to);
  bool swapParts(RandomNumbers &random);
  bool moveSubtree(RandomNumbers &random);
  bool moveStretch(RandomNumbers &random);
  int32_t prune(int32_t node);
  void graft(int32_t joint, int32_t target, int32_t moved,
             RandomNumbers &random);
  void mirror(int32_t node, bool whole);
  void combineRooms();
  Extents rectangle(size_t room);
  void shape(int32_t node, Extents room, bool narrow);
  void locate(int32_t node, int32_t x, int32_t y);

  const SlicingProblem &problem;
  const ShapeCurves &shapes;
  int32_t blocks, anchors, reach;
  std::vector<int16_t> nothing; ///< the curve of an anchor
  Plan tree;
  std::vector<std::vector<int32_t>> neighbours;
  std::vector<Curve> curves;
  std::vector<int32_t> freeCurves;
  // The change that is tried.
  std::vector<std::pair<int32_t, Node>> before;
  std::vector<int32_t> newCurves, oldCurves;
  std::vector<uint64_t> renewed;
  uint64_t changes = 1;
  std::vector<int32_t> rootsBefore;
  size_t limitBefore = 0;
  // The layout: extents of each node, and doubled low corners of the blocks.
  std::vector<Extents> extents;
  std::vector<int32_t> lowX, lowY;
};

} // namespace wsec

#endif // WSEC_TOOLS_PLACE_SLICINGTREE_H
