// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names that the model gives to values. They follow a value from operation to
// operation as long as all its elements are somewhere, in their order; names of
// what is fused away are forgotten.
#ifndef COMPILER_VALUES_VALUENAMES_H
#define COMPILER_VALUES_VALUENAMES_H

#include "dialects/onnx/Onnx.h"
#include "mlir/IR/PatternMatch.h"

namespace wsec::values {

/// `to` takes the place of `from`. What a reshape makes has its operand's
/// elements, so that the operand has the names, too.
void moveValueNames(mlir::Value from, mlir::Value to);

/// A copy of an operation, for other operands: it makes another value.
mlir::Operation *cloneWithoutNames(mlir::OpBuilder &builder,
                                   mlir::Operation *op);

/// Moves names wherever patterns replace operations.
struct ValueNameListener : mlir::RewriterBase::Listener {
  void notifyOperationReplaced(mlir::Operation *op,
                               mlir::ValueRange replacement) override;
};

} // namespace wsec::values

#endif // COMPILER_VALUES_VALUENAMES_H
