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
// Routings for which this does not hold may still be legal, in another style
// than ours; RouteTracer judges them, and words all complaints.

#include "compiler/route/RouteProof.h"
#include "compiler/route/RouteRules.h"

#include <algorithm>
#include <tuple>
#include <utility>

using namespace wsec;

namespace {

constexpr uint8_t north = portBit(RoutePort::North);
constexpr uint8_t south = portBit(RoutePort::South);
constexpr uint8_t east = portBit(RoutePort::East);
constexpr uint8_t west = portBit(RoutePort::West);
constexpr uint8_t ramp = portBit(RoutePort::Ramp);

/// What one color of a pattern means.
struct Meaning {
  RoutePort entry = RoutePort::Ramp; // of words at their sources
  std::vector<RouteRect> sources, destinations;
  std::vector<RouteRect> exits; // PEs that send off the mesh, to the east
};

/// Half-open: begin, begin + step, ... < end.
struct Progression {
  int64_t begin, end, step;
  bool contains(int64_t i) const {
    return i >= begin && i < end && (i - begin) % step == 0;
  }
  int64_t count() const { return (end - begin - 1) / step + 1; }
  bool operator<(const Progression &other) const {
    return std::tie(begin, end, step) <
           std::tie(other.begin, other.end, other.step);
  }
  bool operator==(const Progression &other) const {
    return begin == other.begin && end == other.end && step == other.step;
  }
};
Progression columnsOf(const RouteRect &r) { return {r.x0, r.x1, r.xstep}; }
Progression rowsOf(const RouteRect &r) { return {r.y0, r.y1, r.ystep}; }

/// Columns (or rows) by which progressions they are in.
class Classes {
public:
  Classes(int64_t length, std::vector<Progression> progressions,
          int64_t &steps);

  size_t count() const { return representatives.size(); }
  size_t first() const { return classOf.front(); }
  size_t last() const { return classOf.back(); }
  /// Classes that are neighbours somewhere, the lower position first.
  const std::vector<std::pair<size_t, size_t>> &neighbours() const {
    return pairs;
  }
  /// The classes that lie in one of the given progressions.
  std::vector<size_t> in(const Progression &progression);

private:
  void split(const Progression &progression);
  void number();

  int64_t &steps;
  std::vector<size_t> classOf;
  std::vector<int64_t> representatives;
  std::vector<std::pair<size_t, size_t>> pairs;
  // For each class, when it was last met; while splitting, where members go.
  std::vector<std::pair<size_t, size_t>> moves;
  size_t round = 0;
};

/// One setting and meaning, shared by all PEs of a cell.
struct Cell {
  RoutePort receive = RoutePort::Ramp;
  uint8_t transmit = 0; // 0: no setting
  bool source = false, destination = false, exit = false;

  bool receives(RoutePort port) const {
    return transmit != 0 && receive == port;
  }
};

/// The cells of one color of one stream, or of all streams of a color.
class CellTable {
public:
  CellTable(const RoutingProblem &problem,
            const std::vector<const RouteRule *> &rules, const Meaning &meaning,
            int64_t &steps);

  bool disjoint() const { return disjointRules; }
  bool proves(uint8_t arrivals) const;

private:
  template <typename Change>
  void update(const RouteRect &rect, Change change);
  bool agrees(const Cell &cell, uint8_t arrivals) const;
  bool neighboursAgree() const;
  bool edgesAgree() const;
  const Cell &at(size_t column, size_t row) const {
    return cells[row * columns.count() + column];
  }

  const Meaning &meaning;
  int64_t &steps;
  Classes columns, rows;
  std::vector<Cell> cells;
  bool disjointRules = true;
};

} // namespace

//===----------------------------------------------------------------------===//
// Meaning of patterns
//===----------------------------------------------------------------------===//

/// The ports by which words may arrive at a PE of the pattern, from another PE
/// or off the mesh. No port and its opposite, but where each column has one
/// source: then the PEs north of it hear the south, the others the north.
static uint8_t arrivals(const RoutingProblem &problem,
                        const StreamRequest &request) {
  switch (request.pattern) {
  case RoutePattern::Channel:
  case RoutePattern::ChannelRow:
  case RoutePattern::RowEast:
  case RoutePattern::RowCast:
  case RoutePattern::HeadCast:
    return west;
  case RoutePattern::Launch: // has a single source
    return west | north;
  case RoutePattern::Column:
    return north | south;
  case RoutePattern::RowWest:
  case RoutePattern::RootWest:
    return east;
  case RoutePattern::KeyNorth:
  case RoutePattern::ValueNorth:
  case RoutePattern::OutNorth:
    return south;
  case RoutePattern::KeyCast:
  case RoutePattern::ValueCast:
    return north;
  case RoutePattern::OutExit:
    return west;
  case RoutePattern::Transfer:
    return problem.regions[request.region].x < problem.regions[request.target].x
               ? west
               : east;
  }
  return 0;
}

static void append(std::vector<RouteRect> &rects, const RouteRect &rect) {
  if (rect.x0 < rect.x1 && rect.y0 < rect.y1)
    rects.push_back(rect);
}

/// The rows of `rows` in columns [x0, x1), as few rectangles.
static void appendRows(std::vector<RouteRect> &rects, const RouteRows &rows,
                       int64_t x0, int64_t x1) {
  if (rows.groups <= rows.used) {
    for (int64_t g = 0; g < rows.groups; ++g)
      append(rects, {x0, x1, 1, g * rows.pitch, g * rows.pitch + rows.used, 1});
    return;
  }
  int64_t lastHead = (rows.groups - 1) * rows.pitch;
  for (int64_t u = 0; u < rows.used; ++u)
    append(rects, {x0, x1, 1, u, lastHead + u + 1, rows.pitch});
}

/// Links within `area` to the neighbour at (dx, dy) of it: sources are the PEs
/// with the parity of `slot` along the link.
static Meaning meaningOfLinks(RouteRect area, int64_t dx, int64_t dy,
                              int64_t slot) {
  if (dx != 0) {
    area.x0 += area.x0 % 2 != slot;
    area.xstep = 2;
  } else {
    area.y0 += area.y0 % 2 != slot;
    area.ystep = 2;
  }
  Meaning meaning;
  append(meaning.sources, area);
  append(meaning.destinations, {area.x0 + dx, area.x1 + dx, area.xstep,
                                area.y0 + dy, area.y1 + dy, area.ystep});
  return meaning;
}

static Meaning meaningOfOutNorth(const RouteRegion &region, int64_t slot) {
  Meaning all;
  int64_t right = region.width - 1;
  for (const RouteChannel &channel : region.east) {
    if (channel.begin == channel.end)
      continue;
    Meaning one = meaningOfLinks(
        {right, right + 1, 1, channel.row + 1, channel.end}, 0, -1, slot);
    all.sources.insert(all.sources.end(), one.sources.begin(),
                       one.sources.end());
    all.destinations.insert(all.destinations.end(), one.destinations.begin(),
                            one.destinations.end());
  }
  return all;
}

static Meaning meaningOfChannels(const RouteRegion &region) {
  Meaning meaning;
  meaning.entry = RoutePort::West;
  for (const RouteChannel &channel : region.west) {
    if (channel.begin == channel.end)
      continue;
    append(meaning.sources,
           {-region.x, 1 - region.x, 1, channel.row, channel.row + 1, 1});
    append(meaning.destinations,
           {channel.begin, channel.end, 1, channel.row, channel.row + 1, 1});
  }
  return meaning;
}

static Meaning meaningOfChannelRows(const RouteRegion &region) {
  Meaning meaning;
  meaning.entry = RoutePort::West;
  for (const RouteChannel &channel : region.west) {
    append(meaning.sources,
           {-region.x, 1 - region.x, 1, channel.row, channel.row + 1, 1});
    append(meaning.destinations,
           {0, region.width, 1, channel.row, channel.row + 1, 1});
  }
  return meaning;
}

static Meaning meaningOfColumns(const RouteRegion &region,
                                const RouteRows &rows) {
  Meaning meaning;
  for (const RouteChannel &channel : region.west)
    append(meaning.sources,
           {channel.begin, channel.end, 1, channel.row, channel.row + 1, 1});
  appendRows(meaning.destinations, rows, 0, region.width);
  return meaning;
}

static Meaning meaningOfGroupCast(const RouteRegion &region,
                                  const RouteRows &rows) {
  Meaning meaning;
  appendRows(meaning.sources, {rows.groups, rows.pitch, 1}, 0, region.width);
  appendRows(meaning.destinations, rows, 0, region.width);
  return meaning;
}

/// The first columns of the groups of parity `slot` but the first send, those
/// of the groups before them receive.
static Meaning meaningOfRootWest(const RouteRegion &region,
                                 const RouteRows &groups, int64_t slot) {
  Meaning meaning;
  int64_t first = slot == 0 ? 2 : 1;
  for (int64_t back : {0, 1})
    append(back ? meaning.destinations : meaning.sources,
           {(first - back) * groups.pitch,
            (groups.groups - 1 - back) * groups.pitch + 1, 2 * groups.pitch, 0,
            region.height, 1});
  return meaning;
}

static Meaning meaningOfHeadCast(const RouteRegion &region,
                                 const RouteRows &groups) {
  Meaning meaning;
  int64_t last = (groups.groups - 1) * groups.pitch;
  append(meaning.sources, {0, last + 1, groups.pitch, 0, region.height, 1});
  for (int64_t u = 0; u < groups.used; ++u)
    append(meaning.destinations,
           {u, last + u + 1, groups.pitch, 0, region.height, 1});
  return meaning;
}

static Meaning meaningOfExits(const RouteRegion &region, int64_t meshWidth) {
  Meaning meaning;
  int64_t end = meshWidth - region.x;
  for (const RouteChannel &channel : region.east)
    if (channel.begin != channel.end) {
      append(meaning.sources, {region.width - 1, region.width, 1, channel.row,
                               channel.row + 1, 1});
      append(meaning.exits, {end - 1, end, 1, channel.row, channel.row + 1, 1});
    }
  return meaning;
}

/// In coordinates of the region.
static Meaning meaningInRegion(const RouteRegion &region, int64_t meshWidth,
                               const StreamRequest &request, int64_t slot) {
  int64_t width = region.width, height = region.height;
  RouteRect all{0, width, 1, 0, height, 1};
  switch (request.pattern) {
  case RoutePattern::Channel:
    return meaningOfChannels(region);
  case RoutePattern::ChannelRow:
    return meaningOfChannelRows(region);
  case RoutePattern::Launch:
  case RoutePattern::Transfer:
    break; // of several regions
  case RoutePattern::Column:
    return meaningOfColumns(region, request.rows);
  case RoutePattern::RowWest:
    return meaningOfLinks({1, width, 1, 0, height, 1}, -1, 0, slot);
  case RoutePattern::RowEast:
    return meaningOfLinks({0, width - 1, 1, 0, height, 1}, 1, 0, slot);
  case RoutePattern::RowCast:
    return {RoutePort::Ramp, {{0, 1, 1, 0, height, 1}}, {all}, {}};
  case RoutePattern::KeyNorth:
  case RoutePattern::ValueNorth:
    return meaningOfLinks({0, width, 1, 1, height, 1}, 0, -1, slot);
  case RoutePattern::KeyCast:
  case RoutePattern::ValueCast:
    return meaningOfGroupCast(region, request.rows);
  case RoutePattern::OutNorth:
    return meaningOfOutNorth(region, slot);
  case RoutePattern::OutExit:
    return meaningOfExits(region, meshWidth);
  case RoutePattern::RootWest:
    return meaningOfRootWest(region, request.rows, slot);
  case RoutePattern::HeadCast:
    return meaningOfHeadCast(region, request.rows);
  }
  return {};
}

static RouteRect rectOf(const RouteRegion &region) {
  return {region.x, region.x + region.width,  1,
          region.y, region.y + region.height, 1};
}

static Meaning meaningOfTransfer(const RouteRegion &from,
                                 const RouteRegion &to) {
  int64_t x = to.x > from.x ? from.x + from.width - 1 : from.x;
  Meaning meaning;
  append(meaning.sources, {x, x + 1, 1, from.y, from.y + from.height, 1});
  append(meaning.destinations, rectOf(to));
  return meaning;
}

static Meaning meaningOf(const RoutingProblem &problem,
                         const StreamRequest &request, int64_t slot) {
  const RouteRegion &region = problem.regions[request.region];
  if (request.pattern == RoutePattern::Transfer)
    return meaningOfTransfer(region, problem.regions[request.target]);
  if (request.pattern == RoutePattern::Launch) {
    Meaning launch{RoutePort::West, {{0, 1, 1, 0, 1, 1}}, {}, {}};
    for (const RouteRegion &each : problem.regions)
      append(launch.destinations, rectOf(each));
    return launch;
  }
  Meaning meaning = meaningInRegion(region, problem.meshWidth, request, slot);
  for (auto *rects : {&meaning.sources, &meaning.destinations, &meaning.exits})
    for (RouteRect &rect : *rects) {
      rect.x0 += region.x;
      rect.x1 += region.x;
      rect.y0 += region.y;
      rect.y1 += region.y;
    }
  return meaning;
}

//===----------------------------------------------------------------------===//
// Classes and cells
//===----------------------------------------------------------------------===//

Classes::Classes(int64_t length, std::vector<Progression> progressions,
                 int64_t &steps)
    : steps(steps), classOf(size_t(length), 0), moves(1) {
  std::sort(progressions.begin(), progressions.end());
  progressions.erase(std::unique(progressions.begin(), progressions.end()),
                     progressions.end());
  for (const Progression &progression : progressions) {
    split(progression);
    steps += progression.count();
  }
  number();
  steps += length;
}

/// Members of a class that lie in the progression become a class of their own.
void Classes::split(const Progression &progression) {
  ++round;
  for (int64_t i = progression.begin; i < progression.end;
       i += progression.step) {
    size_t &mine = classOf[size_t(i)];
    if (moves[mine].first != round) {
      moves[mine] = {round, moves.size()};
      moves.emplace_back();
    }
    mine = moves[mine].second;
  }
}

/// Looks at the positions or at the classes, whatever is less.
std::vector<size_t> Classes::in(const Progression &progression) {
  std::vector<size_t> result;
  if (progression.count() >= int64_t(count())) {
    for (size_t c = 0; c < count(); ++c)
      if (progression.contains(representatives[c]))
        result.push_back(c);
    steps += int64_t(count());
    return result;
  }
  ++round;
  for (int64_t i = progression.begin; i < progression.end;
       i += progression.step) {
    size_t c = classOf[size_t(i)];
    if (std::exchange(moves[c].first, round) != round)
      result.push_back(c);
  }
  steps += progression.count();
  return result;
}

/// Splitting leaves empty classes behind: numbers those that have members.
void Classes::number() {
  constexpr size_t none = ~size_t(0);
  std::vector<size_t> numbers(moves.size(), none);
  for (size_t i = 0; i < classOf.size(); ++i) {
    size_t &number = numbers[classOf[i]];
    if (number == none) {
      number = representatives.size();
      representatives.push_back(int64_t(i));
    }
    classOf[i] = number;
    if (i > 0)
      pairs.emplace_back(classOf[i - 1], classOf[i]);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
}

/// The progressions of all rectangles along one axis.
static std::vector<Progression>
progressionsOf(const std::vector<const RouteRule *> &rules,
               const Meaning &meaning,
               Progression (*along)(const RouteRect &)) {
  std::vector<Progression> result;
  for (const RouteRule *rule : rules)
    result.push_back(along(rule->rect));
  for (const RouteRect &rect : meaning.sources)
    result.push_back(along(rect));
  for (const RouteRect &rect : meaning.destinations)
    result.push_back(along(rect));
  for (const RouteRect &rect : meaning.exits)
    result.push_back(along(rect));
  return result;
}

CellTable::CellTable(const RoutingProblem &problem,
                     const std::vector<const RouteRule *> &rules,
                     const Meaning &meaning, int64_t &steps)
    : meaning(meaning), steps(steps),
      columns(problem.meshWidth, progressionsOf(rules, meaning, columnsOf),
              steps),
      rows(problem.meshHeight, progressionsOf(rules, meaning, rowsOf), steps),
      cells(columns.count() * rows.count()) {
  steps += int64_t(cells.size());
  for (const RouteRule *rule : rules)
    update(rule->rect, [&](Cell &cell) {
      disjointRules &= cell.transmit == 0;
      cell.receive = rule->receive;
      cell.transmit = rule->transmit;
    });
  for (const RouteRect &rect : meaning.sources)
    update(rect, [](Cell &cell) { cell.source = true; });
  for (const RouteRect &rect : meaning.destinations)
    update(rect, [](Cell &cell) { cell.destination = true; });
  for (const RouteRect &rect : meaning.exits)
    update(rect, [](Cell &cell) { cell.exit = true; });
}

template <typename Change>
void CellTable::update(const RouteRect &rect, Change change) {
  std::vector<size_t> across = columns.in(columnsOf(rect));
  std::vector<size_t> down = rows.in(rowsOf(rect));
  for (size_t row : down)
    for (size_t column : across)
      change(cells[row * columns.count() + column]);
  steps += int64_t(across.size() * down.size());
}

/// L3 to L5, as far as a cell can tell. Words that enter off the mesh arrive
/// by a port, too: edgesAgree() tells the sources among those that do.
bool CellTable::agrees(const Cell &cell, uint8_t arrivals) const {
  if (cell.source && !cell.receives(meaning.entry))
    return false;
  if (cell.receives(RoutePort::Ramp)
          ? !cell.source
          : cell.transmit != 0 && !(arrivals & portBit(cell.receive)))
    return false;
  if (cell.source && !meaning.exits.empty() && !(cell.transmit & east))
    return false;
  return cell.destination == bool(cell.transmit & ramp);
}

/// Whether `from` sends by `port` exactly if `to` receives from `back`.
static bool linked(const Cell &from, uint8_t port, const Cell &to,
                   RoutePort back) {
  return bool(from.transmit & port) == to.receives(back);
}

/// L2 inside the mesh.
bool CellTable::neighboursAgree() const {
  for (auto [left, right] : columns.neighbours())
    for (size_t row = 0; row < rows.count(); ++row) {
      const Cell &a = at(left, row), &b = at(right, row);
      if (!linked(a, east, b, RoutePort::West) ||
          !linked(b, west, a, RoutePort::East))
        return false;
    }
  for (auto [upper, lower] : rows.neighbours())
    for (size_t column = 0; column < columns.count(); ++column) {
      const Cell &a = at(column, upper), &b = at(column, lower);
      if (!linked(a, south, b, RoutePort::North) ||
          !linked(b, north, a, RoutePort::South))
        return false;
    }
  steps += int64_t(columns.neighbours().size() * rows.count() +
                   rows.neighbours().size() * columns.count());
  return true;
}

/// L2 at the edges of the mesh: nothing passes but entries in the west and
/// exits in the east.
bool CellTable::edgesAgree() const {
  bool entries = meaning.entry == RoutePort::West;
  for (size_t row = 0; row < rows.count(); ++row) {
    const Cell &a = at(columns.first(), row), &b = at(columns.last(), row);
    if ((a.transmit & west) ||
        a.receives(RoutePort::West) != (entries && a.source))
      return false;
    if (b.receives(RoutePort::East) || bool(b.transmit & east) != b.exit)
      return false;
  }
  for (size_t column = 0; column < columns.count(); ++column) {
    const Cell &a = at(column, rows.first()), &b = at(column, rows.last());
    if ((a.transmit & north) || a.receives(RoutePort::North) ||
        (b.transmit & south) || b.receives(RoutePort::South))
      return false;
  }
  return true;
}

bool CellTable::proves(uint8_t ports) const {
  return disjointRules &&
         std::all_of(cells.begin(), cells.end(),
                     [&](const Cell &cell) { return agrees(cell, ports); }) &&
         neighboursAgree() && edgesAgree();
}

//===----------------------------------------------------------------------===//
// The proof
//===----------------------------------------------------------------------===//

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

bool wsec::proveRouting(const RoutingProblem &problem, const Routing &routing,
                        int64_t *steps) {
  int64_t counter = 0;
  int64_t &count = steps ? *steps : counter;
  if (!problem.check().empty() || !checkColors(problem, routing).empty() ||
      !checkRelays(problem, routing).empty())
    return false;
  for (size_t i = 0; i < problem.streams.size(); ++i) {
    const StreamRequest &request = problem.streams[i];
    const RoutedStream &stream = routing.streams[i];
    for (const RouteRule &rule : stream.rules)
      if (!checkRule(problem, request, stream, rule).empty())
        return false;
    for (size_t slot = 0; slot < stream.colors.size(); ++slot) {
      Meaning meaning = meaningOf(problem, request, int64_t(slot));
      std::vector<const RouteRule *> rules =
          rulesOf(stream, stream.colors[slot]);
      if (!CellTable(problem, rules, meaning, count)
               .proves(arrivals(problem, request)))
        return false;
    }
  }
  for (int64_t color = 0; color < problem.colors; ++color)
    if (!sharesFairly(problem, routing, color, count))
      return false;
  return true;
}
