// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which parameters of a model train, and why others do not.
#ifndef COMPILER_DIFFERENTIATE_WHATTRAINS_H
#define COMPILER_DIFFERENTIATE_WHATTRAINS_H

#include "compiler/values/Tensor.h"
#include "dialects/onnx/Onnx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace wsec::differentiate {

/// A parameter of the module.
struct Parameter {
  onnx::ParameterOp op;
  /// Views of it in @main.
  llvm::SmallVector<onnx::ConstantOp, 1> views;
  /// Why it does not train: "frozen", "mask", "angle", "scalar" or "unused";
  /// empty if it does.
  llvm::StringRef reason;
  /// The reason that one of --train=* would have.
  llvm::StringRef role;
  bool isTable = false;   ///< its rows are looked up
  bool onlyMasks = false; ///< it is added to scores, element by element

  bool isNoWeight() const {
    return role == "mask" || role == "angle" || role == "scalar";
  }
};

/// All, in the order of the module. What is stated trainable trains, unless all
/// that is made of it alone are angles, or it is used before a softmax and has
/// the values of a mask (0, 1, or so far below 0 that nothing is left), or it
/// is one number that is no weight, bias or scale. What was asked for by its
/// name trains even so.
llvm::SmallVector<Parameter> whatTrains(mlir::func::FuncOp main);

/// Elements that training starts from: `count` from the stored one `first` on,
/// `step` apart; nothing where they cannot be read, or are too many.
std::optional<values::Tensor> startOf(const Parameter &parameter, int64_t first,
                                      int64_t count, int64_t step);

/// What exporters do to models that are to train, of those that do, each in a
/// sentence: one parameter of several norms, a table that the head has a copy
/// of, norms whose biases are not there.
llvm::SmallVector<std::string>
whatExportersChanged(mlir::func::FuncOp main,
                     llvm::ArrayRef<Parameter> parameters);

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_WHATTRAINS_H
