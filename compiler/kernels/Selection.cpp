// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Selection.h"
#include "dialects/onnx/Experts.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace wsec;

Value Selection::elementwise(
    Operation *user, Type result, ValueRange inputs,
    ArrayRef<Attribute> vectors,
    llvm::function_ref<Value(OpBuilder &, ValueRange)> compute) {
  auto kernel = createFor<wse::ElementwiseOp>(user, result, inputs,
                                              builder().getArrayAttr(vectors));
  Block &block = kernel.getBody().emplaceBlock();
  auto add = [&](Type tensor) {
    block.addArgument(wse::scalarType(getElementTypeOrSelf(tensor)),
                      user->getLoc());
  };
  for (Value input : inputs)
    add(input.getType());
  for (Attribute vector : vectors)
    add(cast<wse::WeightAttr>(vector).getType());
  OpBuilder body = OpBuilder::atBlockEnd(&block);
  Value element = compute(body, block.getArguments());
  wse::YieldOp::create(body, user->getLoc(), element);
  return kernel.getResult();
}

ArrayAttr Selection::nodesOf(ArrayRef<Operation *> ops) {
  llvm::SetVector<Attribute> names;
  for (Operation *op : ops) {
    auto node = op->getAttrOfType<StringAttr>("node");
    if (node && !node.getValue().empty())
      names.insert(node);
  }
  // An operator without a name is called as what it is.
  if (names.empty() && !ops.empty())
    names.insert(builder().getStringAttr(ops.back()->getName().stripDialect()));
  return builder().getArrayAttr(names.getArrayRef());
}

wse::TokenTiling Selection::defaultTiling(ArrayRef<int64_t> shape) const {
  TokenShape tokens = tokenShape(shape);
  return {tokens.batch, tokens.tokens};
}

RankedTensorType Selection::tensorType(ArrayRef<int64_t> shape,
                                       wse::TokenTiling tiling,
                                       Value like) const {
  SmallVector<int64_t> extents = llvm::to_vector(shape);
  if (extents.empty())
    extents.push_back(1);
  Type element = floats();
  if (like && wse::DistAttr::of(like.getType()))
    element = cast<RankedTensorType>(like.getType()).getElementType();
  else if (like && elementOnWafer(like).isInteger())
    element = elementOnWafer(like);
  return tiling.type(extents, element);
}

RankedTensorType Selection::tensorType(wse::TokenTiling tiling,
                                       int64_t features, Value like) const {
  return tensorType({tiling.getBatch(), tiling.getTokens(), features}, tiling,
                    like);
}

RankedTensorType Selection::tensorType(wse::WeightAttr weight,
                                       wse::TokenTiling tiling) {
  const Type element = elementOnWafer(weight.getType().getElementType());
  return tiling.type(weight.getType().getShape(),
                     element.isInteger() ? element : floats());
}

Value Selection::onWaferByFeatures(Value value, Operation *user) {
  Value tensor = onWafer(value, user);
  if (!tensor ||
      tilingOf(tensor).getColumns() != wse::ColumnPlacement::Replicated)
    return tensor;
  refuse(user, "every column holds all features of its operand");
  return {};
}

wse::WeightAttr Selection::asWeight(Value value, Operation *user) {
  return toStore(value, user) ? weight(*host().trace(value))
                              : wse::WeightAttr();
}

wse::WeightAttr Selection::weight(const values::TracedView &traced) {
  const Value root = traced.root;
  FlatSymbolRefAttr tensor = host().intermediateOf(root);
  if (onnx::ConstantOp constant = host().constantOf(root))
    tensor = parameterOf(constant);
  else if (!tensor)
    tensor = FlatSymbolRefAttr::get(root.getContext(),
                                    inputName(cast<BlockArgument>(root)));
  auto element = RankedTensorType::get({1}, host().storedType(root));
  return withView(
      wse::WeightAttr::get(root.getContext(), tensor, element, 0, {}),
      traced.view);
}

Operation *wsec::createLoad(OpBuilder &builder, Location loc,
                            FlatSymbolRefAttr region, Type type,
                            Attribute source) {
  return createKernel<wse::LoadOp>(
      builder, loc, builder.getArrayAttr({}), region, type, source,
      builder.getI64IntegerAttr(0), DenseI64ArrayAttr());
}

Operation *wsec::createStore(OpBuilder &builder, Location loc,
                             FlatSymbolRefAttr region, Value tensor,
                             StringAttr output, Type type) {
  return createKernel<wse::StoreOp>(
      builder, loc, builder.getArrayAttr({}), region, tensor, output,
      builder.getI64IntegerAttr(0), DenseI64ArrayAttr(), TypeAttr::get(type),
      UnitAttr());
}

Value Selection::createLoad(Type type, Attribute source, int64_t offset,
                            ArrayRef<int64_t> strides, Operation *user) {
  return createFor<wse::LoadOp>(
      user, type, source, builder().getI64IntegerAttr(offset),
      strides.empty() ? DenseI64ArrayAttr()
                      : builder().getDenseI64ArrayAttr(strides));
}

void Selection::store(Value tensor, wse::IntermediateOp into, int64_t offset,
                      ArrayRef<int64_t> strides, Operation *user) {
  if (cast<RankedTensorType>(tensor.getType()).getElementType().isF32())
    storedExactly.insert(into.getSymNameAttr());
  storeAs(into.getSymNameAttr(), tensor, into.getType(), offset, strides, user);
}

void Selection::storeAs(StringAttr output, Value tensor, Type type,
                        int64_t offset, ArrayRef<int64_t> strides,
                        Operation *user) {
  createFor<wse::StoreOp>(
      user, tensor, output, builder().getI64IntegerAttr(offset),
      strides.empty() ? DenseI64ArrayAttr()
                      : builder().getDenseI64ArrayAttr(strides),
      TypeAttr::get(type), UnitAttr());
}

bool Selection::storeWhole(Value value, Value tensor, Operation *user) {
  if (!tensor)
    return false;
  Operation *producer = value.getDefiningOp() ? value.getDefiningOp() : user;
  wse::IntermediateOp into = declare(shapeOf(value), value, producer);
  if (cast<RankedTensorType>(into.getType()).getElementType().isInteger())
    into.setExpertsAttr(
        producer->getAttrOfType<IntegerAttr>(onnx::expertsAttrName));
  store(tensor, into, 0, {}, user);
  provide(value, into);
  return true;
}
