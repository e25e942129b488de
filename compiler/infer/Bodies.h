// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nodes with subgraphs have in common. The importer makes of their
// subgraphs private functions of the node's operands, if it is no If, and of
// what they use of the graphs around them:
//
//   %y = onnx.node "If"(%condition, %a, %b) with
//     {then_branch = @"n/then_branch", else_branch = @"n/else_branch"}
//   %z = onnx.node "Loop"(%trips, %condition, %x, %a) with
//     {body = @"n/body", captured = 1}
//
// What is made of such a node stands before it.
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
  std::string binding;    ///< the flags that bind these
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

/// What inference does with the operations that are made of a node.
struct Inferring {
  llvm::function_ref<void(mlir::Operation &)> visit;
  llvm::function_ref<const values::Fact *(mlir::Value)> lookup;
  llvm::function_ref<void(mlir::Operation &)> forget;
};

/// Makes operations in front of a node, with its name.
class Expansion {
public:
  Expansion(onnx::NodeOp op, const Inferring &inferring)
      : op(op), inferring(inferring), before(op->getPrevNode()) {}

  mlir::Value constant(values::Tensor tensor);
  mlir::Value node(llvm::StringRef operation, mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::Value node(llvm::StringRef operation, mlir::ValueRange operands,
                   llvm::StringRef attribute, int64_t value);
  /// The results of a body of such operands; nothing where one is unknown, for
  /// a reason that stands at what was made.
  std::optional<llvm::SmallVector<mlir::Value>> copy(mlir::func::FuncOp body,
                                                     llvm::StringRef prefix,
                                                     mlir::IRMapping &places);
  void eraseMade();

protected:
  onnx::NodeOp op;
  const Inferring &inferring;
  mlir::Operation *before; ///< of what is made; null: nothing is
};

/// Puts values in the place of the results of a node, which ends with it.
void replaceNode(onnx::NodeOp op, mlir::ValueRange values);

} // namespace wsec::infer

#endif // COMPILER_INFER_BODIES_H
