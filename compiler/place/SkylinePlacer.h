// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACE_SKYLINEPLACER_H
#define WSEC_COMPILER_PLACE_SKYLINEPLACER_H

#include "compiler/place/PlacementProblem.h"

namespace wsec {

/// Places the co-location groups, the largest first, each as far west (where
/// the weights enter) as the ones before it allow; among equals next to an I/O
/// channel, then north. Time-shared groups do not get in each other's way.
/// Returns empty and fills `placement`, or why the groups do not fit.
std::string placeBySkyline(const PlacementProblem &problem,
                           Placement &placement);

} // namespace wsec

#endif // WSEC_COMPILER_PLACE_SKYLINEPLACER_H
