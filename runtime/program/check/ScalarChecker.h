// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_SCALARCHECKER_H
#define RUNTIME_PROGRAM_CHECK_SCALARCHECKER_H

#include "runtime/program/Intervals.h"
#include "runtime/program/check/CheckerWork.h"
#include "runtime/program/check/Where.h"

#include <vector>

namespace wsec::runtime {

/// Where scalars are evaluated.
struct ScalarPlaces {
  std::vector<program::Rect> rects;     ///< none: there are no coordinates
  std::vector<Interval> arguments = {}; ///< ranges
};

/// Proves that a scalar list (or null) is in SSA order, neither overflows nor
/// divides by zero anywhere, and gives the intervals of its nodes over all
/// places.
std::vector<Interval> checkScalars(const ScalarList *nodes,
                                   const ScalarPlaces &places,
                                   CheckerWork &work, const Where &where);

/// Number of operands of an operation.
int operandCount(program::ScalarOp op);

/// Proves that the terms refer to scalars, enclosing loops and locals that
/// exist, and gives the interval of the function. `loops` are those of the
/// enclosing loop variables, outermost first.
Interval checkAffine(const program::Affine *affine,
                     const std::vector<Interval> &scalars,
                     const std::vector<Interval> &loops, const Where &where,
                     const LocalIntervals &locals = {});

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_SCALARCHECKER_H
