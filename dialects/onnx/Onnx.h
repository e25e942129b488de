// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The onnx dialect: the one header others include.
#ifndef DIALECTS_ONNX_ONNX_H
#define DIALECTS_ONNX_ONNX_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/onnx/OnnxDialect.h.inc"
#include "dialects/onnx/OnnxEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/onnx/OnnxAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/onnx/OnnxTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/onnx/OnnxOps.h.inc"

namespace wsec::onnx {

/// Attributes of the module and of the arguments and results of @main.
inline constexpr llvm::StringLiteral opsetAttrName = "onnx.opset";
inline constexpr llvm::StringLiteral modelAttrName = "onnx.model";
inline constexpr llvm::StringLiteral parametersAttrName = "onnx.parameters";
/// On an operation or a kernel: names of the nodes whose work it does besides
/// its own, such as the Softmax inside of an attention.
inline constexpr llvm::StringLiteral absorbedAttrName = "onnx.absorbed";
/// On an operation: for each result, the names that the model gives to values
/// that equal it element by element, in row-major order, each with its shape:
/// ["x", array<i64: 2, 3>]. On a kernel the same.
inline constexpr llvm::StringLiteral valuesAttrName = "onnx.values";
inline constexpr llvm::StringLiteral weightBytesAttrName = "onnx.weight_bytes";
inline constexpr llvm::StringLiteral nameAttrName = "onnx.name";
/// On an argument that is what a call before has left, and of the result that
/// it leaves: the name of the state, which the host does not see.
inline constexpr llvm::StringLiteral stateAttrName = "onnx.state";
/// On an argument that is an integer of the call, the same for each batch
/// element: the least and the greatest, array<i64: 0, 511>.
inline constexpr llvm::StringLiteral argumentAttrName = "onnx.argument";

/// (C7) to (C9) of onnx.attention, for an `op` with so many masks.
llvm::LogicalResult verifyTerms(mlir::Operation *op, mlir::ArrayAttr terms,
                                int64_t masks, int64_t queries, int64_t keys);

/// Scores that attentions have gradients without count for no weight.
inline constexpr double mostOfUnseen = -1e30;
/// Whether an attention with these terms has an `attention_gradient`.
llvm::LogicalResult verifyGradientTerms(mlir::Operation *op,
                                        mlir::ArrayAttr terms, int64_t queries,
                                        int64_t keys);

/// Assembly of the elements of a tensor: `external<...> : type`, `dense<...> :
/// type`, or #onnx.quantized of f32. No value where another thing comes.
mlir::OptionalParseResult parseTensorData(mlir::OpAsmParser &parser,
                                          mlir::Attribute &value,
                                          mlir::TypeAttr &type);
void printTensorData(mlir::OpAsmPrinter &printer, mlir::Attribute value,
                     mlir::TypeAttr type);

/// Are these dense elements, or bytes of a file, of that type and number?
bool isDataOf(mlir::Attribute value, mlir::RankedTensorType type);

} // namespace wsec::onnx

#endif // DIALECTS_ONNX_ONNX_H
