// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the operands of an instruction, in SRAM or not, to nests of the strip's
// memory: finds where sources lie, in which form results are written, and
// copies nothing that can stay where it is.
#ifndef RUNTIME_STRIPS_NESTRUNNER_H
#define RUNTIME_STRIPS_NESTRUNNER_H

#include "runtime/strips/Strip.h"

#include <optional>

namespace wsec::runtime {

/// An operand of a nest: elements in SRAM, or what lies elsewhere (no data:
/// there is none).
struct NestOperand {
  std::optional<SramElements> sram;
  StripMemory::Place place;
};

/// Whether a nest copies words as they are.
bool copiesWords(const Nest &nest);

/// Runs nests of a strip, or of `count` of its lanes from one on (-1: of all).
/// Their dimensions and types of whole words are given; operands and parts of
/// words are set here.
class NestRunner {
public:
  NestRunner(Strip &strip, int lane, int count = 1)
      : strip(strip), memory(strip.memory), first(lane),
        lane(count == 1 ? lane : -1), pitch(lane < 0 ? 0 : strip.lanes) {}

  struct Operands {
    NestOperand dst, a, b;
  };
  /// dst = op(a, b), where `dst` is in SRAM. Both are as good as gone then.
  void run(Nest &nest, Operands &operands) const;
  /// Finds the sources of a nest whose results lie elsewhere; whether they are
  /// the same for all lanes.
  bool locateSources(Nest &nest, Operands &operands) const;
  /// Runs what was located into `operands.dst.place`.
  void runLocated(Nest &nest, const Operands &operands) const;

private:
  bool splits(const Nest &nest, Operands &operands) const;
  bool splits(const Nest &nest, const Operands &operands,
              const SramElements &source) const;
  bool views(const Nest &nest, const Operands &operands) const;
  StripMemory::Place ofLane(StripMemory::Place place) const;
  StripMemory::Place locate(const SramElements &elements,
                            const Nest &nest) const;
  void copyOut(NestOperand &source, WordPart &part, const Nest &nest) const;

  Strip &strip;
  StripMemory &memory;
  const int first; ///< of the lanes; -1: all
  const int lane;  ///< if there is one; else -1
  const int pitch; ///< of the lanes at home; 0: as many as there are
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_NESTRUNNER_H
