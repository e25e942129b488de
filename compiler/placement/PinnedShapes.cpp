// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/placement/PinnedShapes.h"

#include <algorithm>

using namespace wsec;

/// Shapes that are tried before the search gives up.
static constexpr int64_t mostShapesTried = 100'000;

/// Whether it lies in the mesh, on no keep-out, and leaves other pinned regions
/// their first PE.
static bool fitsAtPin(const PlacementProblem &problem, size_t region,
                      const CandidateShape &shape) {
  const PlacedOrigin at = *problem.regions[region].pin;
  const PlacedRegion its{at.x, at.y, shape.columns, shape.rows};
  if (at.x < 0 || at.y < 0 || at.x > problem.width - shape.columns ||
      at.y > problem.height - shape.rows)
    return false;
  for (size_t i = 0; i < problem.regions.size(); ++i)
    if (const auto &pin = problem.regions[i].pin;
        i != region && pin && its.overlaps({pin->x, pin->y, 1, 1}))
      return false;
  return std::none_of(problem.keepOuts.begin(), problem.keepOuts.end(),
                      [&](auto &other) { return other.overlaps(its); });
}

namespace {
class Chooser {
public:
  Chooser(const PlacementProblem &problem, double limit, Placement &placement)
      : problem(problem), placement(placement),
        isChosen(problem.regions.size(), false) {
    for (size_t region = 0; region < problem.regions.size(); ++region)
      if (problem.regions[region].pin)
        pinned.push_back({region, shapesFor(region, limit)});
  }

  std::string run() {
    if (choose(0))
      return "";
    const RegionRequest &its = problem.regions[pinned[farthest].region];
    return its.name + " has no shape that fits at (" +
           std::to_string(its.pin->x) + "," + std::to_string(its.pin->y) +
           "), where it is pinned";
  }

private:
  std::vector<size_t> shapesFor(size_t region, double limit) const {
    const std::vector<CandidateShape> &all = problem.shapesOf(region);
    std::vector<size_t> shapes;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].cost <= limit && fitsAtPin(problem, region, all[i]))
        shapes.push_back(i);
    auto key = [&](size_t i) {
      return std::make_tuple(all[i].columns * all[i].rows, all[i].cost, i);
    };
    std::sort(shapes.begin(), shapes.end(),
              [&](size_t a, size_t b) { return key(a) < key(b); });
    return shapes;
  }

  bool mayLieIn(const PlacedRegion &its) const {
    return !problem.mostAbreast ||
           problem.abreast(its, placement, isChosen) <= *problem.mostAbreast;
  }

  /// Shapes for pinned regions from `next` on, beside those before.
  bool choose(size_t next) {
    if (next == pinned.size())
      return true;
    farthest = std::max(farthest, next);
    const auto &[region, shapes] = pinned[next];
    for (size_t shape : shapes) {
      if (++tries > mostShapesTried)
        return false;
      placement.regions[region] = {shape, *problem.regions[region].pin};
      const PlacedRegion its = problem.cellsOf(placement, region);
      auto isHit = [&](const Pinned &other) {
        return problem.cellsOf(placement, other.region).overlaps(its);
      };
      if (std::none_of(pinned.begin(), pinned.begin() + next, isHit) &&
          mayLieIn(its)) {
        isChosen[region] = true;
        if (choose(next + 1))
          return true;
        isChosen[region] = false;
      }
    }
    return false;
  }

  struct Pinned {
    size_t region;
    std::vector<size_t> shapes;
  };

  const PlacementProblem &problem;
  Placement &placement;
  std::vector<bool> isChosen;
  std::vector<Pinned> pinned;
  size_t farthest = 0;
  int64_t tries = 0;
};
} // namespace

std::string wsec::choosePinnedShapes(const PlacementProblem &problem,
                                     double limit, Placement &placement) {
  return Chooser(problem, limit, placement).run();
}
