// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heads of a [batch, token, feature] tensor, however reshapes, transposes and
// slices show them.
#ifndef COMPILER_VALUES_HEADS_H
#define COMPILER_VALUES_HEADS_H

#include "compiler/values/ViewTracing.h"

namespace wsec::values {

/// Heads of `size` features, from feature `offset` on, of a root whose
/// elements are [batch, tokens, features]; each is seen `repeats` times in a
/// row.
struct Heads {
  mlir::Value root;
  double scale;
  int64_t batch, tokens, features, heads, size, offset, repeats;
};

/// Reads a view as heads with tokens along `rowDim` and features along
/// `columnDim`; these are its last two dimensions in some order.
std::optional<Heads> matchHeads(const TracedView &traced, size_t rowDim,
                                size_t columnDim);

/// The heads as a [batch, token, heads * size] tensor, each once.
mlir::Value toRank3(mlir::OpBuilder &builder, mlir::Location loc,
                    const Heads &heads, llvm::StringRef node);

/// [batch, token, heads * size] as [batch, heads, token, size].
mlir::Value splitHeads(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x, int64_t heads, llvm::StringRef node);

} // namespace wsec::values

#endif // COMPILER_VALUES_HEADS_H
