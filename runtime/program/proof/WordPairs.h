// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words that PEs send, one by one, against those that others receive: of lines
// side by side at once, where the words of all of them meet alike.
#ifndef RUNTIME_PROGRAM_PROOF_WORDPAIRS_H
#define RUNTIME_PROGRAM_PROOF_WORDPAIRS_H

#include "runtime/program/proof/Handovers.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace wsec::runtime {

/// How many words there are in each of the lines that are looked at.
using Counts = std::vector<int64_t>;

/// What one operand of an op moves in a PE of each line: not 0 in all of them.
struct Use {
  size_t op = 0;
  uint32_t words = 0; ///< number of its counts

  bool operator<(const Use &other) const {
    return std::tie(op, words) < std::tie(other.op, other.words);
  }
};

using Uses = std::vector<Use>;

/// Words in order that one op gives to another, in each line.
struct SharedPortion {
  size_t sender = 0;
  uint32_t left = 0;  ///< of the sender's words, these included
  uint32_t words = 0; ///< numbers of counts
  size_t receiver = 0;
};

/// How what PEs send meets what others receive.
struct Pairing {
  const Uses *sends = nullptr, *takes = nullptr;
  std::vector<SharedPortion> portions;
  bool fromMicrothreads = false; ///< some words
  bool relays = false;           ///< some of those to who sends nothing
  unsigned recorded = 0;         ///< ways, as bits, of the lines `look`ed at
  uint64_t look = 0;
};

/// The lists of what PEs send or receive of one color, each paired with each
/// other at most once.
class WordPairs {
public:
  static constexpr uint32_t none = ~0u; ///< no number

  WordPairs(const FabricRoutine &routine, ProofSteps &steps, Handovers &result)
      : routine(routine), steps(steps), result(result) {
    numberOf(Uses());
  }

  /// The lines that counts are of from now on, each with all those that it
  /// stands for.
  void look(std::vector<std::vector<int64_t>> alike);

  /// Equal counts have one number.
  uint32_t numberOf(Counts words);
  /// Equal lists have one number; that of the empty list is 0.
  uint32_t numberOf(Uses uses);
  const Uses &uses(uint32_t number) const { return *byNumber[number]; }

  /// Throws NotUnderstood where one list has more words than the other, in
  /// some line; and where in some lines the one has, in others the other.
  Pairing &between(uint32_t sends, uint32_t takes);
  /// Notes that words go so, in some PEs of the lines that are looked at.
  void record(Pairing &pairing, int64_t color, bool link,
              program::Port direction);
  /// Notes that PEs hear the same words.
  void agree(const Pairing &some, const Pairing &others);
  /// As it is in one of the lines.
  std::vector<Portion> portionsIn(const Pairing &pairing, size_t line) const;

private:
  Pairing pair(const Uses &sends, const Uses &takes);
  bool covers(uint32_t more, uint32_t fewer);
  uint32_t minus(uint32_t more, uint32_t fewer);
  const LinkLines &linesOf(uint32_t words);

  const FabricRoutine &routine;
  ProofSteps &steps;
  Handovers &result;
  std::vector<std::vector<int64_t>> alike;
  uint64_t looks = 0;
  std::vector<Counts> counts;                       ///< by number
  std::unordered_map<uint32_t, LinkLines> known;    ///< of the lines looked at
  std::unordered_multimap<size_t, uint32_t> hashed; ///< looked up only
  std::map<Uses, uint32_t> numbers;
  std::vector<const Uses *> byNumber;
  std::unordered_map<uint64_t, Pairing> pairings;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_WORDPAIRS_H
