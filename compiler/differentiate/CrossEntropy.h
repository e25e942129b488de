// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// onnx.cross_entropy in operators that have kernels: forward and backward.
#ifndef COMPILER_DIFFERENTIATE_CROSSENTROPY_H
#define COMPILER_DIFFERENTIATE_CROSSENTROPY_H

#include "compiler/differentiate/FoldingBuilder.h"

namespace wsec::differentiate {

/// The loss that `op` computes.
mlir::Value composeLoss(onnx::CrossEntropyOp op, FoldingBuilder &n);

/// The gradient of the logits, given that of the loss.
mlir::Value gradientOfLogits(onnx::CrossEntropyOp op, mlir::Value dy,
                             FoldingBuilder &n);

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_CROSSENTROPY_H
