// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What #wse.dist is made of, and the view that kernels have of it.

#ifndef WSEC_DIALECTS_WSE_DISTRIBUTION_H
#define WSEC_DIALECTS_WSE_DISTRIBUTION_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/Hashing.h"

#include <cstdint>

namespace wsec::wse {

class DistAttr;
enum class ColumnPlacement : uint32_t;

/// One entry of an axis: `count` dimensions from number `dim` on, taken as one,
/// in units of `unit` elements, each over `over` positions; or copies.
/// Positions take runs of units, or, if it is `cyclic`, units in turn.
struct DistEntry {
  static constexpr int64_t copies = -1; ///< as `dim`: nothing is shared out

  int64_t dim = 0;
  int64_t count = 1;
  int64_t unit = 1;
  int64_t over = 1;
  bool cyclic = false;

  static DistEntry replicated(int64_t positions) {
    return {copies, 0, 1, positions};
  }
  bool isReplicated() const { return dim == copies; }
  bool operator==(const DistEntry &other) const {
    return dim == other.dim && count == other.count && unit == other.unit &&
           over == other.over && cyclic == other.cyclic;
  }
};

inline llvm::hash_code hash_value(const DistEntry &entry) {
  return llvm::hash_combine(entry.dim, entry.count, entry.unit, entry.over,
                            entry.cyclic);
}

/// An entry on an axis of some region, for some tensor: `units` over `parts`,
/// part i at position `i * pitch` of the run that the entries before leave.
struct DistPart {
  DistEntry entry;
  int64_t units = 1;
  int64_t parts = 1;
  int64_t pitch = 1;
};

struct PEPosition {
  int64_t x = 0, y = 0;

  bool operator==(const PEPosition &other) const {
    return x == other.x && y == other.y;
  }
};

/// A distribution as kernels see it, of batch x tokens x features: which rows
/// hold which tokens, and which columns which features. A value, computed from
/// the type of a tensor; `encoding` makes the attribute of it again.
class TokenTiling {
public:
  TokenTiling() = default;
  /// Balanced, over all rows and columns.
  TokenTiling(int64_t batch, int64_t tokens) : batch(batch), tokens(tokens) {}
  /// The tiling of a tensor on the wafer; none for any other type.
  static TokenTiling of(mlir::Type type);
  /// The tiling of a state that takes up to `tokens` tokens, one after the
  /// other, on a region of `width` columns: rows take them in turn, so that few
  /// use all rows, and each head lies over as many columns as there are for it.
  static TokenTiling ofState(int64_t batch, int64_t tokens, int64_t heads,
                             int64_t headSize, int64_t width);
  /// The tiling of `tokens` tokens that go into a state of this tiling, or that
  /// ask it with `repeat` heads for each of its own.
  TokenTiling forState(int64_t tokens, int64_t repeat = 1) const;

  explicit operator bool() const { return batch > 0; }
  bool operator==(const TokenTiling &other) const {
    return sameRows(other) && sameColumns(other);
  }

  int64_t getBatch() const { return batch; }
  int64_t getTokens() const { return tokens; }
  ColumnPlacement getColumns() const;
  /// Features of a unit, such as a head, that stays in a column.
  int64_t getHeadSize() const { return headSize; }
  /// Whether the columns share out whole heads of that many features.
  bool holdsHeads(int64_t size) const {
    return !everyColumn && headSize == size;
  }
  /// Columns that share a head.
  int64_t getHeadColumns() const { return headColumns; }
  /// Rows of each batch element that hold all its tokens; 0: they share them.
  int64_t getCopies() const { return copies; }
  bool splitsRows() const { return copies == 0; }
  /// Whether rows take tokens in turn: token i lies in row i mod rowsUsed.
  bool isCyclic() const { return cyclic; }

  /// This tiling with other columns.
  TokenTiling withColumns(ColumnPlacement columns, int64_t headSize = 1) const;
  /// This tiling with each head spread over so many columns.
  TokenTiling withHeadColumns(int64_t headColumns) const;
  /// This tiling with every token in so many rows of each batch element.
  TokenTiling withCopies(int64_t rows) const;
  /// This tiling with so many tokens in each batch element.
  TokenTiling withTokens(int64_t tokens) const;
  /// This tiling with one token per batch element in every row that
  /// this distribution uses of a region of `height` rows.
  TokenTiling perBatchElement(int64_t height) const {
    return withTokens(1).withCopies(rowsUsed(height));
  }

  /// A tiling of the same columns, for a tensor of one token that every row
  /// holds.
  TokenTiling perVector(int64_t height) const;

  /// Rows that belong to each batch element; 0 if rows hold whole ones.
  int64_t group(int64_t height) const {
    return batch <= height ? height / batch : 0;
  }
  /// Rows of each group that hold tokens; 1 if rows hold whole batch elements.
  int64_t rowsUsed(int64_t height) const;
  /// Pmax: the most tokens in a row.
  int64_t tokensPerRowMax(int64_t height) const;

  /// Same owner for every token?
  bool sameRows(const TokenTiling &other) const {
    return batch == other.batch && tokens == other.tokens &&
           copies == other.copies && cyclic == other.cyclic;
  }
  /// Same owner for every feature?
  bool sameColumns(const TokenTiling &other) const {
    return everyColumn == other.everyColumn && headSize == other.headSize &&
           headColumns == other.headColumns;
  }

  /// The encoding of a tensor of this shape; null if its dimensions are not
  /// such that some of them make up the batch, and others the tokens.
  DistAttr encoding(mlir::MLIRContext *context,
                    llvm::ArrayRef<int64_t> shape) const;
  /// A tensor on the wafer of this shape, or if that has no encoding of batch x
  /// tokens x features.
  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape,
                              mlir::Type element) const;
  mlir::RankedTensorType type(int64_t features, mlir::Type element) const {
    return type({batch, tokens, features}, element);
  }

private:
  int64_t batch = 0;
  int64_t tokens = 0;
  int64_t copies = 0;
  bool cyclic = false;
  bool everyColumn = false;
  int64_t headSize = 1;
  int64_t headColumns = 1;
};

} // namespace wsec::wse

#endif // WSEC_DIALECTS_WSE_DISTRIBUTION_H
