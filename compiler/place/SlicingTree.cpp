// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Curves after Stockmeyer, "Optimal orientations of cells in slicing floorplan
// designs" (1983): of parts one above the other, heights add at equal width. A
// curve is kept as heights over widths, as widths over heights, or both; one is
// turned into the other when it is asked for.
#include "compiler/place/SlicingTree.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

using namespace wsec;

/// Distinct costs above this number are thinned out.
constexpr size_t mostLimits = 384;

//===----------------------------------------------------------------------===//
// Curves of the blocks
//===----------------------------------------------------------------------===//

static std::vector<double> limitsOf(const FloorplanProblem &problem) {
  const double bound = problem.costBound();
  std::vector<double> costs;
  for (const std::vector<BlockShape> &set : problem.shapeSets)
    for (const BlockShape &shape : set)
      if (shape.cost >= bound)
        costs.push_back(shape.cost);
  std::sort(costs.begin(), costs.end());
  costs.erase(std::unique(costs.begin(), costs.end()), costs.end());
  // All of them while they are few, then in steps that grow with the cost.
  std::vector<double> limits;
  double least = 0;
  for (double cost : costs)
    if (limits.size() < mostLimits && cost >= least) {
      limits.push_back(cost);
      least = limits.size() < 256 ? cost : cost * 1.04;
    }
  return limits;
}

ShapeCurves::ShapeCurves(const FloorplanProblem &problem)
    : costLimits(limitsOf(problem)), sets(problem.shapeSets.size()),
      extent(int32_t(std::max(problem.width, problem.height) * 5 / 4)),
      curves(costLimits.size() * sets * (extent + 1), none) {
  for (size_t limit = 0; limit < costLimits.size(); ++limit)
    for (size_t set = 0; set < sets; ++set) {
      int16_t *curve = curves.data() + (limit * sets + set) * (extent + 1);
      auto enter = [&](int64_t width, int64_t height) {
        if (width <= extent && height <= extent)
          curve[width] = std::min<int16_t>(curve[width], int16_t(height));
      };
      for (const BlockShape &shape : problem.shapeSets[set])
        if (shape.cost <= costLimits[limit]) {
          enter(shape.width, shape.height);
          enter(shape.height, shape.width);
        }
      for (int32_t width = 1; width <= extent; ++width)
        curve[width] = std::min(curve[width], curve[width - 1]);
    }
}

//===----------------------------------------------------------------------===//
// Curves of the tree
//===----------------------------------------------------------------------===//

SlicingTree::SlicingTree(const FloorplanProblem &problem,
                         const ShapeCurves &curves)
    : problem(problem), shapes(curves), blocks(int32_t(problem.blocks.size())),
      reach(curves.reach()), order(problem.flowOrder()), neighbours(blocks),
      renewed(2 * blocks, 0), extents(2 * blocks), lowX(blocks), lowY(blocks) {
  for (const FloorplanEdge &edge : problem.edges) {
    neighbours[edge.from].push_back(int32_t(edge.to));
    neighbours[edge.to].push_back(int32_t(edge.from));
  }
  this->curves.resize(2 * blocks);
  for (int32_t i = 2 * blocks; i-- > 0;) {
    this->curves[i].heights.resize(reach + 1);
    this->curves[i].widths.resize(reach + 1);
    freeCurves.push_back(i);
  }
}

int32_t SlicingTree::takeCurve() {
  const int32_t taken = freeCurves.back();
  freeCurves.pop_back();
  return taken;
}

/// Least x for every y, from least y for every x; both fall.
void SlicingTree::invert(const std::vector<int16_t> &from,
                         std::vector<int16_t> &to) const {
  int32_t done = reach + 1; // to[done], to[done + 1], ... are set
  for (int32_t x = 0; x <= reach && done > 0; ++x)
    if (from[x] < done) {
      std::fill(to.begin() + from[x], to.begin() + done, int16_t(x));
      done = from[x];
    }
  std::fill(to.begin(), to.begin() + done, ShapeCurves::none);
}

const int16_t *SlicingTree::heights(int32_t node) {
  if (isLeaf(node))
    return shapes.curve(tree.limit, problem.blocks[node].shapeSet);
  Curve &curve = curves[tree.nodes[node].curve];
  if (!curve.hasHeights)
    invert(curve.widths, curve.heights);
  curve.hasHeights = true;
  return curve.heights.data();
}

const int16_t *SlicingTree::widths(int32_t node) {
  if (isLeaf(node))
    return shapes.curve(tree.limit, problem.blocks[node].shapeSet);
  Curve &curve = curves[tree.nodes[node].curve];
  if (!curve.hasWidths)
    invert(curve.heights, curve.widths);
  curve.hasWidths = true;
  return curve.widths.data();
}

static void addCurves(const int16_t *__restrict a, const int16_t *__restrict b,
                      int16_t *__restrict sum, int32_t reach) {
  for (int32_t i = 0; i <= reach; ++i) {
    const int16_t both = int16_t(a[i] + b[i]);
    sum[i] = both > reach ? ShapeCurves::none : both;
  }
}

void SlicingTree::combine(int32_t node) {
  const Node &its = tree.nodes[node];
  Curve &curve = curves[its.curve];
  curve.hasWidths = its.sideBySide;
  curve.hasHeights = !its.sideBySide;
  if (its.sideBySide)
    addCurves(widths(its.part[0]), widths(its.part[1]), curve.widths.data(),
              reach);
  else
    addCurves(heights(its.part[0]), heights(its.part[1]), curve.heights.data(),
              reach);
}

void SlicingTree::combineAll(int32_t node) {
  if (isLeaf(node))
    return;
  combineAll(tree.nodes[node].part[0]);
  combineAll(tree.nodes[node].part[1]);
  renew(node);
}

/// Computes the curve of `node` anew; the one before is still there.
void SlicingTree::renew(int32_t node) {
  if (renewed[node] != changes) {
    save(node);
    renewed[node] = changes;
    if (tree.nodes[node].curve >= 0)
      oldCurves.push_back(tree.nodes[node].curve);
    tree.nodes[node].curve = takeCurve();
    newCurves.push_back(tree.nodes[node].curve);
  }
  combine(node);
}

void SlicingTree::renewUpwards(int32_t node) {
  for (; node >= 0; node = tree.nodes[node].parent)
    renew(node);
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

void SlicingTree::save(int32_t node) {
  before.push_back({node, tree.nodes[node]});
}

void SlicingTree::keep() {
  freeCurves.insert(freeCurves.end(), oldCurves.begin(), oldCurves.end());
  before.clear(), newCurves.clear(), oldCurves.clear();
  rootBefore = tree.root;
  limitBefore = tree.limit;
  ++changes;
}

void SlicingTree::undo() {
  for (auto saved = before.rbegin(); saved != before.rend(); ++saved)
    tree.nodes[saved->first] = saved->second;
  tree.root = rootBefore;
  tree.limit = limitBefore;
  oldCurves.swap(newCurves);
  keep();
}

void SlicingTree::restore(const Plan &plan) {
  for (Node &node : tree.nodes)
    if (node.curve >= 0)
      freeCurves.push_back(node.curve);
  tree = plan;
  for (Node &node : tree.nodes)
    node.curve = -1;
  combineAll(tree.root);
  keep();
}

void SlicingTree::buildColumns(const std::vector<std::vector<size_t>> &columns,
                               size_t limit) {
  Plan plan;
  plan.limit = limit;
  plan.nodes.resize(blocks);
  auto join = [&](int32_t first, int32_t second, bool sideBySide) {
    if (first < 0)
      return second;
    const int32_t node = int32_t(plan.nodes.size());
    plan.nodes[first].parent = plan.nodes[second].parent = node;
    plan.nodes.push_back({-1, {first, second}, sideBySide, 1, 0, -1});
    return node;
  };
  int32_t all = -1;
  for (const std::vector<size_t> &column : columns) {
    int32_t stack = -1;
    for (size_t block : column)
      stack = join(stack, int32_t(block), false);
    if (stack >= 0)
      all = join(all, stack, true);
  }
  plan.root = all;
  restore(plan);
}

void SlicingTree::changeLimit(size_t limit) {
  tree.limit = limit;
  combineAll(tree.root);
}

int32_t SlicingTree::neighbour(int32_t leaf, RandomNumbers &random) const {
  const std::vector<int32_t> &near = neighbours[leaf];
  return near.empty() ? random.below(blocks) : near[random.below(near.size())];
}

bool SlicingTree::contains(int32_t outer, int32_t node) const {
  while (node >= 0 && node != outer)
    node = tree.nodes[node].parent;
  return node == outer;
}

void SlicingTree::replacePart(int32_t parent, int32_t from, int32_t to) {
  if (parent < 0)
    tree.root = to;
  else
    tree.nodes[parent].part[tree.nodes[parent].part[1] == from] = to;
  tree.nodes[to].parent = parent;
}

/// Two parts of different nodes change places: a leaf with a leaf near it in
/// the graph, or any two.
bool SlicingTree::swapParts(RandomNumbers &random) {
  int32_t a, b;
  if (random.below(2)) {
    a = random.below(blocks);
    b = neighbour(a, random);
    if (random.below(2))
      b = neighbour(b, random);
  } else {
    a = random.below(2 * blocks - 1);
    b = random.below(2 * blocks - 1);
  }
  if (contains(a, b) || contains(b, a) ||
      tree.nodes[a].parent == tree.nodes[b].parent)
    return false;
  const int32_t aboveA = tree.nodes[a].parent, aboveB = tree.nodes[b].parent;
  for (int32_t node : {a, b, aboveA, aboveB})
    save(node);
  const bool second = tree.nodes[aboveB].part[1] == b;
  replacePart(aboveA, a, b);
  tree.nodes[aboveB].part[second] = a;
  tree.nodes[a].parent = aboveB;
  renewUpwards(aboveA);
  renewUpwards(aboveB);
  return true;
}

/// Takes `node` and its parent, which is returned, out of the tree.
int32_t SlicingTree::prune(int32_t node) {
  const int32_t joint = tree.nodes[node].parent;
  const bool first = tree.nodes[joint].part[0] == node;
  const int32_t sibling = tree.nodes[joint].part[first];
  const int32_t above = tree.nodes[joint].parent;
  for (int32_t changed : {node, joint, sibling})
    save(changed);
  if (above >= 0)
    save(above);
  replacePart(above, joint, sibling);
  return joint;
}

/// Puts `joint` with `moved` where `target` is, and that beside it.
void SlicingTree::graft(int32_t joint, int32_t target, int32_t moved,
                        RandomNumbers &random) {
  const int32_t above = tree.nodes[target].parent;
  save(target);
  if (above >= 0)
    save(above);
  replacePart(above, target, joint);
  Node &joined = tree.nodes[joint];
  const int32_t side = random.below(2);
  joined.part[side] = moved;
  joined.part[1 - side] = target;
  joined.sideBySide = random.below(2);
  joined.align = uint8_t(random.below(3));
  tree.nodes[target].parent = tree.nodes[moved].parent = joint;
}

/// A subtree, mostly a leaf, leaves its place and joins another one, mostly
/// near in the graph.
bool SlicingTree::moveSubtree(RandomNumbers &random) {
  const int32_t moved =
      random.below(3) ? random.below(blocks) : random.below(2 * blocks - 1);
  if (moved == tree.root)
    return false;
  int32_t target = random.below(2 * blocks - 1);
  if (isLeaf(moved) && random.below(2)) {
    target = neighbour(moved, random);
    if (random.below(3) == 0)
      target = tree.nodes[target].parent;
  }
  if (target < 0 || target == tree.nodes[moved].parent ||
      contains(moved, target))
    return false;
  const int32_t above = tree.nodes[tree.nodes[moved].parent].parent;
  const int32_t joint = prune(moved);
  graft(joint, target, moved, random);
  // In this order: the joint may lie above the place that was left.
  renewUpwards(above);
  renewUpwards(joint);
  return true;
}

/// Blocks that follow one another in the flow leave their places for one row or
/// stack, beside a part that holds the block before or after them.
bool SlicingTree::moveStretch(RandomNumbers &random) {
  const int32_t length =
      std::min(2 + random.below(2 << random.below(6)), blocks - 1);
  const int32_t first = random.below(blocks - length + 1);
  const int32_t next =
      first == 0 || (first + length < blocks && random.below(2))
          ? first + length
          : first - 1;
  std::vector<int32_t> joints;
  for (int32_t i = first; i < first + length; ++i)
    joints.push_back(prune(int32_t(order[i])));
  const bool sideBySide = random.below(2), backwards = random.below(2);
  int32_t moved = int32_t(order[first]);
  for (int32_t i = 1; i < length; ++i) {
    const int32_t block = int32_t(order[first + i]);
    const int32_t joint = joints.back();
    joints.pop_back();
    save(joint);
    Node &its = tree.nodes[joint];
    its.part[backwards] = moved;
    its.part[!backwards] = block;
    its.sideBySide = sideBySide;
    its.align = 1;
    tree.nodes[moved].parent = tree.nodes[block].parent = joint;
    moved = joint;
  }
  int32_t target = int32_t(order[next]), depth = 0;
  for (int32_t node = target; tree.nodes[node].parent >= 0; ++depth)
    node = tree.nodes[node].parent;
  for (int32_t steps = random.below(depth + 1); steps > 0; --steps)
    target = tree.nodes[target].parent;
  graft(joints.back(), target, moved, random);
  combineAll(tree.root);
  return true;
}

/// Parts change sides; in all of the subtree, that is its mirror image.
void SlicingTree::mirror(int32_t node, bool whole) {
  const bool sideBySide = tree.nodes[node].sideBySide;
  std::vector<int32_t> rest{node};
  while (!rest.empty()) {
    const int32_t next = rest.back();
    rest.pop_back();
    if (isLeaf(next))
      continue;
    Node &its = tree.nodes[next];
    if (its.sideBySide == sideBySide) {
      save(next);
      std::swap(its.part[0], its.part[1]);
    }
    if (whole)
      rest.insert(rest.end(), {its.part[0], its.part[1]});
  }
}

bool SlicingTree::change(RandomNumbers &random) {
  if (blocks < 2)
    return false;
  if (blocks > 2 && random.below(64) == 0)
    return moveStretch(random);
  const int32_t kind = random.below(100);
  if (kind < 25)
    return swapParts(random);
  if (kind < 55)
    return moveSubtree(random);
  const int32_t node = inner(random);
  if (kind < 75) {
    mirror(node, random.below(2));
    return true;
  }
  save(node);
  Node &its = tree.nodes[node];
  if (kind < 83) {
    its.sideBySide = !its.sideBySide;
    renewUpwards(node);
  } else if (kind < 92) {
    its.align = uint8_t((its.align + 1 + random.below(2)) % 3);
  } else {
    its.lean = uint8_t(random.below(5));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// The rectangle around all blocks that sticks out least.
SlicingTree::Extents SlicingTree::rectangle() {
  const int32_t width = int32_t(problem.width);
  const int32_t height = int32_t(problem.height);
  const bool overHeights =
      !isLeaf(tree.root) && tree.nodes[tree.root].sideBySide;
  const int16_t *curve = overHeights ? widths(tree.root) : heights(tree.root);
  const int32_t along = overHeights ? height : width;
  const int32_t across = overHeights ? width : height;
  Extents best;
  int32_t least = 2 * ShapeCurves::none;
  for (int32_t i = along; i <= reach && i - along < least; ++i) {
    const int32_t out = i - along + std::max(0, curve[i] - across);
    if (out >= least)
      continue;
    least = out;
    const int32_t other = std::max<int32_t>(across, curve[i]);
    best = overHeights ? Extents{other, i} : Extents{i, other};
  }
  return best;
}

int32_t SlicingTree::overflow() {
  const Extents least = rectangle();
  return least.width - int32_t(problem.width) + least.height -
         int32_t(problem.height);
}

/// Chooses the extents of all of `node` within `room`. A block in a row is as
/// narrow as it can be, one in a stack as low.
void SlicingTree::shape(int32_t node, Extents room, bool narrow) {
  Extents &its = extents[node];
  if (isLeaf(node)) {
    const int16_t *curve = heights(node);
    const int32_t small = curve[narrow ? room.height : room.width];
    its = narrow ? Extents{small, curve[small]} : Extents{curve[small], small};
    return;
  }
  const Node &cut = tree.nodes[node];
  const int32_t a = cut.part[0], b = cut.part[1];
  if (cut.sideBySide) {
    int32_t first = widths(a)[room.height];
    first += (room.width - first - widths(b)[room.height]) * cut.lean / 4;
    shape(a, {first, room.height}, true);
    shape(b, {room.width - first, room.height}, true);
    its = {extents[a].width + extents[b].width,
           std::max(extents[a].height, extents[b].height)};
  } else {
    int32_t first = heights(a)[room.width];
    first += (room.height - first - heights(b)[room.width]) * cut.lean / 4;
    shape(a, {room.width, first}, false);
    shape(b, {room.width, room.height - first}, false);
    its = {std::max(extents[a].width, extents[b].width),
           extents[a].height + extents[b].height};
  }
}

/// Parts touch; across the cut they are aligned. Coordinates are doubled.
void SlicingTree::locate(int32_t node, int32_t x, int32_t y) {
  if (isLeaf(node)) {
    lowX[node] = x;
    lowY[node] = y;
    return;
  }
  const Node &cut = tree.nodes[node];
  for (int32_t part : cut.part) {
    const int32_t spareX = extents[node].width - extents[part].width;
    const int32_t spareY = extents[node].height - extents[part].height;
    locate(part, cut.sideBySide ? x : x + spareX * cut.align,
           cut.sideBySide ? y + spareY * cut.align : y);
    (cut.sideBySide ? x : y) +=
        2 * (cut.sideBySide ? extents[part].width : extents[part].height);
  }
}

double SlicingTree::layOut() {
  const Extents room = rectangle();
  if (room.width > reach || room.height > reach)
    return std::numeric_limits<double>::infinity();
  shape(tree.root, room, false);
  locate(tree.root, 0, 0);
  double doubled = 0;
  for (const FloorplanEdge &edge : problem.edges) {
    const size_t a = edge.from, b = edge.to;
    const int32_t x = lowX[a] + extents[a].width - lowX[b] - extents[b].width;
    const int32_t y = lowY[a] + extents[a].height - lowY[b] - extents[b].height;
    doubled += edge.weight * (std::abs(x) + std::abs(y));
  }
  return doubled / 2;
}

Floorplan SlicingTree::floorplan() const {
  Floorplan result;
  for (int32_t i = 0; i < blocks; ++i) {
    const std::vector<BlockShape> &set =
        problem.shapeSets[problem.blocks[i].shapeSet];
    PlacedBlock best;
    double cost = std::numeric_limits<double>::infinity();
    for (size_t s = 0; s < set.size(); ++s)
      for (bool rotated : {false, true})
        if (set[s].cost < cost &&
            (rotated ? set[s].height : set[s].width) <= extents[i].width &&
            (rotated ? set[s].width : set[s].height) <= extents[i].height) {
          cost = set[s].cost;
          best = {s, rotated, lowX[i] / 2, lowY[i] / 2};
        }
    result.blocks.push_back(best);
  }
  return result;
}
