// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the products of WseOps.td with weights. Labels (C1, C2, ...) are
// those of the descriptions there.

#include "dialects/wse/WseChecks.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

/// (C1) to (C4) of wse.matmul
template <typename ProductOp>
static LogicalResult verifyProduct(ProductOp op) {
  // (C1)
  const RankedTensorType weight = op.getWeight().getType();
  const int64_t rank = weight.getRank();
  if (rank < 2 || (rank > 2 && !isa<MatmulOp>(op)) ||
      weight.getDimSize(rank - 2) != featuresOf(op.getInput()) ||
      weight.getDimSize(rank - 1) != featuresOf(op.getResult()))
    return withMaker(op.emitOpError("maps ")
                         << featuresOf(op.getInput()) << " features to "
                         << featuresOf(op.getResult()) << ", but its weight is "
                         << weight,
                     op.getInput());
  // (C2)
  if (op.getBias() && failed(verifyVector(op, "bias", *op.getBias(),
                                          featuresOf(op.getResult()))))
    return failure();
  // (C3)
  if (!tilingOf(op.getInput()).sameRows(tilingOf(op.getResult())))
    return withMaker(
        op.emitOpError("needs input and result tokens in the same rows"),
        op.getInput());
  // (C4)
  if (failed(verifySplitColumns(op, op.getInput())))
    return failure();
  return verifySplitColumns(op, op.getResult());
}

LogicalResult MatmulOp::verify() {
  if (failed(verifyProduct(*this)))
    return failure();
  // (C6)
  const RankedTensorType weight = getWeight().getType();
  if (weight.getRank() > 2) {
    const int64_t matrices =
        ShapedType::getNumElements(weight.getShape().drop_back(2));
    const TokenTiling tiling = tilingOf(getInput());
    const int64_t tokens = tiling.getBatch() * tiling.getTokens();
    if (getVariant() != MatmulVariant::Broadcast || getPacked() || getBias() ||
        tokens % matrices != 0 || !tiling.splitsRows())
      return emitOpError("has ")
             << matrices << " matrices for " << tokens
             << " tokens, which it multiplies by broadcast alone, as many with "
                "each, without bias or packed weights";
  }
  // (C7)
  if (EntryAttr entry = getEntryAttr())
    if (failed(verifyEntry(*this, entry)))
      return failure();
  // (C5)
  if (!getPacked())
    return success();
  ParameterOp parameter = parameterOf(*this, getWeight());
  const bool isQuantized = parameter && parameter.getQuantized();
  if (!isQuantized || getVariant() == MatmulVariant::Stationary)
    return emitOpError("streams ")
           << getWeight().getName() << " packed, which "
           << (isQuantized ? "stays where it is" : "is not quantised");
  return success();
}

LogicalResult ProductsOp::verify() {
  // (C1)
  const ArrayAttr weights = getWeights();
  if (weights.empty() || weights.size() != getNumResults())
    return emitOpError("has ")
           << getNumResults() << " results of " << weights.size() << " weights";
  // (C4)
  const bool fromRows = liesAlongRows(getInput());
  auto featuresOfToken = [](Value tensor) {
    return liesAlongRows(tensor) ? tilingOf(tensor).getTokens()
                                 : featuresOf(tensor);
  };
  if (getScale().has_value() != getEpsilon().has_value())
    return emitOpError("needs a scale and an epsilon for its norm");
  if (getScale() && failed(verifyVector(*this, "scale", *getScale(),
                                        featuresOfToken(getInput()))))
    return failure();
  const TokenTiling input = tilingOf(getInput());
  for (auto [attribute, its] : llvm::zip_equal(weights, getResults())) {
    const RankedTensorType weight = cast<WeightAttr>(attribute).getType();
    const Value result = its;
    if (weight.getRank() != 2 ||
        weight.getDimSize(0) != featuresOfToken(getInput()) ||
        weight.getDimSize(1) != featuresOfToken(result) ||
        getElementTypeOrSelf(result) != getElementTypeOrSelf(getInput()))
      return withMaker(emitOpError("maps ")
                           << getInput().getType() << " to " << result.getType()
                           << ", but its weight is " << weight,
                       getInput());
    // (C2)
    const bool toRows = liesAlongRows(result);
    const TokenTiling tiling = tilingOf(toRows ? Value(getInput()) : result);
    if (tiling.getBatch() * tiling.getTokens() != 1 || !tiling.splitsRows() ||
        (fromRows ? toRows : !toRows && !input.sameRows(tiling)))
      return withMaker(emitOpError("needs one token, in one row"), getInput());
    // (C3)
    if ((!fromRows && failed(verifySplitColumns(*this, getInput()))) ||
        (!toRows && failed(verifySplitColumns(*this, result))))
      return failure();
  }
  return success();
}

LogicalResult SparseMatmulOp::verify() {
  if (failed(verifyProduct(*this)))
    return failure();
  // (C5)
  ParameterOp parameter = parameterOf(*this, getWeight());
  if (!parameter || parameter.isResident() ||
      !isa<FloatType>(getWeight().getType().getElementType()))
    return emitOpError("keeps some weights of ")
           << getWeight().getName() << ", which is no parameter of floats";
  const int64_t grouped =
      featuresOf(getTransposed() ? getInput() : getResult());
  if (getSparsity().getRest() > getSparsity().lastGroup(grouped))
    return emitOpError("keeps ")
           << getSparsity().getRest() << " weights of a last group of "
           << getSparsity().lastGroup(grouped);
  // (C6)
  if (parameter.getTrainable() &&
      getSparsity().getMethod() != SparsityMethod::TopK)
    return emitOpError("keeps random weights of ")
           << getWeight().getName()
           << ", which trains: of such the largest are kept (topk)";
  return success();
}
