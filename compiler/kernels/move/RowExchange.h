// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What several kernels do along a row of the mesh, or along a column.

#ifndef COMPILER_KERNELS_MOVE_ROWEXCHANGE_H
#define COMPILER_KERNELS_MOVE_ROWEXCHANGE_H

#include "compiler/kernels/code/RoutineBuilder.h"

namespace wsec {

/// The columns of a region in groups of `pitch`, the last perhaps smaller. The
/// first column of each is its root, which multicasts on `cast`; to there words
/// go on `link`. Or the rows of each column, likewise, to the north.
///
///   pitch = 3, 8 columns:   0 1 2 | 3 4 5 | 6 7
struct PEGroups {
  int64_t pitch = 1;
  StreamPattern cast;
  StreamPattern link = StreamPattern::RowWest;
  int64_t used = pitch; ///< PEs of a group that take part, its first ones

  bool all() const { return used == pitch; }
  bool alongRows() const { return fabric::isAlongRows(link.toward); }
  /// All columns are one group.
  static PEGroups wholeRow(const Machine &machine);
  /// One group for each head of a tensor with heads over several columns.
  static PEGroups ofHeads(const FeatureTiling &features);
  /// The rows of each batch element, of as many as there are rows or fewer.
  static PEGroups ofBatch(const Layout &layout);
};

/// Words of one PE that a group gathers, line by line.
struct GroupBlock {
  llvm::SmallVector<pe::Affine, 3> extents; ///< of the own words of a line
  pe::Operand own;
  pe::Affine wordsBehind; ///< of the PEs of the group east or south of this one
  mlir::Value anyBehind;  ///< not zero where there are some
  int64_t lines = 1;
  int64_t lineStep = 0;    ///< elements from the own words of one to the next
  mlir::Value anyOwn = {}; ///< zero where there are no own words
};

/// Multicasts the blocks of each group to it: every PE sends its own toward the
/// root and then relays those of the PEs behind it; the root puts all of them,
/// line by line, in order of PEs, on the cast. Every PE keeps what it hears:
/// kept[..] = heard over `extents`.
void multicastBlocks(RoutineBuilder &builder, const PEGroups &groups,
                     const GroupBlock &block,
                     llvm::ArrayRef<pe::Affine> extents,
                     const pe::Operand &kept, const pe::Operand &heard);

/// Multicasts `tile` along its row. A block lists its features, for each all
/// channels. Where columns have as many features each, one of several parts may
/// be multicast alone: of each column as many.
void multicastRow(RoutineBuilder &builder, const Tile &tile,
                  llvm::ArrayRef<pe::Affine> extents, const pe::Operand &kept,
                  const pe::Operand &heard, const pe::Affine &part = 0,
                  int64_t parts = 1);
/// The cycles of that, of so many words in a row.
double multicastRowCycles(const Machine &machine, double words);

/// What the end of a chain makes of the words that arrive, over `extents`,
/// instead of combining them with its buffer in place: kept[..] of own[..] and
/// these.
struct Combined {
  llvm::SmallVector<pe::Affine> extents;
  pe::Operand kept, own;
};

/// Combines `words` words at `buffer` over the PEs of each group with `opcode`:
/// a chain to the root, into its buffer, or as `at` says.
void reduceGroups(RoutineBuilder &builder, const PEGroups &groups,
                  pe::Opcode opcode, llvm::StringRef buffer, pe::Affine words,
                  const Combined *at = nullptr);

/// Sends `words` words at `buffer` of each root to `result` of its group.
void castGroups(RoutineBuilder &builder, const PEGroups &groups,
                llvm::StringRef buffer, llvm::StringRef result,
                pe::Affine words);
/// A cast in groups where every PE of the group keeps kept[..] = heard over
/// `extents`, or adds it to these.
void castGroups(RoutineBuilder &builder, const PEGroups &groups,
                llvm::StringRef buffer, pe::Affine words,
                llvm::ArrayRef<pe::Affine> extents, const pe::Operand &kept,
                const pe::Operand &heard, bool adds = false);

/// Combines `words` words at `buffer` over the PEs of a row with `opcode`, at
/// most `most` of them: a chain west, or where that costs less one in each
/// group and one of the roots; at its end `finish` runs, and a multicast goes
/// back to `result` of every PE. Of a mesh with several columns.
void allReduceRow(RoutineBuilder &builder, pe::Opcode opcode,
                  llvm::StringRef buffer, llvm::StringRef result,
                  pe::Affine words, int64_t most,
                  llvm::function_ref<void()> finish);

/// Cycles that two phases are to save where a kernel would not need their
/// colors otherwise.
constexpr double leastGainOfPhases = 256;

/// The reduction of that alone, into the buffer of column 0, or as `at` says.
void reduceRow(RoutineBuilder &builder, pe::Opcode opcode,
               llvm::StringRef buffer, pe::Affine words, int64_t most,
               const Combined *at = nullptr);
/// Its cycles.
double reduceRowCycles(const Machine &machine, double words);

/// Cycles of allReduceRow, without `finish`.
double allReduceCycles(const Machine &machine, double words);

/// Combines `words` words at `buffer` over the `rows` of each batch element
/// into the buffer of the first: a chain, or of a whole column, where that
/// saves much, one in each group and one of their first rows.
void reduceBatch(RoutineBuilder &builder, const PEGroups &rows,
                 pe::Opcode opcode, llvm::StringRef buffer, pe::Affine words);
/// Its cycles, and what streams it needs beside those of `batchStreams`.
double reduceBatchCycles(const Machine &machine, int64_t rows, double words);
llvm::SmallVector<StreamNeed> reduceBatchStreams(const Machine &machine,
                                                 int64_t rows);

/// A reduction on microthreads, and a multicast of it back to all rows: what
/// stands between its steps is done meanwhile. Nobody else touches the buffer.
struct StartedReduction {
  RoutineBuilder &b;
  const PEGroups &rows;
  pe::Opcode opcode;
  std::string buffer;
  pe::Affine words;

  void inGroups();
  void ofRoots();
  void cast(llvm::StringRef result);
};

/// Words of a column that its PEs send north in turn, each its own, and that
/// row 0 multicasts: in a chain, or where that saves much from each group of
/// `pitch` rows to its head, and from head to head past the others.
///
///   pitch = 3:   0 < 1 < 2   3 < 4 < 5   6 < 7     heads: 0 < 3 < 6
int64_t columnPitch(const Machine &machine); // 0: a chain
/// Without the words themselves, of the first `rows` rows.
double gatherColumnCycles(const Machine &machine, int64_t rows);
/// `behind`: how many words come from the rows behind this one, up to a row.
void gatherColumn(RoutineBuilder &builder, int64_t pitch,
                  llvm::ArrayRef<pe::Affine> extents, const pe::Operand &own,
                  llvm::function_ref<mlir::Value(mlir::Value)> behind);
llvm::SmallVector<StreamNeed> gatherColumnStreams(const Machine &machine);
llvm::SmallVector<Relay> gatherColumnRelays();

/// Starts to add to `result` what passRowSums multicasts of the own features,
/// of `features` in all.
void keepRowSums(RoutineBuilder &builder, const Tile &result, int64_t features);

/// Sums a block of `features` partial results, `partial` over features and
/// channels, along the row: each column adds what arrives from the east, and
/// the first multicasts the sums. Of a mesh with several columns.
void passRowSums(RoutineBuilder &builder, const Tile &result,
                 const pe::Operand &partial, int64_t features);

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

#endif // COMPILER_KERNELS_MOVE_ROWEXCHANGE_H
