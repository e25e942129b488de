// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/RoutePlan.h"
#include "runtime/program/CommandRoom.h"

#include <algorithm>

using namespace wsec;

static constexpr uint8_t toNorth = portBit(RoutePort::North);
static constexpr uint8_t toSouth = portBit(RoutePort::South);
static constexpr uint8_t toEast = portBit(RoutePort::East);
static constexpr uint8_t toWest = portBit(RoutePort::West);
static constexpr uint8_t toRamp = portBit(RoutePort::Ramp);

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// A region and the mesh it lies on.
struct Frame : RouteRegion {
  const RoutingProblem &mesh;
};
} // namespace

/// Appends columns [begin, end) of the mesh with the settings row(y), y a row
/// of the mesh; nothing if empty.
template <typename Row>
static void addMeshBand(RoutePlan &plan, const RoutingProblem &mesh,
                        StridedRange columns, Row row) {
  if (columns.begin >= columns.end)
    return;
  RouteBand band{columns, std::vector<RouteSetting>(mesh.meshHeight)};
  bool any = false;
  for (size_t y = 0; y < band.rows.size(); ++y) {
    band.rows[y] = row(int64_t(y));
    any |= band.rows[y].transmit != 0;
  }
  if (any)
    plan.push_back(std::move(band));
}

/// The same with columns and rows of the region; columns may lie beside it.
template <typename Row>
static void addBand(RoutePlan &plan, const Frame &region, StridedRange columns,
                    Row row) {
  columns.begin += region.x;
  columns.end += region.x;
  addMeshBand(plan, region.mesh, columns, [&](int64_t y) {
    bool inside = y >= region.y && y < region.y + region.height;
    return inside ? row(y - region.y) : RouteSetting{};
  });
}

/// In from the west edge, past the PEs west of the region and the columns of
/// other channels, to every injector.
static RoutePlan planChannel(const Frame &region) {
  RoutePlan plan;
  for (const RouteChannel &channel : region.west) {
    auto add = [&](int64_t begin, int64_t end, uint8_t transmit) {
      addBand(plan, region, {begin, end, 1}, [&](int64_t y) {
        return y == channel.row ? RouteSetting{RoutePort::West, transmit}
                                : RouteSetting{};
      });
    };
    if (channel.begin == channel.end)
      continue;
    add(-region.x, channel.begin, toEast);
    add(channel.begin, channel.end - 1, toEast | toRamp);
    add(channel.end - 1, channel.end, toRamp);
  }
  return plan;
}

/// The same into every PE of the channels' rows.
static RoutePlan planChannelRow(const Frame &region) {
  RoutePlan plan;
  auto add = [&](int64_t begin, int64_t end, uint8_t transmit) {
    addBand(plan, region, {begin, end, 1}, [&](int64_t y) {
      bool enters = std::any_of(
          region.west.begin(), region.west.end(),
          [&](const RouteChannel &channel) { return channel.row == y; });
      return enters ? RouteSetting{RoutePort::West, transmit} : RouteSetting{};
    });
  };
  add(-region.x, 0, toEast);
  add(0, region.width - 1, toEast | toRamp);
  add(region.width - 1, region.width, toRamp);
  return plan;
}

/// A comb over all regions: from PE (0,0) of the mesh east along its first row,
/// and south down each column as far as a region goes.
static RoutePlan planLaunchDown(const RoutingProblem &problem,
                                const std::vector<int64_t> &cuts) {
  RoutePlan plan;
  const int64_t end = cuts.back();
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    auto meets = [&](const RouteRegion &region) {
      return region.x <= cuts[i] && cuts[i] < region.x + region.width;
    };
    int64_t last = 0; // row that launches go down to
    for (const RouteRegion &region : problem.regions)
      if (meets(region))
        last = std::max(last, region.y + region.height - 1);
    addMeshBand(plan, problem, {cuts[i], cuts[i + 1], 1}, [&](int64_t y) {
      uint8_t transmit = y < last ? toSouth : 0;
      if (y == 0 && cuts[i + 1] < end)
        transmit |= toEast;
      for (const RouteRegion &region : problem.regions)
        if (meets(region) && region.y <= y && y < region.y + region.height)
          transmit |= toRamp;
      return y > last
                 ? RouteSetting{}
                 : RouteSetting{y == 0 ? RoutePort::West : RoutePort::North,
                                transmit};
    });
  }
  return plan;
}

/// The same from PE (0,0) south down the first column, and east along each row.
static RoutePlan planLaunchAlong(const RoutingProblem &problem,
                                 const std::vector<int64_t> &cuts) {
  RoutePlan plan;
  std::vector<int64_t> ends(problem.meshHeight, 0); // of regions, by row
  int64_t last = 0;
  for (const RouteRegion &region : problem.regions) {
    last = std::max(last, region.y + region.height - 1);
    for (int64_t y = region.y; y < region.y + region.height; ++y)
      ends[size_t(y)] = std::max(ends[size_t(y)], region.x + region.width);
  }
  for (size_t i = 0; i + 1 < cuts.size(); ++i)
    addMeshBand(plan, problem, {cuts[i], cuts[i + 1], 1}, [&](int64_t y) {
      const bool isFirst = cuts[i] == 0;
      uint8_t transmit = isFirst && y < last ? toSouth : 0;
      if (cuts[i + 1] < ends[size_t(y)])
        transmit |= toEast;
      for (const RouteRegion &region : problem.regions)
        if (region.x <= cuts[i] && cuts[i] < region.x + region.width &&
            region.y <= y && y < region.y + region.height)
          transmit |= toRamp;
      return transmit ? RouteSetting{isFirst && y > 0 ? RoutePort::North
                                                      : RoutePort::West,
                                     transmit}
                      : RouteSetting{};
    });
  return plan;
}

static RoutePlan planLaunch(const RoutingProblem &problem) {
  std::vector<int64_t> cuts = {0};
  std::vector<runtime::CommandTarget> targets;
  for (const RouteRegion &region : problem.regions) {
    const int64_t end = region.x + region.width;
    cuts.insert(cuts.end(), {region.x, end - 1, end});
    targets.push_back({region.x, region.y, end, region.y + region.height});
  }
  const bool alongRows =
      runtime::commandWays(targets) == runtime::CommandWays::Rows;
  if (alongRows)
    cuts.push_back(1);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return alongRows ? planLaunchAlong(problem, cuts)
                   : planLaunchDown(problem, cuts);
}

/// From the end of each row of the region, past PEs of no region and of others,
/// into the PEs of the row in `target`.
static RoutePlan planTransfer(const Frame &region, const RouteRegion &target) {
  RoutePlan plan;
  auto add = [&](int64_t begin, int64_t end, RouteSetting setting) {
    addBand(plan, region, {begin - region.x, end - region.x, 1},
            [&](int64_t) { return setting; });
  };
  if (target.x > region.x) {
    int64_t from = region.x + region.width - 1;
    int64_t last = target.x + target.width - 1;
    add(from, from + 1, {RoutePort::Ramp, toEast});
    add(from + 1, target.x, {RoutePort::West, toEast});
    add(target.x, last, {RoutePort::West, uint8_t(toEast | toRamp)});
    add(last, last + 1, {RoutePort::West, toRamp});
    return plan;
  }
  add(region.x, region.x + 1, {RoutePort::Ramp, toWest});
  add(target.x + target.width, region.x, {RoutePort::East, toWest});
  add(target.x + 1, target.x + target.width,
      {RoutePort::East, uint8_t(toWest | toRamp)});
  add(target.x, target.x + 1, {RoutePort::East, toRamp});
  return plan;
}

/// From the head up and down, as far as there are rows to reach. A head whose
/// row is itself meant hears its own words, but for `rest`.
static RoutePlan planColumn(const Frame &region, const RouteRows &rows,
                            bool rest) {
  RoutePlan plan;
  for (const RouteChannel &channel : region.west) {
    int64_t first = region.height, last = -1;
    auto isMeant = [&](int64_t y) {
      return rows.contains(y) && !(rest && y == channel.row);
    };
    for (int64_t y = 0; y < region.height; ++y)
      if (isMeant(y)) {
        first = std::min(first, y);
        last = y;
      }
    addBand(plan, region, {channel.begin, channel.end, 1}, [&](int64_t y) {
      int64_t head = channel.row;
      RouteSetting setting;
      if (y < std::min(first, head) || y > std::max(last, head))
        return setting;
      if (isMeant(y))
        setting.transmit |= toRamp;
      if (y <= head && first < y)
        setting.transmit |= toNorth;
      if (y >= head && last > y)
        setting.transmit |= toSouth;
      setting.receive = y < head   ? RoutePort::South
                        : y > head ? RoutePort::North
                                   : RoutePort::Ramp;
      return setting;
    });
  }
  return plan;
}

/// Links from x to x + step: PEs of parity `parity` send, the others receive.
static RoutePlan planRowLink(const Frame &region, bool east, int64_t parity) {
  int64_t width = region.width;
  RoutePlan plan;
  // Senders lie in [0, width) without the last column in their direction,
  // receivers without the first.
  int64_t sendBegin = east ? 0 : 1, sendEnd = east ? width - 1 : width;
  int64_t takeBegin = east ? 1 : 0, takeEnd = east ? width : width - 1;
  auto firstOf = [](int64_t begin, int64_t parity) {
    return begin % 2 == parity ? begin : begin + 1;
  };
  auto add = [&](int64_t begin, int64_t end, RouteSetting setting) {
    addBand(plan, region, {begin, end, 2}, [&](int64_t) { return setting; });
  };
  add(firstOf(sendBegin, parity), sendEnd,
      {RoutePort::Ramp, east ? toEast : toWest});
  add(firstOf(takeBegin, 1 - parity), takeEnd,
      {east ? RoutePort::West : RoutePort::East, toRamp});
  return plan;
}

/// Column 0 to all of its row.
static RoutePlan planRowCast(const Frame &region) {
  RoutePlan plan;
  int64_t width = region.width;
  if (width == 1)
    return plan;
  auto add = [&](int64_t begin, int64_t end, RouteSetting setting) {
    addBand(plan, region, {begin, end, 1}, [&](int64_t) { return setting; });
  };
  add(0, 1, {RoutePort::Ramp, toEast | toRamp});
  add(1, width - 1, {RoutePort::West, toEast | toRamp});
  add(width - 1, width, {RoutePort::West, toRamp});
  return plan;
}

/// Links from y to y - 1 in every column.
static RoutePlan planColumnLink(const Frame &region, int64_t parity) {
  RoutePlan plan;
  addBand(plan, region, {0, region.width, 1}, [&](int64_t y) {
    if (y % 2 == parity)
      return y > 0 ? RouteSetting{RoutePort::Ramp, toNorth} : RouteSetting{};
    return y + 1 < region.height ? RouteSetting{RoutePort::South, toRamp}
                                 : RouteSetting{};
  });
  return plan;
}

/// First row of each group to the used rows of the group.
static RoutePlan planGroupCast(const Frame &region, const RouteRows &rows) {
  RoutePlan plan;
  if (rows.used == 1)
    return plan;
  addBand(plan, region, {0, region.width, 1}, [&](int64_t y) {
    if (!rows.contains(y))
      return RouteSetting{};
    int64_t inGroup = y % rows.pitch;
    uint8_t south = inGroup + 1 < rows.used ? toSouth : 0;
    return RouteSetting{inGroup == 0 ? RoutePort::Ramp : RoutePort::North,
                        uint8_t(south | toRamp)};
  });
  return plan;
}

/// Columns offset, offset + pitch, ... of the groups first, first + 2, ... <
/// end for each offset in [1, width): few ranges, along groups or along
/// offsets.
static std::vector<StridedRange> insideGroups(const RouteRows &groups,
                                              int64_t first, int64_t end,
                                              int64_t step, int64_t width) {
  std::vector<StridedRange> ranges;
  int64_t count = first < end ? (end - first - 1) / step + 1 : 0;
  int64_t last = (first + (count - 1) * step) * groups.pitch;
  if (count <= width - 1)
    for (int64_t g = first; g < end; g += step)
      ranges.push_back({g * groups.pitch + 1, g * groups.pitch + width, 1});
  else
    for (int64_t u = 1; u < width; ++u)
      ranges.push_back(
          {first * groups.pitch + u, last + u + 1, step * groups.pitch});
  return ranges;
}

/// First columns of groups to that of the group west: groups of parity `parity`
/// send, the others receive.
static RoutePlan planRootWest(const Frame &region, const RouteRows &groups,
                              int64_t parity) {
  RoutePlan plan;
  int64_t pitch = groups.pitch, first = parity ? 1 : 2;
  auto add = [&](StridedRange columns, RouteSetting setting) {
    addBand(plan, region, columns, [&](int64_t) { return setting; });
  };
  add({first * pitch, (groups.groups - 1) * pitch + 1, 2 * pitch},
      {RoutePort::Ramp, toWest});
  add({(first - 1) * pitch, (groups.groups - 2) * pitch + 1, 2 * pitch},
      {RoutePort::East, toRamp});
  for (StridedRange columns :
       insideGroups(groups, first - 1, groups.groups - 1, 2, pitch))
    add(columns, {RoutePort::East, toWest});
  return plan;
}

/// First column of each group to the used columns of the group.
static RoutePlan planHeadCast(const Frame &region, const RouteRows &groups) {
  RoutePlan plan;
  if (groups.used == 1)
    return plan;
  int64_t pitch = groups.pitch, last = (groups.groups - 1) * pitch;
  auto add = [&](StridedRange columns, RouteSetting setting) {
    addBand(plan, region, columns, [&](int64_t) { return setting; });
  };
  add({0, last + 1, pitch}, {RoutePort::Ramp, toEast | toRamp});
  for (StridedRange columns :
       insideGroups(groups, 0, groups.groups, 1, groups.used - 1))
    add(columns, {RoutePort::West, toEast | toRamp});
  add({groups.used - 1, last + groups.used, pitch}, {RoutePort::West, toRamp});
  return plan;
}

static const RouteChannel *eastChannelOf(const Frame &region, int64_t y) {
  for (const RouteChannel &channel : region.east)
    if (channel.begin <= y && y < channel.end)
      return &channel;
  return nullptr;
}

/// Links from y to y - 1 in the last column, down to the row of the channel.
static RoutePlan planOutNorth(const Frame &region, int64_t parity) {
  RoutePlan plan;
  addBand(plan, region, {region.width - 1, region.width, 1}, [&](int64_t y) {
    const RouteChannel *channel = eastChannelOf(region, y);
    if (!channel || y < channel->row)
      return RouteSetting{};
    if (y % 2 == parity)
      return y > channel->row ? RouteSetting{RoutePort::Ramp, toNorth}
                              : RouteSetting{};
    return y + 1 < channel->end ? RouteSetting{RoutePort::South, toRamp}
                                : RouteSetting{};
  });
  return plan;
}

/// East from the last column, past the PEs east of the region.
static RoutePlan planOutExit(const Frame &region) {
  RoutePlan plan;
  auto add = [&](int64_t begin, int64_t end, RoutePort receive) {
    addBand(plan, region, {begin, end, 1}, [&](int64_t y) {
      const RouteChannel *channel = eastChannelOf(region, y);
      return channel && channel->row == y ? RouteSetting{receive, toEast}
                                          : RouteSetting{};
    });
  };
  add(region.width - 1, region.width, RoutePort::Ramp);
  add(region.width, region.mesh.meshWidth - region.x, RoutePort::West);
  return plan;
}

/// From each of `rows` south to the next, past rows between them, and on to the
/// row of the column's exit. All columns are alike as far as the last of them.
static RoutePlan planOutColumn(const Frame &region, const RouteRows &rows,
                               int64_t parity) {
  RoutePlan plan;
  const int64_t last = rows.last();
  auto setting = [&](int64_t y, int64_t exit) {
    const bool here = rows.contains(y), ends = y == exit;
    const int64_t before = rows.before(y);
    if (here && !ends && before % 2 == parity)
      return RouteSetting{RoutePort::Ramp, toSouth};
    if (y > exit || before == 0 || (before - 1) % 2 != parity)
      return RouteSetting{};
    return RouteSetting{RoutePort::North, here || ends ? toRamp : toSouth};
  };
  addBand(plan, region, {0, region.width, 1}, [&](int64_t y) {
    return y < last ? setting(y, last + 1) : RouteSetting{};
  });
  for (const RouteChannel &band : bandsOf(region, rows))
    addBand(plan, region, {band.begin, band.end, 1}, [&](int64_t y) {
      return y < last ? RouteSetting{} : setting(y, band.row);
    });
  return plan;
}

/// East from the last column of each band, past the PEs east of it.
static RoutePlan planOutBand(const Frame &region, const RouteRows &rows) {
  RoutePlan plan;
  for (const RouteChannel &band : bandsOf(region, rows)) {
    auto add = [&](int64_t begin, int64_t end, RoutePort receive) {
      addBand(plan, region, {begin, end, 1}, [&](int64_t y) {
        return y == band.row ? RouteSetting{receive, toEast} : RouteSetting{};
      });
    };
    if (band.begin == band.end)
      continue;
    add(band.end - 1, band.end, RoutePort::Ramp);
    add(band.end, region.mesh.meshWidth - region.x, RoutePort::West);
  }
  return plan;
}

std::vector<RoutePlan> wsec::planStream(const RoutingProblem &problem,
                                        const StreamRequest &request) {
  const Frame region{problem.regions[request.region], problem};
  switch (request.pattern) {
  case RoutePattern::Channel:
    return {planChannel(region)};
  case RoutePattern::ChannelRow:
    return {planChannelRow(region)};
  case RoutePattern::Launch:
    return {planLaunch(problem)};
  case RoutePattern::Column:
  case RoutePattern::ColumnRest:
    return {planColumn(region, request.rows,
                       request.pattern == RoutePattern::ColumnRest)};
  case RoutePattern::RowWest:
    return {planRowLink(region, false, 0), planRowLink(region, false, 1)};
  case RoutePattern::RowEast:
    return {planRowLink(region, true, 0), planRowLink(region, true, 1)};
  case RoutePattern::RowCast:
    return {planRowCast(region)};
  case RoutePattern::KeyNorth:
  case RoutePattern::ValueNorth:
    return {planColumnLink(region, 0), planColumnLink(region, 1)};
  case RoutePattern::KeyCast:
  case RoutePattern::ValueCast:
    return {planGroupCast(region, request.rows)};
  case RoutePattern::OutNorth:
    return {planOutNorth(region, 0), planOutNorth(region, 1)};
  case RoutePattern::OutExit:
    return {planOutExit(region)};
  case RoutePattern::OutColumn:
    return {planOutColumn(region, request.rows, 0),
            planOutColumn(region, request.rows, 1)};
  case RoutePattern::OutBand:
    return {planOutBand(region, request.rows)};
  case RoutePattern::RootWest:
    return {planRootWest(region, request.rows, 0),
            planRootWest(region, request.rows, 1)};
  case RoutePattern::HeadCast:
    return {planHeadCast(region, request.rows)};
  case RoutePattern::Transfer:
    return {planTransfer(region, problem.regions[request.target])};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Rectangles
//===----------------------------------------------------------------------===//

std::vector<StridedRange>
wsec::compressToRanges(const std::vector<int64_t> &numbers) {
  std::vector<StridedRange> ranges;
  if (numbers.empty())
    return ranges;
  int64_t low = numbers.front(), high = numbers.back();
  std::vector<bool> open(high - low + 1, false);
  for (int64_t number : numbers)
    open[number - low] = true;
  for (int64_t begin = low; begin <= high; ++begin) {
    if (!open[begin - low])
      continue;
    // The longest run that starts here; among equals the smallest step.
    int64_t bestStep = 1, bestCount = 1;
    for (int64_t step = 1; begin + step * bestCount <= high; ++step) {
      int64_t count = 1;
      while (begin + step * count <= high && open[begin + step * count - low])
        ++count;
      if (count > bestCount) {
        bestCount = count;
        bestStep = step;
      }
    }
    for (int64_t i = 0; i < bestCount; ++i)
      open[begin + i * bestStep - low] = false;
    ranges.push_back({begin, begin + (bestCount - 1) * bestStep + 1, bestStep});
  }
  return ranges;
}

static bool overlap(const StridedRange &a, const StridedRange &b) {
  if (a.end <= b.begin || b.end <= a.begin)
    return false;
  for (int64_t x = a.begin; x < a.end; x += a.step)
    if (x >= b.begin && x < b.end && (x - b.begin) % b.step == 0)
      return true;
  return false;
}

bool wsec::overlap(const RoutePlan &a, const RoutePlan &b) {
  for (const RouteBand &bandA : a)
    for (const RouteBand &bandB : b) {
      if (!::overlap(bandA.columns, bandB.columns))
        continue;
      for (size_t y = 0; y < bandA.rows.size(); ++y)
        if (bandA.rows[y].transmit && bandB.rows[y].transmit)
          return true;
    }
  return false;
}

bool wsec::overlap(const RoutePlan &plan, const std::vector<RouteRect> &rects) {
  for (const RouteBand &band : plan)
    for (const RouteRect &rect : rects) {
      if (!::overlap(band.columns, {rect.x0, rect.x1, rect.xstep}))
        continue;
      for (int64_t y = rect.y0; y < rect.y1; y += rect.ystep)
        if (band.rows[size_t(y)].transmit)
          return true;
    }
  return false;
}

std::vector<RouteRule> wsec::makeRules(const RoutePlan &plan, int64_t color) {
  std::vector<RouteRule> rules;
  for (const RouteBand &band : plan) {
    // Settings in the order they appear, each with its rows.
    std::vector<std::pair<RouteSetting, std::vector<int64_t>>> settings;
    for (size_t y = 0; y < band.rows.size(); ++y) {
      const RouteSetting &setting = band.rows[y];
      if (!setting.transmit)
        continue;
      auto it =
          std::find_if(settings.begin(), settings.end(),
                       [&](auto &entry) { return entry.first == setting; });
      if (it == settings.end())
        it = settings.insert(settings.end(), {setting, {}});
      it->second.push_back(y);
    }
    for (auto &[setting, rows] : settings)
      for (const StridedRange &range : compressToRanges(rows))
        rules.push_back(
            {color,
             {band.columns.begin, band.columns.end, band.columns.step,
              range.begin, range.end, range.step},
             setting.receive,
             setting.transmit});
  }
  return rules;
}
