// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The region of a program that is called again and again, and whose weights
// stay: large ones compute faster, small ones exchange along shorter rows.

#ifndef WSEC_COMPILER_SELECT_CALLREGION_H
#define WSEC_COMPILER_SELECT_CALLREGION_H

#include "compiler/select/RegionChooser.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace wsec::select {

/// The shape on which one call of each entry is predicted to take the fewest
/// cycles, among those whose SRAM holds weights, states and what kernels use.
/// States lie as their heads share the columns, so `select` selects for each
/// shape that is tried; what it returns is erased, null leaves the shape out.
/// Where nothing fits, the largest, which is the whole mesh unless keep-outs
/// lie on it: schedule says so. None: all shapes were left out.
std::optional<RegionChoice>
chooseCallRegion(mlir::MLIRContext *context, const Machine &mesh,
                 PlanningCache &cache, int64_t code,
                 llvm::function_ref<wse::ProgramOp(RegionShape)> select);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_CALLREGION_H
