// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/Bodies.h"
#include "compiler/values/OnnxValues.h"
#include "compiler/values/ValueNames.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;

/// On a node with bodies that lies in a loop: what their names get.
static constexpr StringLiteral prefixAttrName = "onnx.prefix";

func::FuncOp infer::bodyOf(onnx::NodeOp op, StringRef attribute) {
  auto name = op.getOnnxAttributes().getAs<FlatSymbolRefAttr>(attribute);
  auto body = name ? op->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(
                         name.getAttr())
                   : func::FuncOp();
  return body && !body.isExternal() ? body : func::FuncOp();
}

/// "--bind NAME=", and what an input may be bound to.
static std::string bindingOf(BlockArgument input, StringRef name) {
  const bool isScalar = shapeOf(input).empty();
  const bool isTruth = typeOf(input).getElementType().isInteger(1);
  return ("--bind " + name + "=" +
          (isTruth    ? isScalar ? "true or false" : "[true] or [false]"
           : isScalar ? "VALUE"
                      : "FILE.npy"))
      .str();
}

DecidingInput infer::decidingInput(ValueRange values) {
  llvm::SetVector<Value> reached(values.begin(), values.end());
  DecidingInput result;
  for (size_t i = 0; i < reached.size(); ++i) {
    Value value = reached[i];
    if (Operation *op = value.getDefiningOp()) {
      reached.insert_range(op->getOperands());
      continue;
    }
    auto input = cast<BlockArgument>(value);
    auto function = dyn_cast<func::FuncOp>(input.getOwner()->getParentOp());
    auto name = function ? function.getArgAttrOfType<StringAttr>(
                               input.getArgNumber(), onnx::nameAttrName)
                         : StringAttr();
    if (!name || !isa<RankedTensorType>(input.getType()))
      continue;
    if (!isa<IntegerType>(typeOf(input).getElementType())) {
      result.readsData = true;
      continue;
    }
    result.binding += result.count++ ? " " : "";
    result.binding += bindingOf(input, name.getValue());
  }
  return result;
}

std::string infer::remedyFor(Value number, StringRef otherwise) {
  DecidingInput input = decidingInput(number);
  if (input.count != 1 || input.readsData)
    return ("; " + otherwise).str();
  return "; state the input that decides, " + input.binding;
}

static void addWeights(Operation *module, Operation *body, StringRef name) {
  auto ours = module->getAttrOfType<IntegerAttr>(name);
  auto theirs = body->getAttrOfType<IntegerAttr>(name);
  if (ours && theirs)
    module->setAttr(name, IntegerAttr::get(ours.getType(),
                                           ours.getInt() + theirs.getInt()));
  body->removeAttr(name);
}

static void prefixNames(onnx::NodeOp node, StringRef prefix) {
  Builder builder(node.getContext());
  auto prefixed = [&](StringRef name) -> Attribute {
    return builder.getStringAttr(prefix + name);
  };
  node.setNode((prefix + node.getNode()).str());
  SmallVector<Attribute> all;
  if (auto names = node->getAttrOfType<ArrayAttr>(onnx::valuesAttrName)) {
    for (Attribute ofResult : names) {
      SmallVector<Attribute> its;
      for (Attribute name : cast<ArrayAttr>(ofResult))
        if (auto text = dyn_cast<StringAttr>(name))
          its.push_back(prefixed(text));
      all.push_back(builder.getArrayAttr(its));
    }
    node->setAttr(onnx::valuesAttrName, builder.getArrayAttr(all));
  }
  if (llvm::any_of(node.getOnnxAttributes(), [](NamedAttribute its) {
        return isa<FlatSymbolRefAttr>(its.getValue());
      }))
    node->setAttr(prefixAttrName, prefixed(""));
}

StringRef infer::prefixOf(onnx::NodeOp op) {
  auto prefix = op->getAttrOfType<StringAttr>(prefixAttrName);
  return prefix ? prefix.getValue() : "";
}

SmallVector<Operation *> infer::copyBody(onnx::NodeOp op, func::FuncOp body,
                                         StringRef prefix, IRMapping &places) {
  auto module = op->getParentOfType<ModuleOp>();
  addWeights(module, body, onnx::parametersAttrName);
  addWeights(module, body, onnx::weightBytesAttrName);
  OpBuilder builder(op);
  SmallVector<Operation *> copies;
  for (Operation &inside : body.front()) {
    if (isa<onnx::ConstantOp, onnx::NoneOp>(inside) &&
        places.contains(inside.getResult(0)))
      continue;
    copies.push_back(builder.clone(inside, places));
    if (auto node = dyn_cast<onnx::NodeOp>(copies.back());
        node && !prefix.empty())
      prefixNames(node, prefix);
  }
  return copies;
}

Value Expansion::constant(Tensor tensor) {
  OpBuilder builder(op);
  Value value = materialize(builder, op.getLoc(), std::move(tensor));
  inferring.visit(*value.getDefiningOp());
  return value;
}

Value Expansion::node(StringRef operation, ValueRange operands,
                      ArrayRef<NamedAttribute> attributes) {
  OpBuilder builder(op);
  auto made = onnx::NodeOp::create(
      builder, op.getLoc(), {onnx::UnknownType::get(op.getContext())},
      operation, "", operands, builder.getDictionaryAttr(attributes),
      op.getNode());
  inferring.visit(*made);
  return made.getResult(0);
}

Value Expansion::node(StringRef operation, ValueRange operands,
                      StringRef attribute, int64_t value) {
  Builder builder(op.getContext());
  return node(
      operation, operands,
      {builder.getNamedAttr(attribute, builder.getI64IntegerAttr(value))});
}

std::optional<SmallVector<Value>>
Expansion::copy(func::FuncOp body, StringRef prefix, IRMapping &places) {
  SmallVector<Operation *> copies = copyBody(op, body, prefix, places);
  Operation *last = copies.pop_back_val();
  for (Operation *copy : copies)
    inferring.visit(*copy);
  SmallVector<Value> results = llvm::to_vector(last->getOperands());
  last->erase();
  if (llvm::all_of(results, inferring.lookup))
    return results;
  return std::nullopt;
}

void Expansion::eraseMade() {
  while (Operation *made = op->getPrevNode()) {
    if (made == before)
      break;
    inferring.forget(*made);
    made->erase();
  }
}

void infer::replaceNode(onnx::NodeOp op, ValueRange values) {
  for (auto [result, value] : llvm::zip(op.getResults(), values)) {
    result.setType(value.getType());
    moveValueNames(result, value);
    result.replaceAllUsesWith(value);
  }
  op.erase();
}
