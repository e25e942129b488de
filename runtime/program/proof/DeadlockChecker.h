// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether parts of the wafer may wait for one another for ever, told from the
// program alone and without visiting each PE. The theorem, what is checked for
// it, and what is not part of the claim: README.md, "Freedom from deadlock".
#ifndef RUNTIME_PROGRAM_PROOF_DEADLOCKCHECKER_H
#define RUNTIME_PROGRAM_PROOF_DEADLOCKCHECKER_H

#include "runtime/program/Call.h"

#include <cstdint>
#include <string>

namespace wsec::runtime {

/// What program::Proof says, and the work it took.
struct DeadlockProof {
  program::Verdict verdict = program::Verdict::Undecided;
  std::string reason; ///< unless it is free
  int64_t steps = 0;  ///< for tests of its growth
};

/// How far words are followed: what is worth the time of who compiles or loads.
struct TokenLimits {
  int64_t routes = 1 << 20; ///< and kinds of PEs
  /// Moves of words, those that move together as one: experts' products of 64
  /// tokens on 32x32 PEs take 75 million.
  int64_t moves = 1 << 27;
};

/// The program must have passed the checker. By its phases, else word by word;
/// how it is launched decides nothing.
DeadlockProof proveDeadlockFree(const program::Program &program);

/// Proves it of a program with one entry, which has no arguments. What launches
/// carry is not known.
DeadlockProof proveOneCall(const program::Program &program,
                           const TokenLimits &limits = {});

/// One call of a program, whose arguments are known, word by word for at most
/// `moves`: Undecided after these, where the order of words may depend on data
/// or time or on the length of queues, and where more routes are in use than
/// memory should hold.
DeadlockProof decideCall(const Call &call, int64_t moves);

/// By its phases alone: Free, or Undecided.
DeadlockProof provePhases(const program::Program &program);

/// Throws BadProgram where the program's proof claims what does not hold.
/// Programs without a proof, or with an undecided one, pass.
void checkProof(const program::Program &program);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_DEADLOCKCHECKER_H
