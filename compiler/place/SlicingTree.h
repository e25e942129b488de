// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floorplans that are cut, again and again, from side to side; a solver's tool.

#ifndef WSEC_COMPILER_PLACE_SLICINGTREE_H
#define WSEC_COMPILER_PLACE_SLICINGTREE_H

#include "compiler/place/FloorplanProblem.h"

namespace wsec {

/// splitmix64: the same numbers on every machine.
class RandomNumbers {
public:
  explicit RandomNumbers(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// In [0, bound).
  int32_t below(size_t bound) {
    return int32_t(((next() >> 32) * uint64_t(bound)) >> 32);
  }

private:
  uint64_t state;
};

/// The least height that a block needs within a width, of shapes that cost no
/// more than a limit, turned or not. A function of the width in [0, reach]; as
/// blocks may be turned, the least width within a height is the same function.
class ShapeCurves {
public:
  /// Above every extent that is looked at.
  static constexpr int16_t none = 16000;

  explicit ShapeCurves(const FloorplanProblem &problem);

  /// Rising; the largest cost of a block is one of them.
  const std::vector<double> &limits() const { return costLimits; }
  /// Blocks may lie outside the area up to here, on the way to a solution.
  int32_t reach() const { return extent; }
  const int16_t *curve(size_t limit, size_t shapeSet) const {
    return curves.data() + (limit * sets + shapeSet) * (extent + 1);
  }

private:
  std::vector<double> costLimits;
  size_t sets;
  int32_t extent;
  std::vector<int16_t> curves;
};

/// A binary tree whose leaves are the blocks; the two parts of every other node
/// lie side by side or one above the other. Each node has its curve of least
/// heights, the sum of its parts' (or of their least widths): the shapes of all
/// blocks are chosen together, from the root's rectangle down.
///
/// A change is tried, looked at, and kept or undone; a change of one leaf costs
/// the curves on its way to the root.
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
    int32_t root = 0;
    size_t limit = 0;
  };

  SlicingTree(const FloorplanProblem &problem, const ShapeCurves &curves);

  /// Columns side by side, each a stack of blocks from bottom to top.
  void buildColumns(const std::vector<std::vector<size_t>> &columns,
                    size_t limit);
  void restore(const Plan &plan);
  const Plan &plan() const { return tree; }
  size_t limit() const { return tree.limit; }

  /// Tries a change drawn at random; false if that one changes nothing.
  bool change(RandomNumbers &random);
  void changeLimit(size_t limit);
  void keep();
  void undo();

  /// Cells by which the blocks stick out of the area, width and height added.
  int32_t overflow();
  /// Lays the blocks out, within the area unless they overflow; returns the
  /// weighted distances of their centres.
  double layOut();
  /// The layout as a solution of the problem.
  Floorplan floorplan() const;

private:
  struct Curve {
    std::vector<int16_t> heights, widths; // each if it is known
    bool hasHeights = false, hasWidths = false;
  };
  struct Extents {
    int32_t width = 0, height = 0;
  };

  bool isLeaf(int32_t node) const { return node < blocks; }
  int32_t inner(RandomNumbers &random) const {
    return blocks + random.below(blocks - 1);
  }
  int32_t neighbour(int32_t leaf, RandomNumbers &random) const;
  bool contains(int32_t outer, int32_t node) const;
  int32_t takeCurve();
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
  Extents rectangle();
  void shape(int32_t node, Extents room, bool narrow);
  void locate(int32_t node, int32_t x, int32_t y);

  const FloorplanProblem &problem;
  const ShapeCurves &shapes;
  int32_t blocks, reach;
  Plan tree;
  std::vector<size_t> order; ///< of the flow
  std::vector<std::vector<int32_t>> neighbours;
  std::vector<Curve> curves;
  std::vector<int32_t> freeCurves;
  // The change that is tried.
  std::vector<std::pair<int32_t, Node>> before;
  std::vector<int32_t> newCurves, oldCurves;
  std::vector<uint64_t> renewed;
  uint64_t changes = 1;
  int32_t rootBefore = 0;
  size_t limitBefore = 0;
  // The layout: extents of each node, and doubled low corners of the blocks.
  std::vector<Extents> extents;
  std::vector<int32_t> lowX, lowY;
};

} // namespace wsec

#endif // WSEC_COMPILER_PLACE_SLICINGTREE_H
