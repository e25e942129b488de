// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/RoutingProblem.h"
#include "compiler/route/RouteProof.h"
#include "compiler/route/RouteRules.h"
#include "compiler/route/RouteTracer.h"

#include <algorithm>
#include <limits>

using namespace wsec;

const char *wsec::name(RoutePattern pattern) {
  static const char *const names[numRoutePatterns] = {
      "channel",   "launch",      "column",      "row_west",  "row_east",
      "row_cast",  "key_north",   "value_north", "key_cast",  "value_cast",
      "out_north", "out_exit",    "channel_row", "root_west", "head_cast",
      "transfer",  "column_rest", "out_column",  "out_band"};
  return names[unsigned(pattern)];
}

bool wsec::hasTwoColors(RoutePattern pattern) {
  switch (pattern) {
  case RoutePattern::RowWest:
  case RoutePattern::RowEast:
  case RoutePattern::KeyNorth:
  case RoutePattern::ValueNorth:
  case RoutePattern::OutNorth:
  case RoutePattern::OutColumn:
  case RoutePattern::RootWest:
    return true;
  default:
    return false;
  }
}

bool wsec::leavesRegions(RoutePattern pattern) {
  switch (pattern) {
  case RoutePattern::Channel:
  case RoutePattern::ChannelRow:
  case RoutePattern::Launch:
  case RoutePattern::OutExit:
  case RoutePattern::OutBand:
  case RoutePattern::Transfer:
    return true;
  default:
    return false;
  }
}

static bool groupsColumns(RoutePattern pattern) {
  return pattern == RoutePattern::RootWest || pattern == RoutePattern::HeadCast;
}

static bool takesRows(RoutePattern pattern) {
  return pattern == RoutePattern::Column ||
         pattern == RoutePattern::ColumnRest ||
         pattern == RoutePattern::KeyCast ||
         pattern == RoutePattern::ValueCast ||
         pattern == RoutePattern::OutColumn ||
         pattern == RoutePattern::OutBand || groupsColumns(pattern);
}

std::vector<RouteChannel> wsec::bandsOf(const RouteRegion &region,
                                        const RouteRows &rows) {
  std::vector<RouteChannel> bands;
  for (const RouteChannel &channel : region.east)
    if (channel.row >= rows.last())
      bands.push_back({channel.row, 0, 0});
  const int64_t count = int64_t(bands.size());
  for (int64_t i = 0; i < count; ++i) {
    bands[size_t(i)].begin = tileStart(region.width, count, i);
    bands[size_t(i)].end = tileStart(region.width, count, i + 1);
  }
  return bands;
}

std::vector<RouteChannel> wsec::exitsOf(const RouteRegion &region,
                                        const StreamRequest &stream) {
  std::vector<RouteChannel> exits;
  if (stream.pattern == RoutePattern::OutBand)
    exits = bandsOf(region, stream.rows);
  else if (stream.pattern == RoutePattern::OutExit)
    exits = region.east;
  auto isUnused = [](const RouteChannel &exit) {
    return exit.begin == exit.end;
  };
  exits.erase(std::remove_if(exits.begin(), exits.end(), isUnused),
              exits.end());
  return exits;
}

static std::string checkChannels(const char *edge,
                                 const std::vector<RouteChannel> &channels,
                                 int64_t height, int64_t extent) {
  int64_t next = 0, lastRow = -1;
  for (const RouteChannel &channel : channels) {
    if (channel.row <= lastRow || channel.row >= height)
      return std::string(edge) +
             " channels must lie on ascending rows of the "
             "region, found row " +
             std::to_string(channel.row);
    if (channel.begin != next || channel.end < channel.begin)
      return std::string(edge) + " channels must share " +
             std::to_string(extent) + " columns or rows without gap";
    lastRow = channel.row;
    next = channel.end;
  }
  return next == extent
             ? ""
             : std::string(edge) + " channels serve " + std::to_string(next) +
                   " of " + std::to_string(extent);
}

bool RoutingProblem::connects(const StreamRequest &stream) const {
  const RouteRegion &region = regions[stream.region];
  switch (stream.pattern) {
  case RoutePattern::Channel:
  case RoutePattern::ChannelRow:
  case RoutePattern::Launch:
  case RoutePattern::Column:
  case RoutePattern::OutExit:
  case RoutePattern::Transfer:
    return true;
  case RoutePattern::RowWest:
  case RoutePattern::RowEast:
  case RoutePattern::RowCast:
    return region.width > 1;
  case RoutePattern::KeyNorth:
  case RoutePattern::ValueNorth:
    return region.height > 1;
  case RoutePattern::KeyCast:
  case RoutePattern::ValueCast:
  case RoutePattern::HeadCast:
    return stream.rows.used > 1;
  case RoutePattern::RootWest:
    return stream.rows.groups > 1;
  case RoutePattern::ColumnRest:
    return stream.rows.groups * stream.rows.used > 1;
  case RoutePattern::OutColumn: {
    const std::vector<RouteChannel> bands = bandsOf(region, stream.rows);
    const int64_t last = stream.rows.last();
    return !bands.empty() &&
           (last > 0 || std::any_of(bands.begin(), bands.end(),
                                    [&](const RouteChannel &band) {
                                      return band.begin < band.end &&
                                             band.row > last;
                                    }));
  }
  case RoutePattern::OutBand:
    return !bandsOf(region, stream.rows).empty();
  case RoutePattern::OutNorth:
    return std::any_of(region.east.begin(), region.east.end(),
                       [](const RouteChannel &channel) {
                         return channel.row + 1 < channel.end;
                       });
  }
  return false;
}

static std::string checkRegion(const RoutingProblem &problem,
                               const RouteRegion &region) {
  if (region.width < 1 || region.height < 1)
    return "a region has no PEs";
  if (region.x < 0 || region.y < 0 ||
      region.x > problem.meshWidth - region.width ||
      region.y > problem.meshHeight - region.height)
    return "a region leaves the mesh";
  std::string error =
      checkChannels("west", region.west, region.height, region.width);
  if (error.empty())
    error = checkChannels("east", region.east, region.height, region.height);
  for (const RouteChannel &channel : region.east)
    if (error.empty() && channel.begin != channel.end &&
        (channel.row < channel.begin || channel.row >= channel.end))
      error = "the east channel at row " + std::to_string(channel.row) +
              " does not lie in the rows it carries";
  return error;
}

static bool overlap(const RouteRegion &a, const RouteRegion &b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
         b.y < a.y + a.height;
}

static std::string checkRegions(const RoutingProblem &problem) {
  if (problem.regions.empty())
    return "there is no region";
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    std::string error = checkRegion(problem, problem.regions[i]);
    if (!error.empty())
      return error;
    for (size_t j = 0; j < i; ++j)
      if (overlap(problem.regions[i], problem.regions[j]))
        return "two regions have PEs in common, the one at (" +
               std::to_string(problem.regions[j].x) + "," +
               std::to_string(problem.regions[j].y) + ") and the one at (" +
               std::to_string(problem.regions[i].x) + "," +
               std::to_string(problem.regions[i].y) + ")";
  }
  return "";
}

/// The PEs where words of the streams of a region enter or leave the mesh.
static std::string checkEdges(const RoutingProblem &problem,
                              const RouteRect &keepOut) {
  const std::string inside = ", which lies in " + describeKeepOut(keepOut) +
                             "; leave the edge free there";
  for (const StreamRequest &stream : problem.streams) {
    if (stream.region >= problem.regions.size())
      continue; // said elsewhere
    const RouteRegion &region = problem.regions[stream.region];
    const bool enters = stream.pattern == RoutePattern::Channel ||
                        stream.pattern == RoutePattern::ChannelRow;
    const std::string what = "stream '" + stream.name + "' ";
    if (stream.pattern == RoutePattern::Launch && keepOut.contains(0, 0))
      return what + "enters the mesh at " + describePE(0, 0) + inside;
    for (const RouteChannel &channel : region.west)
      if (enters &&
          (channel.begin < channel.end ||
           stream.pattern == RoutePattern::ChannelRow) &&
          keepOut.contains(0, region.y + channel.row))
        return what + "enters the mesh at " +
               describePE(0, region.y + channel.row) + inside;
    for (const RouteChannel &channel : exitsOf(region, stream))
      if (keepOut.contains(problem.meshWidth - 1, region.y + channel.row))
        return what + "leaves the mesh at " +
               describePE(problem.meshWidth - 1, region.y + channel.row) +
               inside;
  }
  return "";
}

static std::string checkKeepOuts(const RoutingProblem &problem) {
  for (const RouteRect &r : problem.keepOuts) {
    if (r.x0 < 0 || r.x0 >= r.x1 || r.x1 > problem.meshWidth || r.y0 < 0 ||
        r.y0 >= r.y1 || r.y1 > problem.meshHeight || r.xstep != 1 ||
        r.ystep != 1)
      return describeKeepOut(r) + " is no rectangle of the mesh";
    for (const RouteRegion &region : problem.regions)
      if (region.x < r.x1 && r.x0 < region.x + region.width &&
          region.y < r.y1 && r.y0 < region.y + region.height)
        return "the region at (" + std::to_string(region.x) + "," +
               std::to_string(region.y) + ") has PEs of " + describeKeepOut(r);
    if (std::string error = checkEdges(problem, r); !error.empty())
      return error;
  }
  return "";
}

static std::string checkTransfer(const RoutingProblem &problem,
                                 const StreamRequest &stream) {
  if (stream.target >= problem.regions.size() || stream.target == stream.region)
    return "stream '" + stream.name + "' goes to no other region";
  const int64_t from = problem.regions[stream.region].height;
  const int64_t to = problem.regions[stream.target].height;
  const RouteRows &rows = stream.rows;
  const std::string between = "stream '" + stream.name + "' goes from " +
                              std::to_string(from) + " rows to " +
                              std::to_string(to);
  if (rows.groups == 0)
    return from == to ? "" : between + "; which tokens, it does not say";
  if (from == to)
    return between + " and takes no rows";
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (rows.groups < 1 || rows.pitch < 1 || rows.used != rows.pitch ||
      rows.pitch > most / rows.groups)
    return between + ": " + std::to_string(rows.groups) +
           " batch elements of " + std::to_string(rows.pitch) +
           " tokens are no number of tokens";
  return "";
}

bool RoutingProblem::isSearched(const StreamRequest &stream) const {
  if (stream.pattern != RoutePattern::Transfer)
    return false;
  const RouteRegion &from = regions[stream.region];
  const RouteRegion &to = regions[stream.target];
  return from.y != to.y || from.height != to.height;
}

std::pair<TokenRows, TokenRows>
RoutingProblem::rowsOf(const StreamRequest &transfer) const {
  const int64_t from = regions[transfer.region].height;
  const int64_t to = regions[transfer.target].height;
  if (transfer.rows.groups == 0)
    return {{1, from, from}, {1, from, from}};
  return {{transfer.rows.groups, transfer.rows.pitch, from},
          {transfer.rows.groups, transfer.rows.pitch, to}};
}

int64_t RoutingProblem::leastColors(const StreamRequest &transfer) const {
  const auto [from, to] = rowsOf(transfer);
  return to.mostRowsOf(from);
}

std::string RoutingProblem::check() const {
  if (colors < 1 || colors > 32)
    return std::to_string(colors) + " usable colors, expected 1 to 32";
  std::string error = checkRegions(*this);
  if (error.empty())
    error = checkKeepOuts(*this);
  if (!error.empty())
    return error;
  for (const StreamRequest &stream : streams) {
    if (stream.region >= regions.size())
      return "stream '" + stream.name + "' is of no region";
    const RouteRegion &region = regions[stream.region];
    const RouteRows &rows = stream.rows;
    bool given = rows.groups != 0 || rows.pitch != 0 || rows.used != 0;
    const bool transfers = stream.pattern == RoutePattern::Transfer;
    if (!transfers && given != takesRows(stream.pattern))
      return "stream '" + stream.name + "' of pattern " + name(stream.pattern) +
             (given ? " takes no rows" : " needs rows");
    const bool across = groupsColumns(stream.pattern);
    const int64_t extent = across ? region.width : region.height;
    if (given && !transfers &&
        (rows.groups < 1 || rows.used < 1 || rows.pitch < rows.used ||
         rows.used > extent ||
         rows.groups - 1 > (extent - rows.used) / rows.pitch)) {
      const std::string lines = across ? " columns" : " rows";
      return "stream '" + stream.name + "': " + std::to_string(rows.groups) +
             " groups of " + std::to_string(rows.used) + lines +
             ", one every " + std::to_string(rows.pitch) + ", do not fit the " +
             std::to_string(extent) + lines + " of the region";
    }
    if (transfers) {
      error = checkTransfer(*this, stream);
      if (!error.empty())
        return error;
    }
    if (!connects(stream))
      return "stream '" + stream.name + "' of pattern " + name(stream.pattern) +
             " connects nothing on a region of " +
             std::to_string(region.width) + "x" + std::to_string(region.height);
  }
  return "";
}

std::string RoutingProblem::verify(const Routing &routing) const {
  std::vector<bool> proved;
  if (!proveStreams(*this, routing, proved))
    proved.clear(); // what they have in common is wrong, too
  return traceRouting(*this, routing, proved);
}
