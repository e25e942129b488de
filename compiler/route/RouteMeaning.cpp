// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/RouteMeaning.h"

using namespace wsec;

static constexpr uint8_t north = portBit(RoutePort::North);
static constexpr uint8_t south = portBit(RoutePort::South);
static constexpr uint8_t east = portBit(RoutePort::East);
static constexpr uint8_t west = portBit(RoutePort::West);

uint8_t wsec::arrivals(const RoutingProblem &problem,
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
  case RoutePattern::ColumnRest:
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
  case RoutePattern::OutColumn:
    return north;
  case RoutePattern::OutExit:
  case RoutePattern::OutBand:
    return west;
  case RoutePattern::Transfer:
    if (problem.isSearched(request))
      return 0;
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

/// The rows of `rect` but one.
static void appendWithout(std::vector<RouteRect> &rects, const RouteRect &rect,
                          int64_t row) {
  if (row < rect.y0 || row >= rect.y1 || (row - rect.y0) % rect.ystep != 0)
    return append(rects, rect);
  append(rects, {rect.x0, rect.x1, rect.xstep, rect.y0, row, rect.ystep});
  append(rects,
         {rect.x0, rect.x1, rect.xstep, row + rect.ystep, rect.y1, rect.ystep});
}

static Meaning meaningOfColumnRests(const RouteRegion &region,
                                    const RouteRows &rows) {
  Meaning meaning;
  std::vector<RouteRect> all;
  for (const RouteChannel &channel : region.west) {
    append(meaning.sources,
           {channel.begin, channel.end, 1, channel.row, channel.row + 1, 1});
    all.clear();
    appendRows(all, rows, channel.begin, channel.end);
    for (const RouteRect &rect : all)
      appendWithout(meaning.destinations, rect, channel.row);
  }
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

/// Rows of one parity among `rows` send, the others and those of exits receive.
static Meaning meaningOfOutColumn(const RouteRegion &region,
                                  const RouteRows &rows, int64_t slot) {
  Meaning meaning;
  const int64_t count = rows.groups * rows.used;
  auto rowOf = [&](int64_t i) {
    return i / rows.used * rows.pitch + i % rows.used;
  };
  auto addRow = [](std::vector<RouteRect> &rects, int64_t y,
                   const RouteChannel &band) {
    append(rects, {band.begin, band.end, 1, y, y + 1, 1});
  };
  const std::vector<RouteChannel> bands = bandsOf(region, rows);
  if (rows.groups == 1) {
    append(meaning.sources, {0, region.width, 1, slot, count - 1, 2});
    append(meaning.destinations, {0, region.width, 1, slot + 1, count, 2});
  } else {
    for (int64_t i = slot; i + 1 < count; i += 2) {
      addRow(meaning.sources, rowOf(i), {0, 0, region.width});
      addRow(meaning.destinations, rowOf(i + 1), {0, 0, region.width});
    }
  }
  for (const RouteChannel &band : bands)
    if ((count - 1) % 2 == slot && band.row > rows.last()) {
      addRow(meaning.sources, rows.last(), band);
      addRow(meaning.destinations, band.row, band);
    }
  return meaning;
}

static Meaning meaningOfOutBands(const RouteRegion &region, int64_t meshWidth,
                                 const RouteRows &rows) {
  Meaning meaning;
  const int64_t end = meshWidth - region.x;
  for (const RouteChannel &band : bandsOf(region, rows))
    if (band.begin != band.end) {
      append(meaning.sources,
             {band.end - 1, band.end, 1, band.row, band.row + 1, 1});
      append(meaning.exits, {end - 1, end, 1, band.row, band.row + 1, 1});
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
  case RoutePattern::ColumnRest:
    return meaningOfColumnRests(region, request.rows);
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
  case RoutePattern::OutColumn:
    return meaningOfOutColumn(region, request.rows, slot);
  case RoutePattern::OutBand:
    return meaningOfOutBands(region, meshWidth, request.rows);
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

std::vector<RouteRect> wsec::heardBy(const RoutingProblem &problem,
                                     const StreamRequest &transfer,
                                     int64_t row) {
  const RouteRegion &to = problem.regions[transfer.target];
  const auto [from, target] = problem.rowsOf(transfer);
  std::vector<RouteRect> rects;
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

/// Rows slot, slot + slots, ... of the region it comes from.
static Meaning meaningOfTransfer(const RoutingProblem &problem,
                                 const StreamRequest &transfer, int64_t slot,
                                 int64_t slots) {
  const RouteRegion &from = problem.regions[transfer.region];
  const RouteRegion &to = problem.regions[transfer.target];
  int64_t x = to.x > from.x ? from.x + from.width - 1 : from.x;
  Meaning meaning;
  if (transfer.rows.groups == 0) {
    append(meaning.sources,
           {x, x + 1, 1, from.y + slot, from.y + from.height, slots});
    RouteRect rows = rectOf(to);
    rows.y0 += slot;
    rows.ystep = slots;
    append(meaning.destinations, rows);
    return meaning;
  }
  for (int64_t row = slot; row < from.height; row += slots) {
    const std::vector<RouteRect> rects = heardBy(problem, transfer, row);
    if (rects.empty())
      continue;
    append(meaning.sources, {x, x + 1, 1, from.y + row, from.y + row + 1, 1});
    for (const RouteRect &rect : rects)
      append(meaning.destinations, rect);
  }
  return meaning;
}

Meaning wsec::meaningOf(const RoutingProblem &problem,
                        const StreamRequest &request, int64_t slot,
                        int64_t slots) {
  const RouteRegion &region = problem.regions[request.region];
  if (request.pattern == RoutePattern::Transfer)
    return meaningOfTransfer(problem, request, slot, slots);
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
