// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of the graph are the colors that streams ask for, one or two each. On
// a real program nearly all of them cover the whole mesh, so the graph is
// close to complete and the greedy choice close to the optimum. Streams whose
// ways are searched come last and find the others in their way: transfers to
// other rows, what keep-outs bar the straight way of, and where there are too
// few colors what goes straight past other regions.

#include "compiler/route/ColoringRouter.h"
#include "compiler/route/PathRouter.h"
#include "compiler/route/RoutePlan.h"
#include "compiler/route/RouteRules.h"
#include "compiler/route/SearchedRoutes.h"

#include <algorithm>
#include <optional>
#include <utility>

using namespace wsec;

namespace {
struct Node {
  size_t stream = 0;
  RoutePlan plan;
  std::vector<size_t> conflicts;
  int64_t color = -1;
};
} // namespace

/// Nodes of all streams that go straight; marks the others.
static std::vector<Node> buildGraph(const RoutingProblem &problem,
                                    std::vector<bool> &searched) {
  std::vector<Node> nodes;
  for (size_t s = 0; s < problem.streams.size(); ++s) {
    const StreamRequest &request = problem.streams[s];
    if ((searched[s] = problem.isSearched(request)))
      continue;
    std::vector<RoutePlan> plans = planStream(problem, request);
    if (request.pattern.leavesRegions() &&
        overlap(plans.front(), problem.keepOuts)) {
      searched[s] = request.pattern != StreamPattern::Launch;
      size_t lost = 0;
      if (!searched[s])
        plans.front() = planLaunchTree(problem, lost);
    }
    for (RoutePlan &plan : plans)
      if (!searched[s])
        nodes.push_back({s, std::move(plan), {}, -1});
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      // The two colors of one stream differ even where they share no PE: the
      // PE programs choose between them by parity.
      if (nodes[i].stream == nodes[j].stream ||
          overlap(nodes[i].plan, nodes[j].plan)) {
        nodes[i].conflicts.push_back(j);
        nodes[j].conflicts.push_back(i);
      }
  return nodes;
}

/// Colors all nodes that go straight with as few colors as it can; returns how
/// many.
static int64_t colorGraph(std::vector<Node> &nodes,
                          const std::vector<bool> &searched) {
  std::vector<size_t> order;
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].color = -1;
    if (!searched[nodes[i].stream])
      order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    size_t conflictsA = nodes[a].conflicts.size();
    size_t conflictsB = nodes[b].conflicts.size();
    return conflictsA != conflictsB ? conflictsA > conflictsB : a < b;
  });
  int64_t used = 0;
  for (size_t i : order) {
    std::vector<bool> taken(nodes.size() + 1, false);
    for (size_t j : nodes[i].conflicts)
      if (nodes[j].color >= 0)
        taken[nodes[j].color] = true;
    nodes[i].color =
        std::find(taken.begin(), taken.end(), false) - taken.begin();
    used = std::max(used, nodes[i].color + 1);
  }
  return used;
}

/// Streams are numbered where there are several of a kind: "column_11".
static std::string kindOf(const std::string &name) {
  size_t end = name.find_last_not_of("0123456789");
  return end != name.npos && end > 0 && end + 1 < name.size() &&
                 name[end] == '_'
             ? name.substr(0, end)
             : name;
}

static std::string tooManyColors(const RoutingProblem &problem,
                                 int64_t needed) {
  std::string most;
  int64_t ofMost = 0;
  for (const StreamRequest &stream : problem.streams) {
    const std::string kind = kindOf(stream.name);
    const int64_t count = std::count_if(
        problem.streams.begin(), problem.streams.end(),
        [&](const StreamRequest &other) { return kindOf(other.name) == kind; });
    if (count > ofMost) {
      most = kind;
      ofMost = count;
    }
  }
  return "ColorOverflow: the streams of the program need " +
         std::to_string(needed) + " colors, the machine has " +
         std::to_string(problem.colors) + " for programs" +
         (ofMost > 1
              ? ", and " + std::to_string(ofMost) + " of " +
                    std::to_string(problem.streams.size()) + " streams are '" +
                    most + "', one for each way to share out tokens over rows"
              : "") +
         "; a mesh or --region of fewer rows needs fewer";
}

/// A stream that may go another way than straight: one that got no color if
/// there is one, else the one that meets most others.
static std::optional<size_t> worthSearching(const RoutingProblem &problem,
                                            const std::vector<Node> &nodes) {
  const Node *best = nullptr;
  auto key = [&](const Node &node) {
    return std::make_pair(node.color >= problem.colors, node.conflicts.size());
  };
  for (const Node &node : nodes) {
    const StreamPattern pattern = problem.streams[node.stream].pattern;
    if (node.color >= 0 && pattern.leavesRegions() &&
        pattern != StreamPattern::Launch && (!best || key(*best) < key(node)))
      best = &node;
  }
  return best ? std::optional(best->stream) : std::nullopt;
}

/// The first region that keep-outs shut off from launches; or nothing.
static std::string checkLaunches(const RoutingProblem &problem) {
  for (const StreamRequest &request : problem.streams) {
    if (request.pattern != StreamPattern::Launch ||
        !overlap(planStream(problem, request).front(), problem.keepOuts))
      continue;
    size_t lost = 0;
    if (!planLaunchTree(problem, lost).empty())
      continue;
    std::string error = "RouteCongestion: launches do not reach @" +
                        problem.regions[lost].name +
                        ": no way leads from PE "
                        "(0,0) around";
    error += " " + describeKeepOut(problem.keepOuts.front());
    if (size_t others = problem.keepOuts.size() - 1)
      error += " and " + std::to_string(others) + " more";
    return error + "\nplace it elsewhere, or leave a lane of PEs free";
  }
  return "";
}

std::string wsec::routeByColoring(const RoutingProblem &problem,
                                  Routing &routing, RouteLack *lack) {
  RouteLack none, &its = lack ? *lack : none;
  its = RouteLack::Paths;
  if (std::string error = checkLaunches(problem); !error.empty())
    return error;
  std::vector<bool> searched(problem.streams.size(), false);
  std::vector<Node> nodes = buildGraph(problem, searched);
  const int64_t straight = colorGraph(nodes, searched);
  for (int64_t needed = straight; needed > problem.colors;
       needed = colorGraph(nodes, searched)) {
    const std::optional<size_t> other = worthSearching(problem, nodes);
    if (!other) {
      its = RouteLack::Colors;
      return tooManyColors(problem, straight);
    }
    searched[*other] = true;
  }
  routing.streams.assign(problem.streams.size(), {});
  for (const Node &node : nodes) {
    if (searched[node.stream])
      continue;
    RoutedStream &stream = routing.streams[node.stream];
    stream.colors.push_back(node.color);
    for (const RouteRule &rule : makeRules(node.plan, node.color))
      stream.rules.push_back(rule);
  }
  bool inColors = false;
  const std::string error = routeSearched(problem, searched, routing, inColors);
  if (error.empty())
    its = RouteLack::Nothing;
  else if (straight > problem.colors)
    its = RouteLack::Colors;
  else if (inColors)
    its = RouteLack::PathColors;
  return its == RouteLack::Colors
             ? tooManyColors(problem, straight) + "\n" + error
             : error;
}
