// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_ENGINE_RECTANGLES_H
#define RUNTIME_ENGINE_RECTANGLES_H

#include "runtime/engine/Router.h"

#include <string>
#include <vector>

namespace wsec::runtime {

/// "PE (1, 2)" or "PEs x 0..31, y 4..7; (40, 2)": the given PEs as few
/// rectangles, in order of their north-west corners.
std::string describeRectangles(std::vector<Coordinate> pes);

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_RECTANGLES_H
