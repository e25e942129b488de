// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far an instruction of a PE has got with the words it takes and sends.
#ifndef RUNTIME_PROGRAM_PROOF_TOKENPROGRESS_H
#define RUNTIME_PROGRAM_PROOF_TOKENPROGRESS_H

#include "runtime/program/proof/TokenFabric.h"

namespace wsec::runtime::tokens {

/// An instruction on its way.
struct Progress {
  const FabricOp *op = nullptr;
  const FabricRoutine *code = nullptr;
  size_t in = none, out = none; ///< routes
  int64_t steps = 0, done = 0;
  int64_t perWord = 1; ///< steps for which a word received serves
  bool pairIn = false, pairOut = false;
  // Of a window.
  int64_t total = 0, offset = 0, used = 0, periods = 0, received = 0;

  bool outside() const {
    if (total == 0 || received >= total * periods)
      return false;
    int64_t place = received % total;
    return place < offset || place >= offset + used;
  }
  bool needsWord() const {
    return in != none && done % (pairIn ? 2 : perWord) == 0;
  }
  bool sendsWord() const {
    return out != none && (!pairOut || done % 2 == 1 || done + 1 == steps);
  }
  bool finished() const { return done == steps && !outside(); }

  /// Whether what it does next is to take a word and, perhaps, send one.
  bool waitsForWords() const {
    return (outside() || (!finished() && needsWord())) && !pairIn && !pairOut;
  }
  /// How many words it takes if it may send `most`.
  int64_t takes(int64_t most) const;
  /// Takes words that have come; how many it sends for them.
  int64_t takeAtOnce(int64_t words);
  /// Being asked how many words it takes.
  bool looking = false;

  /// As many steps as words and room allow; false: it has to wait.
  bool advance(Fabric &fabric, Agenda &agenda);
  /// Whether what it waits for is room, not a word.
  bool waitsToSend(const Fabric &fabric) const {
    return !outside() && !(needsWord() && !fabric.hasWord(in));
  }

private:
  /// How many of the first words of a window's stream are inside.
  int64_t inside(int64_t words) const;
  bool flow(Fabric &fabric);
  bool step(Fabric &fabric);
  void take(Fabric &fabric);
};

/// The op of a routine or task, as it begins in PEs of the place.
Progress begin(const FabricRoutine &code, const FabricOp &op,
               const Place &place, const AxisScalars &scalars,
               const Fabric &fabric);

} // namespace wsec::runtime::tokens

#endif // RUNTIME_PROGRAM_PROOF_TOKENPROGRESS_H
