// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACEMENT_GROUPROWS_H
#define WSEC_COMPILER_PLACEMENT_GROUPROWS_H

#include "compiler/placement/PlacementProblem.h"

#include <map>

namespace wsec {

/// At which the regions of each group begin.
using GroupRows = std::map<size_t, int64_t>;

/// All choices of rows for the groups that have room for their regions beside
/// keep-outs, if there are few; else, and then `isSome`, the one that loses the
/// fewest channels of those in which each group lies south of the one before,
/// its regions one behind the other. `small`: the shapes of each set that are
/// tried.
std::vector<GroupRows>
rowsOfGroups(const PlacementProblem &problem,
             const std::vector<std::vector<size_t>> &small, bool &isSome);

/// Puts the regions of `placement` that have no place yet into the rows of
/// their groups, one behind the other as they are listed, past keep-outs and
/// what has a place. False: one has no group, or no room.
bool placeInRows(const PlacementProblem &problem, const GroupRows &rows,
                 const std::vector<std::vector<size_t>> &small,
                 const std::vector<bool> &isPlaced, Placement &placement);

} // namespace wsec

#endif // WSEC_COMPILER_PLACEMENT_GROUPROWS_H
