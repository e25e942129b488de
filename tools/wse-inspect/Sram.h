// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lies where in the SRAM of a PE, and from which launch to which.
#ifndef TOOLS_WSE_INSPECT_SRAM_H
#define TOOLS_WSE_INSPECT_SRAM_H

#include "tools/wse-inspect/Summary.h"

#include <string>

namespace wsec::inspect {

/// The map of every class, or of class `only` if that is not negative:
///   name, pes, rects, sram_bytes
///   runtime, code        [address, bytes]
///   buffers              by address: name, address, bytes, type, onnx_node,
///                        launches: those it holds something in, as [first,
///                        last]; none: nothing touches it
///   free                 [address, bytes] that no buffer ever covers
///   peak                 most bytes in use in a launch, and in which
/// Buffers whose lives do not meet may share addresses. A life begins where a
/// launch, or a copy of the host, writes a buffer first, and ends with the last
/// launch that touches it before the next; statements are taken in the order
/// of the code. A buffer that a task touches lives all along: when tasks run is
/// known in a run only.
Json sramMaps(const program::Program &program, int only = -1);

/// "0..3, 7, 9..12": the launches of a buffer; long lists are cut.
std::string describeLaunches(const Json &spans);

/// The maps as tables and drawings: addresses to the right, launches downwards.
std::string showSram(const Json &maps);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_SRAM_H
