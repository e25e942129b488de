// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words that a PE sends, one by one, against those that another receives.
#ifndef RUNTIME_PROGRAM_WORDPAIRS_H
#define RUNTIME_PROGRAM_WORDPAIRS_H

#include "runtime/program/Handovers.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace wsec::runtime {

/// What one operand of an op moves in a PE.
struct Use {
  size_t op = 0;
  int64_t words = 0;

  bool operator<(const Use &other) const {
    return std::tie(op, words) < std::tie(other.op, other.words);
  }
};

using Uses = std::vector<Use>;

/// How what one PE sends meets what another receives.
struct Pairing {
  const Uses *sends = nullptr, *takes = nullptr;
  std::vector<Portion> portions;
  bool fromMicrothreads = false; ///< some words
  bool relays = false;           ///< some of those to who sends nothing
  unsigned recorded = 0;         ///< ways, as bits
};

/// The lists of what PEs send or receive of one color, each paired with each
/// other at most once.
class WordPairs {
public:
  WordPairs(const FabricRoutine &routine, int64_t color, ProofSteps &steps,
            Handovers &result)
      : routine(routine), color(color), steps(steps), result(result) {
    numberOf(Uses());
  }

  /// Equal lists have one number; that of the empty list is 0.
  uint32_t numberOf(Uses uses);
  const Uses &uses(uint32_t number) const { return *byNumber[number]; }

  /// Throws NotUnderstood where one list has more words than the other.
  Pairing &between(uint32_t sends, uint32_t takes);
  /// That words go so, in some PEs.
  void record(Pairing &pairing, bool link, program::Port direction);
  /// That PEs hear the same words.
  void agree(const Pairing &some, const Pairing &others);

private:
  Pairing pair(const Uses &sends, const Uses &takes);

  const FabricRoutine &routine;
  const int64_t color;
  ProofSteps &steps;
  Handovers &result;
  std::map<Uses, uint32_t> numbers;
  std::vector<const Uses *> byNumber;
  std::unordered_map<uint64_t, Pairing> pairings;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_WORDPAIRS_H
