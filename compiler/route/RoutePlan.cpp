// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/RoutePlan.h"
#include "compiler/route/PatternSemantics.h"
#include "runtime/program/facts/CommandRoom.h"

#include <algorithm>
#include <utility>

using namespace wsec;
using fabric::Members;
using fabric::Movement;

static constexpr uint8_t toSouth = portBit(Port::South);
static constexpr uint8_t toEast = portBit(Port::East);
static constexpr uint8_t toRamp = portBit(Port::Ramp);

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// Appends columns [begin, end) of the mesh with the settings row(y), y a row
/// of the mesh; nothing if empty.
template <typename Row>
static void addMeshBand(RoutePlan &plan, const RoutingProblem &mesh,
                        Progression columns, Row row) {
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
                 : RouteSetting{y == 0 ? Port::West : Port::North, transmit};
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
      return transmit
                 ? RouteSetting{isFirst && y > 0 ? Port::North : Port::West,
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
      runtime::commandPaths(targets) == runtime::CommandPaths::Rows;
  if (alongRows)
    cuts.push_back(1);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return alongRows ? planLaunchAlong(problem, cuts)
                   : planLaunchDown(problem, cuts);
}

//===----------------------------------------------------------------------===//
// Spans
//===----------------------------------------------------------------------===//

namespace {
/// Settings along the line of a source: of the PEs that lie [begin, end) behind
/// it. Those of an end hold the source or the last that hears it.
struct Stretch {
  int64_t begin, end;
  RouteSetting setting;
  bool isEnd;
};
} // namespace

/// Of the PE at `offset` behind a source, which words enter by `entry`.
static RouteSetting settingAt(const Span &span, Port entry, int64_t source,
                              int64_t offset) {
  const Port ahead = span.alongRows ? Port::East : Port::South;
  RouteSetting setting;
  setting.receive = offset == 0 ? entry : offset > 0 ? opposite(ahead) : ahead;
  if (span.hears(source, source + offset))
    setting.transmit |= portBit(Port::Ramp);
  if (offset >= 0 && offset < span.high)
    setting.transmit |= portBit(ahead);
  if (offset <= 0 && offset > span.low)
    setting.transmit |= portBit(opposite(ahead));
  return setting;
}

/// From the source on, where all hear words that pass.
static std::vector<Stretch> stretchesOf(const Span &span, Port entry) {
  const bool ahead = span.high > 0;
  const int64_t near = ahead ? span.low : -span.high;
  const int64_t far = ahead ? span.high - span.exits : -span.low;
  std::vector<Stretch> stretches;
  int64_t begin = 0;
  for (int64_t end : {int64_t(1), near, far, far + 1}) {
    if (end <= begin || end > far + 1)
      continue;
    const RouteSetting setting =
        settingAt(span, entry, span.sources.begin, ahead ? begin : -begin);
    const bool isEnd = begin == 0 || begin == far;
    if (!stretches.empty() && stretches.back().setting == setting)
      stretches.back().end = end;
    else
      stretches.push_back({begin, end, setting, isEnd});
    begin = end;
  }
  if (!ahead)
    for (Stretch &stretch : stretches)
      stretch = {1 - stretch.end, 1 - stretch.begin, stretch.setting,
                 stretch.isEnd};
  return stretches;
}

/// The columns of a stretch behind all sources, as few progressions.
static std::vector<Progression> columnsOf(const Stretch &stretch,
                                          const Progression &sources) {
  const int64_t count = sources.count(), length = stretch.end - stretch.begin;
  const int64_t last = sources.begin + (count - 1) * sources.step + 1;
  std::vector<Progression> columns;
  if (count <= length && !(stretch.isEnd && length == 1))
    for (int64_t x = sources.begin; x < last; x += sources.step)
      columns.push_back({x + stretch.begin, x + stretch.end, 1});
  else
    for (int64_t i = stretch.begin; i < stretch.end; ++i)
      columns.push_back({sources.begin + i,
                         (stretch.isEnd ? sources.end : last) + i,
                         sources.step});
  return columns;
}

/// Columns with the same settings for each stretch of a row.
static void planAlongRows(RoutePlan &plan, const RoutingProblem &problem,
                          const StreamRequest &request, const Span &span) {
  const RouteRegion &region = problem.regions[request.region];
  std::vector<bool> rows(size_t(problem.meshHeight), false);
  for (const Progression &lines : span.lines)
    for (int64_t y = lines.begin; y < lines.end; y += lines.step)
      rows[size_t(region.y + y)] = true;
  std::vector<Stretch> stretches = stretchesOf(span, entryOf(request));
  // Who sends and who receives, then who passes words on.
  if (request.pattern.movement == Movement::Link && stretches.size() == 3)
    std::swap(stretches[1], stretches[2]);
  for (const Stretch &stretch : stretches)
    for (Progression columns : columnsOf(stretch, span.sources)) {
      columns.begin += region.x;
      columns.end += region.x;
      addMeshBand(plan, problem, columns, [&](int64_t y) {
        return rows[size_t(y)] ? stretch.setting : RouteSetting{};
      });
    }
}

/// One band for all spans in the same columns.
static void planAlongColumns(RoutePlan &plan, const RoutingProblem &problem,
                             const StreamRequest &request, const Span &span) {
  const RouteRegion &region = problem.regions[request.region];
  Progression columns = span.lines.front();
  columns.begin += region.x;
  columns.end += region.x;
  auto band =
      std::find_if(plan.begin(), plan.end(), [&](const RouteBand &each) {
        return each.columns == columns;
      });
  if (band == plan.end())
    band = plan.insert(
        band, {columns, std::vector<RouteSetting>(size_t(problem.meshHeight))});
  const Progression &sources = span.sources;
  const int64_t first = std::min<int64_t>(span.low, 0);
  const int64_t last = std::max<int64_t>(span.high, 0);
  for (int64_t y = sources.begin; y < sources.end; y += sources.step)
    for (int64_t i = first; i <= last; ++i)
      if (RouteSetting setting = settingAt(span, entryOf(request), y, i);
          setting.transmit)
        band->rows[size_t(region.y + y + i)] = setting;
}

/// Columns are alike north of the last of `rows`; from there on those of each
/// exit are a band.
static void divideByExits(RoutePlan &plan, const RoutingProblem &problem,
                          const StreamRequest &request) {
  const RouteRegion &region = problem.regions[request.region];
  const size_t last = size_t(region.y + request.rows.last());
  RoutePlan divided;
  for (const RouteBand &band : plan)
    addMeshBand(divided, problem, band.columns, [&](int64_t y) {
      return size_t(y) < last ? band.rows[size_t(y)] : RouteSetting{};
    });
  for (const RouteChannel &exit : bandsOf(region, request.rows)) {
    const Progression columns{region.x + exit.begin, region.x + exit.end, 1};
    addMeshBand(divided, problem, columns, [&](int64_t y) {
      RouteSetting setting;
      for (const RouteBand &band : plan)
        if (size_t(y) >= last && band.columns.contains(columns.begin) &&
            band.rows[size_t(y)].transmit)
          setting = band.rows[size_t(y)];
      return setting;
    });
  }
  plan = std::move(divided);
}

std::vector<RoutePlan> wsec::planStream(const RoutingProblem &problem,
                                        const StreamRequest &request) {
  if (request.pattern.movement == Movement::Launch)
    return {planLaunch(problem)};
  const int64_t colors = request.pattern.colors();
  std::vector<RoutePlan> plans(static_cast<size_t>(colors));
  for (int64_t slot = 0; slot < colors; ++slot) {
    RoutePlan &plan = plans[size_t(slot)];
    for (const Span &span : spansOf(problem, request, slot, colors))
      span.alongRows ? planAlongRows(plan, problem, request, span)
                     : planAlongColumns(plan, problem, request, span);
    if (request.pattern.members == Members::Bands &&
        request.pattern.movement == Movement::Link)
      divideByExits(plan, problem, request);
  }
  return plans;
}

//===----------------------------------------------------------------------===//
// Rectangles
//===----------------------------------------------------------------------===//

std::vector<Progression>
wsec::compressToRanges(const std::vector<int64_t> &numbers) {
  std::vector<Progression> ranges;
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

static bool overlap(const Progression &a, const Progression &b) {
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

bool wsec::overlap(const RoutePlan &plan, const std::vector<Rect> &rects) {
  for (const RouteBand &band : plan)
    for (const Rect &rect : rects) {
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
      for (const Progression &range : compressToRanges(rows))
        rules.push_back(
            {color,
             {band.columns.begin, band.columns.end, band.columns.step,
              range.begin, range.end, range.step},
             setting.receive,
             setting.transmit});
  }
  return rules;
}
