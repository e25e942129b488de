// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proofs about deadlock of programs with several entries, or with arguments.
#ifndef RUNTIME_PROGRAM_PROOF_CALLPROOFS_H
#define RUNTIME_PROGRAM_PROOF_CALLPROOFS_H

#include "runtime/program/proof/DeadlockChecker.h"

namespace wsec::runtime {

/// Values of an entry's arguments that are tried one by one.
inline constexpr uint64_t mostProvedCalls = 64;

/// Each entry by itself, since a call begins when the one before has ended.
/// First without knowing what its launches carry; where that matters, once for
/// each value of the arguments, as long as there are no more than
/// `mostProvedCalls`. A verdict holds for all entries.
DeadlockProof proveAllCalls(const program::Program &program);

/// One of them.
DeadlockProof proveCall(const Call &call, const TokenLimits &limits);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_CALLPROOFS_H
