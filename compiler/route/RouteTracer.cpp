// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One byte per PE holds the setting of the color being traced: the receive
// port and the set of transmit ports. A PE receives a color from one side
// only, so what leaves a source is a tree, and a walk from all sources meets
// every setting once: settings it does not meet are fed by nothing or form a
// loop. The walk costs a few ns per PE and color and needs no second copy of
// the rules' geometry; RouteProof spares it where a proof is found.

#include "compiler/route/RouteTracer.h"
#include "compiler/route/PatternSemantics.h"
#include "compiler/route/RouteRules.h"

#include <algorithm>
#include <cstdlib>

using namespace wsec;

namespace {

constexpr uint8_t unset = 0xFF;

/// Setting of one PE: receive port in the low three bits, transmit above.
uint8_t encode(const RouteRule &rule) {
  return uint8_t(unsigned(rule.receive) | rule.transmit << 3);
}
Port receiveOf(uint8_t setting) { return Port(setting & 7); }
bool transmits(uint8_t setting, Port port) {
  return setting >> 3 & portBit(port);
}

struct Point {
  int64_t x, y;
};

Point neighbour(Point from, Port port) {
  return {from.x + stepX(port), from.y + stepY(port)};
}

std::string text(int64_t x, int64_t y) { return describePE(x, y); }
const char *text(Port port) { return name(port); }
/// What the words of one source must do.
struct Expectation {
  Point source;
  Port entry;        // RAMP, or the edge they enter the mesh from
  int64_t ramps = 0; // so many PEs hear them, ...
  /// ... those of the span, from a position of its region, or of rectangles.
  const Span *span = nullptr;
  int64_t position = 0;
  std::vector<Rect> rects = {};
};

class Tracer {
public:
  Tracer(const RoutingProblem &problem, const Routing &routing)
      : problem(problem), routing(routing), columns(problem.meshWidth),
        rows(problem.meshHeight), plane(columns * rows, unset),
        taken(columns * rows, 0) {}

  std::string run(const std::vector<bool> &proved);

private:
  std::string fill(const StreamRequest &request, const RouteRule &rule);
  std::string traceColor(size_t index, size_t slot);
  bool traceSource(const StreamRequest &request, int64_t color,
                   const Expectation &expected);
  bool isPlainLink(const Expectation &expected);
  bool isMeant(const StreamRequest &request, const Expectation &expected,
               Point p) const;
  bool hop(Point from, Port port, const Expectation &expected);
  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }
  void clear(const RouteRule &rule);

  template <typename Visit>
  bool forEachSource(const StreamRequest &request, unsigned slot, size_t slots,
                     Visit visit) const;

  uint8_t &at(Point p) { return plane[p.y * columns + p.x]; }
  std::string otherAt(const StreamRequest &request, int64_t color,
                      Point p) const;
  static std::string where(const StreamRequest &request, int64_t color) {
    return describeColor(request, color);
  }

  const RoutingProblem &problem;
  const Routing &routing;
  const int64_t columns, rows; // of the mesh
  std::vector<uint8_t> plane;  // settings of the color being traced
  std::vector<uint32_t> taken; // colors with a rule, one bit each
  std::vector<Point> work;
  int64_t settings = 0, visited = 0;
  std::string error; // of the source being traced
};

} // namespace

/// ", the other of stream 'a'", if another stream has a setting of the color.
std::string Tracer::otherAt(const StreamRequest &request, int64_t color,
                            Point p) const {
  for (size_t i = 0; i < routing.streams.size(); ++i)
    for (const RouteRule &rule : routing.streams[i].rules)
      if (&problem.streams[i] != &request && rule.color == color &&
          rule.rect.contains(p.x, p.y))
        return ", the other of stream '" + problem.streams[i].name + "'";
  return "";
}

/// R3; enters the rule into the plane.
std::string Tracer::fill(const StreamRequest &request, const RouteRule &rule) {
  const Rect &r = rule.rect;
  uint32_t bit = 1u << rule.color;
  uint8_t setting = encode(rule);
  for (int64_t y = r.y0; y < r.y1; y += r.ystep) {
    uint32_t *takenRow = &taken[y * columns];
    uint8_t *planeRow = &plane[y * columns];
    for (int64_t x = r.x0; x < r.x1; x += r.xstep) {
      if (takenRow[x] & bit)
        return where(request, rule.color) + text(x, y) +
               " has two settings of this color" +
               otherAt(request, rule.color, {x, y});
      takenRow[x] |= bit;
      planeRow[x] = setting;
      ++settings;
    }
  }
  return "";
}

void Tracer::clear(const RouteRule &rule) {
  const Rect &r = rule.rect;
  for (int64_t y = r.y0; y < r.y1; y += r.ystep)
    for (int64_t x = r.x0; x < r.x1; x += r.xstep)
      plane[y * columns + x] = unset;
}

/// What a pattern means, source by source; stops when `visit` says false.
template <typename Visit>
bool Tracer::forEachSource(const StreamRequest &request, unsigned slot,
                           size_t slots, Visit visit) const {
  const RouteRegion &region = problem.regions[request.region];
  const Port entry = entryOf(request);
  auto visitRects = [&](Point source, std::vector<Rect> rects) {
    Expectation all{source, entry};
    for (const Rect &rect : rects)
      all.ramps += rect.columns().count() * rect.rows().count();
    all.rects = std::move(rects);
    return visit(all);
  };
  if (request.pattern.movement == fabric::Movement::Launch)
    return visitRects({0, 0}, meaningOf(problem, request, 0, 1).destinations);
  if (request.pattern.movement == fabric::Movement::Transfer) {
    const int64_t x = senderColumn(problem, request);
    for (int64_t y = slot; y < region.height; y += int64_t(slots))
      if (std::vector<Rect> rects = heardBy(problem, request, y);
          !rects.empty() && !visitRects({x, region.y + y}, std::move(rects)))
        return false;
    return true;
  }
  for (const Span &span : spansOf(problem, request, slot, int64_t(slots))) {
    auto visitSource = [&](int64_t line, int64_t position) {
      const Point source =
          span.alongRows ? Point{position, line} : Point{line, position};
      return visit(Expectation{{region.x + source.x, region.y + source.y},
                               entry,
                               span.hearers(position),
                               &span,
                               position});
    };
    const Progression &sources = span.sources;
    for (const Progression &lines : span.lines)
      for (int64_t line = lines.begin; line < lines.end; line += lines.step)
        for (int64_t i = sources.begin; i < sources.end; i += sources.step)
          if (!visitSource(line, i))
            return false;
  }
  return true;
}

/// Whether the words of a source go to its neighbour's RAMP and nowhere else:
/// R4 and R5 of neighbour links, of which a wafer has millions, without a walk.
bool Tracer::isPlainLink(const Expectation &expected) {
  const Span *span = expected.span;
  if (!span || span->exits || expected.entry != Port::Ramp ||
      expected.ramps != 1 || span->low != span->high ||
      std::abs(span->low) != 1)
    return false;
  const Port ahead = span->alongRows ? Port::East : Port::South;
  const Port port = span->low > 0 ? ahead : opposite(ahead);
  const Point from = expected.source, to = neighbour(from, port);
  auto setting = [](Port receive, Port transmit) {
    return uint8_t(unsigned(receive) | unsigned(portBit(transmit)) << 3);
  };
  return at(from) == setting(Port::Ramp, port) &&
         at(to) == setting(opposite(port), Port::Ramp);
}

bool Tracer::isMeant(const StreamRequest &request, const Expectation &expected,
                     Point p) const {
  const Span *span = expected.span;
  if (!span)
    return std::any_of(
        expected.rects.begin(), expected.rects.end(),
        [&](const Rect &rect) { return rect.contains(p.x, p.y); });
  const RouteRegion &region = problem.regions[request.region];
  return span->alongRows ? p.y == expected.source.y &&
                               span->hears(expected.position, p.x - region.x)
                         : p.x == expected.source.x &&
                               span->hears(expected.position, p.y - region.y);
}

/// R4 for one hop; pushes the neighbour.
bool Tracer::hop(Point from, Port port, const Expectation &expected) {
  const Point to = neighbour(from, port);
  bool inside = to.x >= 0 && to.x < columns && to.y >= 0 && to.y < rows;
  if (!inside) {
    if (expected.span && expected.span->exits && port == Port::East &&
        from.y == expected.source.y)
      return true;
    return fail(text(from.x, from.y) + " sends words off the mesh to " +
                text(port));
  }
  uint8_t setting = at(to);
  if (setting == unset)
    return fail(text(from.x, from.y) + " sends words to " + text(port) +
                ", but " + text(to.x, to.y) + " has no setting of this color");
  if (receiveOf(setting) != opposite(port))
    return fail(text(from.x, from.y) + " sends words to " + text(port) +
                ", but " + text(to.x, to.y) + " receives from " +
                text(receiveOf(setting)));
  work.push_back(to);
  return true;
}

/// R4 and R5 for the words of one source. Words that must leave the mesh do,
/// if all is well: each hop arrives at a setting, and no RAMP is meant.
bool Tracer::traceSource(const StreamRequest &request, int64_t color,
                         const Expectation &expected) {
  if (isPlainLink(expected)) {
    visited += 2;
    return true;
  }
  Point source = expected.source;
  uint8_t first = at(source);
  if (first == unset || receiveOf(first) != expected.entry)
    return fail(where(request, color) + text(source.x, source.y) +
                " is a source, but does not receive from " +
                text(expected.entry));
  int64_t ramps = 0;
  work.assign(1, source);
  while (!work.empty()) {
    Point p = work.back();
    work.pop_back();
    ++visited;
    uint8_t setting = at(p);
    if (transmits(setting, Port::Ramp)) {
      if (!isMeant(request, expected, p))
        return fail(where(request, color) + "words of " +
                    text(source.x, source.y) + " reach " + text(p.x, p.y) +
                    ", which is not meant");
      ++ramps;
    }
    for (Port port : fabric::sides)
      if (transmits(setting, port)) {
        if (!hop(p, port, expected))
          return fail(where(request, color) + error);
      }
  }
  if (ramps != expected.ramps)
    return fail(where(request, color) + "words of " + text(source.x, source.y) +
                " reach " + std::to_string(ramps) + " of " +
                std::to_string(expected.ramps) + " PEs");
  return true;
}

/// R2 to R6 for one color of one stream.
std::string Tracer::traceColor(size_t index, size_t slot) {
  const StreamRequest &request = problem.streams[index];
  const RoutedStream &stream = routing.streams[index];
  int64_t color = stream.colors[slot];
  settings = visited = 0;
  for (const RouteRule &rule : stream.rules) {
    std::string error = checkRule(problem, request, stream, rule);
    if (error.empty() && rule.color == color)
      error = fill(request, rule);
    if (!error.empty())
      return error;
  }
  if (!forEachSource(request, slot, stream.colors.size(),
                     [&](const Expectation &expected) {
                       return traceSource(request, color, expected);
                     }))
    return error;
  if (visited != settings)
    return where(request, color) + std::to_string(settings - visited) +
           " settings are fed by no source: left over or a loop";
  for (const RouteRule &rule : stream.rules)
    if (rule.color == color)
      clear(rule);
  return "";
}

std::string Tracer::run(const std::vector<bool> &proved) {
  std::string error = checkColors(problem, routing);
  for (size_t i = 0; i < problem.streams.size() && error.empty(); ++i)
    for (size_t slot = i < proved.size() && proved[i]
                           ? routing.streams[i].colors.size()
                           : 0;
         slot < routing.streams[i].colors.size() && error.empty(); ++slot)
      error = traceColor(i, slot);
  return error.empty() ? checkRelays(problem, routing) : error;
}

std::string wsec::traceRouting(const RoutingProblem &problem,
                               const Routing &routing,
                               const std::vector<bool> &proved) {
  if (!proved.empty() &&
      std::find(proved.begin(), proved.end(), false) == proved.end())
    return "";
  return Tracer(problem, routing).run(proved);
}
