// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACEMENT_PINNEDSHAPES_H
#define WSEC_COMPILER_PLACEMENT_PINNEDSHAPES_H

#include "compiler/placement/PlacementProblem.h"

namespace wsec {

/// Gives pinned regions shapes that cost `limit` at most, small ones first, in
/// which they lie in the mesh, on no keep-out and apart. Returns empty and
/// fills their places in `placement`, which has one for each region, or which
/// of them has none.
std::string choosePinnedShapes(const PlacementProblem &problem, double limit,
                               Placement &placement);

} // namespace wsec

#endif // WSEC_COMPILER_PLACEMENT_PINNEDSHAPES_H
