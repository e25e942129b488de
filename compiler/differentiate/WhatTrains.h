// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which parameters of a model train, and why others do not.
#ifndef COMPILER_DIFFERENTIATE_WHATTRAINS_H
#define COMPILER_DIFFERENTIATE_WHATTRAINS_H

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
};

/// All, in the order of the module. What is stated trainable trains, unless all
/// that is made of it alone masks an attention or turns a rotary embedding, or
/// it is one number that is no weight, bias or scale.
llvm::SmallVector<Parameter> whatTrains(mlir::func::FuncOp main);

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_WHATTRAINS_H
