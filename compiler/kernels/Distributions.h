// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which distribution a tensor gets when nothing else decides.

#ifndef WSEC_COMPILER_KERNELS_DISTRIBUTIONS_H
#define WSEC_COMPILER_KERNELS_DISTRIBUTIONS_H

#include "dialects/onnx/Onnx.h"
#include "dialects/wse/Wse.h"

namespace wsec {

/// A tensor as the wafer sees it.
struct TokenShape {
  int64_t batch = 1;
  int64_t tokens = 1;
  int64_t features = 1;
};

/// How an ONNX shape is read: the last dimension holds features, the first of
/// three or more is the batch, what is between are tokens.
TokenShape tokenShape(llvm::ArrayRef<int64_t> shape);

/// Whether these axes of a tensor of `shape` that lies in `tiling` are its
/// tokens, so that all that is left is batch and features.
bool areTokens(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes,
               wse::TokenTiling tiling);

/// Heads of the keys or values that it updates, by who attends to them.
int64_t headsOf(onnx::UpdateOp update);

/// The size of heads that attentions ask values of @main for, found in one
/// walk against the order of the operators, on a region of `width` columns.
class WantedHeads {
public:
  WantedHeads(mlir::Block &main, int64_t width);

  /// If `value` ends up, element by element, as query, key or value of an
  /// attention, the size of its heads; else 0. The nearest attention decides.
  int64_t sizeFor(mlir::Value value) const;
  /// The rows of `rows`; balanced columns, or whole heads if an attention is
  /// going to ask `value` for them. Of a product that only goes into a state,
  /// or asks it, the columns of that: it costs the product nothing.
  wse::TokenTiling columnsFor(mlir::Value value, wse::TokenTiling rows) const;

private:
  struct Attention {
    int64_t distance, headSize, headColumns = 1;
  };
  void visit(mlir::Value value);
  std::optional<Attention> ofState(mlir::OpOperand &use) const;

  const int64_t width;

  llvm::DenseMap<mlir::Value, Attention> nearest; // looked up only
};

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

inline wse::TokenTiling tilingOf(mlir::Value value) {
  return wse::TokenTiling::of(value.getType());
}

/// Whether an operator takes its operand off the wafer, as an output.
bool leavesWafer(mlir::Operation *user);
/// Is its result nothing but an output? Outputs list their elements in order;
/// what shape they have is the host's affair.
bool onlyLeavesWafer(mlir::Operation *op);

/// Is it an operator that computes each element from its peers?
bool isElementwise(mlir::Operation *op);

/// Is `op` an onnx.cast from one float type to another? On the wafer there is
/// f32 only: what crosses its edge is converted there.
bool isFloatCast(mlir::Operation *op);

/// An output as the wafer computes it, before the store converts it.
mlir::Value beforeFloatCasts(mlir::Value value);

} // namespace wsec

#endif // WSEC_COMPILER_KERNELS_DISTRIBUTIONS_H
