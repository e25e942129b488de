// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise nodes that transformers have rarely: bits, remainders, functions
// of angles, activations; as chains of simple functions.
#include "compiler/simplify/Naming.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;
using onnx::BinaryKind;
using onnx::ReduceKind;
using onnx::UnaryKind;

static Value where(Naming &n, Value condition, Value a, Value b) {
  return onnx::WhereOp::create(n.builder(), n.loc(), a.getType(), condition, a,
                               b, n.nameAttr());
}

//===----------------------------------------------------------------------===//
// Bits and remainders
//===----------------------------------------------------------------------===//

template <BinaryKind kind>
static bool bits(Naming &n) {
  return n.replace(n.binary(kind, n.input(0), n.input(1)));
}

static bool bitNot(Naming &n) {
  return n.replace(n.unary(UnaryKind::BitNot, n.input(0)));
}

static bool bitShift(Naming &n) {
  return n.node().stringAttr("direction") == "LEFT"
             ? bits<BinaryKind::ShiftLeft>(n)
             : bits<BinaryKind::ShiftRight>(n);
}

static bool mod(Naming &n) {
  return n.node().intAttr("fmod") ? bits<BinaryKind::Remainder>(n)
                                  : bits<BinaryKind::Mod>(n);
}

static bool isInf(Naming &n) {
  const double infinity = std::numeric_limits<double>::infinity();
  Value x = n.input(0);
  const bool positive = n.node().intAttr("detect_positive");
  const bool negative = n.node().intAttr("detect_negative");
  if (positive && negative)
    return n.replace(
        n.binary(BinaryKind::Equal, n.unary(UnaryKind::Abs, x), infinity));
  if (!positive && !negative)
    return n.replace(n.binary(BinaryKind::Less, x, x));
  return n.replace(
      n.binary(BinaryKind::Equal, x, positive ? infinity : -infinity));
}

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

static Value add(Naming &n, Value a, double b) {
  return n.binary(BinaryKind::Add, a, b);
}
static Value mul(Naming &n, Value a, Value b) {
  return n.binary(BinaryKind::Mul, a, b);
}
static Value mul(Naming &n, Value a, double b) {
  return n.binary(BinaryKind::Mul, a, b);
}
static Value div(Naming &n, Value a, Value b) {
  return n.binary(BinaryKind::Div, a, b);
}
/// 1 - a
static Value oneMinus(Naming &n, Value a) {
  return add(n, n.unary(UnaryKind::Neg, a), 1.0);
}

static Value withSign(Naming &n, Value x, Value magnitude) {
  return mul(n, n.unary(UnaryKind::Sign, x), magnitude);
}

/// Abramowitz and Stegun, 4.4.49: off by 2e-8 on [0, 1]; beyond,
/// atan(x) = pi / 2 - atan(1 / x).
static Value atan(Naming &n, Value x) {
  static constexpr double terms[] = {
      0.0028662257,  -0.0161657367, 0.0429096138,
      -0.0752896400, 0.1065626393,  -0.1420889944,
      0.1999355085,  -0.3333314528, 1.0};
  Value size = n.unary(UnaryKind::Abs, x);
  Value isLarge =
      n.unary(UnaryKind::Not, n.binary(BinaryKind::LessOrEqual, size, 1.0));
  Value small = where(n, isLarge, n.unary(UnaryKind::Reciprocal, size), size);
  Value square = mul(n, small, small);
  Value sum = mul(n, square, terms[0]);
  for (double term : ArrayRef(terms).drop_front().drop_back())
    sum = mul(n, add(n, sum, term), square);
  Value angle = mul(n, add(n, sum, 1.0), small);
  Value rest = add(n, n.unary(UnaryKind::Neg, angle), M_PI / 2);
  return withSign(n, x, where(n, isLarge, rest, angle));
}

/// log(1 + x), without losing the digits of a small x.
static Value logOnePlus(Naming &n, Value x) {
  Value sum = add(n, x, 1.0), taken = add(n, sum, -1.0);
  Value log = n.unary(UnaryKind::Log, sum);
  Value isTiny = n.binary(BinaryKind::Equal, taken, 0.0);
  Value isInfinite =
      n.binary(BinaryKind::Equal, x, std::numeric_limits<double>::infinity());
  Value nearer = mul(n, log, div(n, x, taken));
  return where(n, isTiny, x, where(n, isInfinite, log, nearer));
}

static Value tan(Naming &n, Value x) {
  return div(n, n.unary(UnaryKind::Sin, x), n.unary(UnaryKind::Cos, x));
}
static Value asin(Naming &n, Value x) {
  Value rest = n.unary(UnaryKind::Sqrt, mul(n, oneMinus(n, x), add(n, x, 1.0)));
  return atan(n, div(n, x, rest));
}
static Value acos(Naming &n, Value x) {
  Value half = n.unary(UnaryKind::Sqrt, div(n, oneMinus(n, x), add(n, x, 1.0)));
  return mul(n, atan(n, half), 2.0);
}
/// (e^x + e^-x) / 2, or the difference. By e^(x/2), whose half is finite where
/// the result is.
static Value halfOf(Naming &n, Value x, BinaryKind kind) {
  auto half = [&](Value exponent) {
    Value root = n.unary(UnaryKind::Exp, mul(n, exponent, 0.5));
    return mul(n, mul(n, root, 0.5), root);
  };
  return n.binary(kind, half(x), half(n.unary(UnaryKind::Neg, x)));
}
/// log(2 x): of large x, whose square is not finite.
static Value logOfDouble(Naming &n, Value x) {
  return add(n, n.unary(UnaryKind::Log, x), 0.6931471805599453);
}
/// `small` below 1e10, else log(2 x).
static Value unlessLarge(Naming &n, Value x, Value small) {
  return where(n, n.binary(BinaryKind::Less, x, 1e10), small,
               logOfDouble(n, x));
}
static Value cosh(Naming &n, Value x) { return halfOf(n, x, BinaryKind::Add); }
/// 2 t / (1 - t^2) with t = tanh(x / 2) where exponentials would cancel.
static Value sinh(Naming &n, Value x) {
  Value t = n.unary(UnaryKind::Tanh, mul(n, x, 0.5));
  Value small = div(n, mul(n, t, 2.0), oneMinus(n, mul(n, t, t)));
  Value isSmall = n.binary(BinaryKind::Less, n.unary(UnaryKind::Abs, x), 1.0);
  return where(n, isSmall, small, halfOf(n, x, BinaryKind::Sub));
}
static Value asinh(Naming &n, Value x) {
  Value size = n.unary(UnaryKind::Abs, x), square = mul(n, size, size);
  Value root = n.unary(UnaryKind::Sqrt, add(n, square, 1.0));
  Value more = div(n, square, add(n, root, 1.0));
  Value small = logOnePlus(n, n.binary(BinaryKind::Add, size, more));
  return withSign(n, x, unlessLarge(n, size, small));
}
static Value acosh(Naming &n, Value x) {
  Value less = add(n, x, -1.0);
  Value root = n.unary(UnaryKind::Sqrt, mul(n, less, add(n, x, 1.0)));
  return unlessLarge(n, x,
                     logOnePlus(n, n.binary(BinaryKind::Add, less, root)));
}
static Value atanh(Naming &n, Value x) {
  Value size = n.unary(UnaryKind::Abs, x);
  Value ratio = div(n, mul(n, size, 2.0), oneMinus(n, size));
  return withSign(n, x, mul(n, logOnePlus(n, ratio), 0.5));
}

template <Value (*function)(Naming &, Value)>
static bool angle(Naming &n) {
  return n.replace(function(n, n.input(0)));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// x above 0, else alpha * (exp(x / beta) - 1); times gamma.
static Value exponentialBelow(Naming &n, double alpha, double beta,
                              double gamma) {
  Value x = n.input(0);
  // exp of the negative part only: the other would overflow unused.
  Value low = n.binary(BinaryKind::Min, x, 0.0);
  low = add(n, n.unary(UnaryKind::Exp, mul(n, low, 1 / beta)), -1.0);
  Value sum = n.binary(BinaryKind::Add, n.binary(BinaryKind::Max, x, 0.0),
                       mul(n, low, alpha));
  return gamma == 1 ? sum : mul(n, sum, gamma);
}

static bool selu(Naming &n) {
  return n.replace(exponentialBelow(n, n.node().floatAttr("alpha"), 1,
                                    n.node().floatAttr("gamma")));
}
static bool celu(Naming &n) {
  const double alpha = n.node().floatAttr("alpha");
  return n.replace(exponentialBelow(n, alpha, alpha, 1));
}

/// x * tanh(log(1 + exp(x)))
static bool mish(Naming &n) {
  Value x = n.input(0);
  Value small = n.unary(UnaryKind::Neg, n.unary(UnaryKind::Abs, x));
  Value soft =
      n.binary(BinaryKind::Add, logOnePlus(n, n.unary(UnaryKind::Exp, small)),
               n.binary(BinaryKind::Max, x, 0.0));
  return n.replace(mul(n, x, n.unary(UnaryKind::Tanh, soft)));
}

static bool thresholdedRelu(Naming &n) {
  Value x = n.input(0);
  Value isAbove = n.binary(
      BinaryKind::Less,
      scalarLike(n.builder(), n.loc(), x, n.node().floatAttr("alpha")), x);
  return n.replace(
      where(n, isAbove, x, scalarLike(n.builder(), n.loc(), x, 0)));
}

/// Towards zero by `bias` outside of [-lambd, lambd], where all is zero.
static bool shrink(Naming &n) {
  Value x = n.input(0);
  const double limit = n.node().floatAttr("lambd");
  const double bias = n.node().floatAttr("bias");
  if (n.resultType().getElementType().isInteger() && std::trunc(bias) != bias)
    return n.fail("moves integers by a bias that is not whole");
  Value isBelow = n.binary(BinaryKind::Less, x, -limit);
  Value isAbove =
      n.binary(BinaryKind::Less, scalarLike(n.builder(), n.loc(), x, limit), x);
  Value zero = scalarLike(n.builder(), n.loc(), x, 0);
  Value above = where(n, isAbove, add(n, x, -bias), zero);
  return n.replace(where(n, isBelow, add(n, x, bias), above));
}

static bool mean(Naming &n) {
  Value sum = n.input(0);
  const size_t count = n.op().getInputs().size();
  for (size_t i = 1; i < count; ++i)
    sum = n.binary(BinaryKind::Add, sum, n.input(i));
  return n.replace(count == 1 ? sum
                              : n.binary(BinaryKind::Div, sum, double(count)));
}

ArrayRef<NamedNamingRule> wsec::simplify::arithmeticNaming() {
  static const NamedNamingRule rules[] = {
      {"BitwiseAnd", bits<BinaryKind::BitAnd>},
      {"BitwiseOr", bits<BinaryKind::BitOr>},
      {"BitwiseXor", bits<BinaryKind::BitXor>},
      {"BitwiseNot", bitNot},
      {"BitShift", bitShift},
      {"Mod", mod},
      {"IsInf", isInf},
      {"Tan", angle<tan>},
      {"Asin", angle<asin>},
      {"Acos", angle<acos>},
      {"Atan", angle<atan>},
      {"Sinh", angle<sinh>},
      {"Cosh", angle<cosh>},
      {"Asinh", angle<asinh>},
      {"Acosh", angle<acosh>},
      {"Atanh", angle<atanh>},
      {"Selu", selu},
      {"Celu", celu},
      {"Mish", mish},
      {"ThresholdedRelu", thresholdedRelu},
      {"Shrink", shrink},
      {"Mean", mean},
  };
  return rules;
}
