// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_ROUTE_SEARCHEDROUTES_H
#define WSEC_COMPILER_ROUTE_SEARCHEDROUTES_H

#include "compiler/route/RoutingProblem.h"

namespace wsec {

/// Gives the streams of `problem` that are `searched` their colors and rules;
/// those of all others are in `routing`. What enters or leaves the mesh keeps
/// to one color. A transfer has one color if its rows
/// find ways that meet nowhere, else two, three, five, and so on, which the
/// rows take in turn. Empty, or which stream finds no way, why, and what would
/// help; `lacksColors`: whether it has tried all colors.
std::string routeSearched(const RoutingProblem &problem,
                          const std::vector<bool> &searched, Routing &routing,
                          bool &lacksColors);

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_SEARCHEDROUTES_H
