// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of an onnx operator as arith and math on f32 and i32. Booleans
// are i1 inside a body and 1.0 or 0.0 where they come in or go out. Integers of
// the model are i32: those of 32 bits and less wrap as ONNX's do (an i32 has
// the bits of a ui32); those of 64 end the run where they do not fit.

#ifndef WSEC_COMPILER_SELECT_SCALARBODY_H
#define WSEC_COMPILER_SELECT_SCALARBODY_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <optional>
#include <string>

namespace wsec::select {

/// Why one element of this element-wise operator cannot be computed, or
/// nothing.
std::optional<std::string> scalarProblem(mlir::Operation *op);

/// Appends the operator on `operands`, one scalar each, and returns its
/// result: an i1 where the operator's result is boolean, an i32 where it is an
/// integer, else an f32.
mlir::Value buildScalar(mlir::OpBuilder &builder, mlir::Operation *op,
                        mlir::ValueRange operands);

mlir::Value buildConstant(mlir::ImplicitLocOpBuilder &builder, double value);
mlir::Value buildInteger(mlir::ImplicitLocOpBuilder &builder, int32_t value);

/// The scalar as f32: 1.0 or 0.0 for a boolean.
mlir::Value asFloat(mlir::OpBuilder &builder, mlir::Value scalar);
/// A boolean or an integer as i32.
mlir::Value asInteger(mlir::OpBuilder &builder, mlir::Value scalar);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_SCALARBODY_H
