// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_TOOLS_PLACE_SLIDE_H
#define WSEC_TOOLS_PLACE_SLIDE_H

#include "compiler/placement/PlacementProblem.h"

namespace wsec {

/// Slides regions of a legal placement, where they may begin at any row, along
/// columns and rows, each to where its wires are shortest and nothing is in the
/// way, until none gets shorter:
///
///   a . . b        a b . .        of an edge from @b to @a, where @b is not
///   a . . b   =>   a b . .        pinned
void slide(const PlacementProblem &problem, Placement &placement);

} // namespace wsec

#endif // WSEC_TOOLS_PLACE_SLIDE_H
