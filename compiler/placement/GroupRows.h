// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACEMENT_GROUPROWS_H
#define WSEC_COMPILER_PLACEMENT_GROUPROWS_H

#include "compiler/placement/PlacementProblem.h"

#include <map>

namespace wsec {

/// At which the regions of each group begin.
using GroupRows = std::map<size_t, int64_t>;

/// All choices of rows for the groups if these are few; else, and then
/// `isSome`, those where each begins as close to the one before as it can.
/// `small`: the shapes of each set that are tried.
std::vector<GroupRows>
rowsOfGroups(const PlacementProblem &problem,
             const std::vector<std::vector<size_t>> &small, bool &isSome);

} // namespace wsec

#endif // WSEC_COMPILER_PLACEMENT_GROUPROWS_H
