// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of what only the backward pass runs.

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

LogicalResult AttentionGradientOp::verify() {
  // (C1)
  if (failed(verifyHeadColumns(*this, "query", getQuery())) ||
      failed(verifyHeadColumns(*this, "key", getKey())) ||
      failed(verifyHeadColumns(*this, "value", getValue())))
    return failure();
  const TokenTiling query = tilingOf(getQuery()), key = tilingOf(getKey()),
                    value = tilingOf(getValue());
  if (!query.sameColumns(key) ||
      query.getHeadColumns() != value.getHeadColumns())
    return withMaker(emitOpError("needs query and key with heads of the same "
                                 "size, and all over equally many columns"),
                     getKey());
  // (C2)
  if (!key.sameRows(value) || query.getBatch() != key.getBatch())
    return emitOpError("needs key and value with tokens in the same rows, all "
                       "of one batch");
  for (Value tensor : getOperands())
    if (!elementType(tensor).isF32())
      return withMaker(
          emitOpError("computes in f32, found ") << tensor.getType(), tensor);
  // (C3)
  const TokenTiling attended = tilingOf(getAttended());
  if (!attended.sameRows(query) || !attended.sameColumns(value) ||
      featuresOf(getAttended()) != featuresOf(getValue()))
    return withMaker(
        emitOpError("needs an attended tensor with the tokens of the query and "
                    "the features of the value, found ")
            << getAttended().getType(),
        getAttended());
  // (C4)
  if (failed(onnx::verifyGradientTerms(*this, getTerms(), query.getTokens(),
                                       key.getTokens())))
    return failure();
  return verifyBands(*this, getFewScores());
}

LogicalResult NormGradientOp::verify() {
  // (C1)
  if (failed(verifyVector(*this, "scale", getScale(), featuresOf(getInput()))))
    return failure();
  // (C2)
  return verifySplitColumns(*this, getInput());
}
