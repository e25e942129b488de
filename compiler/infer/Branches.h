// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's If. The importer makes of its branches private functions of what they
// use of the graphs around them:
//
//   %y = onnx.node "If"(%condition, %a, %b) with
//     {then_branch = @"n/then_branch", else_branch = @"n/else_branch"}
//
// The branch of a condition that is known takes the node's place. A wafer's
// program does the same work in every run: of a computed condition none is
// taken.
#ifndef COMPILER_INFER_BRANCHES_H
#define COMPILER_INFER_BRANCHES_H

#include "compiler/values/Facts.h"
#include "dialects/onnx/Onnx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace wsec::infer {

/// An If, as the importer makes it.
bool isIf(onnx::NodeOp op);

/// Inputs of the model from which values are computed.
struct DecidingInput {
  size_t count = 0;       ///< of those of integers or truth values
  std::string binding;    ///< what --bind takes for the last of these
  bool readsData = false; ///< there are others, of floats
};
DecidingInput decidingInput(mlir::ValueRange values);

/// The branch that is taken. Null where that is not known; `why` says so.
mlir::func::FuncOp chosenBranch(onnx::NodeOp op, const values::Fact *condition,
                                std::string &why);

/// Copies the operations of a branch, with its `func.return` behind them, in
/// front of its If. Its weights count as the model's.
llvm::SmallVector<mlir::Operation *> copyBranch(onnx::NodeOp op,
                                                mlir::func::FuncOp branch);

/// Puts what `last` returns in the place of the results of the If, which end
/// with it.
void replaceIf(onnx::NodeOp op, mlir::Operation *last);

} // namespace wsec::infer

#endif // COMPILER_INFER_BRANCHES_H
