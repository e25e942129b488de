// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/Branches.h"
#include "compiler/values/OnnxValues.h"
#include "compiler/values/ValueNames.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;

static constexpr StringLiteral branchNames[] = {"else_branch", "then_branch"};

static func::FuncOp branchOf(onnx::NodeOp op, bool condition) {
  auto name =
      op.getOnnxAttributes().getAs<FlatSymbolRefAttr>(branchNames[condition]);
  auto module = op->getParentOfType<ModuleOp>();
  return name ? module.lookupSymbol<func::FuncOp>(name.getAttr())
              : func::FuncOp();
}

bool infer::isIf(onnx::NodeOp op) {
  return op.getOpType() == "If" && op.getDomain().empty() &&
         branchOf(op, false) && branchOf(op, true);
}

/// "NAME=", and what an input may be bound to.
static std::string bindingOf(BlockArgument input, StringRef name) {
  const bool isScalar = shapeOf(input).empty();
  const bool isTruth = typeOf(input).getElementType().isInteger(1);
  return (name + "=" +
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
    ++result.count;
    result.binding = bindingOf(input, name.getValue());
  }
  return result;
}

/// What to do about a condition: an input of integers that it is computed from,
/// alone, may be stated; of data none is.
static std::string remedy(Value condition) {
  DecidingInput input = decidingInput(condition);
  if (input.count != 1 || input.readsData)
    return "; export the model with the branch that it is to take";
  return "; state the input that decides, --bind " + input.binding;
}

func::FuncOp infer::chosenBranch(onnx::NodeOp op, const Fact *condition,
                                 std::string &why) {
  Value value = op.getInputs().front();
  if (!condition) {
    why = unsupportedOperand.str();
    return {};
  }
  if (condition->type != ElementType::Bool ||
      numElements(condition->shape) != 1) {
    why = "its condition is not one truth value";
    return {};
  }
  std::optional<Tensor> known = condition->load();
  if (!known) {
    why = "its condition is computed in each run" + remedy(value);
    return {};
  }
  return branchOf(op, known->asBool(0));
}

static void addWeights(Operation *module, Operation *branch, StringRef name) {
  auto ours = module->getAttrOfType<IntegerAttr>(name);
  auto theirs = branch->getAttrOfType<IntegerAttr>(name);
  if (ours && theirs)
    module->setAttr(name, IntegerAttr::get(ours.getType(),
                                           ours.getInt() + theirs.getInt()));
}

SmallVector<Operation *> infer::copyBranch(onnx::NodeOp op,
                                           func::FuncOp branch) {
  auto module = op->getParentOfType<ModuleOp>();
  addWeights(module, branch, onnx::parametersAttrName);
  addWeights(module, branch, onnx::weightBytesAttrName);
  IRMapping places;
  places.map(branch.getArguments(), op.getInputs().drop_front());
  OpBuilder builder(op);
  SmallVector<Operation *> copies;
  for (Operation &inside : branch.front())
    copies.push_back(builder.clone(inside, places));
  return copies;
}

void infer::replaceIf(onnx::NodeOp op, Operation *last) {
  for (auto [result, value] : llvm::zip(op.getResults(), last->getOperands())) {
    result.setType(value.getType());
    moveValueNames(result, value);
    result.replaceAllUsesWith(value);
  }
  last->erase();
  op.erase();
}
