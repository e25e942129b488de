// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACEMENT_MESHPLACEMENT_H
#define WSEC_COMPILER_PLACEMENT_MESHPLACEMENT_H

#include "compiler/machine/Machine.h"
#include "compiler/placement/PlacementProblem.h"

namespace wsec {

/// Without regions: the mesh of a machine with its channels and keep-outs.
PlacementProblem placementOn(const Machine &machine);

} // namespace wsec

#endif // WSEC_COMPILER_PLACEMENT_MESHPLACEMENT_H
