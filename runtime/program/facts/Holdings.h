// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who owns the buffers of a PE, and in which launches. Equal kernels share
// code, and so buffers: the same buffer belongs to one layer after the other.
#ifndef RUNTIME_PROGRAM_FACTS_HOLDINGS_H
#define RUNTIME_PROGRAM_FACTS_HOLDINGS_H

#include "runtime/program/program_generated.h"

#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// One value of a buffer: launch `first` begins to write it, `last` is the last
/// that touches it before another value is written.
///
///   launch   0       1       2       3
///   buffer   fc1 writes      fc2 writes
///                    relu reads      store reads     {0, 1, fc1}, {2, 3, fc2}
struct Holding {
  int first = 0, last = 0;
  int kernel = unknown; ///< that writes it

  static constexpr int unknown = -1, host = -2;
};

/// The values of one buffer, in order.
using Holdings = std::vector<Holding>;

/// By buffer, what a class of PEs holds in a call of an entry. With `pe` (x, y)
/// only what that PE does counts: code whose guard is zero there, and loops and
/// instructions of no extent, touch nothing. Statements are taken in the order
/// of the code. A buffer that a task touches holds one value all along: when
/// tasks run is known in a run only. So does a persistent buffer before it is
/// first written, and it keeps its last value to the end.
std::vector<Holdings> bufferHoldings(const program::Entry &entry,
                                     const program::PEClass &peClass,
                                     const std::pair<int, int> *pe = nullptr);

/// Whether a call of an entry may leave in a persistent buffer what it did not
/// find there.
bool changesState(const program::Program &program, const program::Entry &entry);

/// The name of the kernel, "(host)", or nothing if it is not known.
std::string ownerOf(const program::Program &program, const Holding &holding);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_FACTS_HOLDINGS_H
