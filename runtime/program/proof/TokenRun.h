// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides about deadlock in programs of any shape, by
// letting words without values flow. README.md, "Freedom from deadlock", says
// why one run tells about all.
#ifndef RUNTIME_PROGRAM_PROOF_TOKENRUN_H
#define RUNTIME_PROGRAM_PROOF_TOKENRUN_H

#include "runtime/program/proof/DeadlockChecker.h"
#include "runtime/program/proof/FabricUse.h"

namespace wsec::runtime {

/// Sets the verdict and, unless it is free, the reason. Throws NotUnderstood
/// where the order of words may depend on data or on time.
void decideByTokens(const program::Program &program, DeadlockProof &proof,
                    ProofSteps &steps, const TokenLimits &limits);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_TOKENRUN_H
