// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many bytes of weights a program keeps in the SRAM of its PEs, proved from
// its code: which buffers take words of a weight as they are, and which later
// launch still reads them there.
#ifndef RUNTIME_PROGRAM_FACTS_RESIDENCY_H
#define RUNTIME_PROGRAM_FACTS_RESIDENCY_H

#include "runtime/program/program_generated.h"

#include <cstdint>

namespace wsec::runtime {

/// Bytes of whole buffers, summed over all PEs, at the worst moment.
struct WeightResidency {
  /// Held from one launch to a later one that reads them.
  uint64_t residentBytes = 0;
  /// Held while a launch runs, these included.
  uint64_t bufferedBytes = 0;
};

/// Follows each launch's weight streams, entry after entry, as if each was
/// called once: from their color over every `mov` that
/// relays them to another color or copies them to memory. Where it cannot tell
/// a color it assumes all. What arithmetic makes of a weight is an activation;
/// so are the rows of a table that an input selects. A buffer stops to hold
/// weights where another value is written to it under no stronger condition,
/// even if to a part of it.
WeightResidency weightResidency(const program::Program &program);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_FACTS_RESIDENCY_H
