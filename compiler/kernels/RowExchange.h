// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What several kernels do along a row of the mesh.

#ifndef COMPILER_KERNELS_ROWEXCHANGE_H
#define COMPILER_KERNELS_ROWEXCHANGE_H

#include "compiler/kernels/RoutineBuilder.h"

namespace wsec {

/// The columns of a region in groups of `pitch`, the last perhaps smaller. The
/// first column of each is its root, which multicasts on `cast`.
///
///   pitch = 3, 8 columns:   0 1 2 | 3 4 5 | 6 7
struct ColumnGroups {
  int64_t pitch = 1;
  StreamPattern cast;

  /// All columns are one group.
  static ColumnGroups wholeRow(const Machine &machine);
  /// One group for each head of a tensor with heads over several columns.
  static ColumnGroups ofHeads(const FeatureTiling &features);
};

/// Words of one PE that a group gathers.
struct GroupBlock {
  llvm::SmallVector<pe::Affine, 2> extents; ///< of the own words
  pe::Operand own;
  pe::Affine wordsEast; ///< of the columns of the group east of this one
  mlir::Value anyEast;  ///< not zero where there are some
};

/// Multicasts the blocks of each group to it: every PE sends its own west and
/// then relays those of the columns east of it; the root puts all of them, in
/// order of columns, on the cast. Every PE keeps what it hears:
/// kept[..] = heard over `extents`.
void multicastBlocks(RoutineBuilder &builder, const ColumnGroups &groups,
                     const GroupBlock &block,
                     llvm::ArrayRef<pe::Affine> extents,
                     const pe::Operand &kept, const pe::Operand &heard);

/// Multicasts `tile` along its row. A block lists its features, for each all
/// channels.
void multicastRow(RoutineBuilder &builder, const Tile &tile,
                  llvm::ArrayRef<pe::Affine> extents, const pe::Operand &kept,
                  const pe::Operand &heard);
/// The cycles of that, of so many words in a row.
double multicastRowCycles(const Machine &machine, double words);

/// Combines `words` words at `buffer` over the PEs of each group with `opcode`:
/// a chain west to the root, into its buffer.
void reduceGroups(RoutineBuilder &builder, const ColumnGroups &groups,
                  pe::Opcode opcode, llvm::StringRef buffer, pe::Affine words);

/// Sends `words` words at `buffer` of each root to `result` of its group.
void castGroups(RoutineBuilder &builder, const ColumnGroups &groups,
                llvm::StringRef buffer, llvm::StringRef result,
                pe::Affine words);

/// Combines `words` words at `buffer` over the PEs of a row with `opcode`, at
/// most `most` of them: a chain west, or where that costs less one in each
/// group and one of the roots; at its end `finish` runs, and a multicast goes
/// back to `result` of every PE. Of a mesh with several columns.
void allReduceRow(RoutineBuilder &builder, pe::Opcode opcode,
                  llvm::StringRef buffer, llvm::StringRef result,
                  pe::Affine words, int64_t most,
                  llvm::function_ref<void()> finish);

/// Cycles of allReduceRow, without `finish`.
double allReduceCycles(const Machine &machine, double words);

/// Starts to add to `result` what passRowSums multicasts of the own features,
/// of `features` in all.
void keepRowSums(RoutineBuilder &builder, const Tile &result, int64_t features);

/// Sums a block of `features` partial results at `partial`, laid out as
/// `result`, along the row: each column adds what arrives from the east, and
/// the first multicasts the sums. Of a mesh with several columns.
void passRowSums(RoutineBuilder &builder, const Tile &result,
                 llvm::StringRef partial, int64_t features);

/// The streams of multicastRow and a chain: none in a mesh of one column.
llvm::SmallVector<StreamNeed> rowStreams(const Machine &machine);
/// What these relay.
llvm::SmallVector<Relay> rowRelays();
/// The streams of allReduceRow.
llvm::SmallVector<StreamNeed> allReduceStreams(const Machine &machine,
                                               double words);

llvm::SmallVector<Relay> allReduceRelays();

/// The streams on which words of the host reach the rows of `layout`.
llvm::SmallVector<StreamNeed> columnStreams(const Layout &layout,
                                            const Machine &machine);

/// The stream on which they reach all of these but the injector itself; none
/// where no column has two.
llvm::SmallVector<StreamNeed> columnRestStreams(const Layout &layout,
                                                const Machine &machine);

/// Injectors relay them to their column.
llvm::SmallVector<Relay> columnRelays();

} // namespace wsec

#endif // COMPILER_KERNELS_ROWEXCHANGE_H
