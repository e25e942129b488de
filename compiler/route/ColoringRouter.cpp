// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of the graph are the colors that streams ask for, one or two each. On
// a real program nearly all of them cover the whole mesh, so the graph is
// close to complete and the greedy choice close to the optimum. Streams whose
// ways are searched come last and find the others in their way.

#include "compiler/route/ColoringRouter.h"
#include "compiler/route/RoutePlan.h"
#include "compiler/route/SearchedRoutes.h"

#include <algorithm>
#include <numeric>

using namespace wsec;

namespace {
struct Node {
  size_t stream = 0;
  RoutePlan plan;
  std::vector<size_t> conflicts;
  int64_t color = -1;
};
} // namespace

static std::vector<Node> buildGraph(const RoutingProblem &problem) {
  std::vector<Node> nodes;
  for (size_t s = 0; s < problem.streams.size(); ++s)
    if (!problem.isSearched(problem.streams[s]))
      for (RoutePlan &plan : planStream(problem, problem.streams[s]))
        nodes.push_back({s, std::move(plan), {}, -1});
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

/// Colors all nodes with as few colors as it can; returns how many.
static int64_t colorGraph(std::vector<Node> &nodes) {
  std::vector<size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), size_t(0));
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

static std::string tooManyColors(const RoutingProblem &problem,
                                 int64_t needed) {
  std::string error = "ColorOverflow: the streams of the program need " +
                      std::to_string(needed) + " colors, the machine has " +
                      std::to_string(problem.colors) + " for programs:";
  for (const StreamRequest &stream : problem.streams) {
    error += " " + stream.name;
    if (hasTwoColors(stream.pattern))
      error += " (2)";
  }
  return error + "; kernels with equal batch groups share streams";
}

std::string wsec::routeByColoring(const RoutingProblem &problem,
                                  Routing &routing) {
  std::vector<Node> nodes = buildGraph(problem);
  int64_t needed = colorGraph(nodes);
  if (needed > problem.colors)
    return tooManyColors(problem, needed);
  routing.streams.assign(problem.streams.size(), {});
  for (const Node &node : nodes) {
    RoutedStream &stream = routing.streams[node.stream];
    stream.colors.push_back(node.color);
    for (const RouteRule &rule : makeRules(node.plan, node.color))
      stream.rules.push_back(rule);
  }
  return routeSearched(problem, routing);
}
