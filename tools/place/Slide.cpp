// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/place/Slide.h"

#include <algorithm>
#include <cstdlib>

using namespace wsec;

namespace {
/// What holds a region along one axis, doubled.
struct Pull {
  int64_t at = 0, words = 0;
};

/// A side of a rectangle along the axis.
struct Span {
  int64_t begin = 0, size = 0;
};

class Slider {
public:
  Slider(const PlacementProblem &problem, Placement &placement)
      : problem(problem), placement(placement), wires(problem.regions.size()) {
    for (const PlacementEdge &edge : problem.edges)
      join(edge.from, edge.to, edge.words);
    for (const NearWish &wish : problem.wishes)
      if (wish.target == NearWish::Target::Region)
        join(wish.region, wish.other, problem.wordsOf(wish));
  }

  void run() {
    for (bool better = true; better;) {
      better = false;
      for (size_t region = 0; region < problem.regions.size(); ++region)
        for (bool columns : {true, false})
          if (!problem.regions[region].pin)
            better |= slideAlong(region, columns);
    }
  }

private:
  void join(size_t a, size_t b, int64_t words) {
    wires[a].push_back({b, words});
    wires[b].push_back({a, words});
  }

  static Span along(const PlacedRegion &its, bool columns) {
    return columns ? Span{its.x, its.columns} : Span{its.y, its.rows};
  }

  std::vector<Pull> pullsOf(size_t region, bool columns) const {
    std::vector<Pull> pulls;
    for (const auto &[other, words] : wires[region])
      if (other != region) {
        const Span its = along(problem.cellsOf(placement, other), columns);
        pulls.push_back({2 * its.begin + its.size, words});
      }
    for (const NearWish &wish : problem.wishes) {
      if (wish.region != region)
        continue;
      const int64_t words = problem.wordsOf(wish);
      using Target = NearWish::Target;
      if (wish.target == Target::Pe)
        pulls.push_back({2 * (columns ? wish.pe.x : wish.pe.y) + 1, words});
      else if (wish.target == (columns ? Target::West : Target::North))
        pulls.push_back({0, words});
      else if (wish.target == (columns ? Target::East : Target::South))
        pulls.push_back(
            {2 * (columns ? problem.width : problem.height), words});
    }
    return pulls;
  }

  bool slideAlong(size_t region, bool columns) {
    const PlacedRegion pes = problem.cellsOf(placement, region);
    const Span its = along(pes, columns);
    const std::vector<Pull> pulls = pullsOf(region, columns);
    auto wire = [&](int64_t begin) {
      int64_t sum = 0;
      for (const Pull &pull : pulls)
        sum += pull.words * std::abs(2 * begin + its.size - pull.at);
      return sum;
    };
    const auto [low, high] = free(region, pes, columns);
    int64_t best = its.begin, least = wire(best);
    // The sum is least where a centre meets a pull, or at an end.
    for (const Pull &pull : pulls)
      for (int64_t round : {0, 1}) {
        const int64_t begin =
            std::clamp((pull.at - its.size + round) >> 1, low, high);
        if (const int64_t here = wire(begin); here < least) {
          least = here;
          best = begin;
        }
      }
    PlacedOrigin &at = placement.regions[region].at;
    (columns ? at.x : at.y) = best;
    return best != its.begin;
  }

  /// From where to where it may begin without hitting something on its way.
  std::pair<int64_t, int64_t> free(size_t region, const PlacedRegion &pes,
                                   bool columns) const {
    const Span its = along(pes, columns), across = along(pes, !columns);
    int64_t low = 0;
    int64_t high = (columns ? problem.width : problem.height) - its.size;
    auto avoid = [&](const PlacedRegion &other) {
      const Span there = along(other, columns);
      const Span beside = along(other, !columns);
      if (beside.begin >= across.begin + across.size ||
          across.begin >= beside.begin + beside.size)
        return;
      if (there.begin < its.begin)
        low = std::max(low, there.begin + there.size);
      else
        high = std::min(high, there.begin - its.size);
    };
    for (size_t other = 0; other < problem.regions.size(); ++other)
      if (other != region)
        avoid(problem.cellsOf(placement, other));
    for (const PlacedRegion &keepOut : problem.keepOuts)
      avoid(keepOut);
    return {low, high};
  }

  const PlacementProblem &problem;
  Placement &placement;
  std::vector<std::vector<std::pair<size_t, int64_t>>> wires;
};
} // namespace

void wsec::slide(const PlacementProblem &problem, Placement &placement) {
  Slider(problem, placement).run();
}
