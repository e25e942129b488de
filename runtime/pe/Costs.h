// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What instructions, scalar code and links cost, in cycles.
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

/// How long an asynchronous instruction holds the code that issues it.
double issueCycles(const program::Machine &machine);

// Scalar code, beside what a statement itself costs. What is affine in
// constants and scalars of the class alone is known at load; a loop variable
// or a local is in a register.

/// An address, extent or color: part of a descriptor. Each loop variable and
/// local is added to it every time.
double addressCycles(const program::Machine &machine,
                     const AffineFunction &function);
/// All those of an instruction.
double addressCycles(const program::Machine &machine,
                     const InstructionCode &instruction);
/// A value that code computes with: a load for each scalar of the class, and
/// an operation for each loop variable or local but the first, and for each
/// that is scaled.
double valueCycles(const program::Machine &machine,
                   const AffineFunction &function);
/// A computation, with the values it is given.
double computeCycles(const program::Machine &machine,
                     const ComputeCode &compute);
/// A branch that goes on with the next statement, or is taken.
double branchCycles(const program::Machine &machine, bool falls);
/// A guard: its scalar is loaded, and branched on.
double guardCycles(const program::Machine &machine, bool runs);

/// From the instruction that sends to the instruction that receives: up the
/// ramp, `hops` links, down the ramp.
double linkLatency(const program::Machine &machine, int hops, bool fromHost);

} // namespace wsec::runtime

#endif // RUNTIME_PE_COSTS_H
