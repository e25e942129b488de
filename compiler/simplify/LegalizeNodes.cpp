// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generic nodes become named operators, one rule per ONNX operator.
#include "compiler/simplify/Naming.h"
#include "compiler/simplify/Passes.h"
#include "compiler/simplify/ValueNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Traits.h"
#include <map>

namespace wsec::simplify {
#define GEN_PASS_DEF_LEGALIZENODES
#include "compiler/simplify/Passes.h.inc"
} // namespace wsec::simplify

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;

//===----------------------------------------------------------------------===//
// Naming
//===----------------------------------------------------------------------===//

static std::vector<Fact> inputFacts(onnx::NodeOp op) {
  std::vector<Fact> facts;
  for (Value input : op.getInputs())
    facts.push_back(factOf(input).value_or(Fact()));
  return facts;
}

static SmallVector<const Fact *> pointers(onnx::NodeOp op,
                                          const std::vector<Fact> &facts) {
  SmallVector<const Fact *> result;
  for (auto [input, fact] : llvm::zip(op.getInputs(), facts))
    result.push_back(isa<NoneType>(input.getType()) ? nullptr : &fact);
  return result;
}

Naming::Naming(onnx::NodeOp op, const onnx::OperatorSchema &schema,
               StringRef understood)
    : nodeOp(op), inputs(inputFacts(op)),
      facts(schema, op.getOnnxAttributes(), understood, pointers(op, inputs),
            op.getNumResults()),
      build(op) {}

Value Naming::cast(Value x, Type element) {
  if (typeOf(x).getElementType() == element)
    return x;
  return onnx::CastOp::create(build, loc(), typeOf(x).clone(element), x,
                              nameAttr());
}

Value Naming::transpose(Value x, ArrayRef<int64_t> perm) {
  Shape shape;
  for (int64_t dim : perm)
    shape.push_back(shapeOf(x)[dim]);
  return onnx::TransposeOp::create(build, loc(), withShape(x, shape), x, perm,
                                   nameAttr());
}

Value Naming::slice(Value x, const Box &box) {
  return onnx::SliceOp::create(build, loc(), withShape(x, box.extents), x,
                               box.starts, box.steps, nameAttr());
}

Value Naming::sliceLast(Value x, int64_t start, int64_t size) {
  Box box{Shape(shapeOf(x).size(), 0), Shape(shapeOf(x)),
          Shape(shapeOf(x).size(), 1)};
  box.starts.back() = start;
  box.extents.back() = size;
  return slice(x, box);
}

Value Naming::concat(ValueRange all, int64_t axis) {
  SmallVector<Value> parts = llvm::to_vector(llvm::make_filter_range(
      all, [&](Value part) { return shapeOf(part)[axis] != 0; }));
  if (parts.size() == 1)
    return parts.front();
  Shape shape(shapeOf(parts.front()));
  shape[axis] = 0;
  for (Value part : parts)
    shape[axis] += shapeOf(part)[axis];
  return onnx::ConcatOp::create(build, loc(), withShape(parts.front(), shape),
                                parts, axis, nameAttr());
}

Value Naming::matmul(Value x, Value weight, Value bias) {
  Shape shape(shapeOf(x));
  shape.back() = shapeOf(weight)[1];
  return onnx::MatMulOp::create(build, loc(), withShape(x, shape), x, weight,
                                bias, nameAttr());
}

Value Naming::batchMatmul(Value a, Value b) {
  Shape left(shapeOf(a)), right(shapeOf(b)), shape;
  bool row = left.size() == 1, column = right.size() == 1;
  if (row)
    left.insert(left.begin(), 1);
  if (column)
    right.push_back(1);
  OpTrait::util::getBroadcastedShape(ArrayRef(left).drop_back(2),
                                     ArrayRef(right).drop_back(2), shape);
  shape.append({left[left.size() - 2], right.back()});
  Value product = onnx::BatchMatMulOp::create(build, loc(), withShape(a, shape),
                                              reshape(a, left),
                                              reshape(b, right), nameAttr());
  if (column)
    shape.pop_back();
  if (row)
    shape.erase(shape.end() - (column ? 1 : 2));
  return reshape(product, shape);
}

Value Naming::constant(const std::optional<Fact> &fact) {
  Value value = fact && fact->constant
                    ? materialize(build, loc(), *fact, name())
                    : Value();
  if (!value)
    fail("a constant is too large to rearrange");
  return value;
}

bool Naming::replace(ValueRange values) {
  results.assign(values.begin(), values.end());
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static NamingRule findNamingRule(onnx::NodeOp op) {
  static const std::map<StringRef, NamingRule> table = [] {
    std::map<StringRef, NamingRule> rules;
    for (ArrayRef<NamedNamingRule> family :
         {elementwiseNaming(), arithmeticNaming(), quantizedNaming(),
          shapeNaming(), lookupNaming(), layoutNaming(), reductionNaming(),
          productNaming(), attentionNaming(), fusedNaming(),
          convolutionNaming()})
      for (const NamedNamingRule &named : family)
        rules[named.name] = named.rule;
    return rules;
  }();
  auto found = table.find(qualifiedName(op));
  return found == table.end() ? nullptr : found->second;
}

/// Nodes with an operand or a result of unknown type stay; inference has said
/// why.
static bool isTyped(onnx::NodeOp op) {
  auto typed = [](Type type) { return isa<RankedTensorType, NoneType>(type); };
  return llvm::all_of(op->getOperandTypes(), typed) &&
         llvm::all_of(op->getResultTypes(), typed);
}

namespace {
struct LegalizeNodesPass
    : wsec::simplify::impl::LegalizeNodesBase<LegalizeNodesPass> {
  void runOnOperation() override {
    int64_t opset = opsetOf(getOperation());
    SmallVector<onnx::NodeOp> nodes;
    getOperation().walk([&](onnx::NodeOp op) { nodes.push_back(op); });
    for (onnx::NodeOp op : nodes)
      if (isTyped(op))
        nameNode(op, opset);
  }

  static void nameNode(onnx::NodeOp op, int64_t opset) {
    auto giveUp = [&](StringRef why) {
      op->setAttr(reasonAttrName, StringAttr::get(op.getContext(), why));
    };
    NamingRule rule = findNamingRule(op);
    const NamedRule *known = findRule(qualifiedName(op));
    const auto *schema = onnx::findSchema(qualifiedName(op), opset);
    if (!rule || !known || !schema)
      return giveUp("the operator has no kernel");
    Naming naming(op, *schema, known->understood);
    if (!rule(naming))
      return giveUp(naming.node().reason());
    for (auto [result, value] :
         llvm::zip(op.getResults(), naming.replacements()))
      if (value) {
        moveValueNames(result, value);
        result.replaceAllUsesWith(value);
      }
    for (Value result : op.getResults())
      if (!result.use_empty())
        return giveUp("result " +
                      std::to_string(cast<OpResult>(result).getResultNumber()) +
                      " is used");
    op.erase();
  }
};
} // namespace
