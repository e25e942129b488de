// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the selection declares in the store: parameters, intermediates, and
// which values they are.

#include "compiler/select/Selector.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

// A name that no tensor of the program has.
StringAttr Selector::freshName(StringRef name) {
  std::string fresh = name.str();
  for (unsigned number = 1; !symbols.taken.insert(fresh).second; ++number)
    fresh = (name + "_" + Twine(number)).str();
  return kernels.getStringAttr(fresh);
}

wse::ParameterOp Selector::declareParameter(StringAttr name, Attribute elements,
                                            Type type, Location loc) {
  OpBuilder builder(target.getContext());
  const bool fewBits = isa<onnx::QuantizedAttr>(elements);
  if (fewBits && symbols.firstOfMoreBits)
    builder.setInsertionPoint(symbols.firstOfMoreBits);
  else
    builder.setInsertionPointAfter(symbols.lastDeclared);
  auto parameter = wse::ParameterOp::create(
      builder, loc, name, elements, TypeAttr::get(type), UnitAttr(),
      FlatSymbolRefAttr(), TypeAttr(), IntegerAttr());
  if (!fewBits || !symbols.firstOfMoreBits)
    symbols.lastDeclared = parameter;
  if (!fewBits && !symbols.firstOfMoreBits)
    symbols.firstOfMoreBits = parameter;
  return parameter;
}

FlatSymbolRefAttr Selector::declareParameter(onnx::ParameterOp parameter) {
  FlatSymbolRefAttr &name =
      symbols.parameters[FlatSymbolRefAttr::get(parameter)];
  if (name)
    return name;
  name = FlatSymbolRefAttr::get(parameter);
  declareParameter(parameter.getSymNameAttr(), parameter.getValue(),
                   parameter.getTensorType(), parameter.getLoc())
      .setTrainable(parameter.isTrainable());
  return name;
}

FlatSymbolRefAttr Selector::parameterOf(onnx::ConstantOp constant) {
  if (onnx::ParameterOp parameter = constant.getParameter())
    return declareParameter(parameter);
  Attribute elements = constant.getValue();
  FlatSymbolRefAttr &name = symbols.parameters[elements];
  if (name)
    return name;
  name = FlatSymbolRefAttr::get(freshName(constantName(constant).getValue()));
  auto type = constant.getTensorType().clone(constant.getStoredType());
  // Of a file nothing but the view may be known.
  if (constant.hasView())
    type = type.clone(constant.getStoredElements());
  if (auto external = dyn_cast<onnx::ExternalAttr>(elements))
    elements = onnx::ExternalAttr::get(external.getContext(),
                                       external.getFile(), external.getOffset(),
                                       external.getBytes(), Type());
  else if (auto quantized = dyn_cast<onnx::QuantizedAttr>(elements))
    type = type.clone(quantized.getValues().getType().getShape());
  else
    type = cast<RankedTensorType>(cast<DenseElementsAttr>(elements).getType());
  declareParameter(name.getAttr(), elements, type, constant.getLoc());
  return name;
}

FlatSymbolRefAttr Selector::parameterOf(DenseElementsAttr elements,
                                        StringRef name) {
  FlatSymbolRefAttr &known = symbols.parameters[elements];
  if (!known) {
    known = FlatSymbolRefAttr::get(freshName(name));
    declareParameter(known.getAttr(), elements, elements.getType(),
                     main.getLoc());
  }
  return known;
}

StringAttr Selector::intermediateName(Operation *user) {
  auto node = user->getAttrOfType<StringAttr>("node");
  return freshName(node && !node.getValue().empty()
                       ? node.getValue()
                       : user->getName().stripDialect());
}

wse::IntermediateOp Selector::declare(ArrayRef<int64_t> shape, Type element,
                                      Operation *user) {
  SmallVector<int64_t> extents = llvm::to_vector(shape);
  if (extents.empty())
    extents.push_back(1);
  auto type = RankedTensorType::get(extents, element);
  StringAttr name = intermediateName(user);
  symbols.elements[name] = type.getNumElements();
  OpBuilder builder = declarations();
  return wse::IntermediateOp::create(builder, user->getLoc(), name,
                                     TypeAttr::get(type), IntegerAttr());
}

void Selector::provide(Value value, wse::IntermediateOp from) {
  hostValues.store(value, FlatSymbolRefAttr::get(from.getSymNameAttr()));
}

bool Selector::toStore(Value value, Operation *user) {
  // A view that was left to its users is one of the host's from now on.
  if (isShapeOnly(value.getDefiningOp()) && !alreadyOnWafer(value) &&
      !hostValues.contains(value))
    return selectView(value.getDefiningOp());
  if (hostValues.trace(value))
    return true;
  return storeWhole(value, onWafer(value, user), user);
}

bool Selector::toStoreInOrder(Value value, Operation *user) {
  ArrayRef<int64_t> shape = shapeOf(value);
  return storeWhole(value, bring(value, shape, defaultTiling(shape), user),
                    user);
}

// What only changes shapes is another view of what the store holds. Where no
// strides describe it, the operand is stored in its own order first.
bool Selector::selectView(Operation *op) {
  Value operand = op->getOperand(0);
  if (!toStore(operand, op))
    return false;
  // What is kept is another value, that is not on the wafer any more.
  const std::optional<values::TracedView> held = hostValues.trace(operand);
  FlatSymbolRefAttr tensor =
      held ? hostValues.intermediateOf(held->root) : FlatSymbolRefAttr();
  if (isa<onnx::KeepOp>(op) && tensor && hostValues.isWhole(*held)) {
    hostValues.store(op->getResult(0), tensor);
    return true;
  }
  if (hostValues.addView(op))
    return true;
  if (!toStoreInOrder(operand, op))
    return false;
  if (!hostValues.addView(op))
    refuse(op, "changes the shape in a way that no strides describe");
  return hostValues.contains(op->getResult(0));
}

/// What the store keeps takes no SRAM until it is read; nor does what was
/// brought before that, as masks of layers that are computed again.
void Selector::forgetWhereKept(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto keep = operand.getDefiningOp<onnx::KeepOp>();
        keep && !keep.getOnWafer() && readAgain.insert(keep).second) {
      onceBrought.clear();
      loaded.clear();
    }
}

Value Selector::loadReshaped(wse::WeightAttr weight, ArrayRef<int64_t> shape,
                             wse::TokenTiling tiling, Operation *user) {
  std::optional<StridedView> view =
      withStrides(stridedView(weight).reshaped(shape));
  if (!view) {
    const RankedTensorType type = weight.getType();
    wse::IntermediateOp dense =
        declare(type.getShape(), elementOnWafer(type.getElementType()), user);
    store(load(weight, defaultTiling(type.getShape()), user), dense, 0, {},
          user);
    weight = wholeOf(dense);
    view = StridedView::whole(shape);
  }
  return load(withView(weight, *view), tiling, user);
}
