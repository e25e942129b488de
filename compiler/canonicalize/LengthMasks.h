// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that hide what stands behind the length of a call.
#ifndef COMPILER_CANONICALIZE_LENGTHMASKS_H
#define COMPILER_CANONICALIZE_LENGTHMASKS_H

#include "dialects/onnx/Onnx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace wsec::canonicalize {

class LengthMasks {
public:
  explicit LengthMasks(mlir::func::FuncOp function) : function(function) {}

  /// What users call the length.
  std::string name() const;
  /// `factor` times the length, and `more`, in the type of `like`, whose rank
  /// it has; extents are 1.
  mlir::Value number(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value like, double factor, double more);
  mlir::Value number(onnx::ConstantOp op, double factor, double more);
  /// `x` with `value` behind the length along `axis`.
  mlir::Value masked(mlir::OpBuilder &builder, mlir::Value x, int64_t axis,
                     double value, mlir::Operation *user);
  /// A mask for keys: minus infinity behind the length, else 0.
  mlir::Value hidden(mlir::OpBuilder &builder, onnx::AttentionOp op);

  /// The entry's input that says it, behind the model's own.
  mlir::BlockArgument length();

  /// Whether what stands behind the length is a number, as it is where tokens
  /// are what a caller may give.
  bool isFinite(mlir::Value value);
  void noteZeroBehind(mlir::Value value) { zeroBehind.insert(value); }
  bool isZeroBehind(mlir::Value value) const {
    return zeroBehind.contains(value);
  }

private:
  /// Which of all are in the call: along `axis`, of so many dimensions.
  mlir::Value isThere(mlir::OpBuilder &builder, int64_t axis, int64_t rank,
                      mlir::Operation *user);

  mlir::func::FuncOp function;
  mlir::BlockArgument argument;
  mlir::Value there;                        ///< [tokens]
  llvm::DenseSet<mlir::Value> zeroBehind;   ///< looked up only
  llvm::DenseMap<mlir::Value, bool> finite; ///< looked up only
};

} // namespace wsec::canonicalize

#endif // COMPILER_CANONICALIZE_LENGTHMASKS_H
