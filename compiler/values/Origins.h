// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements of a value come from, piece by piece, however they were
// sliced, joined and put in order on the way.
#ifndef COMPILER_VALUES_ORIGINS_H
#define COMPILER_VALUES_ORIGINS_H

#include "compiler/values/OnnxValues.h"

namespace wsec::values {

/// Maps an index to one of another rank: along its dimension d the result is
/// offsets[d], plus index[dims[d]] unless dims[d] is -1.
struct IndexMap {
  llvm::SmallVector<int, 4> dims;
  Shape offsets;

  static IndexMap identity(size_t rank);
  /// From the index of a tensor to that of an operand that broadcasts to it.
  static IndexMap broadcast(llvm::ArrayRef<int64_t> operand, size_t rank);
};

/// The elements from index `low` up to, not including, `high`.
struct Piece {
  mlir::Value root; // whose elements these are
  IndexMap map;     // to the index of root
  Shape low, high;
};
using Pieces = llvm::SmallVector<Piece, 2>;

/// `pieces` as one sees them through `map`, from indices within `box`.
Pieces seenThrough(llvm::ArrayRef<Piece> pieces, const IndexMap &map,
                   const Piece &box);

/// Do both say the same of all indices that both have?
bool agree(llvm::ArrayRef<Piece> a, llvm::ArrayRef<Piece> b);

/// Traces values, each once.
class Origins {
public:
  /// All of `value`: through slices of step 1, concatenations, transposes,
  /// expands, and reshapes that only add or drop extents of 1.
  const Pieces &of(mlir::Value value);

private:
  Pieces trace(mlir::Value value);
  llvm::DenseMap<mlir::Value, std::unique_ptr<Pieces>> known;
};

} // namespace wsec::values

#endif // COMPILER_VALUES_ORIGINS_H
