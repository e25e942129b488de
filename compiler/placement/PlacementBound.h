// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What no placement falls below.

#ifndef WSEC_COMPILER_PLACEMENT_PLACEMENTBOUND_H
#define WSEC_COMPILER_PLACEMENT_PLACEMENTBOUND_H

#include "compiler/placement/PlacementProblem.h"

namespace wsec {

/// The least largest cost: with less, the smallest shapes together have more
/// PEs than are free. Infinite if none fits.
double throughputBound(const PlacementProblem &problem);

/// A bound below the score. Centres of neighbours lie as far apart as half of
/// their shortest sides together; within a largest cost T each region has a
/// shape that costs no more, and all shapes together the free PEs:
///
///   min over T of  throughput weight x T
///     + wire weight x min of (words of a region x half its shortest side),
///       added up, over shapes that cost T at most and fit in their sum
///
/// the inner one after Lagrange: a price for PEs is paid, and given back for
/// the free ones.
double scoreBound(const PlacementProblem &problem);

} // namespace wsec

#endif // WSEC_COMPILER_PLACEMENT_PLACEMENTBOUND_H
