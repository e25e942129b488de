// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/FlexAttention.h"
#include "compiler/values/OnnxValues.h"
#include "compiler/values/Refused.h"
#include "dialects/onnx/Bodies.h"
#include <cmath>

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;

bool infer::isFlexAttention(onnx::NodeOp op) {
  return op.getOpType() == "FlexAttention" &&
         op.getDomain() == "ai.onnx.preview";
}

namespace {
class FlexAttention : Expansion {
public:
  FlexAttention(onnx::NodeOp op, const Inferring &inferring, std::string &why)
      : Expansion(op, inferring), why(why) {}

  std::optional<SmallVector<Value>> results() {
    Value y = check() ? attend() : Value();
    if (y)
      return SmallVector<Value>{y};
    if (!leaveBody)
      eraseMade();
    return std::nullopt;
  }

private:
  Refused fail(const Twine &what) { return because(why, what); }
  bool check();
  bool checkAttributes();
  Value attend();
  /// What the subgraph of that attribute makes of `x`; `x` where there is none,
  /// null where it makes something else.
  Value changed(StringRef attribute, Value x);
  Value cast(Value x, int64_t type);
  /// Keys or values for each head of the queries.
  Value forAllHeads(Value x);
  const Shape &shapeOf(Value x) const { return inferring.lookup(x)->shape; }

  std::string &why;
  double scale = 0;
  ElementType precision = ElementType::Float32;
  bool leaveBody = false; ///< the reason is in what is made
};
} // namespace

bool FlexAttention::checkAttributes() {
  const ElementType own = inferring.lookup(op.getInputs()[0])->type;
  precision =
      own == ElementType::Float64 ? ElementType::Float64 : ElementType::Float32;
  scale = 1 / std::sqrt(double(shapeOf(op.getInputs()[0])[3]));
  for (NamedAttribute attribute : op.getOnnxAttributes()) {
    StringRef name = attribute.getName();
    auto number = dyn_cast<FloatAttr>(attribute.getValue());
    auto integer = dyn_cast<IntegerAttr>(attribute.getValue());
    if (name == "scale" && number) {
      scale = number.getValueAsDouble();
    } else if (name == "softmax_precision" && integer) {
      std::optional<ElementType> stated = elementTypeOfOnnx(integer.getInt());
      if (!stated || !isFloat(*stated))
        return fail("softmax_precision is " + Twine(integer.getInt()) +
                    ", expected a type of floats");
      precision = *stated;
    } else if (name != onnx::capturedAttrName &&
               !isa<FlatSymbolRefAttr>(attribute.getValue())) {
      return fail("attribute '" + name + "' is none of its own");
    }
  }
  return true;
}

bool FlexAttention::check() {
  constexpr size_t own = 3; // Q, K, V; then what the subgraphs use besides.
  if (op.getInputs().size() < own || op.getNumResults() != 1)
    return fail("expected three operands and one result");
  for (Value input : op.getInputs())
    if (!inferring.lookup(input))
      return fail(unsupportedOperand);
  for (Value input : op.getInputs().take_front(own))
    if (const Fact *fact = inferring.lookup(input);
        fact->rank() != 4 || !isFloat(fact->type))
      return fail("an operand of shape " + printShape(fact->shape) +
                  ", expected floats of batch, heads, tokens and features");
  const Shape &q = shapeOf(op.getInputs()[0]), &k = shapeOf(op.getInputs()[1]),
              &v = shapeOf(op.getInputs()[2]);
  if (q[0] != k[0] || k[0] != v[0] || k[1] != v[1] || k[2] != v[2] ||
      q[3] != k[3] || k[1] == 0 || q[1] % k[1] != 0)
    return fail("queries of shape " + printShape(q) + " do not go with keys " +
                printShape(k) + " and values " + printShape(v));
  return checkAttributes();
}

Value FlexAttention::cast(Value x, int64_t type) {
  if (int64_t(inferring.lookup(x)->type) == type)
    return x;
  return node("Cast", {x}, "to", type);
}

Value FlexAttention::forAllHeads(Value x) {
  const int64_t heads = shapeOf(op.getInputs()[0])[1];
  const Shape all = shapeOf(x);
  if (all[1] == heads)
    return x;
  const int64_t group = heads / all[1];
  auto ofShape = [&](StringRef operation, Value from, const Shape &shape) {
    return node(operation, {from, constant(Tensor::ofInts(shape))});
  };
  x = ofShape("Reshape", x, {all[0], all[1], 1, all[2], all[3]});
  x = ofShape("Expand", x, {all[0], all[1], group, all[2], all[3]});
  return ofShape("Reshape", x, {all[0], heads, all[2], all[3]});
}

Value FlexAttention::changed(StringRef attribute, Value x) {
  func::FuncOp body = bodyOf(op, attribute);
  if (!body)
    return x;
  const ValueRange captured = op.getInputs().drop_front(3);
  if (body.getNumArguments() != 1 + captured.size() ||
      body.getNumResults() != 1)
    return fail(attribute + " takes one value and gives one");
  IRMapping places;
  places.map(body.getArgument(0), x);
  places.map(body.getArguments().drop_front(), captured);
  const Shape shape = shapeOf(x);
  const ElementType type = inferring.lookup(x)->type;
  auto made = copy(body, (op.getNode() + "/" + attribute + "/").str(), places);
  if (!made) {
    leaveBody = true;
    return fail(unsupportedOperand);
  }
  const Fact &fact = *inferring.lookup(made->front());
  if (fact.shape != shape || fact.type != type)
    return fail(attribute + " makes shape " + printShape(fact.shape) + " of " +
                printShape(shape) +
                ", expected the same, of the same elements");
  return made->front();
}

Value FlexAttention::attend() {
  const auto own = int64_t(inferring.lookup(op.getInputs()[0])->type);
  Builder builder(op.getContext());
  Value keys = node("Transpose", {forAllHeads(op.getInputs()[1])},
                    {builder.getNamedAttr(
                        "perm", builder.getDenseI64ArrayAttr({0, 1, 3, 2}))});
  Value scores =
      cast(node("MatMul", {op.getInputs()[0], keys}), int64_t(precision));
  scores = changed(
      "score_mod",
      node("Mul", {scores, constant(Tensor::scalar(precision, scale))}));
  if (!scores)
    return {};
  Value shares = changed("prob_mod", node("Softmax", {scores}, "axis", -1));
  if (!shares)
    return {};
  return node("MatMul", {cast(shares, own), forAllHeads(op.getInputs()[2])});
}

std::optional<SmallVector<Value>>
infer::expandFlexAttention(onnx::NodeOp op, const Inferring &inferring,
                           std::string &why) {
  return FlexAttention(op, inferring, why).results();
}
