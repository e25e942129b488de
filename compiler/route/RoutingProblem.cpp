// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/RoutingProblem.h"
#include "compiler/route/RouteProof.h"
#include "compiler/route/RouteTracer.h"

#include <algorithm>

using namespace wsec;

const char *wsec::name(RoutePattern pattern) {
  static const char *const names[numRoutePatterns] = {
      "channel",   "launch",    "column",      "row_west", "row_east",
      "row_cast",  "key_north", "value_north", "key_cast", "value_cast",
      "out_north", "out_exit",  "channel_row", "root_west", "head_cast"};
  return names[unsigned(pattern)];
}

bool wsec::hasTwoColors(RoutePattern pattern) {
  switch (pattern) {
  case RoutePattern::RowWest:
  case RoutePattern::RowEast:
  case RoutePattern::KeyNorth:
  case RoutePattern::ValueNorth:
  case RoutePattern::OutNorth:
  case RoutePattern::RootWest:
    return true;
  default:
    return false;
  }
}

static bool groupsColumns(RoutePattern pattern) {
  return pattern == RoutePattern::RootWest || pattern == RoutePattern::HeadCast;
}

static bool takesRows(RoutePattern pattern) {
  return pattern == RoutePattern::Column || pattern == RoutePattern::KeyCast ||
         pattern == RoutePattern::ValueCast || groupsColumns(pattern);
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
  switch (stream.pattern) {
  case RoutePattern::Channel:
  case RoutePattern::ChannelRow:
  case RoutePattern::Launch:
  case RoutePattern::Column:
  case RoutePattern::OutExit:
    return true;
  case RoutePattern::RowWest:
  case RoutePattern::RowEast:
  case RoutePattern::RowCast:
    return width > 1;
  case RoutePattern::KeyNorth:
  case RoutePattern::ValueNorth:
    return height > 1;
  case RoutePattern::KeyCast:
  case RoutePattern::ValueCast:
  case RoutePattern::HeadCast:
    return stream.rows.used > 1;
  case RoutePattern::RootWest:
    return stream.rows.groups > 1;
  case RoutePattern::OutNorth:
    return std::any_of(east.begin(), east.end(),
                       [](const RouteChannel &channel) {
                         return channel.row + 1 < channel.end;
                       });
  }
  return false;
}

std::string RoutingProblem::check() const {
  if (width < 1 || height < 1)
    return "the region has no PEs";
  if (x < 0 || y < 0 || x > columnsOfMesh() - width ||
      y > rowsOfMesh() - height)
    return "the region leaves the mesh";
  if (colors < 1 || colors > 32)
    return std::to_string(colors) + " usable colors, expected 1 to 32";
  std::string error = checkChannels("west", west, height, width);
  if (error.empty())
    error = checkChannels("east", east, height, height);
  if (!error.empty())
    return error;
  for (const RouteChannel &channel : east)
    if (channel.begin != channel.end &&
        (channel.row < channel.begin || channel.row >= channel.end))
      return "the east channel at row " + std::to_string(channel.row) +
             " does not lie in the rows it carries";
  for (const StreamRequest &stream : streams) {
    const RouteRows &rows = stream.rows;
    bool given = rows.groups != 0 || rows.pitch != 0 || rows.used != 0;
    if (given != takesRows(stream.pattern))
      return "stream '" + stream.name + "' of pattern " + name(stream.pattern) +
             (given ? " takes no rows" : " needs rows");
    const bool across = groupsColumns(stream.pattern);
    const int64_t extent = across ? width : height;
    if (given && (rows.groups < 1 || rows.used < 1 || rows.pitch < rows.used ||
                  rows.used > extent ||
                  rows.groups - 1 > (extent - rows.used) / rows.pitch)) {
      const std::string lines = across ? " columns" : " rows";
      return "stream '" + stream.name + "': " + std::to_string(rows.groups) +
             " groups of " + std::to_string(rows.used) + lines +
             ", one every " + std::to_string(rows.pitch) + ", do not fit the " +
             std::to_string(extent) + lines + " of the region";
    }
    if (!connects(stream))
      return "stream '" + stream.name + "' of pattern " + name(stream.pattern) +
             " connects nothing on a region of " + std::to_string(width) + "x" +
             std::to_string(height);
  }
  return "";
}

std::string RoutingProblem::verify(const Routing &routing) const {
  return proveRouting(*this, routing) ? "" : traceRouting(*this, routing);
}
