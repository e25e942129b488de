// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of another type, or within bounds, or as they are.
#include "compiler/infer/Operators.h"
#include "compiler/values/Arithmetic.h"
#include <cmath>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static bool identity(Node &node) { return node.setOutput(node.input(0)); }

/// True for all elements.
static Fact everywhere(const Shape &shape) {
  if (numElements(shape) > maxFoldedBytes)
    return unknown(ElementType::Bool, shape);
  Tensor mask(ElementType::Bool, shape);
  for (int64_t i = 0; i < mask.size(); ++i)
    mask.setInt(i, 1);
  return Fact::ofTensor(std::move(mask));
}

/// How likely a Dropout of a model that trains is to drop an element.
static std::optional<double> ratioOf(Node &node) {
  if (!node.has(1))
    return 0.5;
  std::optional<Tensor> ratio = node.input(1).load();
  if (ratio && ratio->size() == 1)
    return ratio->asFloat(0);
  return node.failUnknown(1, "ratio");
}

/// Nothing is dropped in inference, nor where the ratio is 0, and the second
/// result, the mask, keeps everything.
static bool dropout(Node &node) {
  identity(node);
  if (node.has(2)) {
    std::optional<int64_t> training = node.oneInt(2, "training_mode");
    std::optional<double> ratio =
        training && *training ? ratioOf(node) : std::optional<double>(0);
    if (!training || !ratio)
      return false;
    if (*ratio != 0)
      return node.fail("it drops " + llvm::Twine(std::llround(100 * *ratio)) +
                       " % of the elements, in training mode, and nothing here "
                       "is random; a ratio of 0, or an export in evaluation "
                       "mode, makes it an identity");
  }
  if (node.outputs.size() > 1)
    node.outputs[1] = everywhere(node.input(0).shape);
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
    return node.fail("to ONNX element type " + llvm::Twine(number) +
                     ", which is no number");
  return castFact(node, *to);
}

static bool castLike(Node &node) { return castFact(node, node.input(1).type); }

/// A bound as an attribute, before opset 11.
static std::optional<double> statedBound(const Node &node, size_t i) {
  StringRef name = i == 1 ? "min" : "max";
  return node.hasAttr(name) ? std::optional(node.floatAttr(name))
                            : std::nullopt;
}

/// Whether PEs, whose numbers have 32 bits, have those of a type.
static bool hasItsBits(ElementType type) {
  return type == ElementType::Float32 || type == ElementType::Int32 ||
         type == ElementType::UInt32;
}

/// The bits of integers of as many, which wrap, or of 32; of constants any.
static bool bitCast(Node &node) {
  const Fact &x = node.input(0);
  std::optional<ElementType> to = elementTypeOfOnnx(node.intAttr("to"));
  const bool fits = to && storedBytes(*to) == storedBytes(x.type) &&
                    (*to == ElementType::Bool) == (x.type == ElementType::Bool);
  const bool fromBool = to == ElementType::UInt8 && x.type == ElementType::Bool;
  if (!fits && !fromBool)
    return node.fail("between types whose elements have other sizes");
  node.outputs[0] = unknown(*to, x.shape);
  if (std::optional<Tensor> known = x.load())
    node.outputs[0] =
        Fact::ofTensor(Tensor::fromBytes(*to, x.shape, known->toBytes()));
  else if (x.type != *to && (isFloat(*to) || isFloat(x.type)) &&
           !(hasItsBits(*to) && hasItsBits(x.type)))
    return node.fail(
        "between floats and integers of " + llvm::Twine(8 * storedBytes(*to)) +
        " bits that are no constants; PEs have those of 32, cast to float or "
        "from it beside the BitCast");
  return true;
}

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
  withNumbers(x.type(), [&](auto zero) {
    using T = decltype(zero);
    auto bounded = [&](T value, size_t i) {
      std::optional<double> stated = statedBound(node, i);
      if (!node.has(i) && !stated)
        return value;
      T bound = node.has(i) ? (*tensors)[i].get<T>(0) : T(*stated);
      return i == 1 ? larger(value, bound) : smaller(value, bound);
    };
    for (int64_t i = 0; i < x.size(); ++i)
      x.put(i, bounded(bounded(x.get<T>(i), 1), 2));
  });
  return node.setOutput(Fact::ofTensor(std::move(x)));
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

static bool pass(Legalization &n) { return n.replace(n.input(0)); }

static bool dropout(Legalization &n) {
  SmallVector<Value> results{n.input(0)};
  if (n.op().getNumResults() > 1 && !n.op().getResult(1).use_empty())
    results.push_back(
        n.constant(everywhere(Shape(n.resultType(1).getShape()))));
  return results.back() && n.replace(results);
}

static bool cast(Legalization &n) {
  return n.replace(n.cast(n.input(0), n.resultType().getElementType()));
}

static bool bitCast(Legalization &n) {
  Value x = n.input(0);
  const Type from = typeOf(x).getElementType();
  const Type to = n.resultType().getElementType();
  if (from == to || (isa<IntegerType>(from) && isa<IntegerType>(to)))
    return cast(n);
  return n.replace(onnx::BitCastOp::create(
      n.builder(), n.loc(), typeOf(x).clone(to), x, n.nameAttr()));
}

static bool clip(Legalization &n) {
  Value x = n.input(0);
  for (size_t i : {1, 2}) {
    const BinaryKind kind = i == 1 ? BinaryKind::Max : BinaryKind::Min;
    if (n.has(i))
      x = n.binary(kind, x, n.input(i));
    else if (std::optional<double> bound = statedBound(n.node(), i))
      x = n.binary(kind, x, *bound);
  }
  return n.replace(x);
}

llvm::ArrayRef<Operator> wsec::infer::castsOperators() {
  static const Operator operators[] = {
      {"Identity", identity, pass},
      {"Dropout", dropout, dropout, "ratio seed"},
      {"Cast", castRule, cast, "to saturate round_mode=up"},
      {"CastLike", castLike, cast, "saturate round_mode=up"},
      {"BitCast", bitCast, bitCast, "to"},
      {"Clip", clip, clip, "min max"},
  };
  return operators;
}
