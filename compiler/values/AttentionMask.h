// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks in the forms onnx.attention takes: f32 of rank 4, or of rank 3 by head,
// and the terms by which they act.
#ifndef COMPILER_VALUES_ATTENTIONMASK_H
#define COMPILER_VALUES_ATTENTIONMASK_H

#include "compiler/values/OnnxValues.h"
#include <optional>

namespace wsec::values {

/// Extents of an attention: batch, heads, queries, keys.
struct AttentionExtents {
  int64_t batch, heads, queries, keys;
};

/// One #onnx.term with the mask it takes, if any.
struct MaskTerm {
  onnx::TermKind kind;
  mlir::Value operand;
  std::optional<double> later = std::nullopt, to = std::nullopt;
};
using MaskTerms = llvm::SmallVector<MaskTerm, 2>;

MaskTerms maskTerms(onnx::AttentionOp op);
void setMaskTerms(onnx::AttentionOp op, llvm::ArrayRef<MaskTerm> terms);

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

/// The sum, or the lesser, of two masks; of constants it is found now.
mlir::Value combineMasks(mlir::OpBuilder &builder, mlir::Location loc,
                         onnx::BinaryKind kind, mlir::Value a, mlir::Value b);

/// The sum of two constant masks, no larger than one of them, that may be added
/// to scores in their place: of each two elements one is 0, or their sum
/// absorbs any score. Null elsewhere.
mlir::Value sumInPlaceOf(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value a, mlir::Value b);

/// The number, below 0, by which a constant mask hides exactly the keys j > i
/// of query i; none if it does not, or not all by one.
std::optional<double> causalMask(mlir::Value mask, int64_t queries,
                                 int64_t keys);

/// Whether a mask may be the lowest number or less for all keys of a query: for
/// those up to its own if later ones are hidden anyway.
bool mayHideAll(mlir::Value mask, int64_t queries, int64_t keys,
                bool laterHidden);

} // namespace wsec::values

#endif // COMPILER_VALUES_ATTENTIONMASK_H
