// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants and facts of values in the IR, for the passes that work on models.
#ifndef COMPILER_VALUES_ONNXVALUES_H
#define COMPILER_VALUES_ONNXVALUES_H

#include "compiler/values/Facts.h"
#include "dialects/onnx/Onnx.h"
#include "mlir/IR/Builders.h"

namespace wsec::values {

/// Reason why a node was left as it is, for the report.
inline constexpr llvm::StringLiteral reasonAttrName = "onnx.reason";
/// Pairs of a node that became a product, and its reason; of a module.
inline constexpr llvm::StringLiteral unrecognizedAttrName = "onnx.unrecognized";
/// How many nodes of f64 compute in f32; of a module.
inline constexpr llvm::StringLiteral f64AsF32AttrName = "onnx.f64_as_f32";

/// The reason of nodes behind one with a reason of its own.
inline constexpr llvm::StringLiteral unsupportedOperand =
    "an operand comes from a node that is not supported";

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return typeOf(value).getShape();
}
inline mlir::RankedTensorType withShape(mlir::Value value,
                                        llvm::ArrayRef<int64_t> shape) {
  return mlir::RankedTensorType::get(shape, typeOf(value).getElementType());
}
/// Name of the ONNX node an operation stands for.
llvm::StringRef nodeName(mlir::Operation *op);

/// "Gemm", or "com.microsoft.FastGelu".
std::string qualifiedName(onnx::NodeOp op);

/// Notes that `op` does the work of `others`, and of all they have absorbed.
void absorb(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> others);
/// `root` and what nothing else needs, in the order of their block.
llvm::SmallVector<mlir::Operation *> neededOnlyBy(mlir::Operation *root);

/// What the type and the defining operation tell; nothing for a value of
/// unknown or dynamic type.
std::optional<Fact> factOf(mlir::Value value);
bool isConstant(mlir::Value value);

/// An onnx.constant with the elements of `fact`, or null if they are too many
/// to copy where a copy is needed.
mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc,
                        const Fact &fact, llvm::StringRef node);
mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc,
                        Tensor tensor);
/// A scalar constant of the element type of `like`.
mlir::Value scalarLike(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value like, double value);
/// The one number a small constant consists of.
std::optional<double> uniformValue(mlir::Value value);

/// What a function of that kind makes `value` of, or null.
mlir::Value operandOf(mlir::Value value, onnx::UnaryKind kind);
/// The function of two, of that kind, that makes `value`; or null.
onnx::BinaryOp binaryOf(mlir::Value value, onnx::BinaryKind kind);

/// An onnx.reshape of `x`, or `x` itself if it has that shape.
mlir::Value reshapeTo(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value x, llvm::ArrayRef<int64_t> shape,
                      llvm::StringRef node);
/// An onnx.binary with the broadcast type of its operands.
mlir::Value binary(mlir::OpBuilder &builder, mlir::Location loc,
                   onnx::BinaryKind kind, mlir::Value a, mlir::Value b,
                   llvm::StringRef node);
mlir::Value unary(mlir::OpBuilder &builder, mlir::Location loc,
                  onnx::UnaryKind kind, mlir::Value x, llvm::StringRef node);

/// Any two tensors, as numpy's matmul: vectors are matrices of one row or one
/// column, which the result lacks.
mlir::Value batchMatmul(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value a, mlir::Value b, llvm::StringRef node);

/// The version of ONNX's own operators that the module states, or the newest.
int64_t opsetOf(mlir::Operation *op);

} // namespace wsec::values

#endif // COMPILER_VALUES_ONNXVALUES_H
