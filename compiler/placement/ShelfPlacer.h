// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACEMENT_SHELFPLACER_H
#define WSEC_COMPILER_PLACEMENT_SHELFPLACER_H

#include "compiler/placement/PlacementProblem.h"

namespace wsec {

/// A few regions on shelves, each as low as it can be, or in stacks, each as
/// narrow as it can be, in shapes that cost no more than `limit`:
///
///   a a a a b b       a a c
///   a a a a b b       b b c
///   c c c c c .       b b c
///
/// All ways to share them out over shelves are tried, or stacks. Returns the
/// placement that costs least and breaks no rule, if there is one whose
/// throughput is within the limit. What is pinned, or shares out channels, is
/// not looked at.
std::optional<Placement> placeOnShelves(const PlacementProblem &problem,
                                        double limit);

} // namespace wsec

#endif // WSEC_COMPILER_PLACEMENT_SHELFPLACER_H
