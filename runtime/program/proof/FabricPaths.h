// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who gives words to whom on a color whose routes turn: followed block by
// block.
#ifndef RUNTIME_PROGRAM_PROOF_FABRICPATHS_H
#define RUNTIME_PROGRAM_PROOF_FABRICPATHS_H

#include "runtime/program/proof/Handovers.h"
#include "runtime/program/proof/RouteTable.h"

namespace wsec::runtime {

/// Adds to `result` what one color does in the routine, and returns the ops
/// that may use it. Words that turn count as a multicast, to however many: for
/// those a proof needs no direction. Throws NotUnderstood where something does
/// not fit: words without a route, or more or fewer than are received.
std::set<size_t> followPaths(const FabricRoutine &routine,
                             const AxisScalars &scalars, ColorRules &rules,
                             int64_t color, Handovers &result);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_FABRICPATHS_H
