// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What instructions and links cost in streams and strips, in cycles.
#ifndef RUNTIME_PE_COSTS_H
#define RUNTIME_PE_COSTS_H

#include "runtime/pe/Code.h"

namespace wsec::runtime {

/// Cost of one vector instruction: `setup` once, then `perStep` for each step.
/// A step is one index of the extents that the fabric operands advance over
/// (all other extents run inside it), or the whole instruction if there are
/// none. A word that is received or sent takes a cycle. `compute` is perStep
/// without the overhead between the vector calls of a nest.
struct InstructionCost {
  double setup = 0;
  double perStep = 0;
  double compute = 0;
};

InstructionCost instructionCost(const program::Machine &machine,
                                const InstructionCode &instruction,
                                const int64_t *extents, int stepDepth);

/// From the instruction that sends to the instruction that receives: up the
/// ramp, `hops` links, down the ramp.
double linkLatency(const program::Machine &machine, int hops, bool fromHost);

} // namespace wsec::runtime

#endif // RUNTIME_PE_COSTS_H
