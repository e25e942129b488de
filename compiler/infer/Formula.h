// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas of elements: what operators and functions of terms say, the nodes
// of a legalization compute.
//
//   x / (abs(x) + 1)         onnx.unary abs, onnx.binary add, onnx.binary div
#ifndef COMPILER_INFER_FORMULA_H
#define COMPILER_INFER_FORMULA_H

#include "compiler/infer/Legalization.h"

namespace wsec::infer {

/// A value, and the legalization that builds on it.
struct Term {
  Legalization &n;
  mlir::Value value;

  /// The operand `i` of the node.
  Term operand(size_t i) const { return {n, n.input(i)}; }
  double attribute(llvm::StringRef name) const {
    return n.node().floatAttr(name);
  }
  /// This number in each element.
  Term all(double number) const {
    return {n, values::scalarLike(n.builder(), n.loc(), value, number)};
  }
};

// Of two terms, which broadcast, or of a term and a number.
#define WSEC_OF_TWO(name, Kind)                                                \
  inline Term name(Term a, Term b) {                                           \
    return {a.n, a.n.binary(onnx::BinaryKind::Kind, a.value, b.value)};        \
  }                                                                            \
  inline Term name(Term a, double b) { return name(a, a.all(b)); }             \
  inline Term name(double a, Term b) { return name(b.all(a), b); }
WSEC_OF_TWO(operator+, Add)
WSEC_OF_TWO(operator-, Sub)
WSEC_OF_TWO(operator*, Mul)
WSEC_OF_TWO(operator/, Div)
WSEC_OF_TWO(operator<, Less)
WSEC_OF_TWO(operator<=, LessOrEqual)
WSEC_OF_TWO(operator==, Equal)
WSEC_OF_TWO(min, Min)
WSEC_OF_TWO(max, Max)
#undef WSEC_OF_TWO

#define WSEC_OF_ONE(name, Kind)                                                \
  inline Term name(Term x) {                                                   \
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
inline Term where(Term condition, Term a, Term b) {
  return {a.n, a.n.where(condition.value, a.value, b.value)};
}

} // namespace wsec::infer

#endif // COMPILER_INFER_FORMULA_H
