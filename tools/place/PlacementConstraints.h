// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_TOOLS_PLACE_PLACEMENTCONSTRAINTS_H
#define WSEC_TOOLS_PLACE_PLACEMENTCONSTRAINTS_H

#include "compiler/placement/PlacementProblem.h"

namespace wsec {

/// Adds what a file asks for to a problem, one wish or rule a line, as a
/// wse.program says it:
///
///   pin k1 at (0, 0)             # the corner of kernel k1 with least x and y
///   keep_out shape(4x2) at (300, 10)
///   near k2 to k3 weight 5       # of their centres; without, a weight of 1
///   near k2 to (632, 0)
///   near k4 to east
///
/// A name is that of a region behind `kind`: k1 is `kernel k1`. Throws
/// std::runtime_error with file and line.
void readConstraints(const std::string &path, const std::string &kind,
                     PlacementProblem &problem);

} // namespace wsec

#endif // WSEC_TOOLS_PLACE_PLACEMENTCONSTRAINTS_H
