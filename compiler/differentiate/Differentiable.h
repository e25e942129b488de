// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of operators that have gradients, and how to give it to one.
#ifndef COMPILER_DIFFERENTIATE_DIFFERENTIABLE_H
#define COMPILER_DIFFERENTIATE_DIFFERENTIABLE_H

#include "compiler/differentiate/Backward.h"

#include "compiler/differentiate/Differentiable.h.inc"

namespace wsec::differentiate {

/// Gives operators of a type the rule of their gradients:
///
///   attach<onnx::SoftmaxOp, softmax>(context);
template <typename OpType, void (*rule)(OpType op, mlir::Value dy, Backward &n)>
void attach(mlir::MLIRContext &context) {
  struct Model : Differentiable::ExternalModel<Model, OpType> {
    void addGradients(mlir::Operation *op, mlir::Value dy, Backward &n) const {
      rule(mlir::cast<OpType>(op), dy, n);
    }
  };
  OpType::template attachInterface<Model>(context);
}

// The rules of one family each.
#define WSEC_FAMILY(Name) void attach##Name(mlir::MLIRContext &context);
#include "compiler/differentiate/Families.inc"

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_DIFFERENTIABLE_H
