// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Curves after Stockmeyer, "Optimal orientations of cells in slicing floorplan
// designs" (1983): of parts one above the other, heights add at equal width. A
// curve is kept as heights over widths, as widths over heights, or both; one is
// turned into the other when it is asked for.
#include "tools/place/SlicingTree.h"
#include "compiler/placement/PlacementBound.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

using namespace wsec;

/// Distinct costs above this number are thinned out.
constexpr size_t mostLimits = 384;

//===----------------------------------------------------------------------===//
// Curves of the blocks
//===----------------------------------------------------------------------===//

static std::vector<double> limitsOf(const PlacementProblem &problem) {
  const double bound = throughputBound(problem);
  std::vector<double> costs;
  for (const std::vector<CandidateShape> &set : problem.shapeSets)
    for (const CandidateShape &shape : set)
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

ShapeCurves::ShapeCurves(const PlacementProblem &problem)
    : costLimits(limitsOf(problem)), sets(problem.shapeSets.size()),
      extent(int32_t(std::max(problem.width, problem.height) * 5 / 4)),
      rowsWithin(curvesOf(problem, false)),
      columnsWithin(curvesOf(problem, true)),
      isSymmetric(rowsWithin == columnsWithin) {
  if (isSymmetric) // less to keep in the cache
    columnsWithin = {};
}

/// The least rows for each number of columns, or with `columns` the reverse.
ShapeCurves::Curves ShapeCurves::curvesOf(const PlacementProblem &problem,
                                          bool columns) const {
  Curves curves(costLimits.size() * sets * (extent + 1), none);
  for (size_t limit = 0; limit < costLimits.size(); ++limit)
    for (size_t set = 0; set < sets; ++set) {
      int16_t *curve = curves.data() + (limit * sets + set) * (extent + 1);
      for (const CandidateShape &shape : problem.shapeSets[set]) {
        const int64_t within = columns ? shape.rows : shape.columns;
        const int64_t needed = columns ? shape.columns : shape.rows;
        if (shape.cost <= costLimits[limit] && within <= extent &&
            needed <= extent)
          curve[within] = std::min<int16_t>(curve[within], int16_t(needed));
      }
      for (int32_t i = 1; i <= extent; ++i)
        curve[i] = std::min(curve[i], curve[i - 1]);
    }
  return curves;
}

//===----------------------------------------------------------------------===//
// Curves of the tree
//===----------------------------------------------------------------------===//

SlicingTree::SlicingTree(const SlicingProblem &problem,
                         const ShapeCurves &curves)
    : problem(problem), shapes(curves), blocks(problem.blocks()),
      anchors(problem.rooms.size() > 1 ? int32_t(problem.rooms.size()) : 0),
      reach(curves.reach()), nothing(reach + 1, 0), neighbours(blocks),
      renewed(nodes(), 0), extents(nodes()), lowX(blocks + anchors),
      lowY(blocks + anchors) {
  for (const SlicingProblem::Edge &edge : problem.edges) {
    neighbours[edge.from].push_back(edge.to);
    neighbours[edge.to].push_back(edge.from);
  }
  this->curves.resize(2 * blocks + 1);
  for (int32_t i = 2 * blocks + 1; i-- > 0;) {
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

const int16_t *SlicingTree::leafCurve(int32_t leaf, bool widths) const {
  if (leaf >= blocks)
    return nothing.data();
  const size_t set = problem.sets[leaf];
  return widths ? shapes.widths(tree.limit, set)
                : shapes.heights(tree.limit, set);
}

const int16_t *SlicingTree::heights(int32_t node) {
  if (isLeaf(node))
    return leafCurve(node, false);
  Curve &curve = curves[tree.nodes[node].curve];
  if (!curve.hasHeights)
    invert(curve.widths, curve.heights);
  curve.hasHeights = true;
  return curve.heights.data();
}

const int16_t *SlicingTree::widths(int32_t node) {
  if (isLeaf(node))
    return leafCurve(node, true);
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
  rootsBefore = tree.roots;
  limitBefore = tree.limit;
  ++changes;
}

void SlicingTree::undo() {
  for (auto saved = before.rbegin(); saved != before.rend(); ++saved)
    tree.nodes[saved->first] = saved->second;
  tree.roots = rootsBefore;
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
  combineRooms();
  keep();
}

void SlicingTree::combineRooms() {
  for (int32_t root : tree.roots)
    combineAll(root);
}

void SlicingTree::buildColumns(const std::vector<Columns> &rooms,
                               size_t limit) {
  Plan plan;
  plan.limit = limit;
  plan.nodes.resize(blocks + anchors);
  auto join = [&](int32_t first, int32_t second, bool sideBySide) {
    if (first < 0)
      return second;
    const int32_t node = int32_t(plan.nodes.size());
    plan.nodes[first].parent = plan.nodes[second].parent = node;
    plan.nodes.push_back({-1, {first, second}, sideBySide, 1, 0, -1});
    return node;
  };
  for (size_t room = 0; room < rooms.size(); ++room) {
    int32_t all = anchors ? blocks + int32_t(room) : -1;
    for (const std::vector<int32_t> &column : rooms[room]) {
      int32_t stack = -1;
      for (int32_t block : column)
        stack = join(stack, block, false);
      if (stack >= 0)
        all = join(all, stack, true);
    }
    plan.roots.push_back(all);
  }
  restore(plan);
}

void SlicingTree::changeLimit(size_t limit) {
  tree.limit = limit;
  combineRooms();
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

/// Whether it holds an anchor.
bool SlicingTree::stays(int32_t node) const {
  for (int32_t anchor = blocks; anchor < blocks + anchors; ++anchor)
    if (contains(node, anchor))
      return true;
  return false;
}

void SlicingTree::replacePart(int32_t parent, int32_t from, int32_t to) {
  if (parent < 0)
    *std::find(tree.roots.begin(), tree.roots.end(), from) = to;
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
    a = random.below(nodes());
    b = random.below(nodes());
  }
  if (contains(a, b) || contains(b, a) || stays(a) || stays(b) ||
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
      random.below(3) ? random.below(blocks) : random.below(nodes());
  if (tree.nodes[moved].parent < 0 || stays(moved))
    return false;
  int32_t target = random.below(nodes());
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
    joints.push_back(prune(problem.order[i]));
  const bool sideBySide = random.below(2), backwards = random.below(2);
  int32_t moved = problem.order[first];
  for (int32_t i = 1; i < length; ++i) {
    const int32_t block = problem.order[first + i];
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
  int32_t target = problem.order[next], depth = 0;
  for (int32_t node = target; tree.nodes[node].parent >= 0; ++depth)
    node = tree.nodes[node].parent;
  for (int32_t steps = random.below(depth + 1); steps > 0; --steps)
    target = tree.nodes[target].parent;
  graft(joints.back(), target, moved, random);
  combineRooms();
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
  if (nodes() < 3)
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

/// The rectangle around all blocks of a room that sticks out least.
SlicingTree::Extents SlicingTree::rectangle(size_t room) {
  const int32_t root = tree.roots[room];
  const int32_t width = int32_t(problem.rooms[room].columns);
  const int32_t height = int32_t(problem.rooms[room].rows);
  const bool overHeights = !isLeaf(root) && tree.nodes[root].sideBySide;
  const int16_t *curve = overHeights ? widths(root) : heights(root);
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
  int32_t out = 0;
  for (size_t room = 0; room < problem.rooms.size(); ++room) {
    const Extents least = rectangle(room);
    out += least.width - int32_t(problem.rooms[room].columns) + least.height -
           int32_t(problem.rooms[room].rows);
  }
  return out;
}

/// Chooses the extents of all of `node` within `room`. A block in a row is as
/// narrow as it can be, one in a stack as low.
void SlicingTree::shape(int32_t node, Extents room, bool narrow) {
  Extents &its = extents[node];
  if (isLeaf(node)) {
    const int16_t *least = heights(node), *leastWidth = widths(node);
    if (narrow) {
      const int32_t width = leastWidth[room.height];
      its = {width, least[width]};
    } else {
      const int32_t height = least[room.width];
      its = {leastWidth[height], height};
    }
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
  for (size_t i = 0; i < problem.rooms.size(); ++i) {
    const Extents room = rectangle(i);
    if (room.width > reach || room.height > reach)
      return std::numeric_limits<double>::infinity();
    shape(tree.roots[i], room, false);
    locate(tree.roots[i], int32_t(2 * problem.rooms[i].x),
           int32_t(2 * problem.rooms[i].y));
  }
  double doubled = 0;
  for (const SlicingProblem::Edge &edge : problem.edges) {
    const int32_t a = edge.from, b = edge.to;
    const int32_t x = lowX[a] + extents[a].width - lowX[b] - extents[b].width;
    const int32_t y = lowY[a] + extents[a].height - lowY[b] - extents[b].height;
    doubled += edge.words * (std::abs(x) + std::abs(y));
  }
  for (const SlicingProblem::Pull &pull : problem.pulls) {
    const int32_t b = pull.block;
    int32_t far = 0;
    if (pull.x)
      far += std::abs(lowX[b] + extents[b].width - *pull.x);
    if (pull.y)
      far += std::abs(lowY[b] + extents[b].height - *pull.y);
    doubled += pull.words * far;
  }
  return doubled / 2;
}

PlacedRegion SlicingTree::cellsOf(int32_t block) const {
  return {lowX[block] / 2, lowY[block] / 2, extents[block].width,
          extents[block].height};
}
