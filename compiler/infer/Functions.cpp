// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of one element, and activations, which are chains of them.
#include "compiler/infer/Operators.h"
#include "compiler/values/Arithmetic.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;
using onnx::BinaryKind;
using onnx::UnaryKind;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

using FloatFunction = double (*)(double);
using IntFunction = int64_t (*)(int64_t);

/// The result has the type and shape of the first operand; values are not
/// folded (operators that appear on activations only).
static bool likeFirst(Node &node) {
  node.outputs[0] = unknown(node.input(0).type, node.input(0).shape);
  return true;
}

static bool gelu(Node &node) {
  return node.isOneOf("approximate", {"none", "tanh"}) && likeFirst(node);
}

/// The same with a second operand, a slope or a bias, that repeats.
static bool likeFirstOfTwo(Node &node) {
  if (!node.broadcasts(1, node.input(0).shape))
    return false;
  node.outputs[0] = unknown(node.input(0).type, node.input(0).shape);
  return true;
}

static bool twoAlike(Node &node) {
  return node.hasShape(1, "a second operand", node.input(0).shape) &&
         likeFirst(node);
}

template <FloatFunction onFloat, IntFunction onInt>
static bool folded(Node &node) {
  if (!likeFirst(node))
    return false;
  Fact &output = node.outputs[0];
  auto tensors = node.loadAll(output);
  if (!tensors)
    return true;
  Tensor result(output.type, output.shape);
  for (int64_t i = 0; i < result.size(); ++i) {
    if (isFloat(output.type))
      result.setFloat(i, onFloat(tensors->front().asFloat(i)));
    else
      result.setInt(i, onInt(tensors->front().asInt(i)));
  }
  output = Fact::ofTensor(std::move(result));
  return true;
}

/// Of functions that are instructions of a PE.
template <UnaryKind kind>
static double valueOf(double x) {
  switch (kind) {
#define WSEC_FUNCTION(Name, name, numbers, software, words, value)             \
  case UnaryKind::Name:                                                        \
    return value;
#include "runtime/program/Opcodes.def"
  default:
    return x;
  }
}

static double absFloat(double x) { return std::fabs(x); }
static int64_t absInt(int64_t x) { return x < 0 ? negated(x) : x; }
static double signFloat(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static int64_t signInt(int64_t x) { return (x > 0) - (x < 0); }
static double reluFloat(double x) { return x < 0 ? 0 : x; }
static int64_t reluInt(int64_t x) { return std::max<int64_t>(x, 0); }
static double reciprocal(double x) { return 1 / x; }
static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
static double roundEven(double x) { return std::nearbyint(x); }
static double softplus(double x) { return std::log1p(std::exp(x)); }
static int64_t same(int64_t x) { return x; }
static double notFloat(double x) { return x == 0; }
static int64_t notInt(int64_t x) { return x == 0; }

static bool isNaN(Node &node) {
  Fact &output = node.outputs[0];
  output = unknown(ElementType::Bool, node.input(0).shape);
  auto tensors = node.loadAll(output);
  if (!tensors)
    return true;
  Tensor result(ElementType::Bool, output.shape);
  for (int64_t i = 0; i < result.size(); ++i)
    result.setInt(i, std::isnan(tensors->front().asFloat(i)));
  output = Fact::ofTensor(std::move(result));
  return true;
}

/// Infinities of one sign or of both.
static bool isInf(Node &node) {
  node.outputs[0] = unknown(ElementType::Bool, node.input(0).shape);
  return true;
}

static int64_t bitNot(int64_t x) { return ~x; }

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

static bool bitNot(Legalization &n) {
  return n.replace(n.unary(UnaryKind::BitNot, n.input(0)));
}

static bool isInf(Legalization &n) {
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

static Value add(Legalization &n, Value a, double b) {
  return n.binary(BinaryKind::Add, a, b);
}

static Value mul(Legalization &n, Value a, Value b) {
  return n.binary(BinaryKind::Mul, a, b);
}

static Value mul(Legalization &n, Value a, double b) {
  return n.binary(BinaryKind::Mul, a, b);
}

static Value div(Legalization &n, Value a, Value b) {
  return n.binary(BinaryKind::Div, a, b);
}

/// 1 - a
static Value oneMinus(Legalization &n, Value a) {
  return add(n, n.unary(UnaryKind::Neg, a), 1.0);
}

static Value withSign(Legalization &n, Value x, Value magnitude) {
  return mul(n, n.unary(UnaryKind::Sign, x), magnitude);
}

/// Abramowitz and Stegun, 4.4.49: off by 2e-8 on [0, 1]; beyond,
/// atan(x) = pi / 2 - atan(1 / x).
static Value atan(Legalization &n, Value x) {
  static constexpr double terms[] = {
      0.0028662257,  -0.0161657367, 0.0429096138,
      -0.0752896400, 0.1065626393,  -0.1420889944,
      0.1999355085,  -0.3333314528, 1.0};
  Value size = n.unary(UnaryKind::Abs, x);
  Value isLarge =
      n.unary(UnaryKind::Not, n.binary(BinaryKind::LessOrEqual, size, 1.0));
  Value small = n.where(isLarge, n.unary(UnaryKind::Reciprocal, size), size);
  Value square = mul(n, small, small);
  Value sum = mul(n, square, terms[0]);
  for (double term : ArrayRef(terms).drop_front().drop_back())
    sum = mul(n, add(n, sum, term), square);
  Value angle = mul(n, add(n, sum, 1.0), small);
  Value rest = add(n, n.unary(UnaryKind::Neg, angle), M_PI / 2);
  return withSign(n, x, n.where(isLarge, rest, angle));
}

/// log(1 + x), without losing the digits of a small x.
static Value logOnePlus(Legalization &n, Value x) {
  Value sum = add(n, x, 1.0), taken = add(n, sum, -1.0);
  Value log = n.unary(UnaryKind::Log, sum);
  Value isTiny = n.binary(BinaryKind::Equal, taken, 0.0);
  Value isInfinite =
      n.binary(BinaryKind::Equal, x, std::numeric_limits<double>::infinity());
  Value nearer = mul(n, log, div(n, x, taken));
  return n.where(isTiny, x, n.where(isInfinite, log, nearer));
}

static Value tan(Legalization &n, Value x) {
  return div(n, n.unary(UnaryKind::Sin, x), n.unary(UnaryKind::Cos, x));
}

static Value asin(Legalization &n, Value x) {
  Value rest = n.unary(UnaryKind::Sqrt, mul(n, oneMinus(n, x), add(n, x, 1.0)));
  return atan(n, div(n, x, rest));
}

static Value acos(Legalization &n, Value x) {
  Value half = n.unary(UnaryKind::Sqrt, div(n, oneMinus(n, x), add(n, x, 1.0)));
  return mul(n, atan(n, half), 2.0);
}

/// (e^x + e^-x) / 2, or the difference. By e^(x/2), whose half is finite where
/// the result is.
static Value halfOf(Legalization &n, Value x, BinaryKind kind) {
  auto half = [&](Value exponent) {
    Value root = n.unary(UnaryKind::Exp, mul(n, exponent, 0.5));
    return mul(n, mul(n, root, 0.5), root);
  };
  return n.binary(kind, half(x), half(n.unary(UnaryKind::Neg, x)));
}

/// log(2 x): of large x, whose square is not finite.
static Value logOfDouble(Legalization &n, Value x) {
  return add(n, n.unary(UnaryKind::Log, x), 0.6931471805599453);
}

/// `small` below 1e10, else log(2 x).
static Value unlessLarge(Legalization &n, Value x, Value small) {
  return n.where(n.binary(BinaryKind::Less, x, 1e10), small, logOfDouble(n, x));
}

static Value cosh(Legalization &n, Value x) {
  return halfOf(n, x, BinaryKind::Add);
}

/// 2 t / (1 - t^2) with t = tanh(x / 2) where exponentials would cancel.
static Value sinh(Legalization &n, Value x) {
  Value t = n.unary(UnaryKind::Tanh, mul(n, x, 0.5));
  Value small = div(n, mul(n, t, 2.0), oneMinus(n, mul(n, t, t)));
  Value isSmall = n.binary(BinaryKind::Less, n.unary(UnaryKind::Abs, x), 1.0);
  return n.where(isSmall, small, halfOf(n, x, BinaryKind::Sub));
}

static Value asinh(Legalization &n, Value x) {
  Value size = n.unary(UnaryKind::Abs, x), square = mul(n, size, size);
  Value root = n.unary(UnaryKind::Sqrt, add(n, square, 1.0));
  Value more = div(n, square, add(n, root, 1.0));
  Value small = logOnePlus(n, n.binary(BinaryKind::Add, size, more));
  return withSign(n, x, unlessLarge(n, size, small));
}

static Value acosh(Legalization &n, Value x) {
  Value less = add(n, x, -1.0);
  Value root = n.unary(UnaryKind::Sqrt, mul(n, less, add(n, x, 1.0)));
  return unlessLarge(n, x,
                     logOnePlus(n, n.binary(BinaryKind::Add, less, root)));
}

static Value atanh(Legalization &n, Value x) {
  Value size = n.unary(UnaryKind::Abs, x);
  Value ratio = div(n, mul(n, size, 2.0), oneMinus(n, size));
  return withSign(n, x, mul(n, logOnePlus(n, ratio), 0.5));
}

template <Value (*function)(Legalization &, Value)>
static bool angle(Legalization &n) {
  return n.replace(function(n, n.input(0)));
}

/// x above 0, else alpha * (exp(x / beta) - 1); times gamma.
static Value exponentialBelow(Legalization &n, double alpha, double beta,
                              double gamma) {
  Value x = n.input(0);
  // exp of the negative part only: the other would overflow unused.
  Value low = n.binary(BinaryKind::Min, x, 0.0);
  low = add(n, n.unary(UnaryKind::Exp, mul(n, low, 1 / beta)), -1.0);
  Value sum = n.binary(BinaryKind::Add, n.binary(BinaryKind::Max, x, 0.0),
                       mul(n, low, alpha));
  return gamma == 1 ? sum : mul(n, sum, gamma);
}

static bool selu(Legalization &n) {
  return n.replace(exponentialBelow(n, n.node().floatAttr("alpha"), 1,
                                    n.node().floatAttr("gamma")));
}

static bool celu(Legalization &n) {
  const double alpha = n.node().floatAttr("alpha");
  return n.replace(exponentialBelow(n, alpha, alpha, 1));
}

/// x * tanh(log(1 + exp(x)))
static bool mish(Legalization &n) {
  Value x = n.input(0);
  Value small = n.unary(UnaryKind::Neg, n.unary(UnaryKind::Abs, x));
  Value soft =
      n.binary(BinaryKind::Add, logOnePlus(n, n.unary(UnaryKind::Exp, small)),
               n.binary(BinaryKind::Max, x, 0.0));
  return n.replace(mul(n, x, n.unary(UnaryKind::Tanh, soft)));
}

static bool thresholdedRelu(Legalization &n) {
  Value x = n.input(0);
  Value isAbove = n.binary(
      BinaryKind::Less,
      scalarLike(n.builder(), n.loc(), x, n.node().floatAttr("alpha")), x);
  return n.replace(n.where(isAbove, x, scalarLike(n.builder(), n.loc(), x, 0)));
}

/// Towards zero by `bias` outside of [-lambd, lambd], where all is zero.
static bool shrink(Legalization &n) {
  Value x = n.input(0);
  const double limit = n.node().floatAttr("lambd");
  const double bias = n.node().floatAttr("bias");
  if (n.resultType().getElementType().isInteger() && std::trunc(bias) != bias)
    return n.fail("moves integers by a bias that is not whole");
  Value isBelow = n.binary(BinaryKind::Less, x, -limit);
  Value isAbove =
      n.binary(BinaryKind::Less, scalarLike(n.builder(), n.loc(), x, limit), x);
  Value zero = scalarLike(n.builder(), n.loc(), x, 0);
  Value above = n.where(isAbove, add(n, x, -bias), zero);
  return n.replace(n.where(isBelow, add(n, x, bias), above));
}

template <UnaryKind kind>
static bool oneOperand(Legalization &n) {
  return n.replace(n.unary(kind, n.input(0)));
}

/// Only NaN differs from itself.
static bool isNaN(Legalization &n) {
  Value equal = n.binary(BinaryKind::Equal, n.input(0), n.input(0));
  return n.replace(n.unary(UnaryKind::Not, equal));
}

static bool relu(Legalization &n) {
  return n.replace(n.binary(BinaryKind::Max, n.input(0), 0.0));
}

static bool leakyRelu(Legalization &n) {
  Value x = n.input(0);
  double alpha = n.node().floatAttr("alpha");
  Value below = n.binary(BinaryKind::Less, x, 0.0);
  return n.replace(Value(onnx::WhereOp::create(
      n.builder(), n.loc(), n.resultType(), below,
      n.binary(BinaryKind::Mul, x, alpha), x, n.nameAttr())));
}

/// log(1 + exp(x)), with the large part taken out before exp overflows.
static bool softplus(Legalization &n) {
  Value x = n.input(0);
  Value small = n.unary(UnaryKind::Neg, n.unary(UnaryKind::Abs, x));
  Value one = n.binary(BinaryKind::Add, n.unary(UnaryKind::Exp, small), 1.0);
  return n.replace(n.binary(BinaryKind::Add, n.unary(UnaryKind::Log, one),
                            n.binary(BinaryKind::Max, x, 0.0)));
}

/// x * (1 + f) / 2
static Value halfTimesOnePlus(Legalization &n, Value x, Value f) {
  Value half = n.binary(BinaryKind::Mul, x, 0.5);
  return n.binary(BinaryKind::Mul, half, n.binary(BinaryKind::Add, f, 1.0));
}

static Value geluErf(Legalization &n, Value x) {
  Value scaled = n.binary(BinaryKind::Mul, x, std::sqrt(0.5));
  return halfTimesOnePlus(n, x, n.unary(UnaryKind::Erf, scaled));
}

static Value geluTanh(Legalization &n, Value x) {
  Value square = n.binary(BinaryKind::Mul, x, x);
  Value inner =
      n.binary(BinaryKind::Mul, n.binary(BinaryKind::Mul, square, 0.044715), x);
  inner = n.binary(BinaryKind::Add, x, inner);
  inner = n.binary(BinaryKind::Mul, inner, std::sqrt(2 / M_PI));
  return halfTimesOnePlus(n, x, n.unary(UnaryKind::Tanh, inner));
}

static bool gelu(Legalization &n) {
  bool usesTanh = n.node().stringAttr("approximate") == "tanh";
  return n.replace(usesTanh ? geluTanh(n, n.input(0)) : geluErf(n, n.input(0)));
}

static bool erfGelu(Legalization &n) {
  return n.replace(geluErf(n, n.input(0)));
}

/// The second operand is a bias.
static Value biased(Legalization &n) {
  return n.has(1) ? n.binary(BinaryKind::Add, n.input(0), n.input(1))
                  : n.input(0);
}

static bool fastGelu(Legalization &n) {
  return n.replace(geluTanh(n, biased(n)));
}
static bool biasGelu(Legalization &n) {
  return n.replace(geluErf(n, biased(n)));
}

/// x * sigmoid(alpha * x)
static bool swishWith(Legalization &n, double alpha) {
  Value x = n.input(0);
  Value scaled = alpha == 1 ? x : n.binary(BinaryKind::Mul, x, alpha);
  return n.replace(
      n.binary(BinaryKind::Mul, x, n.unary(UnaryKind::Sigmoid, scaled)));
}

static bool swish(Legalization &n) {
  return swishWith(n, n.node().floatAttr("alpha"));
}

/// A gate of the first operand for the second.
static bool swiGlu(Legalization &n) {
  Value gate =
      n.binary(BinaryKind::Mul, n.input(0), n.node().floatAttr("alpha"));
  gate =
      n.binary(BinaryKind::Mul, n.input(0), n.unary(UnaryKind::Sigmoid, gate));
  return n.replace(n.binary(BinaryKind::Mul, gate, n.input(1)));
}

static bool quickGelu(Legalization &n) {
  return swishWith(n, n.node().floatAttr("alpha"));
}

static Value hardSigmoidOf(Legalization &n, Value x, double alpha,
                           double beta) {
  Value line = n.binary(BinaryKind::Mul, x, alpha);
  line = n.binary(BinaryKind::Add, line, beta);
  return n.binary(BinaryKind::Min, n.binary(BinaryKind::Max, line, 0.0), 1.0);
}

static bool hardSigmoid(Legalization &n) {
  return n.replace(hardSigmoidOf(n, n.input(0), n.node().floatAttr("alpha"),
                                 n.node().floatAttr("beta")));
}

static bool hardSwish(Legalization &n) {
  Value gate = hardSigmoidOf(n, n.input(0), 1.0 / 6, 0.5);
  return n.replace(n.binary(BinaryKind::Mul, n.input(0), gate));
}

static bool elu(Legalization &n) {
  Value x = n.input(0);
  // exp of the negative part only: the other would overflow unused.
  Value low = n.binary(BinaryKind::Min, x, 0.0);
  low = n.binary(BinaryKind::Sub, n.unary(UnaryKind::Exp, low), 1.0);
  low = n.binary(BinaryKind::Mul, low, n.node().floatAttr("alpha"));
  return n.replace(
      n.binary(BinaryKind::Add, n.binary(BinaryKind::Max, x, 0.0), low));
}

static bool softsign(Legalization &n) {
  Value x = n.input(0);
  Value below = n.binary(BinaryKind::Add, n.unary(UnaryKind::Abs, x), 1.0);
  return n.replace(n.binary(BinaryKind::Div, x, below));
}

static bool pRelu(Legalization &n) {
  Value x = n.input(0), slope = n.input(1);
  Value below = n.binary(BinaryKind::Less, x, 0.0);
  return n.replace(Value(onnx::WhereOp::create(
      n.builder(), n.loc(), n.resultType(), below,
      n.binary(BinaryKind::Mul, x, slope), x, n.nameAttr())));
}

llvm::ArrayRef<Operator> wsec::infer::functionsOperators() {
  static const Operator operators[] = {
#define WSEC_FUNCTION(Name, name, numbers, software, words, value)             \
  {#Name, folded<valueOf<UnaryKind::Name>, same>, oneOperand<UnaryKind::Name>},
#include "runtime/program/Opcodes.def"
      {"Neg", folded<negated, negated>, oneOperand<UnaryKind::Neg>},
      {"Abs", folded<absFloat, absInt>, oneOperand<UnaryKind::Abs>},
      {"Sign", folded<signFloat, signInt>, oneOperand<UnaryKind::Sign>},
      {"Reciprocal", folded<reciprocal, same>,
       oneOperand<UnaryKind::Reciprocal>},
      {"Sigmoid", folded<sigmoid, same>, oneOperand<UnaryKind::Sigmoid>},
      {"Round", folded<roundEven, same>, oneOperand<UnaryKind::Round>},
      {"Not", folded<notFloat, notInt>, oneOperand<UnaryKind::Not>},
      {"BitwiseNot", folded<reciprocal, bitNot>, bitNot},
      {"Softplus", folded<softplus, same>, softplus},
      {"Relu", folded<reluFloat, reluInt>, relu},
      {"IsNaN", isNaN, isNaN},
      {"IsInf", isInf, isInf, "detect_negative detect_positive"},
      {"Tan", likeFirst, angle<tan>},
      {"Asin", likeFirst, angle<asin>},
      {"Acos", likeFirst, angle<acos>},
      {"Atan", likeFirst, angle<atan>},
      {"Sinh", likeFirst, angle<sinh>},
      {"Cosh", likeFirst, angle<cosh>},
      {"Asinh", likeFirst, angle<asinh>},
      {"Acosh", likeFirst, angle<acosh>},
      {"Atanh", likeFirst, angle<atanh>},
      {"LeakyRelu", likeFirst, leakyRelu, "alpha"},
      {"PRelu", likeFirstOfTwo, pRelu},
      {"Elu", likeFirst, elu, "alpha"},
      {"Selu", likeFirst, selu, "alpha gamma"},
      {"Celu", likeFirst, celu, "alpha"},
      {"ThresholdedRelu", likeFirst, thresholdedRelu, "alpha"},
      {"Shrink", likeFirst, shrink, "bias lambd"},
      {"Softsign", likeFirst, softsign},
      {"HardSigmoid", likeFirst, hardSigmoid, "alpha beta"},
      {"HardSwish", likeFirst, hardSwish},
      {"Mish", likeFirst, mish},
      {"Gelu", gelu, gelu, "approximate"},
      {"Swish", likeFirst, swish, "alpha"},
      {"SwiGLU", twoAlike, swiGlu, "alpha"},
      {"com.microsoft.Gelu", likeFirst, erfGelu},
      {"com.microsoft.FastGelu", likeFirstOfTwo, fastGelu},
      {"com.microsoft.BiasGelu", likeFirstOfTwo, biasGelu},
      {"com.microsoft.QuickGelu", likeFirst, quickGelu, "alpha"},
  };
  return operators;
}
