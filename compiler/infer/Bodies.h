// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What If, Loop and Scan have in common. The importer makes of their subgraphs
// private functions of the node's operands, if it is no If, and of what they
// use of the graphs around them:
//
//   %y = onnx.node "If"(%condition, %a, %b) with
//     {then_branch = @"n/then_branch", else_branch = @"n/else_branch"}
//   %z = onnx.node "Loop"(%trips, %condition, %x, %a) with
//     {body = @"n/body", captured = 1}
#ifndef COMPILER_INFER_BODIES_H
#define COMPILER_INFER_BODIES_H

#include "compiler/values/Facts.h"
#include "dialects/onnx/Onnx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include <string>

namespace wsec::infer {

/// The function that an attribute of `op` names, or null.
mlir::func::FuncOp bodyOf(onnx::NodeOp op, llvm::StringRef attribute);

/// Inputs of the model from which values are computed.
struct DecidingInput {
  size_t count = 0;       ///< of those of integers or truth values
  std::string binding;    ///< what --bind takes for the last of these
  bool readsData = false; ///< there are others, of floats
};
DecidingInput decidingInput(mlir::ValueRange values);

/// What to do about a number that decides: an input of integers that it is
/// computed from, alone, may be stated; of data none is.
std::string remedyFor(mlir::Value number, llvm::StringRef otherwise);

/// Copies the operations of a body, with its `func.return` behind them, in
/// front of its node. Names of nodes and values get `prefix`; `places` says
/// what the body's arguments are. Constants that it knows are not made again,
/// and weights count as the model's once.
llvm::SmallVector<mlir::Operation *> copyBody(onnx::NodeOp op,
                                              mlir::func::FuncOp body,
                                              llvm::StringRef prefix,
                                              mlir::IRMapping &places);
/// The prefix of names in the branches of an If that lies in a loop.
llvm::StringRef prefixOf(onnx::NodeOp op);

/// Puts values in the place of the results of a node, which ends with it.
void replaceNode(onnx::NodeOp op, mlir::ValueRange values);

} // namespace wsec::infer

#endif // COMPILER_INFER_BODIES_H
