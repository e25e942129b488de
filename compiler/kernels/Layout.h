// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements of a distributed tensor lie, in numbers: what
// #wse.dist says, together with the tensor's shape.

#ifndef COMPILER_KERNELS_LAYOUT_H
#define COMPILER_KERNELS_LAYOUT_H

#include "compiler/kernels/Kernel.h"

#include "mlir/IR/BuiltinTypes.h"

#include <array>
#include <optional>

namespace wsec {

/// Which elements of 16 bits fill a word, in every PE: neighbouring channels of
/// a feature, or, of one channel, neighbouring features. With Tails the last of
/// an odd number of features of a column has a word of its own.
enum class Pairing { None, Channels, Features, Tails };

/// Which features a column holds: `units` of `unitSize` consecutive features
/// are tiled over the columns, or every column holds all of them.
///
///   units = 3, unitSize = 2, 2 columns:    0 1 | 2 3 4 5
///
/// With `columns` > 1 each unit is spread over so many columns of its own:
///
///   units = 2, unitSize = 3, columns = 2, 5 columns:   0 | 1 2 | 3 | 4 5 |
struct FeatureTiling {
  int64_t units = 0;
  int64_t unitSize = 1;
  bool replicated = false;
  int64_t columns = 1;
  int64_t words = 1; ///< that count as a feature, of what streams to columns
  int64_t extra = 0; ///< that each column gets besides, likewise

  int64_t total() const { return units * unitSize * words; }
  FeatureTiling withoutExtra() const {
    FeatureTiling plain = *this;
    plain.extra = 0;
    return plain;
  }
  /// Features of all columns west of `column`.
  int64_t before(int64_t column, int64_t width) const;
  /// So many columns that hold so many features each.
  struct Sizes {
    int64_t features = 0, columns = 0;
  };
  /// What the columns [begin, end) hold: a tiling has two sizes, and none.
  std::array<Sizes, 3> sizes(int64_t begin, int64_t end, int64_t width) const;
  /// Features of the column with most of them.
  int64_t largest(int64_t width) const;
  /// Whether all columns hold some.
  bool everywhere(int64_t width) const;
  /// The tiling of pairs of features, where every column holds whole ones.
  std::optional<FeatureTiling> inPairs(int64_t width) const;
  /// The tiling of pairs where the last of an odd number of features may be
  /// alone.
  std::optional<FeatureTiling> inPairsAndTails(int64_t width) const;
  bool operator==(const FeatureTiling &other) const {
    return units == other.units && unitSize == other.unitSize &&
           replicated == other.replicated && columns == other.columns &&
           words == other.words && extra == other.extra;
  }
};

/// A tensor of batch x tokens x features on a mesh. Inside a PE, element
/// (feature f, channel p) is word f * pitch + p; a channel is one token of one
/// sequence, p = sequence * tokens + token.
struct Layout {
  int64_t batch = 1;
  int64_t tokens = 1;
  bool replicatedRows = false;
  /// Whether the rows of a batch element take its tokens in turn.
  bool cyclic = false;
  /// Rows per batch element, or 0: rows hold whole batch elements.
  int64_t group = 0;
  /// Rows of a group that hold tokens; 1 if rows hold whole batch elements.
  int64_t span = 1;
  FeatureTiling features;

  /// The layout of a tensor type whose encoding is #wse.dist, where the
  /// region has `height` rows.
  static Layout of(mlir::RankedTensorType type, int64_t height);
  static Layout of(mlir::Value value, int64_t height);

  /// Rows of the mesh that hold tokens, by batch element.
  RowSet rows(int64_t height) const;
  /// Rows of a batch element, or of all, that hold tokens.
  int64_t activeRows(int64_t height) const {
    return group == 0 ? height : span;
  }
  /// Whether all rows hold tokens.
  bool inAllRows(int64_t height) const {
    return group == 0 || (span == group && batch * group == height);
  }
  /// Rows with tokens as a column stream sees them: without groups where groups
  /// touch one another.
  RowSet columnRows(int64_t height) const;
  /// Most channels in a PE: words between neighbouring features.
  int64_t pitch(int64_t height) const;
  int64_t tokenCount() const { return batch * tokens; }
  /// The tensor as one of words of two elements; nothing where they do not
  /// pair up so.
  std::optional<Layout> inPairs(Pairing along, int64_t width,
                                int64_t height) const;
  /// Words of the tensor in the PE that holds most; no PE has fewer reserved.
  int64_t words(int64_t width, int64_t height) const {
    return features.largest(width) * pitch(height);
  }
  bool sameRows(const Layout &other) const {
    return batch == other.batch && tokens == other.tokens &&
           group == other.group && span == other.span &&
           replicatedRows == other.replicatedRows && cyclic == other.cyclic;
  }
};

} // namespace wsec

#endif // COMPILER_KERNELS_LAYOUT_H
