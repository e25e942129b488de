// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What several kernels do along a row of the mesh.

#ifndef COMPILER_KERNELS_ROWEXCHANGE_H
#define COMPILER_KERNELS_ROWEXCHANGE_H

#include "compiler/kernels/RoutineBuilder.h"

namespace wsec {

/// Starts the multicast of `tile` along its row: every PE sends its block west
/// and then relays those of the columns east of it; column 0 puts all of them,
/// in order of columns, on row_cast. A block lists its features, for each all
/// lanes.
void multicastRow(RoutineBuilder &builder, const Tile &tile);

/// Combines `words` words at `buffer` over the PEs of a row with `opcode`: a
/// chain west, at whose end `finish` runs, and a multicast back. Afterwards
/// every PE has the result at `buffer`.
void allReduceRow(
    RoutineBuilder &builder, pe::Opcode opcode, llvm::StringRef buffer,
    pe::Affine words, llvm::function_ref<void()> finish = [] {});

/// The streams these two need: none in a mesh of one column.
llvm::SmallVector<StreamNeed> rowStreams(const Machine &machine);

/// The streams on which words of the host reach the rows of `layout`.
llvm::SmallVector<StreamNeed> columnStreams(const Layout &layout,
                                            const Machine &machine);

} // namespace wsec

#endif // COMPILER_KERNELS_ROWEXCHANGE_H
