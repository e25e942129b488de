// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search is A* towards the box around all destinations. It goes on where
// it stopped when a destination is reached: the new branch costs nothing any
// more, so what is near it becomes cheaper and is looked at again. Of two ways
// of equal cost the straight one is kept: it is fewer rectangles.

#include "compiler/route/PathSearch.h"

#include <algorithm>
#include <tuple>

using namespace wsec;

/// The PE beside; nothing off the mesh.
static std::optional<PathPE> beside(const PathProblem &problem, PathPE pe,
                                    Port side) {
  const int64_t x = pe % problem.meshWidth, y = pe / problem.meshWidth;
  switch (side) {
  case Port::North:
    return y > 0 ? std::optional(pe - problem.meshWidth) : std::nullopt;
  case Port::South:
    return y + 1 < problem.meshHeight ? std::optional(pe + problem.meshWidth)
                                      : std::nullopt;
  case Port::East:
    return x + 1 < problem.meshWidth ? std::optional(pe + 1) : std::nullopt;
  case Port::West:
    return x > 0 ? std::optional(pe - 1) : std::nullopt;
  case Port::Ramp:
    break;
  }
  return std::nullopt;
}

template <typename Visit>
static void forEachPE(const PathProblem &problem, const Rect &r, Visit visit) {
  for (int64_t y = r.y0; y < r.y1; y += r.ystep)
    for (int64_t x = r.x0; x < r.x1; x += r.xstep)
      visit(y * problem.meshWidth + x);
}

//===----------------------------------------------------------------------===//
// Demand
//===----------------------------------------------------------------------===//

PathDemand::PathDemand(const PathProblem &problem)
    : problem(problem), planes(size_t(problem.colors)) {
  int64_t words = 0;
  for (const PathNet &net : problem.nets)
    words += net.words;
  linksMatter = words > problem.linkWords;
  if (!problem.obstacles.empty())
    obstructed.assign(meshPEs(), 0);
  for (const PathObstacle &obstacle : problem.obstacles) {
    uint32_t colors = ~uint32_t(0);
    if (obstacle.color != PathObstacle::everyColor) {
      planes[size_t(obstacle.color)].hasObstacles = true;
      colors = uint32_t(1) << obstacle.color;
    }
    forEachPE(problem, obstacle.rect,
              [&](PathPE pe) { obstructed[size_t(pe)] |= colors; });
  }
}

uint32_t PathDemand::endAt(int64_t color, PathPE pe) const {
  if (!obstructed.empty() && (obstructed[size_t(pe)] >> color & 1))
    return blocked;
  const std::vector<uint32_t> &end = planes[size_t(color)].end;
  return end.empty() ? 0 : end[size_t(pe)];
}

/// Stops when `visit` says false.
template <typename Visit>
bool PathDemand::forEachEnd(const PathNet &net, Visit visit) const {
  if (!visit(net.y * problem.meshWidth + net.x))
    return false;
  bool all = true;
  for (const Rect &rect : net.destinations)
    forEachPE(problem, rect, [&](PathPE pe) { all = all && visit(pe); });
  return all;
}

bool PathDemand::claim(size_t net, int64_t color) {
  const bool free = forEachEnd(problem.nets[net], [&](PathPE pe) {
    const uint32_t end = endAt(color, pe);
    if (end == 0 || end == net + 1)
      return true;
    clashedAt = pe;
    return false;
  });
  if (!free)
    return false;
  Plane &its = planes[size_t(color)];
  if (its.end.empty())
    its.end.assign(meshPEs(), 0);
  forEachEnd(problem.nets[net], [&](PathPE pe) {
    its.end[size_t(pe)] = uint32_t(net + 1);
    return true;
  });
  ++its.bundles[problem.nets[net].bundle];
  return true;
}

void PathDemand::release(size_t net, int64_t color) {
  Plane &its = planes[size_t(color)];
  forEachEnd(problem.nets[net], [&](PathPE pe) {
    its.end[size_t(pe)] = 0;
    return true;
  });
  if (--its.bundles[problem.nets[net].bundle] == 0)
    its.bundles.erase(problem.nets[net].bundle);
}

std::string PathDemand::whoHas(size_t net, int64_t color, PathPE pe) const {
  const uint32_t end = endAt(color, pe);
  if (end == 0 || end == net + 1)
    return "";
  if (end != blocked)
    return "'" + problem.nets[end - 1].name + "'";
  const int64_t x = pe % problem.meshWidth, y = pe / problem.meshWidth;
  for (const PathObstacle &obstacle : problem.obstacles) {
    const Rect &r = obstacle.rect;
    if ((obstacle.color == color ||
         obstacle.color == PathObstacle::everyColor) &&
        x >= r.x0 && x < r.x1 && (x - r.x0) % r.xstep == 0 && y >= r.y0 &&
        y < r.y1 && (y - r.y0) % r.ystep == 0 && !obstacle.name.empty())
      return obstacle.name;
  }
  return "what is routed already";
}

bool PathDemand::isShared(int64_t color, size_t bundle) const {
  const Plane &its = planes[size_t(color)];
  return its.hasObstacles || its.bundles.size() > its.bundles.count(bundle);
}

void PathDemand::count(size_t net, const RoutedPath &path, int step) {
  Plane &its = planes[size_t(path.color)];
  if (its.users.empty()) {
    its.users.assign(meshPEs(), 0);
    its.history.assign(meshPEs(), 0);
  }
  for (const PathSetting &setting : path.settings) {
    const PathPE pe = setting.y * problem.meshWidth + setting.x;
    its.users[size_t(pe)] = uint16_t(its.users[size_t(pe)] + step);
    if (its.users[size_t(pe)] == 2 && step > 0)
      its.contested.push_back(pe);
    for (Port side : fabric::sides) {
      if (!linksMatter || !(setting.transmit & portBit(side)))
        continue;
      std::vector<size_t> &nets = used[pe * 4 + int64_t(side)].nets;
      if (step > 0)
        nets.push_back(net);
      else
        nets.erase(std::find(nets.begin(), nets.end(), net));
    }
  }
}

int64_t PathDemand::wordsBeside(size_t net, int64_t link) const {
  const auto found = used.find(link);
  if (found == used.end())
    return 0;
  const PathNet &its = problem.nets[net];
  int64_t most = 0;
  auto wordsAt = [&](int64_t time) {
    int64_t words = 0;
    for (size_t n : found->second.nets)
      if (n != net && problem.nets[n].begin <= time &&
          time < problem.nets[n].end)
        words += problem.nets[n].words;
    return words;
  };
  most = wordsAt(its.begin);
  for (size_t n : found->second.nets)
    if (int64_t time = problem.nets[n].begin;
        its.begin < time && time < its.end)
      most = std::max(most, wordsAt(time));
  return most;
}

bool PathDemand::isOverloaded(int64_t link) const {
  const auto found = used.find(link);
  return found != used.end() &&
         std::any_of(found->second.nets.begin(), found->second.nets.end(),
                     [&](size_t net) {
                       return problem.nets[net].words + wordsBeside(net, link) >
                              problem.linkWords;
                     });
}

int64_t PathDemand::punish() {
  int64_t found = 0;
  for (Plane &its : planes) {
    std::sort(its.contested.begin(), its.contested.end());
    its.contested.erase(std::unique(its.contested.begin(), its.contested.end()),
                        its.contested.end());
    its.contested.erase(
        std::remove_if(its.contested.begin(), its.contested.end(),
                       [&](PathPE pe) { return its.users[size_t(pe)] < 2; }),
        its.contested.end());
    for (PathPE pe : its.contested) {
      its.history[size_t(pe)] += int32_t(hop);
      ++found;
    }
  }
  for (auto &[number, link] : used)
    if (isOverloaded(number)) {
      link.history += hop;
      ++found;
    }
  return found;
}

void PathDemand::forget() {
  for (Plane &its : planes)
    std::fill(its.history.begin(), its.history.end(), 0);
  for (auto &[number, link] : used)
    link.history = 0;
}

std::optional<int64_t> PathDemand::cost(size_t net, int64_t color, PathPE to,
                                        int64_t link, int64_t pressure) const {
  const uint32_t end = endAt(color, to);
  if (end != 0 && end != net + 1)
    return std::nullopt;
  const Plane &its = planes[size_t(color)];
  int64_t cost = its.users.empty() ? hop
                                   : (hop + its.history[size_t(to)]) *
                                         (1 + pressure * its.users[size_t(to)]);
  if (!linksMatter)
    return cost;
  const auto found = used.find(link);
  if (found == used.end())
    return cost;
  const int64_t tooMany =
      problem.nets[net].words + wordsBeside(net, link) - problem.linkWords;
  cost += found->second.history;
  if (tooMany > 0)
    cost += (hop + found->second.history) * pressure;
  return cost;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

PathSearch::PathSearch(const PathProblem &problem, const PathDemand &demand)
    : problem(problem), demand(demand),
      reached(size_t(problem.meshWidth * problem.meshHeight)) {}

/// Of equal estimates what is nearer to the end.
bool PathSearch::Candidate::operator<(const Candidate &other) const {
  return std::make_tuple(-estimate, cost, -pe) <
         std::make_tuple(-other.estimate, other.cost, -other.pe);
}

PathSearch::Reached &PathSearch::at(PathPE pe) {
  Reached &its = reached[size_t(pe)];
  if (its.round != round)
    its = {round, INT64_MAX, Port::Ramp, -1, false};
  return its;
}

void PathSearch::begin(const PathNet &net) {
  ++round;
  open.clear();
  wanted.clear();
  box = net.destinations.front();
  for (const Rect &rect : net.destinations) {
    box.x0 = std::min(box.x0, rect.x0);
    box.x1 = std::max(box.x1, rect.x1);
    box.y0 = std::min(box.y0, rect.y0);
    box.y1 = std::max(box.y1, rect.y1);
    forEachPE(problem, rect, [&](PathPE pe) {
      if (!std::exchange(at(pe).wanted, true))
        wanted.push_back(pe);
    });
  }
}

/// Hops that are left at least.
int64_t PathSearch::distance(PathPE pe) const {
  const int64_t x = pe % problem.meshWidth, y = pe / problem.meshWidth;
  return std::max<int64_t>({box.x0 - x, x - (box.x1 - 1), 0}) +
         std::max<int64_t>({box.y0 - y, y - (box.y1 - 1), 0});
}

void PathSearch::push(PathPE pe, int64_t cost) {
  open.push_back({cost + distance(pe) * PathDemand::hop, cost, pe});
  std::push_heap(open.begin(), open.end());
}

void PathSearch::relax(size_t net, int64_t color, PathPE from,
                       int64_t pressure) {
  const Reached here = at(from);
  for (Port side : fabric::sides) {
    const std::optional<PathPE> to = beside(problem, from, side);
    if (!to || side == here.by)
      continue;
    const std::optional<int64_t> step =
        demand.cost(net, color, *to, from * 4 + int64_t(side), pressure);
    if (!step)
      continue;
    Reached &there = at(*to);
    const int64_t cost = here.cost + *step;
    const bool straight = here.by == opposite(side) && there.inTree < 0;
    if (cost > there.cost || (cost == there.cost && !straight))
      continue;
    const bool nearer = cost < there.cost;
    there.cost = cost;
    there.by = opposite(side);
    if (nearer)
      push(*to, cost);
  }
}

int32_t PathSearch::addToTree(PathPE pe, Port receive, RoutedPath &path) {
  Reached &its = at(pe);
  its.inTree = int32_t(path.settings.size());
  its.by = receive;
  its.cost = 0;
  path.settings.push_back(
      {pe % problem.meshWidth, pe / problem.meshWidth, receive, 0});
  push(pe, 0);
  return its.inTree;
}

/// Adds the way to a PE, from where it leaves the tree.
void PathSearch::connect(PathPE to, Port exit, RoutedPath &path) {
  uint8_t transmit = portBit(exit);
  for (PathPE pe = to;;) {
    Reached &its = at(pe);
    if (its.inTree >= 0) {
      path.settings[size_t(its.inTree)].transmit |= transmit;
      return;
    }
    const Port by = its.by;
    path.settings[size_t(addToTree(pe, by, path))].transmit |= transmit;
    transmit = portBit(opposite(by));
    pe = *beside(problem, pe, by);
  }
}

std::optional<RoutedPath> PathSearch::grow(size_t net, int64_t color,
                                           int64_t pressure) {
  const PathNet &its = problem.nets[net];
  begin(its);
  RoutedPath path;
  path.color = color;
  addToTree(its.y * problem.meshWidth + its.x, its.entry, path);
  size_t left = wanted.size();
  while (left > 0 && !open.empty() && stepCount < problem.mostSteps) {
    std::pop_heap(open.begin(), open.end());
    const Candidate best = open.back();
    open.pop_back();
    Reached &here = at(best.pe);
    if (best.cost != here.cost)
      continue; // a cheaper way was found meanwhile
    ++stepCount;
    if (std::exchange(here.wanted, false)) {
      connect(best.pe, its.exit, path);
      --left;
    }
    relax(net, color, best.pe, pressure);
  }
  if (left == 0)
    return path;
  missedPE = *std::find_if(wanted.begin(), wanted.end(), [&](PathPE pe) {
    return reached[size_t(pe)].wanted;
  });
  return std::nullopt;
}

std::vector<std::string> PathSearch::blockers(size_t net, int64_t color) {
  const int64_t width = problem.meshWidth;
  std::vector<std::pair<int64_t, PathPE>> around; // by distance
  for (PathPE pe = 0; pe < PathPE(reached.size()); ++pe)
    for (Port side : fabric::sides) {
      if (reached[size_t(pe)].round != round)
        break;
      const std::optional<PathPE> to = beside(problem, pe, side);
      if (to && (reached[size_t(*to)].round != round ||
                 reached[size_t(*to)].cost == INT64_MAX))
        around.push_back({std::abs(*to % width - missedPE % width) +
                              std::abs(*to / width - missedPE / width),
                          *to});
    }
  std::sort(around.begin(), around.end());
  std::vector<std::string> names;
  for (auto [distance, pe] : around) {
    std::string who = demand.whoHas(net, color, pe);
    if (!who.empty() &&
        std::find(names.begin(), names.end(), who) == names.end())
      names.push_back(std::move(who));
    if (names.size() == 3)
      break;
  }
  return names;
}
