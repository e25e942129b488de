// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several operands, element by element, broadcast.
#include "compiler/values/Arithmetic.h"
#include "compiler/infer/Operators.h"
#include <cmath>

using namespace wsec::infer;

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
  return node.setOutput(unknown(type, shape));
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

/// Any number of operands of one type, combined from the left.
template <const auto &combine>
static bool accumulated(Node &node) {
  if (!broadcastAll(node, node.input(0).type))
    return false;
  auto tensors = loadExpanded(node);
  if (!tensors)
    return true;
  Tensor result = std::move(tensors->front());
  withNumbers(result.type(), [&](auto zero) {
    using T = decltype(zero);
    for (const Tensor &next : ArrayRef(*tensors).drop_front())
      for (int64_t i = 0; i < result.size(); ++i)
        result.put(i, T(combine(result.get<T>(i), next.get<T>(i))));
  });
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

// Functions of two numbers, of each kind that elements are.
#define WSEC_PAIR(name, value)                                                 \
  static constexpr auto name = [](auto a, auto b) { return value; };
WSEC_PAIR(sumOf, plus(a, b))
WSEC_PAIR(differenceOf, minus(a, b))
WSEC_PAIR(productOf, times(a, b))
WSEC_PAIR(quotientOf, quotient(a, b))
WSEC_PAIR(smallerOf, smaller(a, b))
WSEC_PAIR(largerOf, larger(a, b))
WSEC_PAIR(moduloOf, modulo(a, b))
WSEC_PAIR(remainderOf, restOf(a, b))
WSEC_PAIR(bitAnd, int64_t(a) & int64_t(b))
WSEC_PAIR(bitOr, int64_t(a) | int64_t(b))
WSEC_PAIR(bitXor, int64_t(a) ^ int64_t(b))
WSEC_PAIR(equal, a == b)
WSEC_PAIR(less, a < b)
WSEC_PAIR(lessEqual, a <= b)
WSEC_PAIR(greater, a > b)
WSEC_PAIR(greaterEqual, a >= b)
WSEC_PAIR(both, a &&b)
WSEC_PAIR(either, a || b)
WSEC_PAIR(differ, !a != !b)
#undef WSEC_PAIR

/// Mod takes the sign of the divisor, fmod that of the dividend.
static bool mod(Node &node) {
  return node.intAttr("fmod") ? accumulated<remainderOf>(node)
                              : accumulated<moduloOf>(node);
}

/// What only data has is not folded.
static bool unfolded(Node &node) {
  return broadcastAll(node, node.input(0).type);
}

/// The exponent may have a type of its own; the result has the base's.
static bool powerOf(Node &node) {
  if (!broadcastAll(node, node.input(0).type))
    return false;
  auto tensors = loadExpanded(node);
  if (!tensors)
    return true;
  const Tensor &base = (*tensors)[0], &exponent = (*tensors)[1];
  Tensor result(base.type(), base.shape());
  withNumbers(base.type(), [&](auto x) {
    withNumbers(exponent.type(), [&](auto e) {
      for (int64_t i = 0; i < result.size(); ++i)
        result.put(
            i, power(base.get<decltype(x)>(i), exponent.get<decltype(e)>(i)));
    });
  });
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

template <const auto &test>
static bool comparison(Node &node) {
  if (!broadcastAll(node, ElementType::Bool))
    return false;
  auto tensors = loadExpanded(node);
  if (!tensors)
    return true;
  const Tensor &a = (*tensors)[0], &b = (*tensors)[1];
  Tensor result(ElementType::Bool, a.shape());
  withNumbers(a.type(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < result.size(); ++i)
      result.setInt(i, test(a.get<T>(i), b.get<T>(i)));
  });
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

static bool chosenOf(Node &node) {
  if (!broadcastAll(node, node.input(1).type))
    return false;
  auto tensors = loadExpanded(node);
  if (!tensors)
    return true;
  Tensor result = std::move((*tensors)[1]);
  for (int64_t i = 0; i < result.size(); ++i)
    if (!(*tensors)[0].asBool(i))
      result.set(i, (*tensors)[2], i);
  return node.setOutput(Fact::ofTensor(std::move(result)));
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
    sum = n.add(sum, n.input(i));
  return n.replace(count == 1 ? sum : n.div(sum, double(count)));
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
  Value equal = n.equal(n.input(0), n.input(1));
  return n.replace(n.logicalNot(equal));
}

static bool chosenOf(Legalization &n) {
  return n.replace(Value(
      onnx::WhereOp::create(n.builder(), n.loc(), n.resultType(), n.input(0),
                            n.input(1), n.input(2), n.nameAttr())));
}

/// Small whole powers and roots are cheaper, and exact, without `pow`.
static bool powerOf(Legalization &n) {
  Value x = n.input(0), exponent = n.input(1);
  std::optional<double> known = uniformValue(exponent);
  const bool isWhole = known ? std::trunc(*known) == *known
                             : typeOf(exponent).getElementType().isInteger();
  const bool isInteger = typeOf(x).getElementType().isInteger();
  if (isInteger && !isWhole) {
    // Of what f32 has all whole numbers: 128 times as much fits 32 bits, of
    // which a cast that must fit ends the run.
    constexpr double scale = 128;
    Type f32 = n.builder().getF32Type(), i64 = n.builder().getI64Type();
    Value power = n.pow(n.cast(x, f32), n.cast(exponent, f32));
    power = n.cast(n.mul(power, scale), i64);
    return n.replace(
        n.cast(n.div(power, scale), n.resultType().getElementType()));
  }
  if (known && n.resultType() == x.getType() && (!isInteger || *known > 0)) {
    if (*known == 1)
      return n.replace(x);
    if (*known == 2)
      return n.replace(n.mul(x, x));
    if (*known == 3)
      return n.replace(n.mul(n.mul(x, x), x));
    if (*known == 0.5)
      return n.replace(n.sqrt(x));
    if (*known == -0.5)
      return n.replace(n.rsqrt(x));
    if (*known == -1)
      return n.replace(n.reciprocal(x));
    exponent = n.scalarLike(x, *known);
  }
  exponent = n.cast(exponent, typeOf(x).getElementType());
  return n.replace(n.pow(x, exponent));
}

llvm::ArrayRef<Operator> wsec::infer::arithmeticOperators() {
  static const Operator operators[] = {
      {"Add", accumulated<sumOf>, fromTheLeft<BinaryKind::Add>},
      {"Sub", accumulated<differenceOf>, fromTheLeft<BinaryKind::Sub>},
      {"Mul", accumulated<productOf>, fromTheLeft<BinaryKind::Mul>},
      {"Div", accumulated<quotientOf>, fromTheLeft<BinaryKind::Div>},
      {"Min", accumulated<smallerOf>, fromTheLeft<BinaryKind::Min>},
      {"Max", accumulated<largerOf>, fromTheLeft<BinaryKind::Max>},
      {"Sum", accumulated<sumOf>, fromTheLeft<BinaryKind::Add>},
      {"Mean", unfolded, mean},
      {"Pow", powerOf, powerOf},
      {"Mod", mod, mod, "fmod"},
      {"BitwiseAnd", accumulated<bitAnd>, bits<BinaryKind::BitAnd>},
      {"BitwiseOr", accumulated<bitOr>, bits<BinaryKind::BitOr>},
      {"BitwiseXor", accumulated<bitXor>, bits<BinaryKind::BitXor>},
      {"BitShift", unfolded, bitShift, "direction=LEFT|RIGHT"},
      {"Equal", comparison<equal>, fromTheLeft<BinaryKind::Equal>},
      {"Less", comparison<less>, fromTheLeft<BinaryKind::Less>},
      {"LessOrEqual", comparison<lessEqual>,
       fromTheLeft<BinaryKind::LessOrEqual>},
      {"Greater", comparison<greater>, swapped<BinaryKind::Less>},
      {"GreaterOrEqual", comparison<greaterEqual>,
       swapped<BinaryKind::LessOrEqual>},
      {"And", comparison<both>, fromTheLeft<BinaryKind::And>},
      {"Or", comparison<either>, fromTheLeft<BinaryKind::Or>},
      {"Xor", comparison<differ>, exclusiveOr},
      {"Where", chosenOf, chosenOf},
  };
  return operators;
}
