// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What verifiers of operators have in common. For the sources of this folder.
#ifndef DIALECTS_ONNX_ONNXVERIFY_H
#define DIALECTS_ONNX_ONNXVERIFY_H

#include "dialects/onnx/Onnx.h"

namespace wsec::onnx {
using namespace mlir;

inline ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
inline Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

/// Adds where an operand that an error is about is made.
inline LogicalResult withMaker(InFlightDiagnostic error, Value operand) {
  error.attachNote(operand.getLoc()) << "the operand is made here";
  return failure();
}

/// Says "<what> is <found>, expected <expected>".
inline LogicalResult typeError(Operation *op, StringRef what, Value found,
                               Type expected) {
  InFlightDiagnostic error = op->emitOpError()
                             << what << " is " << found.getType()
                             << ", expected " << expected;
  if (found.getDefiningOp() != op)
    return withMaker(std::move(error), found);
  return failure();
}

inline LogicalResult expectType(Operation *op, StringRef what, Value value,
                                ArrayRef<int64_t> shape, Type element) {
  auto expected = RankedTensorType::get(shape, element);
  if (value.getType() == expected)
    return success();
  return typeError(op, what, value, expected);
}

inline LogicalResult verifyHeads(Operation *op, StringRef what, Value value,
                                 int64_t heads) {
  if (heads > 0 && shapeOf(value).back() % heads == 0)
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << shapeOf(value).back() << " features of " << what
                             << " are not a multiple of " << heads << " heads";
  if (value.getDefiningOp() != op)
    return withMaker(std::move(error), value);
  return failure();
}

/// Reports where `vector`, called `what`, has not one element per feature of
/// `x`.
LogicalResult verifyFeatureVector(Operation *op, StringRef what, Value x,
                                  Value vector);

/// Holds when `value` broadcasts to the shape `to`, as numpy does.
inline bool broadcastsTo(Value value, ArrayRef<int64_t> to) {
  ArrayRef<int64_t> from = shapeOf(value);
  if (from.size() > to.size())
    return false;
  for (auto [f, t] : llvm::zip(from, to.take_back(from.size())))
    if (f != t && f != 1)
      return false;
  return true;
}

/// The parameter of this name, or an error that `op` names none.
inline ParameterOp parameterOf(Operation *op, FlatSymbolRefAttr name,
                               SymbolTableCollection &symbols) {
  auto parameter = symbols.lookupNearestSymbolFrom<ParameterOp>(op, name);
  if (!parameter)
    op->emitOpError() << "there is no parameter " << name;
  return parameter;
}

/// Adds where the parameter that an error is about is declared.
inline LogicalResult withDeclaration(InFlightDiagnostic error,
                                     ParameterOp parameter) {
  error.attachNote(parameter.getLoc()) << "the parameter is declared here";
  return failure();
}

} // namespace wsec::onnx

#endif // DIALECTS_ONNX_ONNXVERIFY_H
