// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACE_READPLACEMENT_H
#define WSEC_COMPILER_PLACE_READPLACEMENT_H

#include "compiler/placement/PlacementProblem.h"
#include "dialects/wse/Wse.h"

namespace wsec {

/// The regions of a program in the order of the text.
llvm::SmallVector<wse::RegionOp> regionsOf(wse::ProgramOp program);

/// What the program asks for; positions that it already has are pins.
PlacementProblem readPlacementProblem(wse::ProgramOp program);

/// All regions where they are pinned.
Placement pinsOf(const PlacementProblem &problem);

/// Adds a note at each region or keep-out of `about`, as
/// PlacementProblem::verify counts them.
void noteWhere(mlir::InFlightDiagnostic &said, wse::ProgramOp program,
               llvm::ArrayRef<size_t> about);

} // namespace wsec

#endif // WSEC_COMPILER_PLACE_READPLACEMENT_H
