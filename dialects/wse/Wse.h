// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_DIALECTS_WSE_WSE_H
#define WSEC_DIALECTS_WSE_WSE_H

#include "compiler/machine/Machine.h"
#include "dialects/fabric/StreamPattern.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/pe/Pe.h"
#include "dialects/wse/Distribution.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace wsec::wse {
using fabric::Port;
using fabric::Ports;
using fabric::StreamPattern;
} // namespace wsec::wse

#include "dialects/wse/WseDialect.h.inc"
#include "dialects/wse/WseEnums.h.inc"

namespace wsec::wse {
/// `bytes`, rounded up to whole words of 32 bits.
inline int64_t wholeWords(int64_t bytes) { return (bytes + 3) / 4 * 4; }
} // namespace wsec::wse

#define GET_ATTRDEF_CLASSES
#include "dialects/wse/WseAttrs.h.inc"

namespace wsec::wse {

/// On a module whose program was selected: the shapes of regions that were
/// compared, as dictionaries of `shape`, predicted `cycles` and whether the
/// tensors fit the SRAM; the best first.
inline constexpr llvm::StringLiteral candidatesAttrName =
    "wse.region_candidates";
/// On a product of the onnx dialect: the #wse.sparsity of its weight.
inline constexpr llvm::StringLiteral sparsityAttrName = "wse.sparsity";
/// On one whose groups are of input features.
inline constexpr llvm::StringLiteral transposedAttrName = "wse.transposed";

/// Names the result of a kernel after the last ONNX node it computes.
void nameResult(mlir::Operation *op, mlir::ArrayAttr nodes,
                mlir::OpAsmSetValueNameFn setName);

/// The results of a kernel lie one after the other in each PE of its region, of
/// `width` columns and `height` rows. Bytes of those before one of them, and of
/// all.
int64_t bytesBefore(mlir::OpResult result, int64_t width, int64_t height);
int64_t resultBytes(mlir::Operation *op, int64_t width, int64_t height);

/// The kernel's ONNX nodes joined by "+", or its operation's name.
std::string describeKernel(mlir::Operation *op);

/// All #wse.weight attributes of the operation, in order.
llvm::SmallVector<WeightAttr> allWeights(mlir::Operation *op);

/// The inputs, intermediates, parameters and states that a kernel reads.
llvm::SmallVector<mlir::StringAttr> tensorsRead(mlir::Operation *op);
/// What a kernel writes, that others may read: an output or intermediate, a
/// parameter, a state; null: nothing.
mlir::StringAttr tensorWritten(mlir::Operation *op);

/// Whether tensors on the wafer may have such floats as elements.
inline bool isFloatElement(mlir::Type type) {
  return type.isF32() || pe::isNarrowFloat(type);
}
/// The type that bodies compute with for elements of `element`: f32 of all
/// floats.
inline mlir::Type scalarType(mlir::Type element) {
  return element.isInteger() ? element
                             : mlir::Float32Type::get(element.getContext());
}
/// Bytes of an element of a tensor on the wafer.
inline int64_t elementBytes(mlir::Type tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor)
             .getElementType()
             .getIntOrFloatBitWidth() /
         8;
}

/// Features of a tensor: its last dimension.
inline int64_t featuresOf(mlir::Type type) {
  return llvm::cast<mlir::RankedTensorType>(type).getShape().back();
}
inline int64_t featuresOf(mlir::Value value) {
  return featuresOf(value.getType());
}
/// Whether a tensor of one token lies along the rows: its features are tokens
/// of one feature, which all columns have.
bool liesAlongRows(mlir::Type type);
inline bool liesAlongRows(mlir::Value value) {
  return liesAlongRows(value.getType());
}

} // namespace wsec::wse

#include "dialects/wse/WseInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/wse/WseOps.h.inc"

namespace wsec::wse {

/// The region that a kernel of a verified program is on.
RegionOp regionOf(KernelOp kernel);

/// The arguments of its entry that a kernel reads, in the order of operands.
llvm::SmallVector<mlir::BlockArgument> argumentsOf(mlir::Operation *kernel);

/// The parameter that a weight of a kernel is a view of; null: an input, or
/// what passes through the store.
ParameterOp parameterOf(mlir::Operation *kernel, WeightAttr weight);

/// The values of few bits that a weight of a kernel is a view of; null: it is
/// of others.
onnx::QuantizedAttr quantizedOf(mlir::Operation *kernel, WeightAttr weight);

/// The resident parameter that a weight of a kernel is a view of; null: it
/// streams.
ParameterOp residentOf(mlir::Operation *kernel, WeightAttr weight);

} // namespace wsec::wse

#endif // WSEC_DIALECTS_WSE_WSE_H
