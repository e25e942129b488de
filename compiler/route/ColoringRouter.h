// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_ROUTE_COLORINGROUTER_H
#define WSEC_COMPILER_ROUTE_COLORINGROUTER_H

#include "compiler/route/RoutingProblem.h"

namespace wsec {

/// Routes every stream by its pattern and gives colors by graph colouring:
/// streams with a PE in common need different ones. The stream with the most
/// conflicts chooses first, the lowest free color. Returns empty and fills
/// `routing`, or why the streams do not fit the machine.
std::string routeByColoring(const RoutingProblem &problem, Routing &routing);

/// Whether `error` of the above says that colors are what is missing, so that
/// fewer streams might do.
bool lacksColors(const std::string &error);

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_COLORINGROUTER_H
