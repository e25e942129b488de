// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/PlacementProblem.h"

#include <map>
#include <set>

using namespace wsec;

static std::string size(int64_t columns, int64_t rows) {
  return std::to_string(columns) + "x" + std::to_string(rows);
}

static std::string text(const PlacedRegion &region) {
  return size(region.columns, region.rows) + " at (" +
         std::to_string(region.x) + "," + std::to_string(region.y) + ")";
}

static std::string quote(const std::string &name) { return "'" + name + "'"; }

std::string PlacementProblem::check() const {
  if (width < 1 || height < 1)
    return "the mesh has " + size(width, height) + " PEs";
  if (channels < 1 || channels > height)
    return std::to_string(channels) + " I/O channels per edge on a mesh of " +
           std::to_string(height) + " rows: expected 1 to one per row";
  for (const KernelFootprint &kernel : kernels)
    if (kernel.columns < 1 || kernel.rows < 1)
      return "kernel " + quote(kernel.name) + " asks for a region of " +
             size(kernel.columns, kernel.rows) + " PEs";
  return "";
}

/// P1 and P2.
static std::string checkRegions(const PlacementProblem &problem,
                                const Placement &placement) {
  if (placement.regions.size() != problem.kernels.size())
    return "expected " + std::to_string(problem.kernels.size()) +
           " regions, found " + std::to_string(placement.regions.size());
  for (size_t i = 0; i < problem.kernels.size(); ++i) {
    const KernelFootprint &kernel = problem.kernels[i];
    const PlacedRegion &region = placement.regions[i];
    if (region.columns != kernel.columns || region.rows != kernel.rows)
      return "kernel " + quote(kernel.name) + " needs " +
             size(kernel.columns, kernel.rows) + " PEs, its region is " +
             text(region);
    if (region.x < 0 || region.y < 0 ||
        region.x + region.columns > problem.width ||
        region.y + region.rows > problem.height)
      return "the region of kernel " + quote(kernel.name) + ", " +
             text(region) + ", leaves the mesh of " +
             size(problem.width, problem.height);
  }
  return "";
}

/// P3.
static std::string checkOrigins(const PlacementProblem &problem,
                                const Placement &placement) {
  std::map<int64_t, size_t> first;
  for (size_t i = 0; i < problem.kernels.size(); ++i) {
    size_t other = first.emplace(problem.kernels[i].group, i).first->second;
    const PlacedRegion &a = placement.regions[other];
    const PlacedRegion &b = placement.regions[i];
    if (a.x != b.x || a.y != b.y)
      return "kernels " + quote(problem.kernels[other].name) + " and " +
             quote(problem.kernels[i].name) +
             " share tensors but not their origin: " + text(a) + " and " +
             text(b);
  }
  return "";
}

/// P4.
static std::string checkDisjoint(const PlacementProblem &problem,
                                 const Placement &placement) {
  if (problem.timeShared)
    return "";
  for (size_t i = 0; i < problem.kernels.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const PlacedRegion &a = placement.regions[j];
      const PlacedRegion &b = placement.regions[i];
      bool apart = a.x + a.columns <= b.x || b.x + b.columns <= a.x ||
                   a.y + a.rows <= b.y || b.y + b.rows <= a.y;
      if (!apart && problem.kernels[i].group != problem.kernels[j].group)
        return "the regions of kernels " + quote(problem.kernels[j].name) +
               " and " + quote(problem.kernels[i].name) +
               " overlap: " + text(a) + " and " + text(b);
    }
  return "";
}

/// P5 for one edge whose channels share `extent` columns or rows.
static std::string checkChannels(const std::string &edge,
                                 const std::vector<PlacedChannel> &channels,
                                 int64_t height, int64_t extent) {
  std::set<int64_t> rows;
  int64_t next = 0;
  for (const PlacedChannel &channel : channels) {
    if (channel.row < 0 || channel.row >= height)
      return edge + " channel at row " + std::to_string(channel.row) +
             " of a mesh with " + std::to_string(height) + " rows";
    if (!rows.insert(channel.row).second)
      return "two " + edge + " channels at row " + std::to_string(channel.row);
    if (channel.begin != next || channel.end < channel.begin)
      return edge + " channel at row " + std::to_string(channel.row) +
             " serves [" + std::to_string(channel.begin) + "," +
             std::to_string(channel.end) + "), expected to begin at " +
             std::to_string(next);
    next = channel.end;
  }
  if (next != extent)
    return edge + " channels serve " + std::to_string(next) + " of " +
           std::to_string(extent);
  return "";
}

std::string PlacementProblem::verify(const Placement &placement) const {
  std::string error = checkRegions(*this, placement);
  if (error.empty())
    error = checkOrigins(*this, placement);
  if (error.empty())
    error = checkDisjoint(*this, placement);
  if (error.empty())
    error = checkChannels("west", placement.west, height, width);
  if (error.empty())
    error = checkChannels("east", placement.east, height, height);
  return error;
}
