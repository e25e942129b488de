// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise nodes as chains of simple functions. Select fuses a chain into
// one kernel, so a chain costs no more than a function of its own would.
#include "compiler/simplify/Naming.h"
#include <cmath>

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;
using onnx::BinaryKind;
using onnx::UnaryKind;

//===----------------------------------------------------------------------===//
// Simple functions
//===----------------------------------------------------------------------===//

template <UnaryKind kind>
static bool oneOperand(Naming &n) {
  return n.replace(n.unary(kind, n.input(0)));
}

/// Min, Max and Sum take any number of operands.
template <BinaryKind kind>
static bool fromTheLeft(Naming &n) {
  Value result = n.input(0);
  for (size_t i = 1; i < n.op().getInputs().size(); ++i)
    result = n.binary(kind, result, n.input(i));
  return n.replace(result);
}

template <BinaryKind kind>
static bool swapped(Naming &n) {
  return n.replace(n.binary(kind, n.input(1), n.input(0)));
}

static bool exclusiveOr(Naming &n) {
  Value equal = n.binary(BinaryKind::Equal, n.input(0), n.input(1));
  return n.replace(n.unary(UnaryKind::Not, equal));
}

/// Only NaN differs from itself.
static bool isNaN(Naming &n) {
  Value equal = n.binary(BinaryKind::Equal, n.input(0), n.input(0));
  return n.replace(n.unary(UnaryKind::Not, equal));
}

static bool pass(Naming &n) { return n.replace(n.input(0)); }

static bool where(Naming &n) {
  return n.replace(Value(
      onnx::WhereOp::create(n.builder(), n.loc(), n.resultType(), n.input(0),
                            n.input(1), n.input(2), n.nameAttr())));
}

static Value castTo(Naming &n, Value x, Type element) {
  if (typeOf(x).getElementType() == element)
    return x;
  return onnx::CastOp::create(n.builder(), n.loc(), typeOf(x).clone(element), x,
                              n.nameAttr());
}

static bool cast(Naming &n) {
  return n.replace(castTo(n, n.input(0), n.resultType().getElementType()));
}

/// Small whole powers and roots are cheaper, and exact, without `pow`.
static bool pow(Naming &n) {
  Value x = n.input(0), exponent = n.input(1);
  std::optional<double> known = uniformValue(exponent);
  const bool isWhole = known ? std::trunc(*known) == *known
                             : typeOf(exponent).getElementType().isInteger();
  if (typeOf(x).getElementType().isInteger() && !isWhole)
    return n.fail("raises integers to powers that are not whole; cast the base "
                  "to a float");
  if (known && n.resultType() == x.getType()) {
    if (*known == 1)
      return n.replace(x);
    if (*known == 2)
      return n.replace(n.binary(BinaryKind::Mul, x, x));
    if (*known == 3)
      return n.replace(
          n.binary(BinaryKind::Mul, n.binary(BinaryKind::Mul, x, x), x));
    if (*known == 0.5)
      return n.replace(n.unary(UnaryKind::Sqrt, x));
    if (*known == -0.5)
      return n.replace(n.unary(UnaryKind::Rsqrt, x));
    if (*known == -1)
      return n.replace(n.unary(UnaryKind::Reciprocal, x));
    exponent = scalarLike(n.builder(), n.loc(), x, *known);
  }
  exponent = castTo(n, exponent, typeOf(x).getElementType());
  return n.replace(n.binary(BinaryKind::Pow, x, exponent));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static bool relu(Naming &n) {
  return n.replace(n.binary(BinaryKind::Max, n.input(0), 0.0));
}

static bool leakyRelu(Naming &n) {
  Value x = n.input(0);
  double alpha = n.node().floatAttr("alpha");
  Value below = n.binary(BinaryKind::Less, x, 0.0);
  return n.replace(Value(onnx::WhereOp::create(
      n.builder(), n.loc(), n.resultType(), below,
      n.binary(BinaryKind::Mul, x, alpha), x, n.nameAttr())));
}

static bool clip(Naming &n) {
  Value x = n.input(0);
  if (n.has(1))
    x = n.binary(BinaryKind::Max, x, n.input(1));
  if (n.has(2))
    x = n.binary(BinaryKind::Min, x, n.input(2));
  return n.replace(x);
}

/// log(1 + exp(x)), with the large part taken out before exp overflows.
static bool softplus(Naming &n) {
  Value x = n.input(0);
  Value small = n.unary(UnaryKind::Neg, n.unary(UnaryKind::Abs, x));
  Value one = n.binary(BinaryKind::Add, n.unary(UnaryKind::Exp, small), 1.0);
  return n.replace(n.binary(BinaryKind::Add, n.unary(UnaryKind::Log, one),
                            n.binary(BinaryKind::Max, x, 0.0)));
}

/// x * (1 + f) / 2
static Value halfTimesOnePlus(Naming &n, Value x, Value f) {
  Value half = n.binary(BinaryKind::Mul, x, 0.5);
  return n.binary(BinaryKind::Mul, half, n.binary(BinaryKind::Add, f, 1.0));
}

static Value geluErf(Naming &n, Value x) {
  Value scaled = n.binary(BinaryKind::Mul, x, std::sqrt(0.5));
  return halfTimesOnePlus(n, x, n.unary(UnaryKind::Erf, scaled));
}

static Value geluTanh(Naming &n, Value x) {
  Value square = n.binary(BinaryKind::Mul, x, x);
  Value inner =
      n.binary(BinaryKind::Mul, n.binary(BinaryKind::Mul, square, 0.044715), x);
  inner = n.binary(BinaryKind::Add, x, inner);
  inner = n.binary(BinaryKind::Mul, inner, std::sqrt(2 / M_PI));
  return halfTimesOnePlus(n, x, n.unary(UnaryKind::Tanh, inner));
}

static bool gelu(Naming &n) {
  bool usesTanh = n.node().stringAttr("approximate") == "tanh";
  return n.replace(usesTanh ? geluTanh(n, n.input(0)) : geluErf(n, n.input(0)));
}

static bool erfGelu(Naming &n) { return n.replace(geluErf(n, n.input(0))); }

/// The second operand is a bias.
static Value biased(Naming &n) {
  return n.has(1) ? n.binary(BinaryKind::Add, n.input(0), n.input(1))
                  : n.input(0);
}
static bool fastGelu(Naming &n) { return n.replace(geluTanh(n, biased(n))); }
static bool biasGelu(Naming &n) { return n.replace(geluErf(n, biased(n))); }

/// x * sigmoid(alpha * x)
static bool swishWith(Naming &n, double alpha) {
  Value x = n.input(0);
  Value scaled = alpha == 1 ? x : n.binary(BinaryKind::Mul, x, alpha);
  return n.replace(
      n.binary(BinaryKind::Mul, x, n.unary(UnaryKind::Sigmoid, scaled)));
}
static bool swish(Naming &n) {
  return swishWith(n, n.node().floatAttr("alpha"));
}
static bool quickGelu(Naming &n) {
  return swishWith(n, n.node().floatAttr("alpha"));
}

static Value hardSigmoidOf(Naming &n, Value x, double alpha, double beta) {
  Value line = n.binary(BinaryKind::Mul, x, alpha);
  line = n.binary(BinaryKind::Add, line, beta);
  return n.binary(BinaryKind::Min, n.binary(BinaryKind::Max, line, 0.0), 1.0);
}
static bool hardSigmoid(Naming &n) {
  return n.replace(hardSigmoidOf(n, n.input(0), n.node().floatAttr("alpha"),
                                 n.node().floatAttr("beta")));
}
static bool hardSwish(Naming &n) {
  Value gate = hardSigmoidOf(n, n.input(0), 1.0 / 6, 0.5);
  return n.replace(n.binary(BinaryKind::Mul, n.input(0), gate));
}

static bool elu(Naming &n) {
  Value x = n.input(0);
  // exp of the negative part only: the other would overflow unused.
  Value low = n.binary(BinaryKind::Min, x, 0.0);
  low = n.binary(BinaryKind::Sub, n.unary(UnaryKind::Exp, low), 1.0);
  low = n.binary(BinaryKind::Mul, low, n.node().floatAttr("alpha"));
  return n.replace(
      n.binary(BinaryKind::Add, n.binary(BinaryKind::Max, x, 0.0), low));
}

static bool softsign(Naming &n) {
  Value x = n.input(0);
  Value below = n.binary(BinaryKind::Add, n.unary(UnaryKind::Abs, x), 1.0);
  return n.replace(n.binary(BinaryKind::Div, x, below));
}

static bool pRelu(Naming &n) {
  Value x = n.input(0), slope = n.input(1);
  Value below = n.binary(BinaryKind::Less, x, 0.0);
  return n.replace(Value(onnx::WhereOp::create(
      n.builder(), n.loc(), n.resultType(), below,
      n.binary(BinaryKind::Mul, x, slope), x, n.nameAttr())));
}

ArrayRef<NamedNamingRule> wsec::simplify::elementwiseNaming() {
  static const NamedNamingRule rules[] = {
      {"Identity", pass},
      {"Dropout", pass},
      {"Neg", oneOperand<UnaryKind::Neg>},
      {"Abs", oneOperand<UnaryKind::Abs>},
      {"Exp", oneOperand<UnaryKind::Exp>},
      {"Log", oneOperand<UnaryKind::Log>},
      {"Sqrt", oneOperand<UnaryKind::Sqrt>},
      {"Reciprocal", oneOperand<UnaryKind::Reciprocal>},
      {"Tanh", oneOperand<UnaryKind::Tanh>},
      {"Erf", oneOperand<UnaryKind::Erf>},
      {"Sigmoid", oneOperand<UnaryKind::Sigmoid>},
      {"Sin", oneOperand<UnaryKind::Sin>},
      {"Cos", oneOperand<UnaryKind::Cos>},
      {"Floor", oneOperand<UnaryKind::Floor>},
      {"Ceil", oneOperand<UnaryKind::Ceil>},
      {"Round", oneOperand<UnaryKind::Round>},
      {"Sign", oneOperand<UnaryKind::Sign>},
      {"Not", oneOperand<UnaryKind::Not>},
      {"IsNaN", isNaN},
      {"Add", fromTheLeft<BinaryKind::Add>},
      {"Sub", fromTheLeft<BinaryKind::Sub>},
      {"Mul", fromTheLeft<BinaryKind::Mul>},
      {"Div", fromTheLeft<BinaryKind::Div>},
      {"Min", fromTheLeft<BinaryKind::Min>},
      {"Max", fromTheLeft<BinaryKind::Max>},
      {"Sum", fromTheLeft<BinaryKind::Add>},
      {"Pow", pow},
      {"Equal", fromTheLeft<BinaryKind::Equal>},
      {"Less", fromTheLeft<BinaryKind::Less>},
      {"LessOrEqual", fromTheLeft<BinaryKind::LessOrEqual>},
      {"Greater", swapped<BinaryKind::Less>},
      {"GreaterOrEqual", swapped<BinaryKind::LessOrEqual>},
      {"And", fromTheLeft<BinaryKind::And>},
      {"Or", fromTheLeft<BinaryKind::Or>},
      {"Xor", exclusiveOr},
      {"Where", where},
      {"Cast", cast},
      {"CastLike", cast},
      {"Clip", clip},
      {"Relu", relu},
      {"LeakyRelu", leakyRelu},
      {"PRelu", pRelu},
      {"Elu", elu},
      {"Softplus", softplus},
      {"Softsign", softsign},
      {"HardSigmoid", hardSigmoid},
      {"HardSwish", hardSwish},
      {"Gelu", gelu},
      {"Swish", swish},
      {"com.microsoft.Gelu", erfGelu},
      {"com.microsoft.FastGelu", fastGelu},
      {"com.microsoft.BiasGelu", biasGelu},
      {"com.microsoft.QuickGelu", quickGelu},
  };
  return rules;
}
