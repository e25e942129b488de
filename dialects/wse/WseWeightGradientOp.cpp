// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier of wse.weight_gradient.

#include "dialects/wse/WseChecks.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

LogicalResult WeightGradientOp::verify() {
  // (C1)
  const TokenTiling tiling = tilingOf(getKept());
  for (Value operand : getOperands()) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (!type.getElementType().isF32())
      return withMaker(emitOpError("sums products of f32, found ") << type,
                       operand);
    if (!tilingOf(operand).sameRows(tiling))
      return withMaker(
          emitOpError("needs the tokens of both tensors in the same rows"),
          operand);
    if (!tilingOf(operand).splitsRows() ||
        tilingOf(operand).getColumns() == ColumnPlacement::Replicated)
      return withMaker(emitOpError("needs tokens split over the rows, and "
                                   "features over the columns, found ")
                           << type,
                       operand);
  }
  // (C2)
  const int64_t count = featuresOf(getKept()) * featuresOf(getCast());
  auto type = cast<RankedTensorType>(getType());
  if (type.hasStaticShape() && type.getNumElements() == count &&
      type.getElementType().isF32())
    return success();
  return emitOpError("makes ") << count << " elements of f32, found " << type;
}
