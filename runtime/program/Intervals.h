// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges of scalars and affine functions over many PEs at once: what holds for
// the interval holds for every PE, without visiting each.
#ifndef RUNTIME_PROGRAM_INTERVALS_H
#define RUNTIME_PROGRAM_INTERVALS_H

#include "runtime/program/Scalars.h"

#include <algorithm>
#include <map>
#include <optional>

namespace wsec::runtime {

/// Both ends included.
struct Interval {
  int64_t low = 0;
  int64_t high = 0;

  bool exact() const { return low == high; }
  bool inside(int64_t from, int64_t to) const {
    return from <= low && high <= to;
  }
};

/// What lies in either, and between them.
inline Interval unite(Interval a, Interval b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

/// Ranges of the locals that code has set, by number.
using LocalIntervals = std::map<uint16_t, Interval>;

/// Values beyond this are refused, so that sums and products of a few terms
/// cannot overflow.
inline constexpr int64_t largestScalar = int64_t(1) << 53;

/// The sum and the product, or nothing when they may exceed `largestScalar`.
std::optional<Interval> addIntervals(Interval a, Interval b);
std::optional<Interval> multiplyIntervals(Interval a, Interval b);

/// Interval of one node, given those of the earlier ones, for x and y in the
/// given ranges; nothing when it may exceed `largestScalar`. Divisors are taken
/// not to be zero, tilings to be of n >= 0 elements over p >= 1 parts.
std::optional<Interval> nodeInterval(const program::ScalarNode &node,
                                     const std::vector<Interval> &earlier,
                                     Interval x, Interval y);

/// Interval of an affine function; `loops` are those of the enclosing loop
/// variables. Nothing when it may exceed `largestScalar`.
std::optional<Interval> affineInterval(const program::Affine &affine,
                                       const std::vector<Interval> &scalars,
                                       const std::vector<Interval> &loops,
                                       const LocalIntervals &locals = {});

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_INTERVALS_H
