// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks in the forms onnx.attention takes: additive f32 of rank 4, or of rank 3
// by head.
#ifndef COMPILER_VALUES_ATTENTIONMASK_H
#define COMPILER_VALUES_ATTENTIONMASK_H

#include "compiler/values/OnnxValues.h"

namespace wsec::values {

/// Extents of an attention: batch, heads, queries, keys.
struct AttentionExtents {
  int64_t batch, heads, queries, keys;
};

/// A constant that repeats along a dimension, with that dimension taken once;
/// any other value as it is.
mlir::Value withoutRepeats(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, size_t dim);

/// `mask`, which broadcasts to scores of shape `scores`, as [B|1,H|1,S|1,T].
/// Null with a reason if it cannot be brought there.
mlir::Value maskOfRank4(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value mask, llvm::ArrayRef<int64_t> scores,
                        const AttentionExtents &extents, std::string &why);

/// A mask of rank 4 as bias of an onnx.attention of so many queries: one that
/// differs between heads as [B|1,S,H*T].
mlir::Value biasOfRank4(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value mask, int64_t queries);

/// f32: `kept`, or 0 where that is null, where `keep` is true and `masked`
/// where it is false, or the other way round if `inverted`.
mlir::Value additiveMask(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value keep, double masked, bool inverted,
                         mlir::Value kept = {});

/// The sum of two masks of rank 4; constants are added now.
mlir::Value addMasks(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value a, mlir::Value b);

/// The largest number by which a constant mask hides exactly the keys j > i of
/// query i; none if it does not.
std::optional<double> causalMask(mlir::Value mask, int64_t queries,
                                 int64_t keys);

/// Scores below this are as good as minus infinity.
inline constexpr double maskedScore = -1.0e4;

} // namespace wsec::values

#endif // COMPILER_VALUES_ATTENTIONMASK_H
