// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of one and two elements, choices, conversions. Where a function has
// a corner its derivative there is PyTorch's.
#include "compiler/differentiate/Differentiable.h"
#include <cmath>

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;
using onnx::BinaryKind;
using onnx::UnaryKind;

//===----------------------------------------------------------------------===//
// One element
//===----------------------------------------------------------------------===//

/// dy times the derivative of y = f(x).
using Derivative = Term (*)(Term x, Term y, Term dy);

/// A row for each function that has a derivative which is not 0 everywhere.
static Derivative derivativeOf(UnaryKind kind) {
#define WSEC_DERIVATIVE(Name, formula)                                         \
  case UnaryKind::Name:                                                        \
    return +[](Term x, Term y, Term dy) { return formula; };
  switch (kind) {
    WSEC_DERIVATIVE(Neg, -dy)
    WSEC_DERIVATIVE(Abs, dy * sign(x))
    WSEC_DERIVATIVE(Exp, dy * y)
    WSEC_DERIVATIVE(Log, dy / x)
    WSEC_DERIVATIVE(Sqrt, dy * 0.5 / y)
    WSEC_DERIVATIVE(Reciprocal, -(dy * y * y))
    WSEC_DERIVATIVE(Rsqrt, dy * -0.5 * y * y * y)
    WSEC_DERIVATIVE(Tanh, dy * (1 - y * y))
    WSEC_DERIVATIVE(Erf, dy * (exp(-(x * x)) * (2 / std::sqrt(M_PI))))
    WSEC_DERIVATIVE(Sigmoid, dy * (y * (1 - y)))
    WSEC_DERIVATIVE(Sin, dy * cos(x))
    WSEC_DERIVATIVE(Cos, -(dy * sin(x)))
    WSEC_DERIVATIVE(Atan, dy / (x * x + 1))
  default:
    return nullptr;
  }
#undef WSEC_DERIVATIVE
}

/// Whether the derivative is 0 wherever there is one.
static bool isStep(UnaryKind kind) {
  return kind == UnaryKind::Floor || kind == UnaryKind::Ceil ||
         kind == UnaryKind::Round || kind == UnaryKind::Trunc ||
         kind == UnaryKind::Sign;
}

static void unary(onnx::UnaryOp op, Value dy, Backward &n) {
  if (Derivative derivative = derivativeOf(op.getKind()))
    n.add(op.getX(), derivative({n, op.getX()}, {n, op.getY()}, {n, dy}).value);
  else if (!isStep(op.getKind()))
    n.refuse("has no derivative; a row of compiler/differentiate/"
             "Elementwise.cpp would be one");
}

//===----------------------------------------------------------------------===//
// Two elements
//===----------------------------------------------------------------------===//

/// The larger of a number and a bound that does not train is a ramp, such as a
/// relu: at 0 flat. At other bounds, and below an upper one, it is not, as of
/// torch.clamp. Of two that train each has half where they are equal.
static void extreme(onnx::BinaryOp op, Term dy, Backward &n) {
  const bool isMax = op.getKind() == BinaryKind::Max;
  for (auto [mine, others] :
       {std::pair(op.getA(), op.getB()), std::pair(op.getB(), op.getA())}) {
    if (!n.wants(mine))
      continue;
    Term x{n, mine}, bound{n, others}, none = dy.all(0);
    Term wins = isMax ? bound < x : x < bound;
    Term won = n.wants(others) ? where(x == bound, dy * 0.5, dy) : dy;
    const bool isFlat =
        isMax && !n.wants(others) && uniformValue(others) == 0.0;
    if (!isFlat)
      wins = isMax ? bound <= x : x <= bound;
    n.add(mine, where(wins, won, none).value);
  }
}

static void power(onnx::BinaryOp op, Term dy, Backward &n) {
  Term x{n, op.getA()}, e{n, op.getB()}, y{n, op.getY()}, none = dy.all(0);
  if (n.wants(op.getA())) {
    std::optional<double> number = uniformValue(op.getB());
    Term dx = number == 2.0 ? dy * 2.0 * x : dy * e * pow(x, e + -1);
    // 0 times the infinity that a power below 0 of 0 is.
    if (!number)
      dx = where(e == 0, none, dx);
    if (number != 0.0)
      n.add(op.getA(), dx.value);
  }
  if (n.wants(op.getB()))
    n.add(op.getB(), where(x == 0, none, dy * y * log(x)).value);
}

static void binary(onnx::BinaryOp op, Value dyValue, Backward &n) {
  Term a{n, op.getA()}, b{n, op.getB()}, y{n, op.getY()}, dy{n, dyValue};
  auto toA = [&](auto gradient) {
    if (n.wants(op.getA()))
      n.add(op.getA(), gradient().value);
  };
  auto toB = [&](auto gradient) {
    if (n.wants(op.getB()))
      n.add(op.getB(), gradient().value);
  };
  switch (op.getKind()) {
  case BinaryKind::Add:
    toA([&] { return dy; });
    return toB([&] { return dy; });
  case BinaryKind::Sub:
    toA([&] { return dy; });
    return toB([&] { return -dy; });
  case BinaryKind::Mul:
    toA([&] { return dy * b; });
    return toB([&] { return dy * a; });
  case BinaryKind::Div:
    toA([&] { return dy / b; });
    return toB([&] { return -(dy * y / b); });
  case BinaryKind::Mod: // a - b * quotient, a whole number
  case BinaryKind::Remainder:
    toA([&] { return dy; });
    return toB([&] { return dy * round((y - a) / b); });
  case BinaryKind::Min:
  case BinaryKind::Max:
    return extreme(op, dy, n);
  case BinaryKind::Pow:
    return power(op, dy, n);
  default:
    return n.refuse("has no derivative; a case of compiler/differentiate/"
                    "Elementwise.cpp would be one");
  }
}

//===----------------------------------------------------------------------===//
// Choices and types
//===----------------------------------------------------------------------===//

static void where(onnx::WhereOp op, Value dy, Backward &n) {
  Term condition{n, op.getCondition()}, chosen{n, dy}, none = chosen.all(0);
  if (n.wants(op.getA()))
    n.add(op.getA(), where(condition, chosen, none).value);
  if (n.wants(op.getB()))
    n.add(op.getB(), where(condition, none, chosen).value);
}

static void cast(onnx::CastOp op, Value dy, Backward &n) {
  n.add(op.getX(), n.cast(dy, typeOf(op.getX()).getElementType()));
}

void wsec::differentiate::attachElementwise(MLIRContext &context) {
  attach<onnx::UnaryOp, unary>(context);
  attach<onnx::BinaryOp, binary>(context);
  attach<onnx::WhereOp, where>(context);
  attach<onnx::CastOp, ::cast>(context);
}
