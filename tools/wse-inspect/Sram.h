// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lies where in the SRAM of a PE, and from which launch to which.
#ifndef TOOLS_WSE_INSPECT_SRAM_H
#define TOOLS_WSE_INSPECT_SRAM_H

#include "tools/wse-inspect/Summary.h"

#include <string>
#include <utility>
#include <vector>

namespace wsec::inspect {

/// The map of every class, or of class `only` if that is not negative:
///   name, pes, rects, sram_bytes
///   runtime, code        [address, bytes]
///   buffers              by address: name, address, bytes, type, launches:
///                        those it holds something in, as [first, last] of
///                        each value, and kernels: who wrote each; none:
///                        nothing touches it
///   free                 [address, bytes] that no buffer ever covers
///   peak                 most bytes in use in a launch, and in which
/// Buffers whose lives do not meet may share addresses, and one buffer may
/// belong to one kernel after the other (runtime/program/facts/Holdings.h).
/// With `pe` (x, y), which is of the class: what that PE holds. Launches are
/// those of an entry.
Json sramMaps(const program::Program &program, int only = -1,
              const std::pair<int, int> *pe = nullptr, unsigned entry = 0);

/// Rows of a table, one a value: address, bytes, name, type, launches, kernel.
std::vector<std::vector<Json>> bufferRows(const Json &buffer);

/// The maps as tables and drawings: addresses to the right, launches downwards.
std::string showSram(const Json &maps);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_SRAM_H
