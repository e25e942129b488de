// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several operands, element by element, broadcast.
#include "compiler/values/Arithmetic.h"
#include "compiler/infer/Operators.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;
using onnx::BinaryKind;
using onnx::UnaryKind;

//===----------------------------------------------------------------------===//
// Inference
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

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

template <BinaryKind kind>
static bool bits(Legalization &n) {
  return n.replace(n.binary(kind, n.input(0), n.input(1)));
}

static bool bitShift(Legalization &n) {
  return n.node().stringAttr("direction") == "LEFT"
             ? bits<BinaryKind::ShiftLeft>(n)
             : bits<BinaryKind::ShiftRight>(n);
}

static bool mod(Legalization &n) {
  return n.node().intAttr("fmod") ? bits<BinaryKind::Remainder>(n)
                                  : bits<BinaryKind::Mod>(n);
}

static bool mean(Legalization &n) {
  Value sum = n.input(0);
  const size_t count = n.op().getInputs().size();
  for (size_t i = 1; i < count; ++i)
    sum = n.binary(BinaryKind::Add, sum, n.input(i));
  return n.replace(count == 1 ? sum
                              : n.binary(BinaryKind::Div, sum, double(count)));
}

/// Min, Max and Sum take any number of operands.
template <BinaryKind kind>
static bool fromTheLeft(Legalization &n) {
  Value result = n.input(0);
  for (size_t i = 1; i < n.op().getInputs().size(); ++i)
    result = n.binary(kind, result, n.input(i));
  return n.replace(result);
}

template <BinaryKind kind>
static bool swapped(Legalization &n) {
  return n.replace(n.binary(kind, n.input(1), n.input(0)));
}

static bool exclusiveOr(Legalization &n) {
  Value equal = n.binary(BinaryKind::Equal, n.input(0), n.input(1));
  return n.replace(n.unary(UnaryKind::Not, equal));
}

static bool where(Legalization &n) {
  return n.replace(Value(
      onnx::WhereOp::create(n.builder(), n.loc(), n.resultType(), n.input(0),
                            n.input(1), n.input(2), n.nameAttr())));
}

/// Small whole powers and roots are cheaper, and exact, without `pow`.
static bool pow(Legalization &n) {
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
  exponent = n.cast(exponent, typeOf(x).getElementType());
  return n.replace(n.binary(BinaryKind::Pow, x, exponent));
}

llvm::ArrayRef<Operator> wsec::infer::arithmeticOperators() {
  static const Operator operators[] = {
      {"Add", accumulated<plus, plus>, fromTheLeft<BinaryKind::Add>},
      {"Sub", accumulated<minus, minus>, fromTheLeft<BinaryKind::Sub>},
      {"Mul", accumulated<times, times>, fromTheLeft<BinaryKind::Mul>},
      {"Div", accumulated<divFloat, divInt>, fromTheLeft<BinaryKind::Div>},
      {"Min", accumulated<minFloat, minInt>, fromTheLeft<BinaryKind::Min>},
      {"Max", accumulated<maxFloat, maxInt>, fromTheLeft<BinaryKind::Max>},
      {"Sum", accumulated<plus, plus>, fromTheLeft<BinaryKind::Add>},
      {"Mean", unfolded, mean},
      {"Pow", pow, pow},
      {"Mod", mod, mod, "fmod"},
      {"BitwiseAnd", bits<bitAnd>, bits<BinaryKind::BitAnd>},
      {"BitwiseOr", bits<bitOr>, bits<BinaryKind::BitOr>},
      {"BitwiseXor", bits<bitXor>, bits<BinaryKind::BitXor>},
      {"BitShift", unfolded, bitShift, "direction=LEFT|RIGHT"},
      {"Equal", comparison<equal<double>, equal<int64_t>>,
       fromTheLeft<BinaryKind::Equal>},
      {"Less", comparison<less<double>, less<int64_t>>,
       fromTheLeft<BinaryKind::Less>},
      {"LessOrEqual", comparison<lessEqual<double>, lessEqual<int64_t>>,
       fromTheLeft<BinaryKind::LessOrEqual>},
      {"Greater", comparison<greater<double>, greater<int64_t>>,
       swapped<BinaryKind::Less>},
      {"GreaterOrEqual",
       comparison<greaterEqual<double>, greaterEqual<int64_t>>,
       swapped<BinaryKind::LessOrEqual>},
      {"And", comparison<both<double>, both<int64_t>>,
       fromTheLeft<BinaryKind::And>},
      {"Or", comparison<either<double>, either<int64_t>>,
       fromTheLeft<BinaryKind::Or>},
      {"Xor", comparison<differ<double>, differ<int64_t>>, exclusiveOr},
      {"Where", where, where},
  };
  return operators;
}
