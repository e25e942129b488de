// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/place/FloorplanProblem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace wsec;

static std::string extents(int64_t width, int64_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

static std::string describe(const FloorplanBlock &block,
                            const CellRectangle &cells) {
  return "block " + block.name + " of " + extents(cells.width, cells.height) +
         " at (" + std::to_string(cells.x) + ", " + std::to_string(cells.y) +
         ")";
}

/// In one of the two orientations.
static bool fits(const BlockShape &shape, int64_t width, int64_t height) {
  return (shape.width <= width && shape.height <= height) ||
         (shape.height <= width && shape.width <= height);
}

std::string FloorplanProblem::check() const {
  if (width < 1 || height < 1)
    return "an area of " + extents(width, height) + " has no cells";
  if (!(costWeight >= 0) || !(wireWeight >= 0))
    return "weights of cost and wire are at least 0";
  for (const std::vector<BlockShape> &set : shapeSets)
    for (const BlockShape &shape : set)
      if (shape.width < 1 || shape.height < 1 || !std::isfinite(shape.cost))
        return "a shape of " + extents(shape.width, shape.height) +
               " is no rectangle with a cost";
  for (const FloorplanBlock &block : blocks) {
    if (block.shapeSet >= shapeSets.size())
      return "block " + block.name + " has no shapes";
    const std::vector<BlockShape> &set = shapeSets[block.shapeSet];
    if (std::none_of(set.begin(), set.end(), [&](const BlockShape &shape) {
          return fits(shape, width, height);
        }))
      return "no shape of block " + block.name + " fits " +
             extents(width, height);
  }
  for (const FloorplanEdge &edge : edges)
    if (edge.from >= blocks.size() || edge.to >= blocks.size() ||
        !(edge.weight >= 0))
      return "an edge has no blocks or a negative weight";
  return "";
}

CellRectangle FloorplanProblem::cellsOf(const Floorplan &floorplan,
                                        size_t block) const {
  const PlacedBlock &placed = floorplan.blocks[block];
  const BlockShape &shape = shapeSets[blocks[block].shapeSet][placed.shape];
  if (placed.rotated)
    return {placed.x, placed.y, shape.height, shape.width};
  return {placed.x, placed.y, shape.width, shape.height};
}

/// F1
static std::string verifyShapes(const FloorplanProblem &problem,
                                const Floorplan &floorplan) {
  if (floorplan.blocks.size() != problem.blocks.size())
    return "F1: " + std::to_string(problem.blocks.size()) + " blocks, " +
           std::to_string(floorplan.blocks.size()) + " places";
  for (size_t i = 0; i < problem.blocks.size(); ++i)
    if (floorplan.blocks[i].shape >=
        problem.shapeSets[problem.blocks[i].shapeSet].size())
      return "F1: block " + problem.blocks[i].name + " has no shape " +
             std::to_string(floorplan.blocks[i].shape);
  return "";
}

std::string FloorplanProblem::verify(const Floorplan &floorplan) const {
  std::string error = verifyShapes(*this, floorplan);
  if (!error.empty())
    return error;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const CellRectangle a = cellsOf(floorplan, i);
    if (a.x < 0 || a.y < 0 || a.x + a.width > width || a.y + a.height > height)
      return "F2: " + describe(blocks[i], a) + " leaves the area of " +
             extents(width, height);
    for (size_t j = 0; j < i; ++j) {
      const CellRectangle b = cellsOf(floorplan, j);
      if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
          b.y < a.y + a.height)
        return "F3: " + describe(blocks[j], b) + " overlaps " +
               describe(blocks[i], a);
    }
  }
  return "";
}

FloorplanScore FloorplanProblem::score(const Floorplan &floorplan) const {
  FloorplanScore score;
  for (size_t i = 0; i < blocks.size(); ++i)
    score.cost =
        std::max(score.cost,
                 shapeSets[blocks[i].shapeSet][floorplan.blocks[i].shape].cost);
  for (const FloorplanEdge &edge : edges) {
    const CellRectangle a = cellsOf(floorplan, edge.from);
    const CellRectangle b = cellsOf(floorplan, edge.to);
    // Of the centres, doubled: whole numbers.
    const int64_t twice = std::abs(2 * a.x + a.width - 2 * b.x - b.width) +
                          std::abs(2 * a.y + a.height - 2 * b.y - b.height);
    score.wire += edge.weight * double(twice) / 2;
  }
  score.total = costWeight * score.cost + wireWeight * score.wire;
  return score;
}

double FloorplanProblem::costBound() const {
  // The smallest area within a cost, for rising costs, of each set.
  std::vector<std::vector<std::pair<double, int64_t>>> areas;
  std::set<double> costs;
  for (const std::vector<BlockShape> &set : shapeSets) {
    std::vector<std::pair<double, int64_t>> &area = areas.emplace_back();
    for (const BlockShape &shape : set)
      if (fits(shape, width, height))
        area.push_back({shape.cost, shape.width * shape.height});
    std::sort(area.begin(), area.end());
    for (size_t i = 1; i < area.size(); ++i)
      area[i].second = std::min(area[i].second, area[i - 1].second);
    for (const auto &[cost, cells] : area)
      costs.insert(cost);
  }
  const std::vector<double> rising(costs.begin(), costs.end());
  auto tooSmall = [&](double cost) {
    int64_t cells = 0;
    for (const FloorplanBlock &block : blocks) {
      const auto &area = areas[block.shapeSet];
      auto above = std::upper_bound(
          area.begin(), area.end(),
          std::make_pair(cost, std::numeric_limits<int64_t>::max()));
      if (above == area.begin())
        return true;
      cells += std::prev(above)->second;
    }
    return cells > width * height;
  };
  auto bound = std::partition_point(rising.begin(), rising.end(), tooSmall);
  return bound == rising.end() ? std::numeric_limits<double>::infinity()
                               : *bound;
}

std::vector<size_t> FloorplanProblem::flowOrder() const {
  const size_t count = blocks.size();
  std::vector<std::vector<size_t>> readers(count);
  std::vector<size_t> open(count, 0), order, stack;
  std::vector<bool> done(count, false);
  for (const FloorplanEdge &edge : edges) {
    readers[edge.from].push_back(edge.to);
    ++open[edge.to];
  }
  auto visit = [&](size_t root) {
    stack.push_back(root);
    while (!stack.empty()) {
      const size_t block = stack.back();
      stack.pop_back();
      if (done[block])
        continue;
      done[block] = true;
      order.push_back(block);
      for (size_t reader : readers[block])
        if (--open[reader] == 0)
          stack.push_back(reader);
    }
  };
  for (size_t block = 0; block < count; ++block)
    if (open[block] == 0)
      visit(block);
  for (size_t block = 0; block < count; ++block)
    visit(block);
  return order;
}
