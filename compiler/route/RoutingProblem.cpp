// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/RoutingProblem.h"
#include "compiler/route/PatternSemantics.h"
#include "compiler/route/RouteProof.h"
#include "compiler/route/RouteRules.h"
#include "compiler/route/RouteTracer.h"

#include <limits>

using namespace wsec;
using fabric::Members;
using fabric::Movement;

std::vector<RouteChannel> wsec::bandsOf(const RouteRegion &region,
                                        const RowSet &rows) {
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
  if (stream.pattern.movement == Movement::Out)
    exits = stream.pattern.members == Members::Bands
                ? bandsOf(region, stream.rows)
                : region.east;
  if (stream.pattern == StreamPattern::OutHalf)
    for (RouteChannel &exit : exits)
      exit.end = exit.begin + (exit.end - exit.begin) / 2;
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
  const StreamPattern &pattern = stream.pattern;
  if (pattern.members == Members::Others)
    return stream.rows.count() > 1;
  if (pattern.leavesRegions() && pattern.members != Members::Bands)
    return true;
  for (int64_t slot = 0; slot < pattern.colors(); ++slot)
    for (const Span &span : spansOf(*this, stream, slot, pattern.colors()))
      if (span.low != 0 || span.high != 0 || pattern.isFromInjectors())
        return true;
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
                              const Rect &keepOut) {
  const std::string inside = ", which lies in " + describeKeepOut(keepOut) +
                             "; leave the edge free there";
  for (const StreamRequest &stream : problem.streams) {
    if (stream.region >= problem.regions.size())
      continue; // said elsewhere
    const RouteRegion &region = problem.regions[stream.region];
    const bool enters = stream.pattern.movement == Movement::In;
    const std::string what = "stream '" + stream.name + "' ";
    if (stream.pattern.movement == Movement::Launch && keepOut.contains(0, 0))
      return what + "enters the mesh at " + describePE(0, 0) + inside;
    for (const RouteChannel &channel : region.west)
      if (enters &&
          (channel.begin < channel.end ||
           stream.pattern.members == Members::All) &&
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
  for (const Rect &r : problem.keepOuts) {
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
  const RowSet &rows = stream.rows;
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
  if (stream.pattern.movement != Movement::Transfer)
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
    const RowSet &rows = stream.rows;
    bool given = rows.groups != 0 || rows.pitch != 0 || rows.used != 0;
    const bool transfers = stream.pattern.movement == Movement::Transfer;
    if (!transfers && given != stream.pattern.takesRows())
      return "stream '" + stream.name + "' of pattern " + name(stream.pattern) +
             (given ? " takes no rows" : " needs rows");
    const bool across = stream.pattern.groupsColumns();
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
