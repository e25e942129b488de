// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// onnx.cross_entropy in operators that have kernels: forward and backward, also
// of the product of a vocabulary, some classes at a time.
#ifndef COMPILER_DIFFERENTIATE_CROSSENTROPY_H
#define COMPILER_DIFFERENTIATE_CROSSENTROPY_H

#include "compiler/differentiate/Backward.h"

namespace wsec::differentiate {

/// A loss of more logits than are there at a time: these are made tile by tile,
/// by the loss and again by its gradients, and used up at once.
struct Head {
  onnx::CrossEntropyOp loss;
  onnx::MatMulOp
      product; ///< whose result only the loss reads, if in another shape
  int64_t tiles;

  /// Nothing where the loss has all its logits: they are not many, or come from
  /// elsewhere, or all are needed for what it takes of them.
  static std::optional<Head> of(onnx::CrossEntropyOp loss, int64_t mostLogits);
};

/// The loss that `op` computes.
mlir::Value composeLoss(onnx::CrossEntropyOp op, FoldingBuilder &n,
                        int64_t mostLogits);

/// Adds the gradients of what the product multiplies, given that of the loss.
void addTiledGradients(const Head &head, mlir::Value dy, Backward &n);

/// The gradient of the logits, given that of the loss.
mlir::Value gradientOfLogits(onnx::CrossEntropyOp op, mlir::Value dy,
                             FoldingBuilder &n);

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_CROSSENTROPY_H
