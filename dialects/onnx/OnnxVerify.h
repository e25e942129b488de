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

/// Says "<what> is <found>, expected <expected>".
inline LogicalResult typeError(Operation *op, StringRef what, Value found,
                               Type expected) {
  return op->emitOpError() << what << " is " << found.getType() << ", expected "
                           << expected;
}

inline LogicalResult expectType(Operation *op, StringRef what, Value value,
                                ArrayRef<int64_t> shape, Type element) {
  auto expected = RankedTensorType::get(shape, element);
  if (value.getType() == expected)
    return success();
  return typeError(op, what, value, expected);
}

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

} // namespace wsec::onnx

#endif // DIALECTS_ONNX_ONNXVERIFY_H
