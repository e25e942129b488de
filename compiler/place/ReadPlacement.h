// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACE_READPLACEMENT_H
#define WSEC_COMPILER_PLACE_READPLACEMENT_H

#include "compiler/place/PlacementProblem.h"
#include "dialects/wse/Wse.h"

namespace wsec {

/// The kernels of a program in the order of the text.
llvm::SmallVector<wse::KernelOp> kernelsOf(wse::ProgramOp program);

/// What the program asks for: the rows each kernel's tensors live in, and who
/// shares tensors with whom.
PlacementProblem readPlacementProblem(wse::ProgramOp program);

} // namespace wsec

#endif // WSEC_COMPILER_PLACE_READPLACEMENT_H
