// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words that leave a tensor's columns: each column has an exit, a channel in
// the last row with tokens or south of it, or in any row, and several columns
// share one, or each half of them a lane of it. See Store.cpp, and
// WeightGradient.cpp.

#ifndef WSEC_COMPILER_KERNELS_MOVE_COLUMNEXITS_H
#define WSEC_COMPILER_KERNELS_MOVE_COLUMNEXITS_H

#include "compiler/kernels/code/RoutineBuilder.h"

namespace wsec {

/// The exits of the columns of a tensor; none where rows take tokens in turn,
/// or columns have the same features.
struct ColumnExits {
  /// In any row: words go south as far as there are exits, from row to row, and
  /// north from rows south of their exit.
  enum Where { SouthOfTokens, AnyRow };
  ColumnExits(const Layout &layout, const Machine &machine,
              Where where = SouthOfTokens, bool twoLanes = false);

  bool used() const { return !exits.empty(); }
  /// Whether words go from row to row.
  bool linksRows() const;
  /// Features of the columns of an exit.
  int64_t features(const ChannelPosition &exit) const;
  /// Rows in a chain south.
  double rowCount() const { return double(rows.groups * rows.used); }
  /// The patterns on which words leave their exits' rows.
  llvm::ArrayRef<StreamPattern> lanes() const;
  /// Exits, with the columns whose words leave on a lane; with few some have
  /// none.
  std::vector<ChannelPosition> ofLane(const StreamPattern &lane) const;
  /// The streams that words leave on.
  llvm::SmallVector<StreamNeed> streams() const;
  static llvm::SmallVector<Relay> relays();
  /// Whether rows south of an exit have tokens.
  bool hasRowsSouth() const { return where == AnyRow && last > 0; }

  /// The exit of a column, in any scalar scope: the number of its channel, the
  /// row of the mesh, the first and the last column that have its lane, and,
  /// where there are two, whether that is the one of the west half.
  struct OfColumn {
    mlir::Value channel, row, first, last, west = {};
  };
  OfColumn ofColumn(ScalarBuilder &scalars) const;
  /// Rows that pass words south, north of a PE.
  mlir::Value rowsNorth(ScalarBuilder &scalars) const;

  const Machine &machine;
  const Layout layout;
  const Where where;
  bool twoLanes = false; ///< of exits with columns for both
  const int64_t last;    ///< row with tokens
  std::vector<ChannelPosition> exits;
  RowSet rows; ///< that pass words south: those with tokens, or all
};

/// Words of the columns of a lane west of a PE, on their way east to its last
/// column.
struct WordsFromWest {
  WordsFromWest(RoutineBuilder &builder, const ColumnExits &exits,
                const ColumnExits::OfColumn &exit, const Tile &tile);
  /// Passes on so many for each of their features.
  void relay(Thread thread, pe::Affine onward, int64_t wordsOfFeature) const;

private:
  RoutineBuilder &b;
  pe::Affine incoming;
  mlir::Value features, any;
};

} // namespace wsec

#endif // WSEC_COMPILER_KERNELS_MOVE_COLUMNEXITS_H
