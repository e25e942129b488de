// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/values/ValueNames.h"
#include "compiler/values/OnnxValues.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::values;

/// The names of a result, each with the shape that it has in the model.
static SmallVector<Attribute> namesOf(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto all =
      result ? result.getOwner()->getAttrOfType<ArrayAttr>(onnx::valuesAttrName)
             : ArrayAttr();
  SmallVector<Attribute> names;
  if (all && result.getResultNumber() < all.size())
    llvm::append_range(names, cast<ArrayAttr>(all[result.getResultNumber()]));
  // What is imported has no shape yet.
  if (!isa<RankedTensorType>(value.getType()))
    return {};
  Builder builder(value.getContext());
  for (Attribute &name : names)
    if (isa<StringAttr>(name))
      name = builder.getArrayAttr(
          {name, builder.getDenseI64ArrayAttr(shapeOf(value))});
  return names;
}

void wsec::values::moveValueNames(Value from, Value to) {
  SmallVector<Attribute> names = namesOf(from);
  while (auto result = dyn_cast<OpResult>(to)) {
    Operation *op = result.getOwner();
    if (names.empty() || isa<onnx::ConstantOp>(op))
      return;
    llvm::SetVector<Attribute> its;
    its.insert_range(namesOf(to));
    its.insert_range(names);
    Builder builder(op->getContext());
    SmallVector<Attribute> all(op->getNumResults(), builder.getArrayAttr({}));
    if (auto known = op->getAttrOfType<ArrayAttr>(onnx::valuesAttrName))
      llvm::copy(known, all.begin());
    all[result.getResultNumber()] = builder.getArrayAttr(its.getArrayRef());
    op->setAttr(onnx::valuesAttrName, builder.getArrayAttr(all));
    auto reshape = dyn_cast<onnx::ReshapeOp>(op);
    if (!reshape)
      return;
    to = reshape.getX();
  }
}

Operation *wsec::values::cloneWithoutNames(OpBuilder &builder, Operation *op) {
  Operation *copy = builder.clone(*op);
  copy->removeAttr(onnx::valuesAttrName);
  return copy;
}

void ValueNameListener::notifyOperationReplaced(Operation *op,
                                                ValueRange replacement) {
  for (auto [from, to] : llvm::zip_equal(op->getResults(), replacement))
    if (to)
      moveValueNames(from, to);
}
