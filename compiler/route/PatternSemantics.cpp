// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/PatternSemantics.h"

using namespace wsec;
using fabric::Members;
using fabric::Movement;

uint8_t wsec::arrivals(const RoutingProblem &problem,
                       const StreamRequest &request) {
  const StreamPattern &pattern = request.pattern;
  if (pattern.movement == Movement::Launch) // has a single source
    return portBit(Port::West) | portBit(Port::North);
  if (pattern.movement == Movement::Transfer) {
    const bool east =
        problem.regions[request.region].x < problem.regions[request.target].x;
    return problem.isSearched(request)
               ? 0
               : portBit(east ? Port::West : Port::East);
  }
  return pattern.toward == Port::Ramp
             ? portBit(Port::North) | portBit(Port::South)
             : portBit(opposite(pattern.toward));
}

Port wsec::entryOf(const StreamRequest &request) {
  const Movement movement = request.pattern.movement;
  return movement == Movement::In || movement == Movement::Launch ? Port::West
                                                                  : Port::Ramp;
}

//===----------------------------------------------------------------------===//
// Spans
//===----------------------------------------------------------------------===//

namespace {
/// Collects the spans of one color of a stream of a region.
class Spans {
public:
  Spans(const RoutingProblem &problem, const StreamRequest &request,
        int64_t slot, int64_t slots)
      : problem(problem), region(problem.regions[request.region]),
        request(request), pattern(request.pattern), rows(request.rows),
        slot(slot), slots(slots),
        alongRows(isAlongRows(pattern.toward) ||
                  pattern.movement == Movement::Transfer),
        forward(pattern.toward != Port::North && pattern.toward != Port::West) {
  }

  std::vector<Span> collect();

private:
  int64_t length() const { return alongRows ? region.width : region.height; }
  std::vector<Progression> allLines() const {
    return {{0, alongRows ? region.height : region.width, 1}};
  }
  static Progression only(int64_t line) { return {line, line + 1, 1}; }
  Span &add(std::vector<Progression> lines, Progression sources, int64_t low,
            int64_t high) {
    spans.push_back({alongRows, std::move(lines), sources, low, high, {}});
    return spans.back();
  }

  void addGroups(int64_t count, int64_t pitch, int64_t used);
  void addColumns();
  void addLinks(std::vector<Progression> lines, int64_t begin, int64_t end,
                int64_t pitch);
  void addWaysToExits();
  void addChannels();
  void addExits();
  void addTransfer();

  const RoutingProblem &problem;
  const RouteRegion &region;
  const StreamRequest &request;
  const StreamPattern pattern;
  const RowSet &rows;
  const int64_t slot, slots;
  const bool alongRows, forward;
  std::vector<Span> spans;
};
} // namespace

/// From the end of each group to all `used` PEs of it.
void Spans::addGroups(int64_t count, int64_t pitch, int64_t used) {
  const int64_t first = forward ? 0 : used - 1;
  add(allLines(), {first, (count - 1) * pitch + first + 1, pitch}, -first,
      used - 1 - first);
}

/// From the injectors of each channel up and down their columns.
void Spans::addColumns() {
  for (const RouteChannel &channel : region.west) {
    const bool others = pattern.members == Members::Others;
    int64_t first = 0, last = rows.count() - 1; // who hears, among `rows`
    if (last > 0 && others && channel.row == rows.row(first))
      ++first;
    else if (last > 0 && others && channel.row == rows.row(last))
      --last;
    if (channel.begin == channel.end)
      continue;
    Span &span =
        add({{channel.begin, channel.end, 1}}, only(channel.row),
            rows.row(first) - channel.row, rows.row(last) - channel.row);
    span.among = rows;
    span.others = others;
  }
}

/// Between neighbours of the members [begin, end), number i of which lies at
/// i * pitch: those of parity `slot` send.
void Spans::addLinks(std::vector<Progression> lines, int64_t begin, int64_t end,
                     int64_t pitch) {
  const int64_t last = forward ? end - 1 : end;
  begin += !forward;
  begin += begin % 2 != slot;
  const int64_t step = forward ? pitch : -pitch;
  if (begin < last)
    add(std::move(lines), {begin * pitch, (last - 1) * pitch + 1, 2 * pitch},
        step, step);
}

/// From each of `rows` to the next one, and from the last of them to the row of
/// the column's exit.
void Spans::addWaysToExits() {
  const std::vector<RouteChannel> bands = bandsOf(region, rows);
  const int64_t count = rows.count(), last = rows.last();
  if (bands.empty())
    return;
  for (int64_t i = slot; i + 1 < count; i += 2) {
    const int64_t step = rows.row(i + 1) - rows.row(i);
    add(allLines(), only(rows.row(i)), step, step);
  }
  for (const RouteChannel &band : bands)
    if ((count - 1) % 2 == slot && band.row > last && band.begin < band.end)
      add({{band.begin, band.end, 1}}, only(last), band.row - last,
          band.row - last);
}

/// In from the west edge, past the PEs west of the region and the columns of
/// other channels, to every injector, or to every PE of the channels' rows.
void Spans::addChannels() {
  std::vector<Progression> all;
  for (const RouteChannel &channel : region.west)
    if (pattern.members == Members::All)
      all.push_back(only(channel.row));
    else if (channel.begin != channel.end)
      add({only(channel.row)}, only(-region.x), region.x + channel.begin,
          region.x + channel.end - 1);
  if (!all.empty())
    add(std::move(all), only(-region.x), region.x, region.x + region.width - 1);
}

/// East from the last column of the region or of each band, off the mesh.
void Spans::addExits() {
  const int64_t edge = problem.meshWidth - region.x;
  std::vector<Progression> all;
  auto addExit = [&](std::vector<Progression> lines, int64_t column) {
    add(std::move(lines), only(column), edge - column, edge - column).exits =
        true;
  };
  for (const RouteChannel &exit : exitsOf(region, request))
    if (pattern.members == Members::Bands)
      addExit({only(exit.row)}, exit.end - 1);
    else
      all.push_back(only(exit.row));
  if (!all.empty())
    addExit(std::move(all), region.width - 1);
}

/// From the end of each row past PEs of no region and of others, into the PEs
/// of the row in `target`.
void Spans::addTransfer() {
  if (problem.isSearched(request))
    return;
  const RouteRegion &to = problem.regions[request.target];
  const int64_t from = senderColumn(problem, request) - region.x;
  const int64_t first = to.x - region.x - from;
  add({{slot, region.height, slots}}, only(from), first, first + to.width - 1);
}

std::vector<Span> Spans::collect() {
  const Members members = pattern.members;
  switch (pattern.movement) {
  case Movement::Launch:
    break;
  case Movement::Transfer:
    addTransfer();
    break;
  case Movement::In:
    addChannels();
    break;
  case Movement::Out:
    addExits();
    break;
  case Movement::Multicast:
    if (members == Members::All)
      addGroups(1, 1, length());
    else if (members == Members::Groups)
      addGroups(rows.groups, rows.pitch, rows.used);
    else
      addColumns();
    break;
  case Movement::Link:
    if (members == Members::All)
      addLinks(allLines(), 0, length(), 1);
    else if (members == Members::Groups)
      addLinks(allLines(), 0, rows.groups, rows.pitch);
    else if (members == Members::Bands)
      addWaysToExits();
    else
      for (const RouteChannel &channel : region.east)
        if (channel.begin != channel.end)
          addLinks({only(region.width - 1)}, channel.row, channel.end, 1);
    break;
  }
  return std::move(spans);
}

std::vector<Span> wsec::spansOf(const RoutingProblem &problem,
                                const StreamRequest &request, int64_t slot,
                                int64_t slots) {
  return Spans(problem, request, slot, slots).collect();
}

//===----------------------------------------------------------------------===//
// Rectangles
//===----------------------------------------------------------------------===//

static Rect rectOf(const RouteRegion &region) {
  return {region.x, region.x + region.width,  1,
          region.y, region.y + region.height, 1};
}

/// The positions of lines that hear a span, as few progressions.
static std::vector<Progression> hearersOf(const Span &span) {
  std::vector<Progression> all;
  auto add = [&](Progression positions, int64_t without) {
    if (!span.others || !positions.contains(without)) {
      all.push_back(positions);
      return;
    }
    all.push_back({positions.begin, without, positions.step});
    all.push_back({without + positions.step, positions.end, positions.step});
  };
  const Progression &sources = span.sources;
  // Groups of so many PEs, of which the first is at `first`.
  auto addGroups = [&](int64_t first, int64_t end, int64_t step, int64_t used) {
    const int64_t count = Progression{first, end, step}.count();
    if (count <= used)
      for (int64_t i = first; i < end; i += step)
        add({i, i + used, 1}, sources.begin);
    else
      for (int64_t u = 0; u < used; ++u)
        add({first + u, end + u, step}, sources.begin);
  };
  const RowSet &among = span.among;
  if (among.groups)
    addGroups(0, (among.groups - 1) * among.pitch + 1, among.pitch, among.used);
  else if (!span.exits)
    addGroups(sources.begin + span.low, sources.end + span.low, sources.step,
              span.high - span.low + 1);
  return all;
}

Meaning wsec::meaningOf(const RoutingProblem &problem,
                        const StreamRequest &request, int64_t slot,
                        int64_t slots) {
  const RouteRegion &region = problem.regions[request.region];
  Meaning meaning;
  meaning.entry = entryOf(request);
  if (request.pattern.movement == Movement::Launch) {
    meaning.sources.push_back({0, 1, 1, 0, 1, 1});
    for (const RouteRegion &each : problem.regions)
      meaning.destinations.push_back(rectOf(each));
  }
  for (const Span &span : spansOf(problem, request, slot, slots)) {
    auto append = [&](std::vector<Rect> &rects, const Progression &positions) {
      for (const Progression &line : span.lines) {
        const Progression &x = span.alongRows ? positions : line;
        const Progression &y = span.alongRows ? line : positions;
        if (x.begin < x.end && y.begin < y.end)
          rects.push_back({region.x + x.begin, region.x + x.end, x.step,
                           region.y + y.begin, region.y + y.end, y.step});
      }
    };
    append(meaning.sources, span.sources);
    for (const Progression &positions : hearersOf(span))
      append(meaning.destinations, positions);
    const int64_t edge = span.sources.begin + span.high;
    if (span.exits)
      append(meaning.exits, {edge - 1, edge, 1});
  }
  return meaning;
}

int64_t wsec::senderColumn(const RoutingProblem &problem,
                           const StreamRequest &transfer) {
  const RouteRegion &from = problem.regions[transfer.region];
  return problem.regions[transfer.target].x > from.x ? from.x + from.width - 1
                                                     : from.x;
}

std::vector<Rect> wsec::heardBy(const RoutingProblem &problem,
                                const StreamRequest &transfer, int64_t row) {
  const RouteRegion &to = problem.regions[transfer.target];
  const auto [from, target] = problem.rowsOf(transfer);
  std::vector<Rect> rects;
  const TokenRows::Range range = from.rowsOf(row, target);
  for (int64_t y = range.begin; y < range.end; ++y) {
    if (target.count(y) == 0)
      continue;
    if (!rects.empty() && rects.back().y1 == to.y + y)
      ++rects.back().y1;
    else
      rects.push_back({to.x, to.x + to.width, 1, to.y + y, to.y + y + 1, 1});
  }
  return rects;
}
