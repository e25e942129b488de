// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generic nodes become named operators, one rule per ONNX operator.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Passes.h"
#include "compiler/values/ValueNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace wsec::infer {
#define GEN_PASS_DEF_LEGALIZENODES
#include "compiler/infer/Passes.h.inc"
} // namespace wsec::infer

using namespace wsec::infer;

/// Nodes with an operand or a result of unknown type stay; inference has said
/// why.
static bool isTyped(onnx::NodeOp op) {
  auto typed = [](Type type) { return isa<RankedTensorType, NoneType>(type); };
  return llvm::all_of(op->getOperandTypes(), typed) &&
         llvm::all_of(op->getResultTypes(), typed);
}

/// Rules may make a constant for each element along an axis.
static std::string tooLarge(onnx::NodeOp op) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        if (llvm::any_of(tensor.getShape(),
                         [](int64_t extent) { return extent > most; }))
          return "a tensor of shape " + printShape(tensor.getShape()) +
                 " has more than " + std::to_string(most) +
                 " elements along an axis";
  return "";
}

namespace {
struct LegalizeNodesPass
    : wsec::infer::impl::LegalizeNodesBase<LegalizeNodesPass> {
  using LegalizeNodesBase::LegalizeNodesBase;

  void runOnOperation() override {
    int64_t opset = opsetOf(getOperation());
    SmallVector<onnx::NodeOp> nodes;
    getOperation().walk([&](onnx::NodeOp op) { nodes.push_back(op); });
    for (onnx::NodeOp op : nodes)
      if (isTyped(op))
        legalize(op, opset);
    if (expandWeights)
      getOperation().walk([](onnx::ConstantOp op) {
        if (auto quantized = dyn_cast<onnx::QuantizedAttr>(op.getValue()))
          op.setValueAttr(quantized.expanded());
      });
  }

  static void legalize(onnx::NodeOp op, int64_t opset) {
    auto giveUp = [&](StringRef why) {
      op->setAttr(reasonAttrName, StringAttr::get(op.getContext(), why));
    };
    const Operator *known = findOperator(qualifiedName(op));
    const auto *schema = onnx::findSchema(qualifiedName(op), opset);
    if (!known || !known->legalize || !schema)
      return giveUp("the operator has no kernel");
    if (std::string why = tooLarge(op); !why.empty())
      return giveUp(why);
    Legalization legalization(op, *schema, known->understood);
    if (!known->legalize(legalization))
      return giveUp(legalization.node().reason());
    for (auto [result, value] :
         llvm::zip(op.getResults(), legalization.replacements()))
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
