// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/place/AnnealingSetup.h"
#include "compiler/placement/PinnedShapes.h"
#include "compiler/placement/PlacementBound.h"
#include "tools/place/FreeRooms.h"

#include <algorithm>

using namespace wsec;

/// Rooms beyond the largest so many are left empty.
static constexpr size_t mostRooms = 16;
/// What the longest wires are worth, in the largest cost, where the score has
/// no weights and the largest cost goes first.
static constexpr double wireShare = 0.001;
/// What the latency of all regions one after the other is.
static constexpr double latencyShare = 0.01;

/// Rooms in which a region that is not pinned has a shape.
static void addRooms(const PlacementProblem &problem,
                     const std::vector<PlacedRegion> &taken,
                     AnnealingSetup &setup) {
  std::vector<PlacedRegion> &rooms = setup.slicing.rooms;
  for (const PlacedRegion &room :
       freeRooms({0, 0, problem.width, problem.height}, taken)) {
    auto fits = [&](const CandidateShape &shape) {
      return shape.columns <= room.columns && shape.rows <= room.rows;
    };
    if (std::any_of(setup.slicing.sets.begin(), setup.slicing.sets.end(),
                    [&](size_t set) {
                      return std::any_of(problem.shapeSets[set].begin(),
                                         problem.shapeSets[set].end(), fits);
                    }))
      rooms.push_back(room);
  }
  setup.roomsLeftEmpty = rooms.size() - std::min(rooms.size(), mostRooms);
  while (rooms.size() > mostRooms)
    rooms.erase(
        std::min_element(rooms.begin(), rooms.end(), [](auto &a, auto &b) {
          return a.columns * a.rows < b.columns * b.rows;
        }));
}

/// What pulls at the blocks: each other, pinned regions, PEs and sides.
static void addWires(const PlacementProblem &problem, AnnealingSetup &setup) {
  std::vector<int32_t> blocks(problem.regions.size(), -1);
  for (size_t i = 0; i < setup.regions.size(); ++i)
    blocks[setup.regions[i]] = int32_t(i);
  SlicingProblem &slicing = setup.slicing;
  auto join = [&](size_t from, size_t to, double words) {
    if (blocks[from] < 0)
      std::swap(from, to);
    if (blocks[from] < 0)
      return;
    if (blocks[to] >= 0)
      return slicing.edges.push_back({blocks[from], blocks[to], words});
    const PlacedRegion its = problem.cellsOf(setup.fixed, to);
    slicing.pulls.push_back({blocks[from], int32_t(2 * its.x + its.columns),
                             int32_t(2 * its.y + its.rows), words});
  };
  for (const PlacementEdge &edge : problem.edges)
    join(edge.from, edge.to, double(edge.words));
  for (const NearWish &wish : problem.wishes) {
    using Target = NearWish::Target;
    const double words = double(problem.wordsOf(wish));
    if (wish.target == Target::Region) {
      join(wish.region, wish.other, words);
      continue;
    }
    SlicingProblem::Pull pull{blocks[wish.region], {}, {}, words};
    if (wish.target == Target::Pe || wish.target == Target::West ||
        wish.target == Target::East)
      pull.x = wish.target == Target::Pe     ? int32_t(2 * wish.pe.x + 1)
               : wish.target == Target::East ? int32_t(2 * problem.width)
                                             : 0;
    if (wish.target == Target::Pe || wish.target == Target::North ||
        wish.target == Target::South)
      pull.y = wish.target == Target::Pe      ? int32_t(2 * wish.pe.y + 1)
               : wish.target == Target::South ? int32_t(2 * problem.height)
                                              : 0;
    if (pull.block >= 0)
      slicing.pulls.push_back(pull);
  }
  for (size_t region : problem.flowOrder())
    if (blocks[region] >= 0)
      slicing.order.push_back(blocks[region]);
}

/// Weights of the score, or such that the largest cost goes first.
static void addWeights(const PlacementProblem &problem, AnnealingSetup &setup) {
  setup.costWeight = problem.throughputWeight;
  setup.latencyWeight = problem.latencyWeight;
  setup.wireWeight = problem.wireWeight;
  if (problem.hasWeights())
    return;
  double words = 0;
  for (const SlicingProblem::Edge &edge : setup.slicing.edges)
    words += edge.words;
  for (const SlicingProblem::Pull &pull : setup.slicing.pulls)
    words += pull.words;
  const double bound = throughputBound(problem);
  setup.costWeight = bound > 0 ? 1 : 0;
  setup.latencyWeight = bound > 0 && !problem.edges.empty()
                            ? latencyShare / double(problem.regions.size())
                            : 0;
  setup.wireWeight =
      words == 0 ? 0
      : bound > 0
          ? wireShare * bound / (words * double(problem.width + problem.height))
          : 1;
}

std::string wsec::setUp(const PlacementProblem &problem, double limit,
                        AnnealingSetup &setup) {
  setup.fixed.regions.resize(problem.regions.size());
  std::string error = choosePinnedShapes(problem, limit, setup.fixed);
  if (!error.empty())
    return error;
  std::vector<PlacedRegion> taken = problem.keepOuts;
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    if (problem.regions[i].pin) {
      taken.push_back(problem.cellsOf(setup.fixed, i));
      setup.leastCost =
          std::max(setup.leastCost,
                   problem.shapesOf(i)[setup.fixed.regions[i].shape].cost);
      continue;
    }
    setup.regions.push_back(i);
    setup.slicing.sets.push_back(problem.regions[i].shapeSet);
  }
  addRooms(problem, taken, setup);
  addWires(problem, setup);
  addWeights(problem, setup);
  setup.latency = FlowLatency(problem, setup.regions, setup.fixed);
  return "";
}
