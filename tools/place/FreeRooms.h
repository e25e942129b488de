// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_TOOLS_PLACE_FREEROOMS_H
#define WSEC_TOOLS_PLACE_FREEROOMS_H

#include "compiler/placement/PlacementProblem.h"

namespace wsec {

/// Cuts what `taken` leaves of `area` into disjoint rectangles, large ones
/// first:
///
///   +-----+-+-------+      the largest that a cut from side to side frees, and
///   |     | | 3     |      so on with the rest
///   | 1   |2+---+   |
///   |     | |###| 4 |
///   |     | +---+---+
///   |     | | 5     |
///   +-----+-+-------+
///
/// The order is that of the mesh, from west to east.
std::vector<PlacedRegion> freeRooms(const PlacedRegion &area,
                                    const std::vector<PlacedRegion> &taken);

} // namespace wsec

#endif // WSEC_TOOLS_PLACE_FREEROOMS_H
