// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a value back through reshapes, transposes and slices to the tensor
// whose elements it shows.
#ifndef COMPILER_VALUES_VIEWTRACING_H
#define COMPILER_VALUES_VIEWTRACING_H

#include "compiler/values/OnnxValues.h"

namespace wsec::values {

struct TracedView {
  mlir::Value root;
  StridedView view;
  double scale = 1; // what multiplications on the way amount to
};

/// Is it onnx.reshape, expand, transpose, slice or keep, whose result shows
/// elements of the operand?
bool isShapeOnly(mlir::Operation *op);

/// The view of its result, from that of its operand; nothing if none is.
std::optional<StridedView> throughShapeOp(mlir::Operation *op,
                                          const StridedView &operand);

/// Traces through reshapes and transposes only.
TracedView traceLayout(mlir::Value value);

/// Traces through slices and multiplications by one number as well.
TracedView traceScaledLayout(mlir::Value value);

/// Traces through expands as well.
TracedView traceRepeated(mlir::Value value);

/// Are `ids` from an onnx.top_k of at most so many elements? Then each is a
/// number of one of them.
bool arePlacesOfLargest(mlir::Value ids, int64_t extent);

} // namespace wsec::values

#endif // COMPILER_VALUES_VIEWTRACING_H
