// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases of a routine, and which comes before which.
#ifndef RUNTIME_PROGRAM_PHASEGRAPH_H
#define RUNTIME_PROGRAM_PHASEGRAPH_H

#include "runtime/program/FabricLines.h"

#include <set>
#include <vector>

namespace wsec::runtime {

/// Checks a routine against the conditions D2 to D7 of README.md, "Freedom from
/// deadlock". Returns the rank of each op of a main thread, in program order;
/// throws NotUnderstood, with the cycle if there is one.
std::vector<uint16_t> rankPhases(const FabricRoutine &routine,
                                 const Handovers &handovers,
                                 const AxisScalars &scalars);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PHASEGRAPH_H
