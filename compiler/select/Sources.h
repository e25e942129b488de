// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that the host holds: inputs of the model and constants.

#ifndef WSEC_COMPILER_SELECT_SOURCES_H
#define WSEC_COMPILER_SELECT_SOURCES_H

#include "compiler/select/View.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/wse/Wse.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace wsec::select {

/// A value of the host seen through shape-only operators: `base` is an input
/// (a block argument) or the result of an onnx.constant, whose own view is
/// part of `view`. Its elements may be of another float type: they are
/// converted as they are read.
struct HostView {
  mlir::Value base;
  View view;

  onnx::ConstantOp constant() const {
    return base.getDefiningOp<onnx::ConstantOp>();
  }
  /// Is it everything that is stored, in order?
  bool isWhole() const;
};

/// Which values of @main the host provides, found in one walk: each is asked
/// for many times, and a chain of operators may be as long as the model.
class HostValues {
public:
  explicit HostValues(mlir::Block &main);

  /// Can `value` be computed from inputs and constants element by element, so
  /// that the wafer needs to hold no operand of another layout first?
  bool contains(mlir::Value value) const;
  /// Is it computed from something besides constants?
  bool dependsOnInput(mlir::Value value) const;

private:
  // Looked up only, never walked.
  llvm::SmallPtrSet<mlir::Operation *, 16> computed, constant;
};

/// `value` as a view of an input or constant, or nothing if computing it takes
/// more than changing shapes.
std::optional<HostView> asHostView(mlir::Value value);

/// The type of the elements that the host holds.
mlir::Type storedType(const HostView &host);

/// `value` as a weight: a constant behind shape-only operators. Null if it is
/// none.
wse::WeightAttr asWeight(mlir::Value value);

/// The constant of `view` as a weight with the view's shape.
wse::WeightAttr weightOf(onnx::ConstantOp constant, const View &view);

/// The value of all elements of a view of a constant, if they are one stored
/// element and it is at hand.
std::optional<double> scalarOf(const HostView &host);

/// The name of an input of @main.
llvm::StringRef inputName(mlir::BlockArgument input);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_SOURCES_H
