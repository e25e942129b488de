// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_ROUTE_PATHROUTER_H
#define WSEC_COMPILER_ROUTE_PATHROUTER_H

#include "compiler/route/PathProblem.h"

#include <optional>

namespace wsec {

/// Why no solution was found: the PE or the link that is too much in demand,
/// and the nets that compete for it.
struct PathFailure {
  std::string reason; ///< of one line or more
  size_t bundle = 0;  ///< that does not get through
  enum Kind {
    Settings, ///< of a PE, that several want
    Link,     ///< that would have to pass too many words
    Effort,   ///< the search has looked at PathProblem::mostSteps PEs
  } kind = Settings;
  bool lacksColors = false; ///< the bundle has tried all
};

/// Searches a tree for every net and a color for every bundle (McMurchie and
/// Ebeling, "PathFinder", 1995). Trees grow from their source by the cheapest
/// way to the nearest destination they lack. At first nets may cross and links
/// may carry too much; what is wanted by several becomes dearer round by round,
/// now and for what was fought over before, and the nets that want it are
/// routed anew, until those that can go elsewhere have done so. A bundle takes
/// the first color whose PEs its ends find free, and goes on to the next one
/// when negotiation does not get it through.
///
/// `problem` must pass its check. Equal problems have equal answers.
std::optional<PathFailure> routeByNegotiation(const PathProblem &problem,
                                              Paths &paths);

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_PATHROUTER_H
