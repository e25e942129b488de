// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_COMPILER_SELECT_REORDERSTATES_H
#define WSEC_COMPILER_SELECT_REORDERSTATES_H

#include "dialects/wse/Wse.h"

namespace wsec::select {

/// Adds an entry, `reorder`, in which each sequence of all states goes on from
/// another (`--reorder-states`). Fails after an error where they have none to
/// choose from, or rows hold several.
llvm::LogicalResult addReorder(wse::ProgramOp program, wse::RegionOp region);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_REORDERSTATES_H
