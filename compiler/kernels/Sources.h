// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that the host holds: inputs of the model and constants.

#ifndef WSEC_COMPILER_KERNELS_SOURCES_H
#define WSEC_COMPILER_KERNELS_SOURCES_H

#include "compiler/values/ViewTracing.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/wse/Wse.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace wsec {

using values::isShapeOnly;
using values::StridedView;

/// `view` if each of its dimensions has one stride, as streams walk them.
std::optional<StridedView> withStrides(std::optional<StridedView> view);

/// How a weight walks its tensor.
StridedView stridedView(wse::WeightAttr weight);
/// A weight's tensor, walked by another view with strides.
wse::WeightAttr withView(wse::WeightAttr weight, const StridedView &view);
/// All of an intermediate, in order.
wse::WeightAttr wholeOf(wse::IntermediateOp intermediate);

/// Which values of @main the host provides, found in one walk: each is asked
/// for many times, and a chain of operators may be as long as the model.
class HostValues {
public:
  explicit HostValues(mlir::Block &main);

  /// Can `value` be computed from what the host holds, element by element, so
  /// that the wafer needs to hold no operand of another layout first?
  bool contains(mlir::Value value) const;
  /// Whether it is a state that each call reads as a whole (`onnx.whole`),
  /// which the wafer holds.
  static bool isWholeState(mlir::Value value);
  /// Is it computed from something besides constants?
  bool dependsOnInput(mlir::Value value) const;
  /// `value` as a view, with strides, of what the host holds: of an input (a
  /// block argument), of a constant, whose own view is part of it, or of a
  /// value that passes through the store. Elements of floats may be of another
  /// type: they are converted as they are read. Nothing if computing it takes
  /// more than changing shapes.
  std::optional<values::TracedView> trace(mlir::Value value) const;

  /// The constant that a root is; null: an input, or in the store.
  onnx::ConstantOp constantOf(mlir::Value root) const {
    return isStored(root) ? onnx::ConstantOp()
                          : root.getDefiningOp<onnx::ConstantOp>();
  }
  /// The intermediate that a root is in the store; null: none.
  mlir::FlatSymbolRefAttr intermediateOf(mlir::Value root) const {
    return stored.lookup(root);
  }
  /// The type of the elements of a root, as the host holds them.
  mlir::Type storedType(mlir::Value root) const;
  /// Is it everything that is stored, in order?
  bool isWhole(const values::TracedView &traced) const;

  /// From now on `value` is in the store, as the intermediate `tensor`.
  void store(mlir::Value value, mlir::FlatSymbolRefAttr tensor) {
    stored[value] = tensor;
  }
  bool isStored(mlir::Value value) const { return stored.contains(value); }
  /// From now on the result of a shape-only operator on what the host holds is
  /// provided by the host. False if no strides describe it.
  bool addView(mlir::Operation *op);

private:
  // Looked up only, never walked.
  llvm::SmallPtrSet<mlir::Operation *, 16> computed, constant;
  llvm::DenseMap<mlir::Value, mlir::FlatSymbolRefAttr> stored;
};

/// What a constant is called in the model: of a view of a parameter, its name.
mlir::StringAttr constantName(onnx::ConstantOp constant);

/// The value of all elements of a view of a constant, if they are one stored
/// element and it is at hand; nothing of null.
std::optional<double> scalarOf(onnx::ConstantOp constant,
                               const StridedView &view);

/// The type on the wafer of elements of a type, or of a value: i32 of integers,
/// f32 of floats and booleans.
mlir::Type elementOnWafer(mlir::Type element);
mlir::Type elementOnWafer(mlir::Value value);

/// The name of an input of @main.
llvm::StringRef inputName(mlir::BlockArgument input);

} // namespace wsec

#endif // WSEC_COMPILER_KERNELS_SOURCES_H
