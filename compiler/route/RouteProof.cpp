// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves a routing without visiting its PEs. The columns that lie in the same
// rectangles, of rules as well as of what the pattern means, are one class, and
// so are rows: a class of columns and one of rows meet in a cell whose PEs all
// have one setting and one meaning. For every color, with S the sources and D
// the destinations of its pattern:
//
//   L1  no PE has two settings                                           (R3)
//   L2  in each pair of neighbours, one sends to the other exactly where the
//       other receives from it; over the edge of the mesh words only enter at
//       sources and leave at exits                                   (R4, R6)
//   L3  PEs that receive from their RAMP, or from off the mesh, are S (R5, R6)
//   L4  PEs that transmit to their RAMP are D                            (R5)
//   L5  words arrive by few ports: those of `arrivals`               (R5, R6)
//
// L2 gives every setting one predecessor, or makes it a source (L3). With L5
// the way back over predecessors never turns round, so it ends, and at a known
// source: the first one met on a straight line, or the only one there is. Each
// pattern is such that this is the source meant for the PE. So words reach D
// and nothing else (L4), each PE from its own source.
//
//       a a b a a c     3 classes of columns, of which these are neighbours:
//     d . . | . . |       aa ab ba ac, whatever the width
//     e - - + - - +     2 x 3 cells
//     d . . | . . |
//
// Streams for which this does not hold may still be legal, in another style
// than ours, or searched; RouteTracer follows them, and words all complaints.

#include "compiler/route/RouteProof.h"
#include "compiler/route/RouteCells.h"
#include "compiler/route/RouteRules.h"

#include <algorithm>

using namespace wsec;

static std::vector<const RouteRule *> rulesOf(const RoutedStream &stream,
                                              int64_t color) {
  std::vector<const RouteRule *> rules;
  for (const RouteRule &rule : stream.rules)
    if (rule.color == color)
      rules.push_back(&rule);
  return rules;
}

/// L1 where several streams have the color.
static bool sharesFairly(const RoutingProblem &problem, const Routing &routing,
                         int64_t color, int64_t &steps) {
  std::vector<const RouteRule *> all;
  int64_t owners = 0;
  for (const RoutedStream &stream : routing.streams) {
    std::vector<const RouteRule *> rules = rulesOf(stream, color);
    owners += !rules.empty();
    all.insert(all.end(), rules.begin(), rules.end());
  }
  return owners < 2 || CellTable(problem, all, {}, steps).disjoint();
}

/// R3 to R6 of one stream.
static bool proveStream(const RoutingProblem &problem,
                        const StreamRequest &request,
                        const RoutedStream &stream, int64_t &steps) {
  for (size_t slot = 0; slot < stream.colors.size(); ++slot) {
    Meaning meaning = meaningOf(problem, request, int64_t(slot),
                                int64_t(stream.colors.size()));
    std::vector<const RouteRule *> rules = rulesOf(stream, stream.colors[slot]);
    if (!CellTable(problem, rules, meaning, steps)
             .proves(arrivals(problem, request)))
      return false;
  }
  return true;
}

bool wsec::proveStreams(const RoutingProblem &problem, const Routing &routing,
                        std::vector<bool> &proved, int64_t *steps) {
  int64_t counter = 0;
  int64_t &count = steps ? *steps : counter;
  proved.assign(problem.streams.size(), false);
  if (!problem.check().empty() || !checkColors(problem, routing).empty() ||
      !checkRelays(problem, routing).empty())
    return false;
  for (size_t i = 0; i < problem.streams.size(); ++i)
    for (const RouteRule &rule : routing.streams[i].rules)
      if (!checkRule(problem, problem.streams[i], routing.streams[i], rule)
               .empty())
        return false;
  for (int64_t color = 0; color < problem.colors; ++color)
    if (!sharesFairly(problem, routing, color, count))
      return false;
  for (size_t i = 0; i < problem.streams.size(); ++i)
    proved[i] =
        !problem.isSearched(problem.streams[i]) &&
        proveStream(problem, problem.streams[i], routing.streams[i], count);
  return true;
}

bool wsec::proveRouting(const RoutingProblem &problem, const Routing &routing,
                        int64_t *steps) {
  std::vector<bool> proved;
  return proveStreams(problem, routing, proved, steps) &&
         std::find(proved.begin(), proved.end(), false) == proved.end();
}
