// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACEMENT_FREECOLUMNS_H
#define WSEC_COMPILER_PLACEMENT_FREECOLUMNS_H

#include "compiler/placement/PlacementProblem.h"

#include <utility>

namespace wsec {

/// The columns that are free in each of some rows of a mesh: regions that lie
/// there one behind the other step over what is not.
///
///   . . . . # . . .     [0, 4) and [5, 8); of regions of 3, 2 and 2 columns
///   a a a . . b b .     the second begins at column 5, the third has no place
///   a a a . . b b .
struct FreeColumns {
  std::vector<std::pair<int64_t, int64_t>> spans; ///< [begin, end), ascending

  /// The first column from `from` on at which so many begin that are free.
  std::optional<int64_t> firstFor(int64_t columns, int64_t from) const;
  int64_t count() const;
};

/// The columns that none of `taken` has in rows [row, row + rows).
FreeColumns freeColumns(int64_t width, int64_t row, int64_t rows,
                        const std::vector<PlacedRegion> &taken);

} // namespace wsec

#endif // WSEC_COMPILER_PLACEMENT_FREECOLUMNS_H
