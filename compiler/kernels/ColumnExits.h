// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words that leave a tensor's columns to the south: each column has an exit, a
// channel in the last row with tokens or south of it, and several columns share
// one. See Store.cpp.

#ifndef WSEC_COMPILER_KERNELS_COLUMNEXITS_H
#define WSEC_COMPILER_KERNELS_COLUMNEXITS_H

#include "compiler/kernels/RoutineBuilder.h"

namespace wsec {

/// The exits of the columns of a tensor; none where rows take tokens in turn,
/// or columns have the same features.
struct ColumnExits {
  ColumnExits(const Layout &layout, const Machine &machine);

  bool used() const { return !exits.empty(); }
  /// Whether words go from row to row.
  bool linksRows() const;
  /// Features of the columns of an exit.
  int64_t features(const ChannelPosition &exit) const;
  /// Rows with tokens, in a chain.
  double rowCount() const { return double(rows.groups * rows.used); }
  /// The streams that words leave on.
  llvm::SmallVector<StreamNeed> streams() const;
  static llvm::SmallVector<Relay> relays();

  /// The row of the mesh with the exit of a column, in any scalar scope; and
  /// the first and the last column that have this exit.
  struct OfColumn {
    mlir::Value row, first, last;
  };
  OfColumn ofColumn(ScalarBuilder &scalars) const;
  /// Rows with tokens north of a PE.
  mlir::Value rowsNorth(ScalarBuilder &scalars) const;

  const Machine &machine;
  const Layout layout;
  const RowSet rows;  ///< with tokens
  const int64_t last; ///< of them
  std::vector<ChannelPosition> exits;
};

/// Words of the columns of an exit west of a PE, on their way east to its last
/// column.
struct WordsFromWest {
  WordsFromWest(RoutineBuilder &builder, const ColumnExits &exits,
                const ColumnExits::OfColumn &exit, const Tile &tile);
  /// Passes on so many for each of their features.
  void relay(pe::Affine onward, int64_t wordsOfFeature) const;

private:
  RoutineBuilder &b;
  pe::Affine incoming;
  mlir::Value features, any;
};

} // namespace wsec

#endif // WSEC_COMPILER_KERNELS_COLUMNEXITS_H
