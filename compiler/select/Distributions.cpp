// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/Distributions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

TokenShape select::tokenShape(ArrayRef<int64_t> shape) {
  TokenShape result;
  if (shape.empty())
    return result;
  result.features = shape.back();
  ArrayRef<int64_t> leading = shape.drop_back();
  if (leading.size() > 1) {
    result.batch = leading.front();
    leading = leading.drop_front();
  }
  result.tokens = ShapedType::getNumElements(leading);
  return result;
}

bool select::isElementwise(Operation *op) {
  return op &&
         isa<onnx::UnaryOp, onnx::BinaryOp, onnx::WhereOp, onnx::CastOp>(op);
}

bool select::isFloatCast(Operation *op) {
  auto cast = dyn_cast_or_null<onnx::CastOp>(op);
  auto isFloat = [](Value value) {
    return mlir::cast<RankedTensorType>(value.getType())
        .getElementType()
        .isFloat();
  };
  return cast && isFloat(cast.getX()) && isFloat(cast.getY());
}

Value select::beforeFloatCasts(Value value) {
  while (isFloatCast(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

static int64_t lastExtent(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return shape.empty() ? 1 : shape.back();
}

int64_t select::headSizeWanted(Value value) {
  SmallVector<Value> worklist = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  for (size_t next = 0; next < worklist.size(); ++next)
    for (OpOperand &use : worklist[next].getUses()) {
      Operation *user = use.getOwner();
      auto attention = dyn_cast<onnx::AttentionOp>(user);
      if (attention && use.getOperandNumber() < 3)
        return lastExtent(value) / attention.getNumHeads();
      bool sameFeatures = (isElementwise(user) || isa<onnx::ReshapeOp>(user)) &&
                          lastExtent(user->getResult(0)) == lastExtent(value);
      if (sameFeatures && seen.insert(user).second)
        worklist.push_back(user->getResult(0));
    }
  return 0;
}

wse::TiledAttr select::columnsFor(Value value, wse::TiledAttr rows) {
  if (int64_t headSize = headSizeWanted(value))
    return rows.withColumns(wse::ColumnPlacement::Heads, headSize);
  return rows.withColumns(wse::ColumnPlacement::Balanced);
}

bool select::onlyLeavesWafer(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) {
    return isa<func::ReturnOp>(user);
  });
}
