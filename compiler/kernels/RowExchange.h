// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What several kernels do along a row of the mesh.

#ifndef COMPILER_KERNELS_ROWEXCHANGE_H
#define COMPILER_KERNELS_ROWEXCHANGE_H

#include "compiler/kernels/RoutineBuilder.h"

namespace wsec {

/// Multicasts `tile` along its row: every PE sends its block west and then
/// relays those of the columns east of it; column 0 puts all of them, in order
/// of columns, on row_cast. A block lists its features, for each all channels.
/// Every PE keeps what it hears: kept[..] = heard over `extents`.
void multicastRow(RoutineBuilder &builder, const Tile &tile,
                  llvm::ArrayRef<pe::Affine> extents, const pe::Operand &kept,
                  const pe::Operand &heard);

/// Combines `words` words at `buffer` over the PEs of a row with `opcode`: a
/// chain west, at whose end `finish` runs, and a multicast back to `result` of
/// every PE. Of a mesh with several columns.
void allReduceRow(RoutineBuilder &builder, pe::Opcode opcode,
                  llvm::StringRef buffer, llvm::StringRef result,
                  pe::Affine words, llvm::function_ref<void()> finish);

/// The streams these two need: none in a mesh of one column.
llvm::SmallVector<StreamNeed> rowStreams(const Machine &machine);

/// The streams on which words of the host reach the rows of `layout`.
llvm::SmallVector<StreamNeed> columnStreams(const Layout &layout,
                                            const Machine &machine);

} // namespace wsec

#endif // COMPILER_KERNELS_ROWEXCHANGE_H
