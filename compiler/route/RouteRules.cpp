// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/RouteRules.h"

#include <algorithm>
#include <limits>
#include <set>

using namespace wsec;

const char *wsec::name(Port port) {
  static const char *const names[] = {"NORTH", "SOUTH", "EAST", "WEST", "RAMP"};
  return names[unsigned(port)];
}

std::string wsec::describePE(int64_t x, int64_t y) {
  return "PE (" + std::to_string(x) + "," + std::to_string(y) + ")";
}

std::string wsec::describeKeepOut(const Rect &r) {
  return "the keep-out of columns " + std::to_string(r.x0) + " to " +
         std::to_string(r.x1 - 1) + " and rows " + std::to_string(r.y0) +
         " to " + std::to_string(r.y1 - 1);
}

std::string wsec::describeColor(const StreamRequest &request, int64_t color) {
  return "stream '" + request.name + "', color " + std::to_string(color) + ": ";
}

/// R1 for one stream.
static std::string checkColors(const RoutingProblem &problem,
                               const StreamRequest &request,
                               const std::vector<int64_t> &colors) {
  const bool dealt =
      request.pattern.movement == fabric::Movement::Transfer; // to rows
  const size_t expected = dealt ? size_t(problem.leastColors(request))
                                : size_t(request.pattern.colors());
  const size_t most =
      dealt ? size_t(problem.regions[request.region].height) : expected;
  if (colors.size() < expected || colors.size() > most)
    return "stream '" + request.name + "' has " +
           std::to_string(colors.size()) + " colors, pattern " +
           name(request.pattern) + " needs " + std::to_string(expected) +
           (most > expected ? " to " + std::to_string(most) : "");
  for (int64_t color : colors)
    if (color < 0 || color >= problem.colors)
      return "stream '" + request.name + "' has color " +
             std::to_string(color) + ", programs may use 0 to " +
             std::to_string(problem.colors - 1);
  for (size_t i = 1; i < colors.size(); ++i)
    if (std::find(colors.begin(), colors.begin() + ptrdiff_t(i), colors[i]) !=
        colors.begin() + ptrdiff_t(i))
      return "stream '" + request.name + "' has color " +
             std::to_string(colors[i]) + " twice";
  return "";
}

std::string wsec::checkColors(const RoutingProblem &problem,
                              const Routing &routing) {
  if (routing.streams.size() != problem.streams.size())
    return "expected " + std::to_string(problem.streams.size()) +
           " routed streams, found " + std::to_string(routing.streams.size());
  for (size_t i = 0; i < problem.streams.size(); ++i) {
    std::string error =
        ::checkColors(problem, problem.streams[i], routing.streams[i].colors);
    if (!error.empty())
      return error;
  }
  return "";
}

/// Whether begin, begin + step, ... < end has a number in [low, high).
static bool meets(int64_t begin, int64_t end, int64_t step, int64_t low,
                  int64_t high) {
  const int64_t first =
      begin >= low ? begin : begin + (low - begin + step - 1) / step * step;
  return first < std::min(end, high);
}

/// R8.
static std::string checkKeepsOut(const RoutingProblem &problem,
                                 const StreamRequest &request,
                                 const RouteRule &rule) {
  const Rect &r = rule.rect;
  for (const Rect &out : problem.keepOuts)
    if (meets(r.x0, r.x1, r.xstep, out.x0, out.x1) &&
        meets(r.y0, r.y1, r.ystep, out.y0, out.y1))
      return describeColor(request, rule.color) + "the rule at " +
             describePE(r.x0, r.y0) + " has PEs of " + describeKeepOut(out);
  return "";
}

/// R2 and R8.
std::string wsec::checkRule(const RoutingProblem &problem,
                            const StreamRequest &request,
                            const RoutedStream &stream, const RouteRule &rule) {
  const Rect &r = rule.rect;
  if (std::find(stream.colors.begin(), stream.colors.end(), rule.color) ==
      stream.colors.end())
    return "stream '" + request.name + "' has a rule for color " +
           std::to_string(rule.color) + ", which is not its own";
  if (r.x0 < 0 || r.x0 >= r.x1 || r.x1 > problem.meshWidth || r.xstep < 1 ||
      r.y0 < 0 || r.y0 >= r.y1 || r.y1 > problem.meshHeight || r.ystep < 1)
    return describeColor(request, rule.color) + "the rule for columns [" +
           std::to_string(r.x0) + "," + std::to_string(r.x1) + ") and rows [" +
           std::to_string(r.y0) + "," + std::to_string(r.y1) +
           ") does not lie in the mesh";
  // Sums of positions and steps are taken without asking.
  constexpr int64_t maxStep = std::numeric_limits<int32_t>::max();
  if (r.xstep > maxStep || r.ystep > maxStep)
    return describeColor(request, rule.color) + "the rule at " +
           describePE(r.x0, r.y0) + " has steps of " + std::to_string(r.xstep) +
           " columns and " + std::to_string(r.ystep) +
           " rows, the longest is " + std::to_string(maxStep);
  if (rule.transmit == 0 || rule.transmit > 31 || unsigned(rule.receive) > 4)
    return describeColor(request, rule.color) + "the rule at " +
           describePE(r.x0, r.y0) + " transmits to no port";
  if (rule.receive != Port::Ramp && (rule.transmit & portBit(rule.receive)))
    return describeColor(request, rule.color) + "the rule at " +
           describePE(r.x0, r.y0) + " sends words back to " +
           name(rule.receive);
  return checkKeepsOut(problem, request, rule);
}

/// R7 within a stream: its links leave by one port if PEs relay along it.
static std::string checkSelfRelays(const RoutingProblem &problem,
                                   const Routing &routing) {
  for (size_t i = 0; i < problem.streams.size(); ++i) {
    StreamPattern pattern = problem.streams[i].pattern;
    unsigned ports = 0;
    for (const RouteRule &rule : routing.streams[i].rules)
      ports |= rule.transmit & ~unsigned(portBit(Port::Ramp));
    bool toItself =
        std::find(problem.relays.begin(), problem.relays.end(),
                  std::make_pair(pattern, pattern)) != problem.relays.end();
    if (toItself && (ports & (ports - 1)))
      return "stream '" + problem.streams[i].name +
             "' relays to itself in more than one direction, which may "
             "deadlock";
  }
  return "";
}

/// R7. Peels off patterns that nothing else waits for; what is left is a cycle.
std::string wsec::checkRelays(const RoutingProblem &problem,
                              const Routing &routing) {
  std::string error = checkSelfRelays(problem, routing);
  if (!error.empty())
    return error;
  std::set<StreamPattern> waiting;
  for (const auto &[from, to] : problem.relays)
    waiting.insert(from);
  auto waits = [&](const StreamPattern &pattern) {
    return std::any_of(
        problem.relays.begin(), problem.relays.end(), [&](const auto &relay) {
          return relay.first == pattern && relay.second != pattern &&
                 waiting.count(relay.second);
        });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = waiting.begin(); it != waiting.end();)
      if (waits(*it)) {
        ++it;
      } else {
        it = waiting.erase(it);
        changed = true;
      }
  }
  for (const fabric::NamedPattern &each : fabric::allPatterns)
    if (waiting.count(each.pattern))
      return std::string("streams of pattern ") + each.name +
             " wait for themselves through relays, which may deadlock";
  return "";
}
