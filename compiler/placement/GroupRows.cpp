// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/placement/GroupRows.h"
#include "compiler/placement/FreeColumns.h"

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
  /// Of its regions without a pin, as they are listed: the columns at least.
  std::vector<int64_t> widths = {};

  bool meets(int64_t row, const Group &other, int64_t otherRow) const {
    return row < otherRow + other.rows && otherRow < row + rows;
  }
};

/// Where groups lie south of one another.
class Chain {
public:
  Chain(const PlacementProblem &problem, const std::vector<Group> &groups)
      : problem(problem) {
    for (const Group &group : groups)
      (group.pin ? pinned : free).push_back(group);
  }

  GroupRows run() const;

private:
  /// Channels that regions do not have, and rows from the north.
  using Cost = std::pair<int64_t, int64_t>;
  static constexpr Cost never{INT64_MAX, 0};

  Cost costOf(const Group &group, int64_t row) const;

  const PlacementProblem &problem;
  std::vector<Group> free, pinned;
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
    int64_t rows = INT64_MAX, columns = INT64_MAX;
    for (size_t shape : small[problem.regions[i].shapeSet]) {
      rows = std::min(rows, problem.shapesOf(i)[shape].rows);
      columns = std::min(columns, problem.shapesOf(i)[shape].columns);
    }
    its.rows = std::max(its.rows, rows);
    if (problem.regions[i].pin)
      its.pin = problem.regions[i].pin->y;
    else
      its.widths.push_back(columns);
  }
  std::vector<Group> all;
  for (const auto &[number, its] : groups)
    all.push_back(its);
  return all;
}

/// Whether its regions lie there one behind the other.
static bool lieThere(const FreeColumns &free, const Group &group) {
  int64_t next = 0;
  for (int64_t columns : group.widths) {
    const std::optional<int64_t> at = free.firstFor(columns, next);
    if (!at)
      return false;
    next = *at + columns;
  }
  return true;
}

/// Where a group may begin: elsewhere keep-outs leave too few columns, or too
/// narrow ones. Regions have the rows of the lowest at least.
static std::vector<int64_t> rowsOf(const PlacementProblem &problem,
                                   const Group &group, int64_t lowest) {
  if (group.pin)
    return {*group.pin};
  int64_t sum = 0, widest = 0;
  for (int64_t columns : group.widths) {
    sum += columns;
    widest = std::max(widest, columns);
  }
  std::vector<int64_t> rows;
  for (int64_t row : problem.channelRows)
    if (row <= problem.height - group.rows) {
      const FreeColumns free =
          freeColumns(problem.width, row, lowest, problem.keepOuts);
      if (free.count() >= sum && free.firstFor(widest, 0))
        rows.push_back(row);
    }
  return rows;
}

Chain::Cost Chain::costOf(const Group &group, int64_t row) const {
  const bool isMet =
      std::any_of(pinned.begin(), pinned.end(), [&](const Group &other) {
        return group.meets(row, other, *other.pin);
      });
  if (isMet || row > problem.height - group.rows ||
      !lieThere(freeColumns(problem.width, row, group.rows, problem.keepOuts),
                group))
    return never;
  return {problem.lostChannels({0, row, 1, group.rows}) *
              int64_t(group.widths.size()),
          row};
}

GroupRows Chain::run() const {
  const std::vector<int64_t> &rows = problem.channelRows;
  // Of the groups from one on, where the first begins at that channel or south
  // of it: the least cost, and the channel at which it begins.
  struct Best {
    Cost cost = never;
    size_t at = 0;
  };
  std::vector<std::vector<Best>> best(free.size() + 1,
                                      std::vector<Best>(rows.size() + 1));
  best.back().assign(rows.size() + 1, {Cost(), 0});
  auto endOf = [&](size_t g, size_t channel) {
    return size_t(std::lower_bound(rows.begin() + int64_t(channel), rows.end(),
                                   rows[channel] + free[g].rows) -
                  rows.begin());
  };
  for (size_t g = free.size(); g-- > 0;)
    for (size_t channel = rows.size(); channel-- > 0;) {
      Best &its = best[g][channel] = best[g][channel + 1];
      const Cost own = costOf(free[g], rows[channel]);
      const Cost after = best[g + 1][endOf(g, channel)].cost;
      if (own == never || after == never)
        continue;
      const Cost cost{own.first + after.first, own.second + after.second};
      if (cost <= its.cost)
        its = {cost, channel};
    }
  GroupRows chosen;
  if (best[0][0].cost == never)
    return chosen;
  for (const Group &group : pinned)
    chosen[group.number] = *group.pin;
  for (size_t g = 0, channel = 0; g < free.size(); ++g) {
    const size_t at = best[g][channel].at;
    chosen[free[g].number] = rows[at];
    channel = endOf(g, at);
  }
  return chosen;
}

/// All in which groups have rows of their own.
static std::vector<GroupRows>
allChoices(const std::vector<Group> &groups,
           const std::vector<std::vector<int64_t>> &rows) {
  std::vector<GroupRows> choices{{}};
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<GroupRows> longer;
    for (const GroupRows &before : choices)
      for (int64_t row : rows[g]) {
        if (std::any_of(groups.begin(), groups.begin() + int64_t(g),
                        [&](const Group &other) {
                          return groups[g].meets(row, other,
                                                 before.at(other.number));
                        }))
          continue;
        longer.push_back(before);
        longer.back()[groups[g].number] = row;
      }
    choices = std::move(longer);
  }
  return choices;
}

std::vector<GroupRows>
wsec::rowsOfGroups(const PlacementProblem &problem,
                   const std::vector<std::vector<size_t>> &small,
                   bool &isSome) {
  const std::vector<Group> groups = groupsOf(problem, small);
  int64_t lowest = problem.height;
  for (size_t i = 0; i < problem.regions.size(); ++i)
    for (size_t shape : small[problem.regions[i].shapeSet])
      lowest = std::min(lowest, problem.shapesOf(i)[shape].rows);
  std::vector<std::vector<int64_t>> rows;
  size_t count = 1;
  for (const Group &group : groups) {
    rows.push_back(rowsOf(problem, group, lowest));
    count = std::min(mostRowChoices + 1, count * rows.back().size());
  }
  isSome = count > mostRowChoices;
  std::vector<GroupRows> choices;
  if (!isSome)
    choices = allChoices(groups, rows);
  else if (GroupRows chosen = Chain(problem, groups).run(); !chosen.empty())
    choices.push_back(std::move(chosen));
  if (!choices.empty())
    return choices;
  // Nowhere do they fit; which one does not is said where it is placed.
  GroupRows first;
  for (const Group &group : groups)
    first[group.number] = group.pin.value_or(problem.channelRows.front());
  return {first};
}

bool wsec::placeInRows(const PlacementProblem &problem, const GroupRows &rows,
                       const std::vector<std::vector<size_t>> &small,
                       const std::vector<bool> &isPlaced,
                       Placement &placement) {
  std::vector<PlacedRegion> taken = problem.keepOuts;
  for (size_t i = 0; i < problem.regions.size(); ++i)
    if (isPlaced[i])
      taken.push_back(problem.cellsOf(placement, i));
  std::map<size_t, int64_t> next; // column, by group
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    if (isPlaced[i])
      continue;
    if (!problem.regions[i].group)
      return false;
    const int64_t row = rows.at(*problem.regions[i].group);
    const size_t shape = small[problem.regions[i].shapeSet].front();
    const CandidateShape &its = problem.shapesOf(i)[shape];
    int64_t &from = next[*problem.regions[i].group];
    const std::optional<int64_t> at =
        row > problem.height - its.rows
            ? std::nullopt
            : freeColumns(problem.width, row, its.rows, taken)
                  .firstFor(its.columns, from);
    if (!at)
      return false;
    placement.regions[i] = {shape, {*at, row}};
    from = *at + its.columns;
  }
  return problem.verify(placement).empty();
}
