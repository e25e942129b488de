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
/// row. The features of a token are `groups` equal parts, each with as many of
/// the heads, side by side from its feature `offset` on.
struct Heads {
  mlir::Value root;
  double scale;
  int64_t batch, tokens, features, heads, size, offset, repeats, groups;
};

/// Reads a view as heads with tokens along `rowDim` and features along
/// `columnDim`; these are its last two dimensions in some order.
std::optional<Heads> matchHeads(const TracedView &traced, size_t rowDim,
                                size_t columnDim);

/// Heads of a root that is [batch, heads, tokens, features], which count as
/// batch elements of one head each, as those of `batch` elements: of a root
/// with tokens outside of heads. As they are if that is not what they are.
Heads withTokensOutside(mlir::OpBuilder &builder, mlir::Location loc,
                        const Heads &heads, int64_t batch,
                        llvm::StringRef node);

/// The heads as a [batch, token, heads * size] tensor, each once.
mlir::Value toRank3(mlir::OpBuilder &builder, mlir::Location loc,
                    const Heads &heads, llvm::StringRef node);

/// `x`, [batch, token, heads * size], from where its heads were side by side
/// before layouts moved them; null if they were nowhere else.
mlir::Value beforeLayouts(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value x, int64_t heads, llvm::StringRef node);

/// [batch, token, heads * size] as [batch, heads, token, size].
mlir::Value splitHeads(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x, int64_t heads, llvm::StringRef node);

} // namespace wsec::values

#endif // COMPILER_VALUES_HEADS_H
