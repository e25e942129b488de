// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas of elements: what operators and functions of terms say, named
// operators compute.
//
//   x / (abs(x) + 1)         onnx.unary abs, onnx.binary add, onnx.binary div
#ifndef COMPILER_VALUES_FORMULA_H
#define COMPILER_VALUES_FORMULA_H

#include "compiler/values/OperatorBuilder.h"

namespace wsec::values {

/// A value, and the builder of what is computed of it: an OperatorBuilder.
template <class Builder>
struct TermOf {
  TermOf(Builder &n, mlir::Value value) : n(n), value(value) {}
  TermOf(const TermOf &other) = default;
  TermOf &operator=(const TermOf &other) { // by the same builder
    value = other.value;
    return *this;
  }

  Builder &n;
  mlir::Value value;

  /// The operand `i` of the node.
  TermOf operand(size_t i) const { return {n, n.input(i)}; }
  double attribute(llvm::StringRef name) const {
    return n.node().floatAttr(name);
  }
  /// This number in each element.
  TermOf all(double number) const {
    return {n, scalarLike(n.builder(), n.loc(), value, number)};
  }
};

// Of two terms, which broadcast, or of a term and a number.
#define WSEC_OF_TWO(name, Kind)                                                \
  template <class Builder>                                                     \
  TermOf<Builder> name(TermOf<Builder> a, TermOf<Builder> b) {                 \
    return {a.n, a.n.binary(onnx::BinaryKind::Kind, a.value, b.value)};        \
  }                                                                            \
  template <class Builder>                                                     \
  TermOf<Builder> name(TermOf<Builder> a, double b) {                          \
    return name(a, a.all(b));                                                  \
  }                                                                            \
  template <class Builder>                                                     \
  TermOf<Builder> name(double a, TermOf<Builder> b) {                          \
    return name(b.all(a), b);                                                  \
  }
WSEC_OF_TWO(operator+, Add)
WSEC_OF_TWO(operator-, Sub)
WSEC_OF_TWO(operator*, Mul)
WSEC_OF_TWO(operator/, Div)
WSEC_OF_TWO(operator<, Less)
WSEC_OF_TWO(operator<=, LessOrEqual)
WSEC_OF_TWO(operator==, Equal)
WSEC_OF_TWO(min, Min)
WSEC_OF_TWO(max, Max)
WSEC_OF_TWO(pow, Pow)
#undef WSEC_OF_TWO

#define WSEC_OF_ONE(name, Kind)                                                \
  template <class Builder>                                                     \
  TermOf<Builder> name(TermOf<Builder> x) {                                    \
    return {x.n, x.n.unary(onnx::UnaryKind::Kind, x.value)};                   \
  }
#define WSEC_FUNCTION(Name, name, numbers, software, words, value)             \
  WSEC_OF_ONE(name, Name)
#include "runtime/program/Opcodes.def"
WSEC_OF_ONE(operator-, Neg)
WSEC_OF_ONE(operator!, Not)
WSEC_OF_ONE(operator~, BitNot)
WSEC_OF_ONE(abs, Abs)
WSEC_OF_ONE(sign, Sign)
WSEC_OF_ONE(round, Round)
WSEC_OF_ONE(sigmoid, Sigmoid)
WSEC_OF_ONE(reciprocal, Reciprocal)
#undef WSEC_OF_ONE

/// Where the condition holds `a`, else `b`.
template <class Builder>
TermOf<Builder> where(TermOf<Builder> condition, TermOf<Builder> a,
                      TermOf<Builder> b) {
  return {a.n, a.n.where(condition.value, a.value, b.value)};
}

} // namespace wsec::values

#endif // COMPILER_VALUES_FORMULA_H
