// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes named operators at one place of the IR, for one node.
#ifndef COMPILER_VALUES_OPERATORBUILDER_H
#define COMPILER_VALUES_OPERATORBUILDER_H

#include "compiler/values/OnnxValues.h"

namespace wsec::values {

/// What a slice takes: along each dimension the elements starts[d],
/// starts[d] + steps[d], ..., extents[d] of them.
struct Box {
  Shape starts, extents, steps;
};
/// All of `x`.
Box wholeBox(mlir::Value x);

class OperatorBuilder {
public:
  OperatorBuilder(mlir::OpBuilder builder, mlir::Location loc,
                  mlir::StringAttr node)
      : build(std::move(builder)), place(loc), node(node) {}

  mlir::OpBuilder &builder() { return build; }
  mlir::Location loc() const { return place; }
  llvm::StringRef name() const { return node.getValue(); }
  mlir::StringAttr nameAttr() const { return node; }

  mlir::Value unary(onnx::UnaryKind kind, mlir::Value x) {
    return values::unary(build, loc(), kind, x, name());
  }
  mlir::Value binary(onnx::BinaryKind kind, mlir::Value a, mlir::Value b) {
    return values::binary(build, loc(), kind, a, b, name());
  }
  /// With a scalar on the right.
  mlir::Value binary(onnx::BinaryKind kind, mlir::Value a, double b) {
    return binary(kind, a, scalarLike(a, b));
  }

  // A function of one value, as n.sqrt(x).
#define WSEC_OF_ONE(name, Kind)                                                \
  mlir::Value name(mlir::Value x) { return unary(onnx::UnaryKind::Kind, x); }
#define WSEC_FUNCTION(Name, name, numbers, software, words, value)             \
  WSEC_OF_ONE(name, Name)
#include "runtime/program/Opcodes.def"
  WSEC_OF_ONE(neg, Neg)
  WSEC_OF_ONE(abs, Abs)
  WSEC_OF_ONE(sign, Sign)
  WSEC_OF_ONE(round, Round)
  WSEC_OF_ONE(sigmoid, Sigmoid)
  WSEC_OF_ONE(reciprocal, Reciprocal)
  WSEC_OF_ONE(rsqrt, Rsqrt)
  WSEC_OF_ONE(logicalNot, Not)
  WSEC_OF_ONE(bitNot, BitNot)
#undef WSEC_OF_ONE

  // A function of two values, or of one and a scalar, as n.add(a, b).
#define WSEC_OF_TWO(name, Kind)                                                \
  mlir::Value name(mlir::Value a, mlir::Value b) {                             \
    return binary(onnx::BinaryKind::Kind, a, b);                               \
  }                                                                            \
  mlir::Value name(mlir::Value a, double b) {                                  \
    return binary(onnx::BinaryKind::Kind, a, b);                               \
  }
  WSEC_OF_TWO(add, Add)
  WSEC_OF_TWO(sub, Sub)
  WSEC_OF_TWO(mul, Mul)
  WSEC_OF_TWO(div, Div)
  WSEC_OF_TWO(min, Min)
  WSEC_OF_TWO(max, Max)
  WSEC_OF_TWO(pow, Pow)
  WSEC_OF_TWO(mod, Mod)
  WSEC_OF_TWO(equal, Equal)
  WSEC_OF_TWO(less, Less)
  WSEC_OF_TWO(lessOrEqual, LessOrEqual)
  WSEC_OF_TWO(logicalAnd, And)
  WSEC_OF_TWO(logicalOr, Or)
#undef WSEC_OF_TWO

  /// A constant; null if its elements are too many to copy.
  mlir::Value materialize(const Fact &fact) {
    return values::materialize(build, loc(), fact, name());
  }
  mlir::Value materialize(Tensor tensor) {
    return values::materialize(build, loc(), std::move(tensor));
  }
  mlir::Value scalarLike(mlir::Value like, double value) {
    return values::scalarLike(build, loc(), like, value);
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
  mlir::Value softmax(mlir::Value x);
  mlir::Value batchMatmul(mlir::Value a, mlir::Value b) {
    return values::batchMatmul(build, loc(), a, b, name());
  }
  /// `x` times `weight` [K,N] plus an optional bias [N].
  mlir::Value matmul(mlir::Value x, mlir::Value weight, mlir::Value bias);

protected:
  mlir::OpBuilder build;
  mlir::Location place;
  mlir::StringAttr node;
};

} // namespace wsec::values

#endif // COMPILER_VALUES_OPERATORBUILDER_H
