// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches where keep-outs lie in the way of their comb: a tree of regions. The
// shortest way leads from what launches reach already to the next region; there
// they spread along the row where they enter, and from it north and south.
//
//   > > v . r r r      r  region @r, entered at its south-west corner
//   . . v . r r r      x  keep-out
//   x x v . r r r
//   . . > > > > >
//
// Nothing else has this color before it is chosen, so nothing competes.

#include "compiler/route/RoutePlan.h"

#include <algorithm>
#include <map>

using namespace wsec;

namespace {

class LaunchTree {
public:
  explicit LaunchTree(const RoutingProblem &problem)
      : problem(problem), width(problem.meshWidth),
        count(width * problem.meshHeight), settings(size_t(count)),
        depth(size_t(count), -1), owner(size_t(count), 0) {}

  /// The first region that there is no way to, if any.
  bool grow(size_t &lost);
  RoutePlan plan() const;

private:
  static constexpr uint32_t free = 0, blocked = ~uint32_t(0);

  void mark(const Rect &rect, uint32_t by);
  void enter(size_t region, int64_t at, Port from);
  void set(int64_t x, int64_t y, RouteSetting setting, int64_t at) {
    settings[size_t(y * width + x)] = setting;
    depth[size_t(y * width + x)] = at;
  }
  bool reachNext();

  const RoutingProblem &problem;
  const int64_t width, count;
  std::vector<RouteSetting> settings;
  std::vector<int64_t> depth;  ///< hops from the edge; -1: not of the tree
  std::vector<uint32_t> owner; ///< region + 1
  std::vector<bool> reached;   ///< by region
};

} // namespace

void LaunchTree::mark(const Rect &r, uint32_t by) {
  for (int64_t y = r.y0; y < r.y1; ++y)
    std::fill_n(owner.begin() + y * width + r.x0, r.x1 - r.x0, by);
}

/// From PE `at` of a region, which hears `from`, to all of its PEs.
void LaunchTree::enter(size_t index, int64_t at, Port from) {
  const RouteRegion &r = problem.regions[index];
  const int64_t ex = at % width, ey = at / width, first = depth[size_t(at)];
  const int64_t right = r.x + r.width - 1, bottom = r.y + r.height - 1;
  for (int64_t y = r.y; y <= bottom; ++y)
    for (int64_t x = r.x; x <= right; ++x) {
      RouteSetting setting{from, portBit(Port::Ramp)};
      if (y != ey)
        setting.receive = y < ey ? Port::South : Port::North;
      else if (x != ex)
        setting.receive = x < ex ? Port::East : Port::West;
      if (y <= ey && y > r.y)
        setting.transmit |= portBit(Port::North);
      if (y >= ey && y < bottom)
        setting.transmit |= portBit(Port::South);
      if (y == ey && x >= ex && x < right)
        setting.transmit |= portBit(Port::East);
      if (y == ey && x <= ex && x > r.x)
        setting.transmit |= portBit(Port::West);
      set(x, y, setting, first + std::abs(x - ex) + std::abs(y - ey));
    }
  reached[index] = true;
}

/// Connects the region that fewest hops lead to. False if none is in reach.
bool LaunchTree::reachNext() {
  std::map<int64_t, std::vector<int64_t>> byDepth; // PEs to go on from
  std::vector<Port> by(size_t(count), Port::Ramp);
  for (int64_t pe = 0; pe < count; ++pe)
    if (depth[size_t(pe)] >= 0)
      byDepth[depth[size_t(pe)]].push_back(pe);
  while (!byDepth.empty()) {
    const auto [hops, level] = *byDepth.begin();
    byDepth.erase(byDepth.begin());
    for (int64_t pe : level)
      for (Port side : fabric::sides) {
        const int64_t x = pe % width + stepX(side);
        const int64_t y = pe / width + stepY(side);
        const int64_t to = y * width + x;
        if (x < 0 || x >= width || y < 0 || y >= problem.meshHeight ||
            owner[size_t(to)] == blocked || depth[size_t(to)] >= 0 ||
            by[size_t(to)] != Port::Ramp)
          continue;
        by[size_t(to)] = opposite(side);
        if (owner[size_t(to)] == free) {
          byDepth[hops + 1].push_back(to);
          continue;
        }
        depth[size_t(to)] = hops + 1;
        enter(owner[size_t(to)] - 1, to, opposite(side));
        // Back to the tree; the PE where the way leaves it keeps its setting.
        int64_t at = to, left = hops;
        for (;;) {
          const Port back = by[size_t(at)];
          at += stepY(back) * width + stepX(back);
          settings[size_t(at)].transmit |= portBit(opposite(back));
          if (depth[size_t(at)] >= 0)
            return true;
          settings[size_t(at)].receive = by[size_t(at)];
          depth[size_t(at)] = left--;
        }
      }
  }
  return false;
}

bool LaunchTree::grow(size_t &lost) {
  reached.assign(problem.regions.size(), false);
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    const RouteRegion &r = problem.regions[i];
    mark({r.x, r.x + r.width, 1, r.y, r.y + r.height, 1}, uint32_t(i + 1));
  }
  for (const Rect &rect : problem.keepOuts)
    mark(rect, blocked);
  depth[0] = 0;
  settings[0].receive = Port::West;
  if (owner[0] != free)
    enter(owner[0] - 1, 0, Port::West);
  for (;;) {
    const auto next = std::find(reached.begin(), reached.end(), false);
    if (next == reached.end())
      return true;
    lost = size_t(next - reached.begin());
    if (!reachNext())
      return false;
  }
}

/// Neighbouring columns that are alike are one band.
RoutePlan LaunchTree::plan() const {
  RoutePlan plan;
  for (int64_t x = 0; x < width; ++x) {
    std::vector<RouteSetting> rows;
    for (int64_t y = 0; y < problem.meshHeight; ++y)
      rows.push_back(settings[size_t(y * width + x)]);
    if (!plan.empty() && plan.back().rows == rows)
      ++plan.back().columns.end;
    else
      plan.push_back({{x, x + 1, 1}, std::move(rows)});
  }
  return plan;
}

RoutePlan wsec::planLaunchTree(const RoutingProblem &problem, size_t &lost) {
  LaunchTree tree(problem);
  return tree.grow(lost) ? tree.plan() : RoutePlan();
}
