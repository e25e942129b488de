// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The skyline is the first free column of every row. A group of w x h PEs put
// at row y starts at the highest skyline of rows [y, y+h); what it shades to
// its west is lost. That wastes some PEs on odd shapes, but is deterministic,
// and exact for the one case of weight streaming: everything at the origin.

#include "compiler/place/SkylinePlacer.h"
#include "compiler/machine/Tiling.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <tuple>

using namespace wsec;

namespace {
struct Group {
  int64_t columns = 0, rows = 0;
  std::vector<size_t> kernels;
};
struct Spot {
  int64_t x, y;
};
} // namespace

/// The bounding box of every co-location group, in order of first kernel.
static std::vector<Group> collectGroups(const PlacementProblem &problem) {
  std::vector<Group> groups;
  std::map<int64_t, size_t> index;
  for (size_t i = 0; i < problem.kernels.size(); ++i) {
    const KernelFootprint &kernel = problem.kernels[i];
    auto [it, isNew] = index.emplace(kernel.group, groups.size());
    if (isNew)
      groups.emplace_back();
    Group &group = groups[it->second];
    group.columns = std::max(group.columns, kernel.columns);
    group.rows = std::max(group.rows, kernel.rows);
    group.kernels.push_back(i);
  }
  return groups;
}

static int64_t rowsToNearestChannel(const std::vector<PlacedChannel> &channels,
                                    int64_t y, int64_t rows) {
  int64_t nearest = INT64_MAX;
  for (const PlacedChannel &channel : channels) {
    int64_t distance =
        std::max<int64_t>({0, y - channel.row, channel.row - (y + rows - 1)});
    nearest = std::min(nearest, distance);
  }
  return nearest;
}

/// The best place for `group` above `skyline`; false if there is none.
static bool findSpot(const PlacementProblem &problem, const Group &group,
                     const std::vector<PlacedChannel> &channels,
                     const std::vector<int64_t> &skyline, Spot &best) {
  auto bestCost = std::make_tuple(INT64_MAX, INT64_MAX, INT64_MAX);
  for (int64_t y = 0; y + group.rows <= problem.height; ++y) {
    int64_t x = *std::max_element(skyline.begin() + y,
                                  skyline.begin() + y + group.rows);
    if (x + group.columns > problem.width)
      continue;
    auto cost =
        std::make_tuple(x, rowsToNearestChannel(channels, y, group.rows), y);
    if (cost < bestCost) {
      bestCost = cost;
      best = {x, y};
    }
  }
  return std::get<0>(bestCost) != INT64_MAX;
}

static std::string doesNotFit(const PlacementProblem &problem,
                              const Group &group,
                              const std::vector<int64_t> &skyline) {
  std::string need =
      std::to_string(group.columns) + "x" + std::to_string(group.rows) + " PEs";
  std::string mesh =
      std::to_string(problem.width) + "x" + std::to_string(problem.height);
  std::string error = "kernel '" + problem.kernels[group.kernels[0]].name +
                      "' and the " + std::to_string(group.kernels.size() - 1) +
                      " that share its tensors need " + need;
  if (group.columns > problem.width || group.rows > problem.height)
    return error + ", the mesh has " + mesh +
           "; compile for a larger mesh or fewer tokens";
  int64_t taken = std::accumulate(skyline.begin(), skyline.end(), int64_t(0));
  return error + ", of the mesh of " + mesh + " other kernels take or shade " +
         std::to_string(taken) +
         " PEs and no such rectangle is left; "
         "compile for a larger mesh";
}

/// Evenly spaced channels; which columns or rows each serves is a balanced
/// tiling.
static std::vector<PlacedChannel>
spreadChannels(const PlacementProblem &problem, int64_t extent) {
  std::vector<PlacedChannel> channels;
  for (int64_t l = 0; l < problem.channels; ++l)
    channels.push_back({tileStart(problem.height, problem.channels, l),
                        tileStart(extent, problem.channels, l),
                        tileStart(extent, problem.channels, l + 1)});
  return channels;
}

std::string wsec::placeBySkyline(const PlacementProblem &problem,
                                 Placement &placement) {
  placement.west = spreadChannels(problem, problem.width);
  placement.east = spreadChannels(problem, problem.height);
  placement.regions.assign(problem.kernels.size(), {});

  std::vector<Group> groups = collectGroups(problem);
  std::sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) {
    int64_t sizeA = a.columns * a.rows, sizeB = b.columns * b.rows;
    return sizeA != sizeB ? sizeA > sizeB : a.kernels[0] < b.kernels[0];
  });
  std::vector<int64_t> skyline(problem.height, 0);
  for (const Group &group : groups) {
    Spot spot;
    if (!findSpot(problem, group, placement.west, skyline, spot))
      return doesNotFit(problem, group, skyline);
    for (size_t i : group.kernels)
      placement.regions[i] = {spot.x, spot.y, problem.kernels[i].columns,
                              problem.kernels[i].rows};
    if (!problem.timeShared)
      std::fill_n(skyline.begin() + spot.y, group.rows, spot.x + group.columns);
  }
  return "";
}
