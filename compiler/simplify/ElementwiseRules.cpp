// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes and values of operators that work element by element.
#include "compiler/simplify/Arithmetic.h"
#include "compiler/simplify/Node.h"
#include <algorithm>
#include <cmath>

using namespace wsec::simplify;
using llvm::ArrayRef;

using FloatFunction = double (*)(double);
using IntFunction = int64_t (*)(int64_t);

static Fact unknown(ElementType type, ArrayRef<int64_t> shape) {
  return Fact{type, Shape(shape), std::nullopt};
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

/// The result has the type and shape of the first operand; values are not
/// folded (operators that appear on activations only).
static bool likeFirst(Node &node) {
  node.outputs[0] = unknown(node.input(0).type, node.input(0).shape);
  return true;
}

/// The same with a second operand, a slope or a bias, that repeats.
static bool likeFirstOfTwo(Node &node) {
  if (!node.broadcasts(1, node.input(0).shape))
    return false;
  node.outputs[0] = unknown(node.input(0).type, node.input(0).shape);
  return true;
}

template <FloatFunction onFloat, IntFunction onInt>
static bool unary(Node &node) {
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

static double absFloat(double x) { return std::fabs(x); }
static int64_t absInt(int64_t x) { return x < 0 ? negated(x) : x; }
static double signFloat(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static int64_t signInt(int64_t x) { return (x > 0) - (x < 0); }
static double reluFloat(double x) { return x < 0 ? 0 : x; }
static int64_t reluInt(int64_t x) { return std::max<int64_t>(x, 0); }
static double exponential(double x) { return std::exp(x); }
static double logarithm(double x) { return std::log(x); }
static double squareRoot(double x) { return std::sqrt(x); }
static double reciprocal(double x) { return 1 / x; }
static double tangent(double x) { return std::tanh(x); }
static double errorFunction(double x) { return std::erf(x); }
static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
static double sine(double x) { return std::sin(x); }
static double cosine(double x) { return std::cos(x); }
static double roundDown(double x) { return std::floor(x); }
static double roundUp(double x) { return std::ceil(x); }
static double roundEven(double x) { return std::nearbyint(x); }
static double softplus(double x) { return std::log1p(std::exp(x)); }
static int64_t same(int64_t x) { return x; }
static double notFloat(double x) { return x == 0; }
static int64_t notInt(int64_t x) { return x == 0; }

static bool identity(Node &node) {
  node.outputs[0] = node.input(0);
  return true;
}

/// True for all elements.
static Fact everywhere(const Shape &shape) {
  if (numElements(shape) > maxFoldedBytes)
    return unknown(ElementType::Bool, shape);
  Tensor mask(ElementType::Bool, shape);
  for (int64_t i = 0; i < mask.size(); ++i)
    mask.setInt(i, 1);
  return Fact::ofTensor(std::move(mask));
}

/// In inference the second result, the mask, keeps everything.
static bool dropout(Node &node) {
  identity(node);
  if (node.has(2)) {
    std::optional<int64_t> training = node.oneInt(2, "training_mode");
    if (!training)
      return false;
    if (*training)
      return node.fail("Dropout in training mode");
  }
  if (node.outputs.size() > 1)
    node.outputs[1] = everywhere(node.input(0).shape);
  return true;
}

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

static bool castFact(Node &node, ElementType to) {
  const Fact &x = node.input(0);
  Fact &output = node.outputs[0];
  if (x.type == to) {
    output = x;
    return true;
  }
  output = unknown(to, x.shape);
  // Every f16 and bf16 is an f32: the same bytes, converted when they are read.
  bool widens = to == ElementType::Float32 && storedBytes(x.type) <= 2;
  if (widens && isFloat(x.type))
    output.constant = x.constant;
  else if (isSmallFloat(to) && node.intAttr("saturate")) {
    // The rare constant: left to the wafer, which saturates.
  } else if (output.bytes() <= maxFoldedBytes)
    if (std::optional<Tensor> tensor = x.load())
      output = Fact::ofTensor(tensor->cast(to));
  return true;
}

static bool castRule(Node &node) {
  int64_t number = node.intAttr("to");
  std::optional<ElementType> to = elementTypeOfOnnx(number);
  if (!to)
    return node.fail("Cast to ONNX element type " + llvm::Twine(number));
  if (node.stringAttr("round_mode") != "up")
    return node.fail("rounds in mode '" + node.stringAttr("round_mode") +
                     "', expected 'up'");
  return castFact(node, *to);
}

static bool castLike(Node &node) { return castFact(node, node.input(1).type); }

/// Folded values are rare enough that only masks and counters matter.
static bool clip(Node &node) {
  for (size_t bound : {1, 2})
    if (node.has(bound) && numElements(node.input(bound).shape) != 1)
      return node.fail("a bound of shape " +
                       printShape(node.input(bound).shape) +
                       ", expected a scalar");
  Fact &output = node.outputs[0];
  output = unknown(node.input(0).type, node.input(0).shape);
  auto tensors = node.loadAll(output);
  if (!tensors)
    return true;
  Tensor &x = tensors->front();
  for (int64_t i = 0; i < x.size(); ++i) {
    if (isFloat(x.type())) {
      double low = node.has(1) ? (*tensors)[1].asFloat(0) : -INFINITY;
      double high = node.has(2) ? (*tensors)[2].asFloat(0) : INFINITY;
      x.setFloat(i, std::min(std::max(x.asFloat(i), low), high));
      continue;
    }
    int64_t low = node.has(1) ? (*tensors)[1].asInt(0) : INT64_MIN;
    int64_t high = node.has(2) ? (*tensors)[2].asInt(0) : INT64_MAX;
    x.setInt(i, std::min(std::max(x.asInt(i), low), high));
  }
  output = Fact::ofTensor(std::move(x));
  return true;
}

//===----------------------------------------------------------------------===//
// Several operands, broadcast
//===----------------------------------------------------------------------===//

/// Broadcasts all inputs and sets the only output.
static bool broadcastAll(Node &node, ElementType type) {
  Shape shape;
  for (size_t i = 0; i < node.numInputs(); ++i) {
    auto next = broadcastShapes(shape, node.input(i).shape);
    if (!next)
      return node.fail("shapes " + printShape(shape) + " and " +
                       printShape(node.input(i).shape) + " do not broadcast");
    shape = *next;
  }
  node.outputs[0] = unknown(type, shape);
  return true;
}

/// All inputs, loaded and expanded to the shape of the output.
static std::optional<std::vector<Tensor>> loadExpanded(const Node &node) {
  const Fact &output = node.outputs[0];
  auto tensors = node.loadAll(output);
  if (!tensors)
    return std::nullopt;
  for (Tensor &tensor : *tensors)
    if (tensor.shape() != output.shape)
      tensor = tensor.viewed(
          StridedView::whole(tensor.shape()).expanded(output.shape));
  return tensors;
}

using FloatFunction2 = double (*)(double, double);
using IntFunction2 = int64_t (*)(int64_t, int64_t);

/// Any number of operands of one type, combined from the left.
template <FloatFunction2 onFloat, IntFunction2 onInt>
static bool accumulated(Node &node) {
  if (!broadcastAll(node, node.input(0).type))
    return false;
  auto tensors = loadExpanded(node);
  if (!tensors)
    return true;
  Tensor result = std::move(tensors->front());
  for (const Tensor &next : ArrayRef(*tensors).drop_front())
    for (int64_t i = 0; i < result.size(); ++i) {
      if (isFloat(result.type()))
        result.setFloat(i, onFloat(result.asFloat(i), next.asFloat(i)));
      else
        result.setInt(i, onInt(result.asInt(i), next.asInt(i)));
    }
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
}

static double divFloat(double a, double b) { return a / b; }
static int64_t divInt(int64_t a, int64_t b) {
  if (b == 0)
    return 0; // undefined in ONNX
  return b == -1 ? negated(a) : a / b;
}
static double minFloat(double a, double b) { return b < a ? b : a; }
static int64_t minInt(int64_t a, int64_t b) { return std::min(a, b); }
static double maxFloat(double a, double b) { return b > a ? b : a; }
static int64_t maxInt(int64_t a, int64_t b) { return std::max(a, b); }
static double power(double a, double b) { return std::pow(a, b); }
static int64_t powerInt(int64_t base, int64_t exponent) {
  if (exponent < 0) // the fraction is cut off; 0 has no such power
    return base == 1 || (base == -1 && exponent % 2 == 0) ? 1
           : base == -1                                   ? -1
                                                          : 0;
  int64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2)
      result = times(result, base);
    base = times(base, base);
  }
  return result;
}
/// Mod takes the sign of the divisor, fmod that of the dividend.
static int64_t modInt(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static int64_t fmodInt(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
static double fmodFloat(double a, double b) { return std::fmod(a, b); }

static bool mod(Node &node) {
  return node.intAttr("fmod") ? accumulated<fmodFloat, fmodInt>(node)
                              : accumulated<fmodFloat, modInt>(node);
}

static int64_t bitAnd(int64_t a, int64_t b) { return a & b; }
static int64_t bitOr(int64_t a, int64_t b) { return a | b; }
static int64_t bitXor(int64_t a, int64_t b) { return a ^ b; }
static int64_t bitNot(int64_t x) { return ~x; }

/// Of integers; what only data has is not folded.
template <IntFunction2 onInt>
static bool bits(Node &node) {
  return accumulated<divFloat, onInt>(node);
}

/// What only data has is not folded.
static bool unfolded(Node &node) {
  return broadcastAll(node, node.input(0).type);
}

/// The exponent may have a type of its own; the result has the base's.
static bool pow(Node &node) {
  if (node.input(0).type == node.input(1).type)
    return accumulated<power, powerInt>(node);
  if (!broadcastAll(node, node.input(0).type))
    return false;
  auto tensors = loadExpanded(node);
  if (!tensors)
    return true;
  Tensor result((*tensors)[0].type(), (*tensors)[0].shape());
  for (int64_t i = 0; i < result.size(); ++i) {
    double value = std::pow((*tensors)[0].asFloat(i), (*tensors)[1].asFloat(i));
    if (isFloat(result.type()))
      result.setFloat(i, value);
    else
      result.setInt(i, truncate(value));
  }
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
}

using FloatTest = bool (*)(double, double);
using IntTest = bool (*)(int64_t, int64_t);

template <FloatTest onFloat, IntTest onInt>
static bool comparison(Node &node) {
  if (!broadcastAll(node, ElementType::Bool))
    return false;
  auto tensors = loadExpanded(node);
  if (!tensors)
    return true;
  const Tensor &a = (*tensors)[0], &b = (*tensors)[1];
  Tensor result(ElementType::Bool, a.shape());
  for (int64_t i = 0; i < result.size(); ++i)
    result.setInt(i, isFloat(a.type()) ? onFloat(a.asFloat(i), b.asFloat(i))
                                       : onInt(a.asInt(i), b.asInt(i)));
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
}

template <typename T>
static bool equal(T a, T b) {
  return a == b;
}
template <typename T>
static bool less(T a, T b) {
  return a < b;
}
template <typename T>
static bool lessEqual(T a, T b) {
  return a <= b;
}
template <typename T>
static bool greater(T a, T b) {
  return a > b;
}
template <typename T>
static bool greaterEqual(T a, T b) {
  return a >= b;
}
template <typename T>
static bool both(T a, T b) {
  return a && b;
}
template <typename T>
static bool either(T a, T b) {
  return a || b;
}
template <typename T>
static bool differ(T a, T b) {
  return !a != !b;
}

static bool where(Node &node) {
  if (!broadcastAll(node, node.input(1).type))
    return false;
  auto tensors = loadExpanded(node);
  if (!tensors)
    return true;
  Tensor result = std::move((*tensors)[1]);
  for (int64_t i = 0; i < result.size(); ++i)
    if (!(*tensors)[0].asBool(i))
      result.set(i, (*tensors)[2], i);
  node.outputs[0] = Fact::ofTensor(std::move(result));
  return true;
}

llvm::ArrayRef<NamedRule> wsec::simplify::elementwiseRules() {
  static const NamedRule rules[] = {
      {"Identity", identity},
      {"Dropout", dropout, "ratio seed"},
      {"Neg", unary<negated, negated>},
      {"Abs", unary<absFloat, absInt>},
      {"Sign", unary<signFloat, signInt>},
      {"Relu", unary<reluFloat, reluInt>},
      {"Exp", unary<exponential, same>},
      {"Log", unary<logarithm, same>},
      {"Sqrt", unary<squareRoot, same>},
      {"Reciprocal", unary<reciprocal, same>},
      {"Tanh", unary<tangent, same>},
      {"Erf", unary<errorFunction, same>},
      {"Sigmoid", unary<sigmoid, same>},
      {"Sin", unary<sine, same>},
      {"Cos", unary<cosine, same>},
      {"Floor", unary<roundDown, same>},
      {"Ceil", unary<roundUp, same>},
      {"Round", unary<roundEven, same>},
      {"Softplus", unary<softplus, same>},
      {"Not", unary<notFloat, notInt>},
      {"IsNaN", isNaN},
      {"Cast", castRule, "to saturate round_mode"},
      {"CastLike", castLike, "saturate round_mode"},
      {"Clip", clip},
      {"LeakyRelu", likeFirst, "alpha"},
      {"Elu", likeFirst, "alpha"},
      {"Selu", likeFirst, "alpha gamma"},
      {"Celu", likeFirst, "alpha"},
      {"ThresholdedRelu", likeFirst, "alpha"},
      {"Shrink", likeFirst, "bias lambd"},
      {"Tan", likeFirst},
      {"Asin", likeFirst},
      {"Acos", likeFirst},
      {"Atan", likeFirst},
      {"Sinh", likeFirst},
      {"Cosh", likeFirst},
      {"Asinh", likeFirst},
      {"Acosh", likeFirst},
      {"Atanh", likeFirst},
      {"IsInf", isInf, "detect_negative detect_positive"},
      {"BitwiseNot", unary<reciprocal, bitNot>},
      {"BitwiseAnd", bits<bitAnd>},
      {"BitwiseOr", bits<bitOr>},
      {"BitwiseXor", bits<bitXor>},
      {"BitShift", unfolded, "direction"},
      {"Mean", unfolded},
      {"HardSigmoid", likeFirst, "alpha beta"},
      {"HardSwish", likeFirst},
      {"Mish", likeFirst},
      {"Softsign", likeFirst},
      {"PRelu", likeFirstOfTwo},
      {"Gelu", likeFirst, "approximate"},
      {"Swish", likeFirst, "alpha"},
      {"com.microsoft.Gelu", likeFirst},
      {"com.microsoft.FastGelu", likeFirstOfTwo},
      {"com.microsoft.BiasGelu", likeFirstOfTwo},
      {"com.microsoft.QuickGelu", likeFirst, "alpha"},
      {"Add", accumulated<plus, plus>},
      {"Sub", accumulated<minus, minus>},
      {"Mul", accumulated<times, times>},
      {"Div", accumulated<divFloat, divInt>},
      {"Min", accumulated<minFloat, minInt>},
      {"Max", accumulated<maxFloat, maxInt>},
      {"Sum", accumulated<plus, plus>},
      {"Mod", mod, "fmod"},
      {"Pow", pow},
      {"Equal", comparison<equal<double>, equal<int64_t>>},
      {"Less", comparison<less<double>, less<int64_t>>},
      {"LessOrEqual", comparison<lessEqual<double>, lessEqual<int64_t>>},
      {"Greater", comparison<greater<double>, greater<int64_t>>},
      {"GreaterOrEqual",
       comparison<greaterEqual<double>, greaterEqual<int64_t>>},
      {"And", comparison<both<double>, both<int64_t>>},
      {"Or", comparison<either<double>, either<int64_t>>},
      {"Xor", comparison<differ<double>, differ<int64_t>>},
      {"Where", where},
  };
  return rules;
}
