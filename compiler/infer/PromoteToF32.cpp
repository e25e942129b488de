// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats of other types become f32 wherever the wafer computes with them.
#include "compiler/infer/Passes.h"
#include "compiler/values/OnnxValues.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>

namespace wsec::infer {
#define GEN_PASS_DEF_PROMOTETOF32
#include "compiler/infer/Passes.h.inc"
} // namespace wsec::infer

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;

static Value castTo(OpBuilder &builder, Location loc, Value value, Type type,
                    StringRef name = "") {
  return onnx::CastOp::create(builder, loc, type, value,
                              builder.getStringAttr(name));
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

static bool isCast(onnx::NodeOp node) {
  return node.getDomain().empty() && !node.getInputs().empty() &&
         (node.getOpType() == "Cast" || node.getOpType() == "CastLike");
}

/// A Cast that is left with equal types on both sides.
static bool isEmptyCast(Operation &op) {
  auto node = dyn_cast<onnx::NodeOp>(op);
  return node && isCast(node) &&
         node.getInputs()[0].getType() == node.getResult(0).getType();
}

/// Whether the results of the operator are rounded to their type.
static bool rounds(onnx::NodeOp node) {
  return isCast(node) ||
         (node.getDomain().empty() && node.getOpType() == "QuantizeLinear");
}

/// Numbers beyond the largest become it, unless the node says otherwise.
static Value saturated(OpBuilder &builder, onnx::NodeOp node, Value x,
                       ElementType to) {
  auto attribute = node.getOnnxAttributes().getAs<IntegerAttr>("saturate");
  if ((attribute && attribute.getInt() == 0) ||
      to == ElementType::Float8E8M0FNU)
    return x;
  Location loc = node.getLoc();
  StringRef name = node.getNode();
  Value largest = scalarLike(builder, loc, x, largestOf(to));
  Value least = scalarLike(builder, loc, x, -largestOf(to));
  x = binary(builder, loc, onnx::BinaryKind::Max, x, least, name);
  return binary(builder, loc, onnx::BinaryKind::Min, x, largest, name);
}

static bool isF64(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && tensor.getElementType().isF64();
}

/// One number, which f32 has but for a rounding: neither too large nor too
/// small.
static bool isNumberOfF32(onnx::ConstantOp constant) {
  if (typeOf(constant).getNumElements() != 1)
    return false;
  const std::optional<double> number = values::uniformValue(constant);
  return number && std::isinf(float(*number)) == std::isinf(*number) &&
         (float(*number) == 0) == (*number == 0);
}

/// Whether the f64 of a function is what an exporter widened narrower floats
/// to, such as a sum, and numbers beside it: no model in f64.
static bool widensOnly(func::FuncOp function) {
  Block &body = function.front();
  if (llvm::any_of(body.getArguments(), isF64) ||
      llvm::any_of(body.getTerminator()->getOperands(), isF64))
    return false;
  for (Operation &op : body.without_terminator()) {
    if (llvm::none_of(op.getResults(), isF64))
      continue;
    if (auto constant = dyn_cast<onnx::ConstantOp>(op)) {
      if (!isNumberOfF32(constant))
        return false;
      continue;
    }
    // Of what comes in, something is f64 already, or a narrower float is cast.
    auto node = dyn_cast<onnx::NodeOp>(op);
    bool widens =
        node && isCast(node) &&
        isa<FloatType>(getElementTypeOrSelf(node.getInputs()[0].getType()));
    if (!widens && llvm::none_of(op.getOperands(), isF64))
      return false;
  }
  return true;
}

namespace {
struct PromoteToF32Pass
    : wsec::infer::impl::PromoteToF32Base<PromoteToF32Pass> {
  using PromoteToF32Base::PromoteToF32Base;

  /// `type` with f32 elements if it has other floats, or null.
  RankedTensorType widened(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !isa<FloatType>(tensor.getElementType()) ||
        tensor.getElementType().isF32() ||
        (tensor.getElementType().isF64() && !f64IsF32))
      return nullptr;
    return tensor.clone(Float32Type::get(type.getContext()));
  }

  void runOnOperation() override {
    f64Nodes = 0;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        runOnFunction(function);
    if (f64Nodes > 0)
      getOperation()->setAttr(
          f64AsF32AttrName, Builder(&getContext()).getI64IntegerAttr(f64Nodes));
  }

  bool f64IsF32 = false;
  int64_t f64Nodes = 0; ///< that compute, in f32 now

  void runOnFunction(func::FuncOp function) {
    f64IsF32 = allowF64AsF32 || widensOnly(function);
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
      if (function.getResultAttr(operand.getOperandNumber(),
                                 onnx::stateAttrName))
        continue;
      auto type =
          dyn_cast<RankedTensorType>(resultTypes[operand.getOperandNumber()]);
      const Location loc = operand.get().getLoc();
      if (!type || operand.get().getType() == type)
        continue;
      // No element has to be converted of none.
      if (numElements(type.getShape()) == 0)
        operand.set(materialize(
            builder, loc,
            Tensor(*elementTypeOf(type.getElementType()), type.getShape())));
      else
        operand.set(castTo(builder, loc, operand.get(), type));
    }
    function.setFunctionType(FunctionType::get(
        &getContext(), body.getArgumentTypes(), terminator->getOperandTypes()));
  }

  /// Where a node asks for it in f64, though it has no operand of that.
  void computeSoftmaxInF32(onnx::NodeOp node) {
    constexpr StringLiteral name = "softmax_precision";
    NamedAttrList attributes(node.getOnnxAttributes());
    auto precision = dyn_cast_or_null<IntegerAttr>(attributes.get(name));
    if (!precision || precision.getInt() != int64_t(ElementType::Float64))
      return;
    Builder builder(&getContext());
    attributes.set(name,
                   builder.getI64IntegerAttr(int64_t(ElementType::Float32)));
    node.setOnnxAttributesAttr(attributes.getDictionary(&getContext()));
    ++f64Nodes;
  }

  void widenArgument(OpBuilder &builder, BlockArgument argument) {
    RankedTensorType type = widened(argument.getType());
    if (!type || argument.use_empty())
      return;
    // A state never leaves the wafer, which has f32 or --precision's floats.
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (function.getArgAttr(argument.getArgNumber(), onnx::stateAttrName))
      return argument.setType(type);
    Value cast = castTo(builder, argument.getLoc(), argument, type);
    argument.replaceAllUsesExcept(cast, cast.getDefiningOp());
  }

  void widenResults(Operation &op) {
    auto computes = dyn_cast<onnx::NodeOp>(op);
    if (f64IsF32 && computes && !isCast(computes) &&
        llvm::any_of(op.getResults(), isF64))
      ++f64Nodes;
    if (computes && allowF64AsF32)
      computeSoftmaxInF32(computes);
    // The casts of the arguments have the type already.
    for (Value result : op.getResults())
      if (RankedTensorType type = widened(result.getType())) {
        if (auto constant = dyn_cast<onnx::ConstantOp>(op))
          keepStoredType(constant);
        ElementType stated = *elementTypeOf(typeOf(result).getElementType());
        result.setType(type);
        auto node = dyn_cast<onnx::NodeOp>(op);
        if (node && rounds(node) && isSmallFloat(stated))
          round(node, stated);
      }
    if (isEmptyCast(op)) {
      op.getResult(0).replaceAllUsesWith(op.getOperand(0));
      op.erase();
    }
  }

  /// Floats of 8 bits or less: outputs are rounded as they are stored; what is
  /// computed with has to be rounded before.
  void round(onnx::NodeOp node, ElementType to) {
    OpBuilder builder(node.getContext());
    builder.setInsertionPointAfter(node);
    Value result = node.getResult(0);
    SmallVector<OpOperand *> uses;
    bool onlyLeaves = true;
    for (OpOperand &use : result.getUses()) {
      uses.push_back(&use);
      onlyLeaves &= isa<func::ReturnOp>(use.getOwner());
    }
    Value x = saturated(builder, node, result, to);
    if (!onlyLeaves) {
      Type narrow =
          withElement(result.getType(), toMlirType(&getContext(), to));
      x = castTo(builder, node.getLoc(), x, narrow, node.getNode());
      x = castTo(builder, node.getLoc(), x, result.getType(), node.getNode());
    }
    for (OpOperand *use : uses)
      use->set(x);
  }

  static Type withElement(Type type, Type element) {
    return cast<RankedTensorType>(type).clone(element);
  }
};
} // namespace
