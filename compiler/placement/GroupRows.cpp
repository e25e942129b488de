// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/placement/GroupRows.h"

#include <algorithm>

using namespace wsec;

/// Choices of rows that are tried.
static constexpr size_t mostRowChoices = 256;

namespace {
/// What is known of the rows of a group before they are chosen.
struct Group {
  size_t number = 0;
  std::optional<int64_t> pin = std::nullopt;
  int64_t rows = 0; ///< of its tallest region at least
};
} // namespace

static std::vector<Group>
groupsOf(const PlacementProblem &problem,
         const std::vector<std::vector<size_t>> &small) {
  std::map<size_t, Group> groups;
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    if (!problem.regions[i].group)
      continue;
    Group &its = groups[*problem.regions[i].group];
    its.number = *problem.regions[i].group;
    if (problem.regions[i].pin)
      its.pin = problem.regions[i].pin->y;
    int64_t least = INT64_MAX;
    for (size_t shape : small[problem.regions[i].shapeSet])
      least = std::min(least, problem.shapesOf(i)[shape].rows);
    its.rows = std::max(its.rows, least);
  }
  std::vector<Group> all;
  for (const auto &[number, its] : groups)
    all.push_back(its);
  return all;
}

/// Where a group may begin, from a row on.
static std::vector<int64_t> rowsOf(const PlacementProblem &problem,
                                   const Group &group, int64_t from) {
  if (group.pin)
    return {*group.pin};
  std::vector<int64_t> rows;
  for (int64_t row : problem.channelRows)
    if (row >= from && row <= problem.height - group.rows)
      rows.push_back(row);
  return rows;
}

std::vector<GroupRows>
wsec::rowsOfGroups(const PlacementProblem &problem,
                   const std::vector<std::vector<size_t>> &small,
                   bool &isSome) {
  const std::vector<Group> all = groupsOf(problem, small);
  size_t count = 1;
  for (const Group &group : all)
    count =
        std::min(mostRowChoices + 1, count * rowsOf(problem, group, 0).size());
  isSome = count > mostRowChoices;
  std::vector<GroupRows> choices{{}};
  for (size_t g = 0; g < all.size(); ++g) {
    std::vector<GroupRows> longer;
    for (const GroupRows &before : choices) {
      auto isClear = [&](int64_t row) {
        return std::none_of(all.begin(), all.begin() + g, [&](auto &other) {
          const int64_t begin = before.at(other.number);
          return row < begin + other.rows && begin < row + all[g].rows;
        });
      };
      const bool isNext = isSome && g > 0;
      for (int64_t row :
           rowsOf(problem, all[g],
                  isNext ? before.at(all[g - 1].number) : int64_t(0))) {
        if (!isClear(row))
          continue;
        longer.push_back(before);
        longer.back()[all[g].number] = row;
        if (isNext)
          break;
      }
    }
    choices = std::move(longer);
  }
  if (!choices.empty())
    return choices;
  // Nowhere do they fit; which one does not is said where it is placed.
  GroupRows first;
  for (const Group &group : all)
    first[group.number] = group.pin.value_or(problem.channelRows.front());
  return {first};
}
