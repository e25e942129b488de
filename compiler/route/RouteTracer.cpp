// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One byte per PE holds the setting of the color being traced: the receive
// port and the set of transmit ports. A PE receives a color from one side
// only, so what leaves a source is a tree, and a walk from all sources meets
// every setting once: settings it does not meet are fed by nothing or form a
// loop. The walk costs a few ns per PE and color and needs no second copy of
// the rules' geometry; RouteProof spares it where a proof is found.

#include "compiler/route/RouteTracer.h"
#include "compiler/route/RouteMeaning.h"
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
RoutePort receiveOf(uint8_t setting) { return RoutePort(setting & 7); }
bool transmits(uint8_t setting, RoutePort port) {
  return setting >> 3 & portBit(port);
}

struct Point {
  int64_t x, y;
};

std::string text(int64_t x, int64_t y) { return describePE(x, y); }
const char *text(RoutePort port) { return name(port); }
RoutePort opposite(RoutePort port) {
  switch (port) {
  case RoutePort::North:
    return RoutePort::South;
  case RoutePort::South:
    return RoutePort::North;
  case RoutePort::East:
    return RoutePort::West;
  case RoutePort::West:
    return RoutePort::East;
  case RoutePort::Ramp:
    break;
  }
  return RoutePort::Ramp;
}

/// What the words of one source must do.
struct Expectation {
  Point source;
  RoutePort entry; // RAMP, or the edge they enter the mesh from
  Point low, high; // destinations lie in [low, high] ...
  int64_t ramps;   // ... so many of them, ...
  bool onlyRows;   // ... only in rows that the request contains
  bool exits;      // and they leave the mesh to the east, in the source's row
  bool onlyRegions = false; // ... only in PEs of regions
  bool notSource = false;   // ... not the source itself
  bool onlyTokens = false;  // ... only in rows with tokens of a transfer
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
  bool isInRegion(Point p) const;
  bool holdsTokens(const StreamRequest &transfer, Point p) const {
    return problem.rowsOf(transfer).second.count(
               p.y - problem.regions[transfer.target].y) > 0;
  }
  bool hop(Point from, RoutePort port, const Expectation &expected);
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
  const RouteRect &r = rule.rect;
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
  const RouteRect &r = rule.rect;
  for (int64_t y = r.y0; y < r.y1; y += r.ystep)
    for (int64_t x = r.x0; x < r.x1; x += r.xstep)
      plane[y * columns + x] = unset;
}

/// What a pattern means, source by source; stops when `visit` says false.
template <typename Visit>
bool Tracer::forEachSource(const StreamRequest &request, unsigned slot,
                           size_t slots, Visit visitMesh) const {
  const RouteRegion &region = problem.regions[request.region];
  auto visit = [&](Expectation expected) {
    for (Point *point : {&expected.source, &expected.low, &expected.high}) {
      point->x += region.x;
      point->y += region.y;
    }
    return visitMesh(expected);
  };
  int64_t right = region.width - 1, bottom = region.height - 1;
  // Words of (x, y) for its neighbour, if it has the parity of this color.
  auto link = [&](int64_t x, int64_t y, int64_t tx, int64_t ty,
                  int64_t parity) {
    return parity % 2 != int64_t(slot) ||
           visit(Expectation{
               {x, y}, RoutePort::Ramp, {tx, ty}, {tx, ty}, 1, false, false});
  };
  /// Words of a PE that go off the mesh.
  auto leaves = [&](int64_t x, int64_t y) {
    return visit(
        Expectation{{x, y}, RoutePort::Ramp, {0, 0}, {-1, -1}, 0, false, true});
  };
  auto usedRows = [&](int64_t begin, int64_t end) {
    int64_t count = 0;
    for (int64_t y = begin; y < end; ++y)
      count += request.rows.contains(y);
    return count;
  };
  switch (request.pattern) {
  case RoutePattern::Channel:
    for (const RouteChannel &channel : region.west)
      if (channel.begin != channel.end &&
          !visit(Expectation{{-region.x, channel.row},
                             RoutePort::West,
                             {channel.begin, channel.row},
                             {channel.end - 1, channel.row},
                             channel.end - channel.begin,
                             false,
                             false}))
        return false;
    return true;
  case RoutePattern::ChannelRow:
    for (const RouteChannel &channel : region.west)
      if (!visit(Expectation{{-region.x, channel.row},
                             RoutePort::West,
                             {0, channel.row},
                             {right, channel.row},
                             region.width,
                             false,
                             false}))
        return false;
    return true;
  case RoutePattern::Launch: {
    Expectation all{{0, 0}, RoutePort::West, {0, 0}, {columns - 1, rows - 1},
                    0,      false,           false};
    for (const RouteRegion &each : problem.regions)
      all.ramps += each.width * each.height;
    all.onlyRegions = true;
    return visitMesh(all);
  }
  case RoutePattern::Transfer: {
    const RouteRegion &to = problem.regions[request.target];
    int64_t x = to.x > region.x ? region.x + right : region.x;
    for (int64_t y = slot; y < region.height; y += slots) {
      const std::vector<RouteRect> rects = heardBy(problem, request, y);
      if (rects.empty())
        continue;
      Expectation all{{x, region.y + y},
                      RoutePort::Ramp,
                      {to.x, rects.front().y0},
                      {to.x + to.width - 1, rects.back().y1 - 1},
                      0,
                      false,
                      false};
      for (const RouteRect &rect : rects)
        all.ramps += to.width * (rect.y1 - rect.y0);
      all.onlyTokens = true;
      if (!visitMesh(all))
        return false;
    }
    return true;
  }
  case RoutePattern::Column:
  case RoutePattern::ColumnRest: {
    const bool rest = request.pattern == RoutePattern::ColumnRest;
    const int64_t all = usedRows(0, region.height);
    for (const RouteChannel &channel : region.west) {
      int64_t count = all - (rest && request.rows.contains(channel.row));
      for (int64_t x = channel.begin; x < channel.end; ++x)
        if (!visit(Expectation{{x, channel.row},
                               RoutePort::Ramp,
                               {x, 0},
                               {x, bottom},
                               count,
                               true,
                               false,
                               false,
                               rest}))
          return false;
    }
    return true;
  }
  case RoutePattern::RowWest:
    for (int64_t y = 0; y <= bottom; ++y)
      for (int64_t x = 1; x <= right; ++x)
        if (!link(x, y, x - 1, y, x))
          return false;
    return true;
  case RoutePattern::RowEast:
    for (int64_t y = 0; y <= bottom; ++y)
      for (int64_t x = 0; x < right; ++x)
        if (!link(x, y, x + 1, y, x))
          return false;
    return true;
  case RoutePattern::RowCast:
    for (int64_t y = 0; y <= bottom; ++y)
      if (!visit(Expectation{{0, y},
                             RoutePort::Ramp,
                             {0, y},
                             {right, y},
                             region.width,
                             false,
                             false}))
        return false;
    return true;
  case RoutePattern::KeyNorth:
  case RoutePattern::ValueNorth:
    for (int64_t y = 1; y <= bottom; ++y)
      for (int64_t x = 0; x <= right; ++x)
        if (!link(x, y, x, y - 1, y))
          return false;
    return true;
  case RoutePattern::KeyCast:
  case RoutePattern::ValueCast:
    for (int64_t g = 0; g < request.rows.groups; ++g) {
      int64_t head = g * request.rows.pitch;
      for (int64_t x = 0; x <= right; ++x)
        if (!visit(Expectation{{x, head},
                               RoutePort::Ramp,
                               {x, head},
                               {x, head + request.rows.used - 1},
                               request.rows.used,
                               false,
                               false}))
          return false;
    }
    return true;
  case RoutePattern::RootWest:
    for (int64_t y = 0; y <= bottom; ++y)
      for (int64_t g = 1; g < request.rows.groups; ++g)
        if (!link(g * request.rows.pitch, y, (g - 1) * request.rows.pitch, y,
                  g))
          return false;
    return true;
  case RoutePattern::HeadCast:
    for (int64_t g = 0; g < request.rows.groups; ++g) {
      int64_t root = g * request.rows.pitch;
      for (int64_t y = 0; y <= bottom; ++y)
        if (!visit(Expectation{{root, y},
                               RoutePort::Ramp,
                               {root, y},
                               {root + request.rows.used - 1, y},
                               request.rows.used,
                               false,
                               false}))
          return false;
    }
    return true;
  case RoutePattern::OutNorth:
    for (const RouteChannel &channel : region.east)
      for (int64_t y = channel.row + 1;
           channel.begin != channel.end && y < channel.end; ++y)
        if (!link(right, y, right, y - 1, y))
          return false;
    return true;
  case RoutePattern::OutColumn:
    for (const RouteChannel &band : bandsOf(region, request.rows))
      for (int64_t x = band.begin; x < band.end; ++x)
        for (int64_t y = 0; y < band.row; ++y) {
          if (!request.rows.contains(y))
            continue;
          int64_t next = y + 1;
          while (next < band.row && !request.rows.contains(next))
            ++next;
          if (!link(x, y, x, next, request.rows.before(y)))
            return false;
        }
    return true;
  case RoutePattern::OutBand:
    for (const RouteChannel &band : bandsOf(region, request.rows))
      if (band.begin != band.end && !leaves(band.end - 1, band.row))
        return false;
    return true;
  case RoutePattern::OutExit:
    for (const RouteChannel &channel : region.east)
      if (channel.begin != channel.end && !leaves(right, channel.row))
        return false;
    return true;
  }
  return true;
}

/// Whether the words of a source go to its neighbour's RAMP and nowhere else:
/// R4 and R5 of neighbour links, of which a wafer has millions, without a walk.
bool Tracer::isPlainLink(const Expectation &expected) {
  Point from = expected.source, to = expected.low;
  int64_t dx = to.x - from.x, dy = to.y - from.y;
  if (expected.ramps != 1 || expected.entry != RoutePort::Ramp ||
      expected.onlyRows || std::abs(dx) + std::abs(dy) != 1 ||
      to.x != expected.high.x || to.y != expected.high.y)
    return false;
  RoutePort port = dx > 0   ? RoutePort::East
                   : dx < 0 ? RoutePort::West
                   : dy > 0 ? RoutePort::South
                            : RoutePort::North;
  auto setting = [](RoutePort receive, RoutePort transmit) {
    return uint8_t(unsigned(receive) | portBit(transmit) << 3);
  };
  return at(from) == setting(RoutePort::Ramp, port) &&
         at(to) == setting(opposite(port), RoutePort::Ramp);
}

bool Tracer::isInRegion(Point p) const {
  return std::any_of(problem.regions.begin(), problem.regions.end(),
                     [&](const RouteRegion &region) {
                       return p.x >= region.x &&
                              p.x < region.x + region.width &&
                              p.y >= region.y && p.y < region.y + region.height;
                     });
}

/// R4 for one hop; pushes the neighbour.
bool Tracer::hop(Point from, RoutePort port, const Expectation &expected) {
  Point to = from;
  to.x += (port == RoutePort::East) - (port == RoutePort::West);
  to.y += (port == RoutePort::South) - (port == RoutePort::North);
  bool inside = to.x >= 0 && to.x < columns && to.y >= 0 && to.y < rows;
  if (!inside) {
    if (expected.exits && port == RoutePort::East &&
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
    if (transmits(setting, RoutePort::Ramp)) {
      if (p.x < expected.low.x || p.x > expected.high.x ||
          p.y < expected.low.y || p.y > expected.high.y ||
          (expected.onlyRows &&
           !request.rows.contains(p.y - problem.regions[request.region].y)) ||
          (expected.onlyRegions && !isInRegion(p)) ||
          (expected.onlyTokens && !holdsTokens(request, p)) ||
          (expected.notSource && p.x == source.x && p.y == source.y))
        return fail(where(request, color) + "words of " +
                    text(source.x, source.y) + " reach " + text(p.x, p.y) +
                    ", which is not meant");
      ++ramps;
    }
    for (RoutePort port :
         {RoutePort::North, RoutePort::South, RoutePort::East, RoutePort::West})
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
