// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of onnx operators on integers.

#ifndef WSEC_COMPILER_SELECT_SCALARINTEGERS_H
#define WSEC_COMPILER_SELECT_SCALARINTEGERS_H

#include "dialects/onnx/Onnx.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace wsec::select {

/// Neg, Abs, Sign or BitNot. Subtracting says where a negated integer does not
/// fit.
mlir::Value buildIntegerUnary(mlir::ImplicitLocOpBuilder &builder,
                              onnx::UnaryOp op, mlir::Value x);

/// Nothing for what is no function of two integers.
mlir::Value buildIntegerBinary(mlir::ImplicitLocOpBuilder &builder,
                               onnx::BinaryOp op, mlir::Value a, mlir::Value b);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_SCALARINTEGERS_H
