// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Sources.h"

#include "compiler/kernels/Distributions.h"

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
  return !op || computed.contains(op) || isStored(value);
}

bool HostValues::addView(Operation *op) {
  if (!view(op->getResult(0)))
    return false;
  computed.insert(op);
  return true;
}

bool HostValues::dependsOnInput(Value value) const {
  Operation *op = value.getDefiningOp();
  return !op || !constant.contains(op);
}

Type wsec::elementOnWafer(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  if (element.isInteger() && !element.isInteger(1))
    return IntegerType::get(value.getContext(), 32);
  return Float32Type::get(value.getContext());
}

bool HostView::isWhole() const {
  onnx::ConstantOp constant = this->constant();
  int64_t held = tensor ? tensorElements
                 : constant
                     ? constant.getStoredElements()
                     : cast<RankedTensorType>(base.getType()).getNumElements();
  return view.isContiguous() && values::numElements(view.shape()) == held;
}

Type HostView::storedType() const {
  if (tensor)
    return elementOnWafer(base);
  if (onnx::ConstantOp constant = this->constant())
    return constant.getStoredType();
  return cast<RankedTensorType>(base.getType()).getElementType();
}

std::optional<HostView> HostValues::view(Value value) const {
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
  HostView host{value, StridedView::whole(shapeOf(value)), stored.lookup(value),
                cast<RankedTensorType>(value.getType()).getNumElements()};
  if (onnx::ConstantOp constant = host.constant()) {
    host.view = StridedView::strided(shapeOf(value), constant.getViewOffset(),
                                     constant.getViewStrides());
  } else if (!host.tensor && !isa<BlockArgument>(value)) {
    return std::nullopt;
  }
  for (Operation *op : llvm::reverse(shapeOps)) {
    std::optional<StridedView> next =
        withStrides(values::throughShapeOp(op, host.view));
    if (!next)
      return std::nullopt;
    host.view = *next;
  }
  return host;
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

std::optional<double> wsec::scalarOf(const HostView &host) {
  onnx::ConstantOp constant = host.constant();
  if (!constant)
    return std::nullopt;
  auto data = dyn_cast<DenseElementsAttr>(dataOf(constant));
  if (!data)
    return std::nullopt;
  if (data.isSplat())
    return toDouble(data.getSplatValue<Attribute>());
  for (StridedView::Atom atom : host.view.atoms(0, host.view.rank()))
    if (atom.stride != 0)
      return std::nullopt;
  return toDouble(data.getValues<Attribute>()[host.view.getOffset()]);
}

StringRef wsec::inputName(BlockArgument input) {
  auto function = cast<func::FuncOp>(input.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<StringAttr>(input.getArgNumber(),
                                                    onnx::nameAttrName);
  return name ? name.getValue() : StringRef();
}
