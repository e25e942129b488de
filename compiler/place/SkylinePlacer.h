// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACE_SKYLINEPLACER_H
#define WSEC_COMPILER_PLACE_SKYLINEPLACER_H

#include "compiler/place/PlacementProblem.h"

namespace wsec {

/// Places the regions, those with a pin first, then the largest, each where it
/// costs least (PlacementProblem::cost) among the places that the ones before
/// it allow; among equals in the north. Returns empty and fills `placement`, or
/// why they do not fit.
std::string placeBySkyline(const PlacementProblem &problem,
                           Placement &placement);

} // namespace wsec

#endif // WSEC_COMPILER_PLACE_SKYLINEPLACER_H
