// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where on a mesh rows of stages may lie. Plain C++: no MLIR.

#ifndef WSEC_COMPILER_SELECT_STAGEROWS_H
#define WSEC_COMPILER_SELECT_STAGEROWS_H

#include "compiler/placement/FreeColumns.h"

namespace wsec::select {

struct StageRow {
  int64_t begin = 0; ///< row of the mesh
  FreeColumns free;
};

/// The rows of stages, of so many rows of `mesh` each, that begin there.
std::vector<StageRow> stageRowsAt(const PlacementProblem &mesh,
                                  const std::vector<int64_t> &begins,
                                  int64_t rows);

/// `most` of so many rows each at most, which begin at channels, from north to
/// south: those with the most columns together that are free. None has a
/// keep-out where words enter or leave; with `isClear` none has one at all.
std::vector<StageRow> rowsOfStages(const PlacementProblem &mesh, int64_t rows,
                                   size_t most, bool isClear);

/// Channels that each of these has at least, those aside that have none.
size_t channelsOf(const PlacementProblem &mesh, int64_t rows,
                  const std::vector<StageRow> &stageRows);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_STAGEROWS_H
