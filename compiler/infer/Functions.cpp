// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of one element, and activations, which are chains of them.
#include "compiler/infer/Operators.h"
#include "compiler/values/Arithmetic.h"
#include "compiler/values/Formula.h"
#include <cmath>
#include <limits>

using namespace wsec::infer;
using Term = TermOf<Legalization>;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// The result has the type and shape of the first operand; values are not
/// folded (operators that appear on activations only).
static bool likeFirst(Node &node) {
  return node.setOutput(unknown(node.input(0).type, node.input(0).shape));
}

/// The same with a second operand, a slope or a bias, that repeats.
static bool likeFirstOfTwo(Node &node) {
  if (!node.broadcasts(1, node.input(0).shape))
    return false;
  return node.setOutput(unknown(node.input(0).type, node.input(0).shape));
}

static bool twoAlike(Node &node) {
  return node.hasShape(1, "a second operand", node.input(0).shape) &&
         likeFirst(node);
}

template <const auto &function>
static bool folded(Node &node) {
  if (!likeFirst(node))
    return false;
  Fact &output = node.outputs[0];
  auto tensors = node.loadAll(output);
  if (!tensors)
    return true;
  Tensor result(output.type, output.shape);
  withNumbers(output.type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < result.size(); ++i)
      result.put(i, T(function(tensors->front().get<T>(i))));
  });
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

// Functions of one number. Those that are instructions of a PE have their value
// from the table; integers are as they are.
#define WSEC_FUNCTION(Name, name, numbers, software, words, value)             \
  static constexpr auto valueOf##Name = [](auto x) -> decltype(x) {            \
    if constexpr (std::is_integral_v<decltype(x)>)                             \
      return x;                                                                \
    else                                                                       \
      return value;                                                            \
  };
#include "runtime/program/Opcodes.def"
#define WSEC_NUMBER(name, value)                                               \
  static constexpr auto name = [](auto x) { return value; };
WSEC_NUMBER(opposite, negated(x))
WSEC_NUMBER(absolute, magnitude(x))
WSEC_NUMBER(signOf, x > 0 ? 1 : x < 0 ? -1 : x)
WSEC_NUMBER(aboveZero, larger(x, decltype(x)(0)))
WSEC_NUMBER(reciprocalOf, 1.0 / x)
WSEC_NUMBER(sigmoidOf, 1 / (1 + std::exp(-double(x))))
WSEC_NUMBER(roundEven, std::nearbyint(double(x)))
WSEC_NUMBER(softplusOf, std::log1p(std::exp(-std::fabs(double(x)))) +
                            larger(double(x), 0.0))
WSEC_NUMBER(isZero, x == 0)
WSEC_NUMBER(bitNot, ~int64_t(x))
#undef WSEC_NUMBER

static bool isNaN(Node &node) {
  Fact &output = node.outputs[0];
  output = unknown(ElementType::Bool, node.input(0).shape);
  auto tensors = node.loadAll(output);
  if (!tensors)
    return true;
  Tensor result(ElementType::Bool, output.shape);
  for (int64_t i = 0; i < result.size(); ++i)
    result.setInt(i, std::isnan(tensors->front().asFloat(i)));
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

/// Infinities of one sign or of both.
static bool isInf(Node &node) {
  return node.setOutput(unknown(ElementType::Bool, node.input(0).shape));
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

template <UnaryKind kind>
static bool oneOperand(Legalization &n) {
  return n.replace(n.unary(kind, n.input(0)));
}

static Term isInf(Term x) {
  const double infinity = std::numeric_limits<double>::infinity();
  const bool positive = x.n.node().intAttr("detect_positive");
  const bool negative = x.n.node().intAttr("detect_negative");
  if (positive && negative)
    return abs(x) == infinity;
  if (!positive && !negative)
    return x < x;
  return x == (positive ? infinity : -infinity);
}

/// log(1 + x), without losing the digits of a small x.
static Term logOnePlus(Term x) {
  Term sum = x + 1, taken = sum + -1, logarithm = log(sum);
  Term isInfinite = x == std::numeric_limits<double>::infinity();
  Term rest = where(isInfinite, logarithm, logarithm * (x / taken));
  return where(taken == 0, x, rest);
}

/// e^x / 2, by e^(x/2), whose half is finite where the result is.
static Term halfExp(Term x) {
  Term root = exp(x * 0.5);
  return root * 0.5 * root;
}

/// 2 t / (1 - t^2) with t = tanh(x / 2) where exponentials would cancel.
static Term sinh(Term x) {
  Term t = tanh(x * 0.5);
  return where(abs(x) < 1, t * 2 / (1 - t * t), halfExp(x) - halfExp(-x));
}

/// `small` below 1e10, else log(2 x): its square is not finite.
static Term unlessLarge(Term x, Term small) {
  return where(x < 1e10, small, log(x) + 0.6931471805599453);
}

static Term asinh(Term x) {
  Term size = abs(x), square = size * size;
  Term more = square / (sqrt(square + 1) + 1);
  return sign(x) * unlessLarge(size, logOnePlus(size + more));
}

/// NaN below 1, as one of the roots then is.
static Term acosh(Term x) {
  Term less = x + -1;
  return unlessLarge(x, logOnePlus(less + sqrt(less) * sqrt(x + 1)));
}

static Term atanh(Term x) {
  Term size = abs(x);
  return sign(x) * (logOnePlus(size * 2 / (1 - size)) * 0.5);
}

static Term scaled(Term x, double factor) {
  return factor == 1 ? x : x * factor;
}

/// x above 0, else alpha * (exp(x / beta) - 1): exp of the negative part only,
/// as the other would overflow unused.
static Term elu(Term x, double alpha, double beta = 1) {
  return max(x, 0) + scaled(exp(scaled(min(x, 0), 1 / beta)) + -1, alpha);
}

/// log(1 + exp(x)), with the large part taken out before exp overflows.
static Term softplus(Term x) { return log(exp(-abs(x)) + 1) + max(x, 0); }

/// Towards zero by `bias` outside of [-lambd, lambd], where all is zero.
static bool shrink(Legalization &n) {
  Term x{n, n.input(0)};
  const double limit = x.attribute("lambd"), bias = x.attribute("bias");
  if (n.resultType().getElementType().isInteger() && std::trunc(bias) != bias)
    return n.fail("moves integers by a bias that is not whole");
  Term above = where(limit < x, x + -bias, x.all(0));
  return n.replace(where(x < -limit, x + bias, above).value);
}

/// x * (1 + f) / 2
static Term halfTimesOnePlus(Term x, Term f) { return x * 0.5 * (f + 1); }

static Term gelu(Term x) {
  return halfTimesOnePlus(x, erf(x * std::sqrt(0.5)));
}

static Term geluByTanh(Term x) {
  Term inner = x + x * x * 0.044715 * x;
  return halfTimesOnePlus(x, tanh(inner * std::sqrt(2 / M_PI)));
}

static bool usesTanh(Term x) {
  return x.n.node().stringAttr("approximate") == "tanh";
}

/// With the second operand, a bias.
static Term biased(Term x) { return x.n.has(1) ? x + x.operand(1) : x; }

/// Times the second operand, or the attribute alpha.
static Term factored(Term x) {
  return x.n.has(1) ? x * x.operand(1) : scaled(x, x.attribute("alpha"));
}

static Term swish(Term x) { return x * sigmoid(factored(x)); }

static Term silu(Term x) { return x * sigmoid(x); }

static Term hardSigmoid(Term x, double alpha, double beta) {
  return min(max(x * alpha + beta, 0), 1);
}

// A function that is a chain of others: a formula of x, the first operand.
#define WSEC_CHAIN(name, infer, understood, formula)                           \
  {name, infer,                                                                \
   [](Legalization &n) {                                                       \
     Term x{n, n.input(0)};                                                    \
     return n.replace((formula).value);                                        \
   },                                                                          \
   understood}

llvm::ArrayRef<Operator> wsec::infer::functionsOperators() {
  static const Operator operators[] = {
#define WSEC_FUNCTION(Name, name, numbers, software, words, value)             \
  {#Name, folded<valueOf##Name>, oneOperand<UnaryKind::Name>},
#include "runtime/program/Opcodes.def"
      {"Neg", folded<opposite>, oneOperand<UnaryKind::Neg>},
      {"Abs", folded<absolute>, oneOperand<UnaryKind::Abs>},
      {"Sign", folded<signOf>, oneOperand<UnaryKind::Sign>},
      {"Reciprocal", folded<reciprocalOf>, oneOperand<UnaryKind::Reciprocal>},
      {"Sigmoid", folded<sigmoidOf>, oneOperand<UnaryKind::Sigmoid>},
      {"Round", folded<roundEven>, oneOperand<UnaryKind::Round>},
      {"Not", folded<isZero>, oneOperand<UnaryKind::Not>},
      {"BitwiseNot", folded<bitNot>, oneOperand<UnaryKind::BitNot>},
      {"Shrink", likeFirst, shrink, "bias lambd"},
      WSEC_CHAIN("Relu", folded<aboveZero>, "", max(x, 0)),
      WSEC_CHAIN("Softplus", folded<softplusOf>, "", softplus(x)),
      // Only NaN differs from itself.
      WSEC_CHAIN("IsNaN", isNaN, "", !(x == x)),
      WSEC_CHAIN("IsInf", isInf, "detect_negative detect_positive", isInf(x)),
      WSEC_CHAIN("Tan", likeFirst, "", sin(x) / cos(x)),
      WSEC_CHAIN("Asin", likeFirst, "", atan(x / sqrt((1 - x) * (x + 1)))),
      WSEC_CHAIN("Acos", likeFirst, "", atan(sqrt((1 - x) / (x + 1))) * 2),
      WSEC_CHAIN("Sinh", likeFirst, "", sinh(x)),
      WSEC_CHAIN("Cosh", likeFirst, "", halfExp(x) + halfExp(-x)),
      WSEC_CHAIN("Asinh", likeFirst, "", asinh(x)),
      WSEC_CHAIN("Acosh", likeFirst, "", acosh(x)),
      WSEC_CHAIN("Atanh", likeFirst, "", atanh(x)),
      WSEC_CHAIN("LeakyRelu", likeFirst, "alpha",
                 where(x < 0, scaled(x, x.attribute("alpha")), x)),
      WSEC_CHAIN("PRelu", likeFirstOfTwo, "",
                 where(x < 0, x * x.operand(1), x)),
      WSEC_CHAIN("Elu", likeFirst, "alpha", elu(x, x.attribute("alpha"))),
      WSEC_CHAIN("Selu", likeFirst, "alpha gamma",
                 scaled(elu(x, x.attribute("alpha")), x.attribute("gamma"))),
      WSEC_CHAIN("Celu", likeFirst, "alpha",
                 elu(x, x.attribute("alpha"), x.attribute("alpha"))),
      WSEC_CHAIN("ThresholdedRelu", likeFirst, "alpha",
                 where(x.attribute("alpha") < x, x, x.all(0))),
      WSEC_CHAIN("Softsign", likeFirst, "", x / (abs(x) + 1)),
      WSEC_CHAIN("HardSigmoid", likeFirst, "alpha beta",
                 hardSigmoid(x, x.attribute("alpha"), x.attribute("beta"))),
      WSEC_CHAIN("HardSwish", likeFirst, "", x * hardSigmoid(x, 1.0 / 6, 0.5)),
      WSEC_CHAIN("Mish", likeFirst, "",
                 x * tanh(logOnePlus(exp(-abs(x))) + max(x, 0))),
      WSEC_CHAIN("Gelu", likeFirst, "approximate=none|tanh",
                 usesTanh(x) ? geluByTanh(x) : gelu(x)),
      WSEC_CHAIN("Swish", likeFirst, "alpha", swish(x)),
      WSEC_CHAIN("SwiGLU", twoAlike, "alpha",
                 x * sigmoid(scaled(x, x.attribute("alpha"))) * x.operand(1)),
      WSEC_CHAIN("com.microsoft.Gelu", likeFirst, "", gelu(x)),
      WSEC_CHAIN("com.microsoft.FastGelu", likeFirstOfTwo, "",
                 geluByTanh(biased(x))),
      WSEC_CHAIN("com.microsoft.BiasGelu", likeFirstOfTwo, "", gelu(biased(x))),
      WSEC_CHAIN("com.microsoft.QuickGelu", likeFirst, "alpha", swish(x)),
      WSEC_CHAIN("com.microsoft.ScaledSiLU", likeFirstOfTwo, "alpha",
                 silu(factored(x))),
  };
#undef WSEC_CHAIN
  return operators;
}
