// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_ROUTE_COLORINGROUTER_H
#define WSEC_COMPILER_ROUTE_COLORINGROUTER_H

#include "compiler/route/RoutingProblem.h"

namespace wsec {

/// What there is too little of where streams have no routes.
enum class RouteLack {
  Nothing,
  Colors,     ///< for streams that go straight
  PathColors, ///< a path in a color of its own, for what is searched
  Paths,      ///< one in any color, or steps to search for them
};

/// Routes every stream by its pattern and gives colors by graph colouring:
/// streams with a PE in common need different ones. The stream with the most
/// conflicts chooses first, the lowest free color. Returns empty and fills
/// `routing`, or why the streams do not fit the machine, and what they lack: a
/// line that says what cannot be routed, then lines why, and what to do.
std::string routeByColoring(const RoutingProblem &problem, Routing &routing,
                            RouteLack *lack = nullptr);

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_COLORINGROUTER_H
