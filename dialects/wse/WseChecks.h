// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the verifiers of this dialect share.

#ifndef WSEC_DIALECTS_WSE_WSECHECKS_H
#define WSEC_DIALECTS_WSE_WSECHECKS_H

#include "dialects/wse/Wse.h"

namespace wsec::wse {

inline mlir::RankedTensorType tensorOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
inline mlir::Type elementType(mlir::Value value) {
  return tensorOf(value).getElementType();
}
inline TokenTiling tilingOf(mlir::Value value) {
  return TokenTiling::of(value.getType());
}
/// Whether tensors on the wafer may hold such elements. Those in the store, and
/// scalars of element-wise bodies, are of f32 and i32.
inline bool isWaferElement(mlir::Type type) {
  return isFloatElement(type) || type.isInteger(32);
}
inline bool isStoreElement(mlir::Type type) {
  return type.isF32() || type.isInteger(32);
}

/// Adds where the other half of an error lies; null: nowhere.
llvm::LogicalResult withNote(mlir::InFlightDiagnostic error,
                             mlir::Operation *other, const llvm::Twine &note);

/// Adds where a value is made.
llvm::LogicalResult withMaker(mlir::InFlightDiagnostic error,
                              mlir::Value operand);

/// Adds where a source, or a tensor of the program by its name, is declared.
llvm::LogicalResult withDeclaration(mlir::InFlightDiagnostic error,
                                    mlir::Operation *op,
                                    mlir::Attribute source);

/// The type of a source: of the constant itself, or of the input or
/// intermediate declared in the program. Reports what is wrong with it.
mlir::FailureOr<mlir::RankedTensorType>
sourceType(mlir::Operation *op, mlir::Attribute source,
           mlir::SymbolTableCollection *symbols = nullptr);

/// (C7) of wse.matmul: the entries of its weight, and the number of one.
llvm::LogicalResult verifyEntry(MatmulOp op, EntryAttr entry);

/// A vector of an operation, called `what`, has one element per feature.
llvm::LogicalResult verifyVector(mlir::Operation *op, llvm::StringRef what,
                                 WeightAttr vector, int64_t features);

/// Bands of an attention, or its gradient, that rows bring keys in: two or
/// three, of all scores.
llvm::LogicalResult verifyBands(mlir::Operation *op, bool fewScores);
/// Features of an operand are not replicated over the columns.
llvm::LogicalResult verifySplitColumns(mlir::Operation *op, mlir::Value value);

/// The tensor, in its encoding, fits the region.
llvm::LogicalResult verifyFits(mlir::Operation *op, mlir::RankedTensorType type,
                               RegionOp region);

/// (C1) of an attention and its gradient: `value` has its heads over columns.
template <typename OpTy>
llvm::LogicalResult verifyHeadColumns(OpTy op, llvm::StringRef what,
                                      mlir::Value value) {
  const int64_t heads = op.getNumHeads(), features = featuresOf(value);
  if (tilingOf(value).holdsHeads(features / heads) && features % heads == 0)
    return mlir::success();
  return op.emitOpError(what)
         << " needs " << heads << " heads over the columns, found "
         << value.getType();
}

} // namespace wsec::wse

#endif // WSEC_DIALECTS_WSE_WSECHECKS_H
