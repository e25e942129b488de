// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a rule of onnx-legalize-nodes works with: one node, a builder before it.
#ifndef COMPILER_INFER_LEGALIZATION_H
#define COMPILER_INFER_LEGALIZATION_H

#include "compiler/infer/Node.h"
#include "compiler/values/OnnxValues.h"

namespace wsec::infer {

class Legalization {
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

  mlir::OpBuilder &builder() { return build; }
  mlir::Location loc() { return nodeOp.getLoc(); }
  llvm::StringRef name() { return nodeOp.getNode(); }
  mlir::StringAttr nameAttr() { return nodeOp.getNodeAttr(); }

  mlir::Value unary(onnx::UnaryKind kind, mlir::Value x) {
    return values::unary(build, loc(), kind, x, name());
  }
  mlir::Value binary(onnx::BinaryKind kind, mlir::Value a, mlir::Value b) {
    return values::binary(build, loc(), kind, a, b, name());
  }
  /// With a scalar on the right.
  mlir::Value binary(onnx::BinaryKind kind, mlir::Value a, double b) {
    return binary(kind, a, scalarLike(build, loc(), a, b));
  }
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape) {
    return reshapeTo(build, loc(), x, shape, name());
  }
  /// `x` with elements of another type, or `x` itself if it has them.
  mlir::Value cast(mlir::Value x, mlir::Type element);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm);
  mlir::Value slice(mlir::Value x, const Box &box);
  /// Elements [start, start + size) of the last axis.
  mlir::Value sliceLast(mlir::Value x, int64_t start, int64_t size);
  mlir::Value concat(mlir::ValueRange parts, int64_t axis);
  mlir::Value expand(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  /// Broadcast.
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// Over these axes, which keep an extent of 1; `x` itself if there are none.
  mlir::Value keptReduced(mlir::Value x, onnx::ReduceKind kind,
                          llvm::ArrayRef<int64_t> axes);
  /// Over one axis, which goes.
  mlir::Value reduced(onnx::ReduceKind kind, mlir::Value x, int64_t axis);
  mlir::Value batchMatmul(mlir::Value a, mlir::Value b) {
    return values::batchMatmul(build, loc(), a, b, name());
  }
  /// `x` times `weight` [K,N] plus an optional bias [N].
  mlir::Value matmul(mlir::Value x, mlir::Value weight, mlir::Value bias);
  /// What the rule makes of a constant; null with a reason if too large.
  mlir::Value constant(const std::optional<Fact> &fact);

  /// Sets the values that replace the results. Always true.
  bool replace(mlir::ValueRange values);
  bool replace(mlir::Value value) { return replace(mlir::ValueRange(value)); }
  bool fail(const llvm::Twine &why) { return facts.fail(why); }
  llvm::ArrayRef<mlir::Value> replacements() { return results; }

private:
  onnx::NodeOp nodeOp;
  std::vector<Fact> inputs;
  Node facts;
  mlir::OpBuilder build;
  llvm::SmallVector<mlir::Value> results;
};

/// Builds named operators for a node; false with a reason if it cannot.
using LegalizeRule = bool (*)(Legalization &legalization);

} // namespace wsec::infer

#endif // COMPILER_INFER_LEGALIZATION_H
