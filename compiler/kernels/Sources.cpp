// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Sources.h"

#include "compiler/kernels/Distributions.h"
#include "dialects/onnx/CachedCalls.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace wsec;

std::optional<StridedView> wsec::withStrides(std::optional<StridedView> view) {
  return view && view->strides() ? view : std::nullopt;
}

HostValues::HostValues(Block &main) {
  auto isComputed = [&](Value value) { return contains(value); };
  auto isConstant = [&](Value value) { return !dependsOnInput(value); };
  for (Operation &op : main) {
    bool elementwise = isShapeOnly(&op) || isElementwise(&op);
    if (isa<onnx::ConstantOp>(op) ||
        (elementwise && llvm::all_of(op.getOperands(), isComputed)))
      computed.insert(&op);
    if (llvm::all_of(op.getOperands(), isConstant))
      constant.insert(&op);
  }
}

bool HostValues::contains(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? computed.contains(op) || isStored(value)
            : !isWholeState(value) || isStored(value);
}

bool HostValues::isWholeState(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  return function &&
         function.getArgAttr(argument.getArgNumber(), onnx::wholeAttrName);
}

bool HostValues::addView(Operation *op) {
  if (!trace(op->getResult(0)))
    return false;
  computed.insert(op);
  return true;
}

bool HostValues::dependsOnInput(Value value) const {
  Operation *op = value.getDefiningOp();
  return !op || !constant.contains(op);
}

Type wsec::elementOnWafer(Type element) {
  if (element.isInteger() && !element.isInteger(1))
    return IntegerType::get(element.getContext(), 32);
  return Float32Type::get(element.getContext());
}

Type wsec::elementOnWafer(Value value) {
  return elementOnWafer(
      cast<RankedTensorType>(value.getType()).getElementType());
}

StridedView wsec::stridedView(wse::WeightAttr weight) {
  return StridedView::strided(weight.getType().getShape(),
                              weight.getViewOffset(), weight.viewStrides());
}

wse::WeightAttr wsec::withView(wse::WeightAttr weight,
                               const StridedView &view) {
  values::Shape shape = view.shape(), strides = *view.strides();
  // A scalar has no dimension to carry its place: show it as one element.
  if (shape.empty()) {
    shape.push_back(1);
    strides.push_back(1);
  }
  if (view.isContiguous())
    strides.clear();
  return wse::WeightAttr::get(weight.getContext(), weight.getTensor(),
                              weight.getType().clone(shape), view.getOffset(),
                              strides);
}

wse::WeightAttr wsec::wholeOf(wse::IntermediateOp intermediate) {
  return wse::WeightAttr::get(
      intermediate.getContext(), FlatSymbolRefAttr::get(intermediate),
      cast<RankedTensorType>(intermediate.getType()), 0, {});
}

Type HostValues::storedType(Value root) const {
  if (isStored(root))
    return elementOnWafer(root);
  if (onnx::ConstantOp constant = constantOf(root))
    return constant.getStoredType();
  return cast<RankedTensorType>(root.getType()).getElementType();
}

bool HostValues::isWhole(const values::TracedView &traced) const {
  onnx::ConstantOp constant = constantOf(traced.root);
  const int64_t held =
      constant ? constant.getStoredElements()
               : cast<RankedTensorType>(traced.root.getType()).getNumElements();
  return traced.view.isContiguous() &&
         values::numElements(traced.view.shape()) == held;
}

std::optional<values::TracedView> HostValues::trace(Value value) const {
  SmallVector<Operation *> shapeOps;
  auto isThrough = [](Operation *op) {
    return op && (isShapeOnly(op) || isFloatCast(op));
  };
  while (!isStored(value) && isThrough(value.getDefiningOp())) {
    Operation *op = value.getDefiningOp();
    if (isShapeOnly(op))
      shapeOps.push_back(op);
    value = op->getOperand(0);
  }
  values::TracedView traced{value, StridedView::whole(shapeOf(value))};
  if (onnx::ConstantOp constant = constantOf(value)) {
    traced.view = StridedView::strided(shapeOf(value), constant.getViewOffset(),
                                       constant.getViewStrides());
  } else if (!isStored(value) &&
             (!isa<BlockArgument>(value) || isWholeState(value))) {
    return std::nullopt;
  }
  for (Operation *op : llvm::reverse(shapeOps)) {
    std::optional<StridedView> next =
        withStrides(values::throughShapeOp(op, traced.view));
    if (!next)
      return std::nullopt;
    traced.view = *next;
  }
  return traced;
}

StringAttr wsec::constantName(onnx::ConstantOp constant) {
  MLIRContext *context = constant.getContext();
  if (auto parameter = dyn_cast<onnx::ParameterAttr>(constant.getValue()))
    return parameter.getParameter().getAttr();
  if (!constant.getNode().empty())
    return StringAttr::get(context, constant.getNode());
  if (auto name = dyn_cast<NameLoc>(constant.getLoc()))
    return name.getName();
  return StringAttr::get(context, "constant");
}

/// Where the elements are; of what training changes, the parameter.
static Attribute dataOf(onnx::ConstantOp constant) {
  onnx::ParameterOp parameter = constant.getParameter();
  return parameter && !parameter.isTrainable() ? parameter.getValue()
                                               : constant.getValue();
}

static double toDouble(Attribute element) {
  if (auto number = dyn_cast<FloatAttr>(element))
    return number.getValueAsDouble();
  auto integer = cast<IntegerAttr>(element);
  return integer.getType().isInteger(1) || integer.getType().isUnsignedInteger()
             ? double(integer.getValue().getZExtValue())
             : double(integer.getValue().getSExtValue());
}

std::optional<double> wsec::scalarOf(onnx::ConstantOp constant,
                                     const StridedView &view) {
  if (!constant)
    return std::nullopt;
  auto data = dyn_cast<DenseElementsAttr>(dataOf(constant));
  if (!data)
    return std::nullopt;
  if (data.isSplat())
    return toDouble(data.getSplatValue<Attribute>());
  for (StridedView::Atom atom : view.atoms(0, view.rank()))
    if (atom.stride != 0)
      return std::nullopt;
  return toDouble(data.getValues<Attribute>()[view.getOffset()]);
}

StringRef wsec::inputName(BlockArgument input) {
  auto function = cast<func::FuncOp>(input.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<StringAttr>(input.getArgNumber(),
                                                    onnx::nameAttrName);
  return name ? name.getValue() : StringRef();
}
