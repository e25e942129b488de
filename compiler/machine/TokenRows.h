// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which rows of a region hold which tokens. The tokens of all batch elements
// are counted through; a row holds some that follow one another, or none:
//
//   2 batch elements of 3 tokens     5 rows: 0 1 | 2 | 3 4 | 5 | -
//                                    1 row:  0 1 2 3 4 5

#ifndef WSEC_COMPILER_MACHINE_TOKENROWS_H
#define WSEC_COMPILER_MACHINE_TOKENROWS_H

#include "compiler/machine/Tiling.h"

namespace wsec {

/// Rows share out whole batch elements, or where there are at least as many
/// rows, each batch element has a group of rows that share out its tokens. The
/// same as wse::TokenTiling without copies says of a region of `height` rows.
struct TokenRows {
  int64_t batch = 1, tokens = 1, height = 1; ///< all positive

  int64_t group() const { return batch <= height ? height / batch : 0; }
  /// Rows of a group that hold tokens.
  int64_t span() const { return std::min(tokens, group()); }

  /// The first token of a row; the number of all for row `height`.
  int64_t begin(int64_t row) const {
    if (group() == 0)
      return tileStart(batch, height, row) * tokens;
    const int64_t element = row / group();
    if (element >= batch)
      return batch * tokens;
    return element * tokens +
           tileStart(tokens, span(), std::min(row % group(), span()));
  }
  int64_t count(int64_t row) const { return begin(row + 1) - begin(row); }
  /// The row that holds a token.
  int64_t rowOf(int64_t token) const {
    const int64_t element = token / tokens;
    if (group() == 0)
      return tileIndex(batch, height, element);
    return element * group() + tileIndex(tokens, span(), token % tokens);
  }

  /// Rows of `other`, for the same tokens, that hold some of a row's: the
  /// first, and the one behind the last. None for a row without tokens.
  struct Range {
    int64_t begin = 0, end = 0;
  };
  Range rowsOf(int64_t row, const TokenRows &other) const {
    if (count(row) == 0)
      return {};
    return {other.rowOf(begin(row)), other.rowOf(begin(row + 1) - 1) + 1};
  }
  /// The most rows of `other`, those without tokens between them included, that
  /// a row has to do with.
  int64_t mostRowsOf(const TokenRows &other) const {
    int64_t most = 0;
    for (int64_t row = 0; row < height; ++row)
      most = std::max(most, rowsOf(row, other).end - rowsOf(row, other).begin);
    return most;
  }
};

} // namespace wsec

#endif // WSEC_COMPILER_MACHINE_TOKENROWS_H
