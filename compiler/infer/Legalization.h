// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a rule of onnx-legalize-nodes works with: one node, a builder before it.
#ifndef COMPILER_INFER_LEGALIZATION_H
#define COMPILER_INFER_LEGALIZATION_H

#include "compiler/infer/Node.h"
#include "compiler/values/OperatorBuilder.h"

namespace wsec::infer {

class Legalization : public OperatorBuilder {
public:
  Legalization(onnx::NodeOp op, const onnx::OperatorSchema &schema,
               llvm::StringRef understood);

  // The node as the rules of inference see it: attributes, constant inputs.
  Node &node() { return facts; }
  onnx::NodeOp op() { return nodeOp; }
  bool has(size_t i) { return facts.has(i); }
  mlir::Value input(size_t i) { return nodeOp.getInputs()[i]; }
  /// Null if the input is left out.
  mlir::Value optional(size_t i) { return has(i) ? input(i) : mlir::Value(); }
  mlir::RankedTensorType resultType(size_t i = 0) {
    return typeOf(nodeOp.getResult(i));
  }

  /// What the rule makes of a constant; null with a reason if too large.
  mlir::Value constant(const std::optional<Fact> &fact);

  /// Sets the values that replace the results. Always true.
  bool replace(mlir::ValueRange values);
  bool replace(mlir::Value value) { return replace(mlir::ValueRange(value)); }
  Refused fail(const llvm::Twine &why) { return facts.fail(why); }
  llvm::ArrayRef<mlir::Value> replacements() { return results; }

private:
  onnx::NodeOp nodeOp;
  std::vector<Fact> inputs;
  Node facts;
  llvm::SmallVector<mlir::Value> results;
};

/// Builds named operators for a node; false with a reason if it cannot.
using LegalizeRule = bool (*)(Legalization &legalization);

} // namespace wsec::infer

#endif // COMPILER_INFER_LEGALIZATION_H
