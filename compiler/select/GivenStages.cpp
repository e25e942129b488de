// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/GivenStages.h"

#include <algorithm>

using namespace wsec;

std::string select::groupsProblem(const PlacementFile &given) {
  int64_t last = -1;
  for (const PlacementFile::Region &region : given.regions) {
    if (region.group != std::max<int64_t>(last, 0) && region.group != last + 1)
      return "stages fill one 'group' after the other, from 0 on; region @" +
             region.name + " is of group " + std::to_string(region.group) +
             ", and the next is " +
             (last < 0 ? "" : std::to_string(last) + " or ") +
             std::to_string(last + 1);
    last = region.group;
  }
  return "";
}

std::vector<int64_t> select::beginsOfGroups(const PlacementFile &given) {
  std::vector<int64_t> begins;
  for (const PlacementFile::Region &region : given.regions)
    if (region.group == int64_t(begins.size()))
      begins.push_back(region.pes.y);
  return begins;
}

std::string select::sharesProblem(const PlacementFile &given, size_t channels) {
  int64_t next = 0, group = 0;
  for (const PlacementFile::Region &region : given.regions) {
    if (region.group != group)
      next = 0;
    group = region.group;
    if ((region.shareCount > 0) != (given.regions.front().shareCount > 0))
      return "some regions have 'channels' and others have not";
    if (region.shareCount == 0)
      continue;
    if (region.shareBegin != next)
      return "'channels' of region @" + region.name + " are from " +
             std::to_string(region.shareBegin) + ", and those before end at " +
             std::to_string(next);
    next += region.shareCount;
    if (next > int64_t(channels))
      return "regions have " + std::to_string(next) +
             " 'channels' to themselves, and their rows have " +
             std::to_string(channels) +
             "; without any they are shared out anew";
  }
  return "";
}
