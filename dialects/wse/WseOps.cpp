// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of WseOps.td. Labels (C1, C2, ...) are those of the descriptions
// there.

#include "dialects/StridedRange.h"
#include "dialects/wse/InherentAttributes.h"
#include "dialects/wse/WseChecks.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

// Integers of the wafer are integers of the host.
static LogicalResult verifyWire(Operation *op, Value value,
                                RankedTensorType host) {
  if (isFloatElement(elementType(value)) ||
      (host.getElementType().isInteger() &&
       !host.getElementType().isInteger(1)))
    return success();
  return op->emitOpError("moves i32 to or from ") << host;
}

static bool isReplicatedColumns(TokenTiling tiling) {
  return tiling.getColumns() == ColumnPlacement::Replicated;
}

/// Rows of the region of a kernel; 0 if it is on none, which its program says.
static int64_t rowsOf(Operation *op) {
  RegionOp region = regionOf(cast<KernelOp>(op));
  return region ? region.rows() : 0;
}

LogicalResult wsec::wse::verifyVector(Operation *op, StringRef what,
                                      WeightAttr vector, int64_t features) {
  if (vector.getType().getNumElements() == features)
    return success();
  return op->emitOpError(what) << " " << vector.getName() << " has "
                               << vector.getType().getNumElements()
                               << " elements for " << features << " features";
}

/// Says where `value` is made, unless `op` makes it itself.
static LogicalResult withOperand(Operation *op, InFlightDiagnostic error,
                                 Value value) {
  if (value.getDefiningOp() == op)
    return error;
  return withMaker(std::move(error), value);
}

LogicalResult wsec::wse::verifySplitColumns(Operation *op, Value value) {
  if (!isReplicatedColumns(tilingOf(value)))
    return success();
  return withOperand(op,
                     op->emitOpError("cannot work on features that are "
                                     "replicated over the columns; "
                                     "redistribute them first"),
                     value);
}

static LogicalResult verifySplitRows(Operation *op, Value value) {
  if (tilingOf(value).splitsRows())
    return success();
  return withOperand(op,
                     op->emitOpError("needs its tokens split over the rows, "
                                     "found them replicated"),
                     value);
}

//===----------------------------------------------------------------------===//
// To the wafer and off it
//===----------------------------------------------------------------------===//

/// There are thousands of loads, of thousands of intermediates.
LogicalResult LoadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // (C1)
  FailureOr<RankedTensorType> source = sourceType(*this, getSource(), &symbols);
  if (failed(source))
    return failure();
  // (C4)
  if (failed(verifyWire(*this, getResult(), *source)))
    return failure();
  // (C2)
  RankedTensorType type = tensorOf(getResult());
  std::optional<ArrayRef<int64_t>> strides = getStrides();
  if (strides && isa<WeightAttr>(getSource()))
    return emitOpError("has strides beside those of the constant's own view");
  if (strides && int64_t(strides->size()) != type.getRank())
    return emitOpError("has ") << strides->size() << " strides for a result of "
                               << type.getRank() << " dimensions";
  // (C3)
  if (!strides) {
    if (source->getNumElements() != type.getNumElements())
      return withDeclaration(emitOpError("loads ")
                                 << type.getNumElements()
                                 << " elements from a source of "
                                 << source->getNumElements(),
                             *this, getSource());
    return success();
  }
  auto touched = touchedElements(type.getShape(), getViewOffset(), *strides);
  if (!touched)
    return emitOpError("reads elements that cannot be counted");
  auto [first, last] = *touched;
  if (first < 0 || last >= source->getNumElements())
    return withDeclaration(emitOpError("reads elements ")
                               << first << " to " << last << " of a source of "
                               << source->getNumElements(),
                           *this, getSource());
  return success();
}

LogicalResult GatherOp::verify() {
  // (C1)
  RankedTensorType table = getTable().getType();
  if (table.getRank() != 2 || table.getDimSize(1) != featuresOf(getResult()))
    return emitOpError("needs a matrix of ")
           << featuresOf(getResult()) << " columns as table, found " << table;
  // (C2)
  FailureOr<RankedTensorType> ids = sourceType(*this, getIds());
  if (failed(ids))
    return failure();
  TokenTiling tiling = tilingOf(getResult());
  int64_t tokens = tiling.getBatch() * tiling.getTokens();
  if (!ids->getElementType().isInteger() || ids->getNumElements() != tokens)
    return withDeclaration(emitOpError("needs ")
                               << tokens << " integer ids, found " << *ids,
                           *this, getIds());
  return success();
}

int64_t StoreOp::outputFeatures() {
  TokenTiling tiling = tilingOf(getValue());
  return cast<RankedTensorType>(getType()).getNumElements() /
         (tiling.getBatch() * tiling.getTokens());
}

std::array<int64_t, 3> StoreOp::outputStrides() {
  if (std::optional<ArrayRef<int64_t>> given = getStrides())
    return {(*given)[0], (*given)[1], (*given)[2]};
  int64_t features = outputFeatures();
  return {tilingOf(getValue()).getTokens() * features, features, 1};
}

LogicalResult StoreOp::verify() {
  // (C1)
  auto type = cast<RankedTensorType>(getType());
  TokenTiling tiling = tilingOf(getValue());
  int64_t tokens = tiling.getBatch() * tiling.getTokens();
  if (!type.hasStaticShape())
    return emitOpError("output ") << type << " has no static shape";
  // (C4)
  if (failed(verifyWire(*this, getValue(), type)))
    return failure();
  if (std::optional<ArrayRef<int64_t>> strides = getStrides()) {
    if (strides->size() != 3)
      return emitOpError("has ")
             << strides->size() << " strides for batch, tokens and features";
    auto touched = touchedElements(
        {tiling.getBatch(), tiling.getTokens(), featuresOf(getValue())},
        getOffset(), *strides);
    if (!touched || touched->first < 0 ||
        touched->second >= type.getNumElements())
      return withDeclaration(emitOpError("writes elements outside of the ")
                                 << type.getNumElements() << " of '"
                                 << getOutput() << "'",
                             *this, FlatSymbolRefAttr::get(getOutputAttr()));
  } else {
    if (type.getNumElements() % tokens)
      return withMaker(emitOpError("output ") << type << " does not consist of "
                                              << tokens << " tokens",
                       getValue());
    int64_t begin = getOffset(), end = begin + featuresOf(getValue());
    if (begin < 0 || end > outputFeatures())
      return emitOpError("stores features ")
             << begin << " to " << end << " of an output with "
             << outputFeatures();
  }
  // (C2)
  return verifySplitRows(*this, getValue());
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Of any size: heads of one feature are balanced features.
static bool hasWholeHeads(Value value) {
  return tilingOf(value).getColumns() != ColumnPlacement::Replicated &&
         tilingOf(value).getHeadColumns() == 1;
}

LogicalResult AttentionOp::verify() {
  // (C1)
  if (failed(verifyHeadColumns(*this, "query", getQuery())) ||
      failed(verifyHeadColumns(*this, "key", getKey())) ||
      failed(verifyHeadColumns(*this, "value", getValue())) ||
      failed(verifyHeadColumns(*this, "result", getResult())))
    return failure();
  TokenTiling query = tilingOf(getQuery()), key = tilingOf(getKey());
  if (!query.sameColumns(key) ||
      !tilingOf(getValue()).sameColumns(tilingOf(getResult())))
    return withMaker(
        emitOpError("needs query and key, and value and result, with heads of "
                    "the same size"),
        getKey());
  if (query.getHeadColumns() != tilingOf(getValue()).getHeadColumns())
    return withMaker(
        emitOpError("needs the heads of all tensors over equally many columns"),
        getValue());
  // (C2)
  if (!query.sameRows(tilingOf(getResult())) ||
      !key.sameRows(tilingOf(getValue())) || query.getBatch() != key.getBatch())
    return emitOpError("needs query and result, and key and value, with tokens "
                       "in the same rows, all of one batch");
  int64_t keys = key.getTokens();
  // (C3)
  const TokenTiling once = query.perBatchElement(rowsOf(*this));
  for (Value mask : getMasks()) {
    const TokenTiling tiling = tilingOf(mask);
    const bool isWhole =
        isReplicatedColumns(tiling) && featuresOf(mask) == keys;
    const bool isByHead = hasWholeHeads(mask) && query.getHeadColumns() == 1 &&
                          tiling.getHeadSize() == keys &&
                          featuresOf(mask) == keys * int64_t(getNumHeads());
    if (!(isWhole && tiling.sameRows(once)) &&
        !((isWhole || isByHead) && tiling.sameRows(query)))
      return withMaker(
          emitOpError("needs a mask with ")
              << keys << " features, replicated over the columns, or so many "
              << "for each of " << getNumHeads()
              << " whole heads; with the tokens of the query, or one in all of "
              << query.rowsUsed(rowsOf(*this)) << " rows for each of "
              << query.getBatch() << " batch elements",
          mask);
  }
  // (C4)
  if (failed(onnx::verifyTerms(*this, getTerms(), getMasks().size(),
                               query.getTokens(), keys)))
    return failure();
  // (C5)
  if (std::optional<APFloat> cap = getSoftcap();
      cap && !(cap->convertToDouble() > 0))
    return emitOpError("caps scores at ")
           << cap->convertToDouble() << ", expected a positive number";
  // (C6)
  if (auto stored = (*this)->getAttrOfType<WeightAttr>(storedAttrName)) {
    const auto type = RankedTensorType::get({2, keys, featuresOf(getKey())},
                                            Float32Type::get(getContext()));
    if (stored.getType() != type)
      return emitOpError("stores ") << stored.getType() << ", expected " << type
                                    << ", keys and then values";
    RegionOp region = regionOf(cast<KernelOp>(getOperation()));
    const int64_t columns = region ? region.columns() : 0;
    const int64_t fit = columns / query.getHeadColumns();
    if (query.getBatch() != 1 || !key.sameColumns(tilingOf(getValue())) ||
        (region && int64_t(getNumHeads()) > fit))
      return emitOpError("streams what is stored for ")
             << query.getBatch() << " batch elements and " << getNumHeads()
             << " heads on " << columns << " columns, expected 1 and at most "
             << fit
             << ", with values of the size of keys; leave out 'wse.stored'";
  }
  return verifyBands(*this, getFewScores());
}

LogicalResult wsec::wse::verifyBands(Operation *op, bool fewScores) {
  Attribute asked = op->getAttr(bandsAttrName);
  auto bands = dyn_cast_or_null<IntegerAttr>(asked);
  if (asked &&
      (!bands || bands.getInt() < 2 || bands.getInt() > 3 || fewScores))
    return op->emitOpError("has keys in ")
           << asked << " bands of rows" << (fewScores ? ", of few scores" : "")
           << ", expected 2 or 3 of all scores; leave out '" << bandsAttrName
           << "'";
  return success();
}

LogicalResult LayerNormOp::verify() {
  // (C1)
  int64_t features = featuresOf(getResult());
  if (failed(verifyVector(*this, "scale", getScale(), features)) ||
      (getBias() && failed(verifyVector(*this, "bias", *getBias(), features))))
    return failure();
  // (C2)
  return verifySplitColumns(*this, getInput());
}

LogicalResult RMSNormOp::verify() {
  // (C1)
  if (failed(verifyVector(*this, "scale", getScale(), featuresOf(getResult()))))
    return failure();
  // (C3)
  if (getByHead() && !hasWholeHeads(getInput()))
    return emitOpError("needs whole heads in its columns, found ")
           << getInput().getType();
  // (C2)
  return verifySplitColumns(*this, getInput());
}

LogicalResult SoftmaxOp::verify() {
  // (C1)
  return verifySplitColumns(*this, getInput());
}

LogicalResult TopKOp::verify() {
  // (C1)
  if (!isFloatElement(elementType(getInput())) ||
      !elementType(getIndices()).isInteger(32) ||
      elementType(getValues()) != elementType(getInput()))
    return emitOpError(
               "finds i32 indices and values of the input's floats, of ")
           << elementType(getInput()) << " found " << elementType(getIndices())
           << " and " << elementType(getValues());
  // (C2)
  const int64_t count = featuresOf(getIndices());
  const int64_t features = featuresOf(getInput());
  const auto expected =
      tilingOf(getInput()).withColumns(ColumnPlacement::Replicated);
  if (!(tilingOf(getIndices()) == expected) ||
      !(tilingOf(getValues()) == expected) ||
      featuresOf(getValues()) != count || count < 1 || count > features)
    return emitOpError("finds 1 to ")
           << features << " indices, and as many values, of each token, in "
           << "every column of its row, found " << getIndices().getType()
           << " and " << getValues().getType();
  // (C4)
  if (Value numbers = getNumbers();
      numbers && (!elementType(numbers).isInteger(32) ||
                  !(tilingOf(numbers) == tilingOf(getInput())) ||
                  featuresOf(numbers) != features))
    return withMaker(emitOpError("needs an i32 number of each feature, where "
                                 "that is, found ")
                         << numbers.getType(),
                     numbers);
  // (C3)
  return verifySplitColumns(*this, getInput());
}

LogicalResult ReduceTokensOp::verify() {
  // (C1)
  TokenTiling input = tilingOf(getInput()), result = tilingOf(getResult());
  if (result.getTokens() != 1 || result.getBatch() != input.getBatch() ||
      !result.splitsRows() || !result.sameColumns(input) ||
      featuresOf(getResult()) != featuresOf(getInput()))
    return emitOpError("needs a result of one token with the batch, features "
                       "and columns of the input, in the group roots");
  // (C2)
  return verifySplitRows(*this, getInput());
}

LogicalResult RunningSumOp::verify() {
  // (C2)
  if (getNoWrap() && !elementType(getInput()).isInteger())
    return emitOpError("wraps no ")
           << elementType(getInput()) << "; no_wrap is of integers";
  // (C1)
  return verifySplitRows(*this, getInput());
}

LogicalResult RotaryOp::verify() {
  // (C1)
  TokenTiling input = tilingOf(getInput()), angles = tilingOf(getCos());
  const int64_t turned = getRotaryDim();
  if (input.getColumns() != ColumnPlacement::Heads ||
      input.getHeadSize() < turned || turned <= 0 || turned % 2 != 0)
    return emitOpError("turns ")
           << turned << " features of each head, and takes an even number of "
           << "those that columns have as heads, found "
           << getInput().getType();
  // (C2)
  if (!angles.sameRows(input) || !isReplicatedColumns(angles) ||
      (featuresOf(getCos()) != turned && featuresOf(getCos()) != turned / 2))
    return withMaker(
        emitOpError("needs cosines and sines of the tokens of its input, ")
            << turned << " or " << turned / 2
            << " features in all columns, found " << getCos().getType(),
        getCos());
  return success();
}

LogicalResult SliceHeadsOp::verify() {
  // (C1)
  TokenTiling input = tilingOf(getInput()), result = tilingOf(getResult());
  if (!hasWholeHeads(getInput()) || !hasWholeHeads(getResult()) ||
      !input.sameRows(result) ||
      featuresOf(getInput()) / input.getHeadSize() !=
          featuresOf(getResult()) / result.getHeadSize())
    return emitOpError("needs equally many heads, whole in their columns, and "
                       "tokens in the same rows, found ")
           << getInput().getType() << " and " << getResult().getType();
  // (C2)
  const int64_t start = getStart();
  if (start < 0 || start + result.getHeadSize() > input.getHeadSize())
    return emitOpError("takes features ")
           << start << " to " << start + result.getHeadSize() << " of heads of "
           << input.getHeadSize();
  return success();
}

LogicalResult RedistributeOp::verify() {
  // (C3)
  TokenTiling input = tilingOf(getInput()), result = tilingOf(getResult());
  const int64_t repeat = getRepeat();
  if (repeat < 1 || (repeat > 1 && isReplicatedColumns(result)))
    return emitOpError("repeats heads ")
           << repeat << " times in " << getResult().getType();
  // (C1)
  if (const bool fromRows = liesAlongRows(getInput());
      fromRows != liesAlongRows(getResult()) && !input.sameRows(result)) {
    const TokenTiling along = fromRows ? input : result;
    const Value inRow = fromRows ? Value(getResult()) : Value(getInput());
    const TokenTiling tiling = tilingOf(inRow);
    if (repeat != 1 || tiling.getBatch() * tiling.getTokens() != 1 ||
        !tiling.splitsRows() || along.getTokens() != featuresOf(inRow))
      return emitOpError("moves one token to lie along the rows, or back, with "
                         "all its features");
    // (C2)
    return verifySplitColumns(*this, inRow);
  }
  if (!input.sameRows(result) ||
      repeat * featuresOf(getInput()) != featuresOf(getResult()))
    return emitOpError("moves features between columns only; rows, tokens and "
                       "features must stay");
  if (repeat == 1 && input.sameColumns(result))
    return emitOpError("moves nothing");
  // (C2)
  return verifySplitColumns(*this, getInput());
}

RegionOp TransferOp::sourceRegion() {
  return regionOf(cast<KernelOp>(getInput().getDefiningOp()));
}

LogicalResult TransferOp::verify() {
  // (C1)
  auto producer = dyn_cast_or_null<KernelOp>(getInput().getDefiningOp());
  RegionOp from = producer ? regionOf(producer) : RegionOp();
  RegionOp to = regionOf(cast<KernelOp>(getOperation()));
  if (from && from == to) {
    InFlightDiagnostic error =
        emitOpError("moves a tensor to another region, not from @")
        << from.getSymName() << " to it";
    error.attachNote(producer.getLoc()) << "the tensor is made here";
    return error;
  }
  // (C2)
  TokenTiling input = tilingOf(getInput()), result = tilingOf(getResult());
  if (!input.sameRows(result) ||
      elementType(getInput()) != elementType(getResult()) ||
      featuresOf(getInput()) != featuresOf(getResult()))
    return withMaker(
        emitOpError("keeps rows, tokens, features and type of a tensor"),
        getInput());
  // (C4)
  if (from && to && from.rows() != to.rows() && !input.splitsRows())
    return withMaker(emitOpError("moves tokens that each row holds, from @")
                         << from.getSymName() << " of " << from.rows()
                         << " rows to @" << to.getSymName() << " of "
                         << to.rows()
                         << "; such a tensor goes to regions of as many rows",
                     getInput());
  // (C3)
  return verifySplitColumns(*this, getInput());
}

//===----------------------------------------------------------------------===//
// wse.elementwise
//===----------------------------------------------------------------------===//

LogicalResult ElementwiseOp::verify() {
  // (C1)
  if (getInputs().empty())
    return emitOpError("needs an input");
  TokenTiling result = tilingOf(getResult());
  int64_t features = featuresOf(getResult());
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    TokenTiling tiling = tilingOf(input);
    // (C2)
    if (!tiling.sameRows(result) &&
        !tiling.sameRows(result.perBatchElement(rowsOf(*this))))
      return withMaker(emitOpError("input ")
                           << index
                           << " has its tokens in other rows than the result",
                       input);
    // (C3)
    bool perFeature =
        featuresOf(input) == features && tiling.sameColumns(result);
    bool perToken = featuresOf(input) == 1 && isReplicatedColumns(tiling);
    if (!perFeature && !perToken)
      return withMaker(
          emitOpError("input ")
              << index << " has its features in other columns than the result",
          input);
  }
  // (C4)
  for (WeightAttr vector : getVectors().getAsRange<WeightAttr>())
    if (failed(verifyVector(*this, "vector", vector, features)))
      return failure();
  return success();
}

// (C5)
LogicalResult ElementwiseOp::verifyRegions() {
  Block &block = getBody().front();
  size_t expected = getInputs().size() + getVectors().size();
  auto isArgument = [&](BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    return index < getInputs().size()
               ? argument.getType() ==
                     scalarType(elementType(getInputs()[index]))
               : argument.getType().isF32();
  };
  if (block.getNumArguments() != expected ||
      !llvm::all_of(block.getArguments(), isArgument))
    return emitOpError("body needs ")
           << expected
           << " arguments: an element of each input, an f32 of each vector";
  if (block.empty() || !isa<YieldOp>(block.back()))
    return emitOpError("body must end with wse.yield");
  if (block.back().getOperand(0).getType() !=
      scalarType(elementType(getResult())))
    return emitOpError("body yields ")
           << block.back().getOperand(0).getType() << " for a result of "
           << elementType(getResult());
  for (Operation &op : block.without_terminator()) {
    StringRef dialect = op.getName().getDialectNamespace();
    bool scalar = llvm::all_of(op.getResultTypes(), [](Type type) {
      return isStoreElement(type) || type.isInteger(1);
    });
    if ((dialect != "arith" && dialect != "math") || !scalar)
      return op.emitOpError("cannot stand in an element-wise body: only arith "
                            "and math on scalars of f32 and i32 can");
  }
  return success();
}
