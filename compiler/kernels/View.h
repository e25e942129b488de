// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strided view: which elements of a stored tensor a tensor consists of.
// Shape-only operators on what the host holds (reshape, expand, transpose,
// slice, broadcasts) compose into one view, and the host sends the elements in
// the right order; nothing is ever rearranged on the wafer.

#ifndef WSEC_COMPILER_KERNELS_VIEW_H
#define WSEC_COMPILER_KERNELS_VIEW_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace mlir {
class Operation;
} // namespace mlir

namespace wsec {

/// Element (i0, i1, ...) is the stored element offset + sum(i[d] * strides[d]).
struct View {
  llvm::SmallVector<int64_t> shape;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;

  /// All elements of a row-major tensor.
  static View dense(llvm::ArrayRef<int64_t> shape);

  int64_t numElements() const;
  /// Is it all stored elements, in order?
  bool isDense() const;
  /// Dimensions that a walk in order steps along, the last one always, ones
  /// never, neighbours that continue one another as one.
  int64_t walkedDimensions() const;
  bool operator==(const View &other) const {
    return shape == other.shape && offset == other.offset &&
           strides == other.strides;
  }

  /// numpy's rule: aligned at the last dimension, extents of 1 repeat.
  View broadcast(llvm::ArrayRef<int64_t> newShape) const;
  View transpose(llvm::ArrayRef<int64_t> permutation) const;
  View slice(llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> steps,
             llvm::ArrayRef<int64_t> newShape) const;
  /// Nothing if no strides describe the new shape, as when a repeated
  /// dimension would merge with one that is not.
  std::optional<View> reshape(llvm::ArrayRef<int64_t> newShape) const;
};

/// Is it onnx.reshape, expand, transpose, slice or keep, of which the store
/// gives another view?
bool isShapeOnly(mlir::Operation *op);

/// The view of the result of a shape-only operation, from that of its operand.
std::optional<View> applyShapeOp(mlir::Operation *op, const View &operand);

} // namespace wsec

#endif // WSEC_COMPILER_KERNELS_VIEW_H
