// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases of a routine, and which comes before which.
#ifndef RUNTIME_PROGRAM_PROOF_PHASEGRAPH_H
#define RUNTIME_PROGRAM_PROOF_PHASEGRAPH_H

#include "runtime/program/proof/FabricLines.h"

#include <set>
#include <vector>

namespace wsec::runtime {

/// Checks a routine against the conditions D2 to D7 of README.md, "Freedom from
/// deadlock"; throws NotUnderstood, with the cycle if there is one.
/// Of several launches: so many launch wavelets may come up a ramp before the
/// PE takes the first of them (0: calls of the host launch them).
void orderPhases(const FabricRoutine &routine, const Handovers &handovers,
                 const AxisScalars &scalars, size_t launchRoom = 0);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_PHASEGRAPH_H
