// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f16 and bf16 values become f32 wherever the wafer computes with them.
#include "compiler/simplify/OnnxValues.h"
#include "compiler/simplify/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace wsec::simplify {
#define GEN_PASS_DEF_PROMOTETOF32
#include "compiler/simplify/Passes.h.inc"
} // namespace wsec::simplify

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;

/// `type` with f32 elements if it has f16 or bf16 ones, or null.
static RankedTensorType widened(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return nullptr;
  Type element = tensor.getElementType();
  if (!element.isF16() && !element.isBF16())
    return nullptr;
  return tensor.clone(Float32Type::get(type.getContext()));
}

static Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  return onnx::CastOp::create(builder, loc, type, value,
                              builder.getStringAttr(""));
}

/// Bytes in a file do not say their type once the result has another.
static void keepStoredType(onnx::ConstantOp constant) {
  auto external = dyn_cast<onnx::ExternalAttr>(constant.getValue());
  if (!external || external.getStored())
    return;
  constant.setValueAttr(onnx::ExternalAttr::get(
      constant.getContext(), external.getFile(), external.getOffset(),
      external.getBytes(), constant.getStoredType()));
}

/// A Cast that is left with equal types on both sides.
static bool isEmptyCast(Operation &op) {
  auto node = dyn_cast<onnx::NodeOp>(op);
  return node && node.getDomain().empty() && !node.getInputs().empty() &&
         (node.getOpType() == "Cast" || node.getOpType() == "CastLike") &&
         node.getInputs()[0].getType() == node.getResult(0).getType();
}

namespace {
struct PromoteToF32Pass
    : wsec::simplify::impl::PromoteToF32Base<PromoteToF32Pass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        runOnFunction(function);
  }

  void runOnFunction(func::FuncOp function) {
    Block &body = function.front();
    Operation *terminator = body.getTerminator();
    SmallVector<Type> resultTypes(terminator->getOperandTypes());
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    for (BlockArgument argument : body.getArguments())
      widenArgument(builder, argument);
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
      widenResults(op);
    builder.setInsertionPoint(terminator);
    for (OpOperand &operand : terminator->getOpOperands()) {
      Type type = resultTypes[operand.getOperandNumber()];
      if (operand.get().getType() != type)
        operand.set(
            castTo(builder, operand.get().getLoc(), operand.get(), type));
    }
  }

  void widenArgument(OpBuilder &builder, BlockArgument argument) {
    RankedTensorType type = widened(argument.getType());
    if (!type || argument.use_empty())
      return;
    Value cast = castTo(builder, argument.getLoc(), argument, type);
    argument.replaceAllUsesExcept(cast, cast.getDefiningOp());
  }

  void widenResults(Operation &op) {
    // The casts of the arguments have the type already.
    for (Value result : op.getResults())
      if (RankedTensorType type = widened(result.getType())) {
        if (auto constant = dyn_cast<onnx::ConstantOp>(op))
          keepStoredType(constant);
        result.setType(type);
      }
    if (isEmptyCast(op)) {
      op.getResult(0).replaceAllUsesWith(op.getOperand(0));
      op.erase();
    }
  }
};
} // namespace
