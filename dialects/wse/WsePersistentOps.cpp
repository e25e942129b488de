// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of what outlives a kernel, parameters and states, and of the
// kernels that fill, write and read it. Labels (C1, C2, ...) are those of the
// descriptions there.

#include "dialects/wse/StateBytes.h"
#include "dialects/wse/WseChecks.h"

#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

/// The region that holds it is one, and its distribution fits.
static LogicalResult verifyHome(PersistentOp op) {
  auto region =
      SymbolTable::lookupNearestSymbolFrom<RegionOp>(op, op.getHome());
  if (!region)
    return op.emitOpError("is on ") << op.getHome() << ", which is no region";
  return verifyFits(op, op.getHeldType(), region);
}

int64_t ParameterOp::getHeldBytes(int64_t width, int64_t height) {
  return DistAttr::heldBytesPerPE(getHeldType(), width, height);
}

int64_t StateOp::getHeldBytes(int64_t width, int64_t height) {
  return DistAttr::bytesPerPE(getHeldType(), width, height);
}

/// (C1) The elements of a parameter that streams.
static LogicalResult verifyData(ParameterOp op) {
  Attribute value = op.getValue();
  RankedTensorType type = op.getTensorType();
  if (onnx::QuantizedAttr quantized = op.getQuantized()) {
    RankedTensorType held =
        cast<RankedTensorType>(quantized.getValues().getType());
    if (type.getElementType().isF32() && held.getShape() == type.getShape())
      return success();
  } else if (onnx::isDataOf(value, type)) {
    return success();
  }
  return op.emitOpError("is ")
         << type << ", expected dense elements, #onnx.quantized or bytes of a "
         << "file for as many, found " << value;
}

LogicalResult ParameterOp::verify() {
  RankedTensorType type = getTensorType();
  if (!isResident()) {
    if (failed(verifyData(*this)))
      return failure();
    if (getTrainable() &&
        (getQuantized() || !isa<FloatType>(type.getElementType()))) // (C3)
      return emitOpError("is trainable, and consists of ")
             << (getQuantized() ? "numbers of few bits, expected floats"
                                : "integers, expected floats");
    return success();
  }
  // (C1)
  auto view = dyn_cast<WeightAttr>(getValue());
  auto of = view ? SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
                       *this, view.getTensor())
                 : ParameterOp();
  if (!of || of.isResident() || of.getTrainable())
    return withNote(emitOpError("is resident, expected a view of a parameter "
                                "that streams and does not train, found ")
                        << getValue(),
                    of, "it is declared here");
  // (C3)
  if (getTrainable())
    return emitOpError("is resident, and trainable: only parameters that "
                       "stream are");
  // (C2)
  RankedTensorType held = getHeldType();
  if (!isFloatElement(held.getElementType()) ||
      held.getNumElements() != type.getNumElements())
    return emitOpError("holds ")
           << held << " for a value of " << type << ", expected as many floats";
  return verifyHome(cast<PersistentOp>(getOperation()));
}

LogicalResult StateOp::verify() {
  // (C1)
  if (failed(verifyHome(cast<PersistentOp>(getOperation()))))
    return failure();
  // (C2)
  const bool hasBytes = getHeldType().getElementType().isInteger(16);
  StateOp scales = scalesOf(*this);
  if (!hasBytes && !(*this)->hasAttr(scalesAttrName))
    return success();
  const TokenTiling tiling = TokenTiling::of(getHeldType());
  if (hasBytes && scales && scales.getHome() == getHome() &&
      tiling.isCyclic() &&
      isFloatElement(scales.getHeldType().getElementType()) &&
      TokenTiling::of(scales.getHeldType()) == ofScales(tiling) &&
      featuresOf(scales.getHeldType()) * tiling.getHeadSize() ==
          featuresOf(getHeldType()) * tiling.getHeadColumns()) {
    for (StateOp other : (*this)->getBlock()->getOps<StateOp>())
      if (other->isBeforeInBlock(*this) && scalesOf(other) == scales)
        return withNote(emitOpError("has wse.scales that another state has"),
                        other, "that state is declared here");
    return success();
  }
  if (!hasBytes)
    return withNote(emitOpError("of ") << getHeldType()
                                       << " has wse.scales, which are for i16, "
                                          "pairs of 8 bits",
                    scales, "the scales are declared here");
  return withNote(emitOpError("of ")
                      << getHeldType()
                      << ", pairs of 8 bits, needs cyclic rows, and wse.scales "
                         "that name a state of as many floats as columns have "
                         "heads",
                  scales, "the scales are declared here");
}

//===----------------------------------------------------------------------===//
// Kernels that fill, write and read them
//===----------------------------------------------------------------------===//

/// Whether every PE has the same elements of both.
static bool liesAs(RankedTensorType a, RankedTensorType b) {
  return a.getElementType() == b.getElementType() &&
         featuresOf(a) == featuresOf(b) &&
         TokenTiling::of(a) == TokenTiling::of(b);
}

/// (C1) of wse.update and wse.recall: the state that `op` names is its own.
static LogicalResult verifyState(KernelOp op, FlatSymbolRefAttr name,
                                 RankedTensorType type) {
  auto state = SymbolTable::lookupNearestSymbolFrom<StateOp>(op, name);
  if (!state)
    return op.emitOpError("refers to ") << name << ", which is no state";
  if (state.getRegionAttr() == op.getRegionRef() &&
      liesAs(state.getHeldType(), type))
    return success();
  return withNote(op.emitOpError("is on ")
                      << op.getRegionRef() << ", of type " << type << "; "
                      << name << " is on " << state.getRegionAttr() << ", of "
                      << state.getHeldType(),
                  state, "the state is declared here");
}

LogicalResult FillOp::verify() {
  // (C1)
  auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
      *this, getParameterAttr());
  if (!parameter || !parameter.isResident())
    return withNote(emitOpError("fills ") << getParameterAttr()
                                          << ", which is no resident parameter",
                    parameter, "the parameter is declared here");
  if (parameter.getHome() == getRegionAttr())
    return success();
  return withNote(emitOpError("is on ")
                      << getRegionAttr() << ", " << getParameterAttr()
                      << " is resident on " << parameter.getHome(),
                  parameter, "the parameter is declared here");
}

static const char *const declared = "the state is declared here";

/// Whether `tokens` of each batch element go into a state, or ask it: rows
/// share them, and take those of the state in turn.
static bool fitsState(KernelOp op, TokenTiling tokens, StateOp state) {
  RegionOp region = regionOf(op);
  TokenTiling held = TokenTiling::of(state.getHeldType());
  return held.isCyclic() && tokens.splitsRows() && !tokens.isCyclic() &&
         tokens.getBatch() == held.getBatch() &&
         held.group(region ? region.rows() : 0) &&
         state.getHome() == op.getRegionRef();
}

/// So many tokens from `position` on are some of the state's.
static LogicalResult verifyPosition(Operation *op, Value position,
                                    int64_t tokens, StateOp state) {
  auto argument = dyn_cast<BlockArgument>(position);
  auto entry = dyn_cast<EntryOp>(op->getParentOp());
  if (!argument || !entry)
    return op->emitOpError("has a position that is no argument of an entry");
  const int64_t capacity = TokenTiling::of(state.getHeldType()).getTokens();
  auto [first, last] = entry.rangeOf(argument);
  if (first < 0 || last + tokens > capacity)
    return withNote(op->emitOpError("has tokens ")
                        << first << " to " << last + tokens - 1
                        << " of a state of " << capacity << ": a position of "
                        << tokens << " tokens is one from 0 to "
                        << capacity - tokens,
                    state, declared);
  return success();
}

/// (C3) of wse.update and wse.cached_attention
static LogicalResult verifyPositions(Operation *op, ValueRange positions,
                                     int64_t tokens, StateOp state) {
  const int64_t batch = TokenTiling::of(state.getHeldType()).getBatch();
  if (positions.size() != 1 && int64_t(positions.size()) != batch)
    return withNote(op->emitOpError("has ")
                        << positions.size() << " positions for " << batch
                        << " batch elements, expected one, or one for each",
                    state, declared);
  for (Value position : positions)
    if (failed(verifyPosition(op, position, tokens, state)))
      return failure();
  return success();
}

/// Whether floats of `features` features in these columns are what the state
/// holds: it may round them, also to 8 bits.
static bool holdsFloats(StateOp state, TokenTiling floats, int64_t features,
                        Type element) {
  const RankedTensorType type = state.getHeldType();
  const TokenTiling held = TokenTiling::of(type);
  const bool hasBytes = scalesOf(state) != nullptr;
  const bool rounds = isFloatElement(element) &&
                      (hasBytes || isFloatElement(type.getElementType()));
  return (hasBytes ? inBytes(floats) : floats).sameColumns(held) &&
         features * held.getHeadSize() ==
             featuresOf(type) * floats.getHeadSize() &&
         (rounds || element == type.getElementType());
}

/// (C2) of wse.update
static LogicalResult verifyTokens(UpdateOp op, StateOp state) {
  TokenTiling tokens = tilingOf(op.getValue());
  if (!fitsState(op, tokens, state) ||
      !holdsFloats(state, tokens, featuresOf(op.getValue()),
                   elementType(op.getValue())))
    return withNote(op.emitOpError("writes tokens that rows share to a state "
                                   "of cyclic rows with its batch, features "
                                   "and columns, found ")
                        << op.getValue().getType() << " for "
                        << state.getHeldType(),
                    state, declared);
  return success();
}

LogicalResult UpdateOp::verify() {
  auto state =
      SymbolTable::lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
  if (state && !getPositions().empty())
    return failure(
        failed(verifyTokens(*this, state)) ||
        failed(verifyPositions(*this, getPositions(),
                               tilingOf(getValue()).getTokens(), state)));
  // (C1)
  return verifyState(cast<KernelOp>(getOperation()), getStateAttr(),
                     tensorOf(getValue()));
}

/// A number of the call, from 0 to `last`.
static LogicalResult verifyArgument(ReorderOp op, Value value, StringRef what,
                                    int64_t last) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto entry = dyn_cast<EntryOp>(op->getParentOp());
  if (!argument || !entry)
    return op.emitOpError("has a ")
           << what << " that is no argument of an entry";
  auto [least, most] = entry.rangeOf(argument);
  if (least < 0 || most > last)
    return op.emitOpError("has a ")
           << what << " from " << least << " to " << most
           << ", expected one from 0 to " << last;
  return success();
}

LogicalResult ReorderOp::verify() {
  // (C1)
  auto state =
      SymbolTable::lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
  if (!state)
    return emitOpError("refers to ") << getStateAttr() << ", which is no state";
  if (state.getRegionAttr() != getRegionAttr())
    return verifyState(cast<KernelOp>(getOperation()), getStateAttr(),
                       state.getHeldType());
  const TokenTiling held = TokenTiling::of(state.getHeldType());
  const int64_t batch = held.getBatch();
  RegionOp region = regionOf(cast<KernelOp>(getOperation()));
  if (batch < 2 || !region || !held.group(region.rows()))
    return withNote(emitOpError("moves ")
                        << batch << " batch elements of " << getStateAttr()
                        << ", expected several, of which rows hold parts of "
                           "one",
                    state, declared);
  // (C2)
  if (int64_t(getSources().size()) != batch)
    return withNote(emitOpError("has ")
                        << getSources().size() << " sources for " << batch
                        << " batch elements",
                    state, declared);
  for (Value source : getSources())
    if (failed(verifyArgument(*this, source, "source", batch - 1)))
      return failure();
  // (C3)
  if (getPositions().size() != 1 && int64_t(getPositions().size()) != batch)
    return withNote(emitOpError("has ")
                        << getPositions().size() << " positions for " << batch
                        << " batch elements, expected one, or one for each",
                    state, declared);
  for (Value position : getPositions())
    if (failed(verifyArgument(*this, position, "position",
                              held.isCyclic()
                                  ? held.getTokens()
                                  : std::numeric_limits<int32_t>::max())))
      return failure();
  return success();
}

/// (C2) of wse.recall
static LogicalResult verifyBeginnings(RecallOp op) {
  const ValueRange positions = op.getPositions();
  auto state =
      SymbolTable::lookupNearestSymbolFrom<StateOp>(op, op.getStateAttr());
  const TokenTiling held = TokenTiling::of(state.getHeldType());
  RegionOp region = regionOf(op);
  const bool isOfEach = int64_t(positions.size()) == held.getBatch() &&
                        region && held.group(region.rows());
  if (positions.size() > 1 && !isOfEach)
    return withNote(op.emitOpError("has ")
                        << positions.size() << " positions for "
                        << held.getBatch()
                        << " batch elements, expected one, or one for each, of "
                           "which rows hold parts of one",
                    state, declared);
  for (Value position : positions) {
    auto argument = dyn_cast<BlockArgument>(position);
    auto entry = dyn_cast<EntryOp>(op->getParentOp());
    if (!argument || !entry)
      return op.emitOpError("has a position that is no argument of an entry");
    if (const int64_t first = entry.rangeOf(argument).first; first < 0)
      return op.emitOpError("has a position from ")
             << first << " on, expected 0 or more: sequences begin at 0";
  }
  return success();
}

LogicalResult RecallOp::verify() {
  // (C1)
  if (failed(verifyState(cast<KernelOp>(getOperation()), getStateAttr(),
                         tensorOf(getResult()))))
    return failure();
  auto state =
      SymbolTable::lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
  if (scalesOf(state))
    return withNote(emitOpError("reads pairs of 8 bits, as cached_attention "
                                "alone does"),
                    state, declared);
  return verifyBeginnings(*this);
}

/// (C1) and (C2) of wse.cached_attention: one of its states, and what lies over
/// the columns as its heads do.
static LogicalResult verifyHeads(CachedAttentionOp op, FlatSymbolRefAttr name,
                                 Value shared) {
  // (C1)
  auto state = SymbolTable::lookupNearestSymbolFrom<StateOp>(op, name);
  if (!state)
    return op.emitOpError("refers to ") << name << ", which is no state";
  const int64_t heads = op.getNumHeads(), keyHeads = op.getKeyHeads();
  const RankedTensorType type = state.getHeldType();
  const TokenTiling held = TokenTiling::of(type);
  if (keyHeads < 1 || featuresOf(type) % keyHeads != 0 ||
      !held.holdsHeads(featuresOf(type) / keyHeads) || !held.isCyclic() ||
      !(scalesOf(state) || isFloatElement(type.getElementType())))
    return withNote(op.emitOpError("needs a state of ")
                        << keyHeads
                        << " heads of floats over the columns and of cyclic "
                           "rows, found "
                        << type,
                    state, declared);
  // (C2)
  if (heads % keyHeads == 0 && fitsState(op, tilingOf(shared), state) &&
      featuresOf(shared) % heads == 0) {
    const TokenTiling floats = withHeadSize(held, featuresOf(shared) / heads);
    if (tilingOf(shared).sameColumns(floats.forState(1, heads / keyHeads)) &&
        holdsFloats(state, floats, featuresOf(shared) / heads * keyHeads,
                    elementType(shared)))
      return success();
  }
  return withNote(op.emitOpError("needs ")
                      << heads << " heads for the " << keyHeads << " of "
                      << name << ", in the columns of these, found "
                      << shared.getType() << " for " << type,
                  state, declared);
}

LogicalResult CachedAttentionOp::verify() {
  if (failed(verifyHeads(*this, getKeysAttr(), getQuery())) ||
      failed(verifyHeads(*this, getValuesAttr(), getResult())))
    return failure();
  auto keys =
      SymbolTable::lookupNearestSymbolFrom<StateOp>(*this, getKeysAttr());
  auto values =
      SymbolTable::lookupNearestSymbolFrom<StateOp>(*this, getValuesAttr());
  const TokenTiling keyTiling = TokenTiling::of(keys.getHeldType());
  const TokenTiling valueTiling = TokenTiling::of(values.getHeldType());
  // (C1)
  if (!keyTiling.sameRows(valueTiling) ||
      keyTiling.getHeadColumns() != valueTiling.getHeadColumns() ||
      keys.getHeldType().getElementType() !=
          values.getHeldType().getElementType())
    return withNote(emitOpError("needs keys and values of the same tokens and "
                                "elements, over equally many columns, found ")
                        << keys.getHeldType() << " and "
                        << values.getHeldType(),
                    values, declared);
  // (C2)
  if (!tilingOf(getQuery()).sameRows(tilingOf(getResult())) ||
      elementType(getQuery()) != elementType(getResult()))
    return withMaker(emitOpError("needs query and result with tokens in the "
                                 "same rows, and of equal floats"),
                     getQuery());
  // (C3)
  if (failed(verifyPositions(*this, getPositions(),
                             tilingOf(getQuery()).getTokens(), keys)))
    return failure();
  // (C4)
  if (!(getScale().convertToDouble() > 0))
    return emitOpError("scales scores by ")
           << getScale().convertToDouble() << ", expected a positive number";
  if (getSoftcap() && !(getSoftcap()->convertToDouble() > 0))
    return emitOpError("bounds scores by ")
           << getSoftcap()->convertToDouble() << ", expected a positive number";
  // (C6)
  if (getChunked() && !getSlidingWindow())
    return emitOpError("is chunked, expected a sliding_window");
  // (C5)
  if (!getSinks())
    return success();
  const TokenTiling sinks = tilingOf(getSinks());
  if (sinks.getColumns() == ColumnPlacement::Replicated && sinks.splitsRows() &&
      !sinks.isCyclic() && sinks.getBatch() == keyTiling.getBatch() &&
      sinks.getTokens() == 1 &&
      featuresOf(getSinks()) == int64_t(getNumHeads()) &&
      elementType(getSinks()) == elementType(getQuery()))
    return success();
  return withMaker(emitOpError("needs a sink for each of ")
                       << getNumHeads()
                       << " heads in all columns, of one token that rows "
                          "share, found "
                       << getSinks().getType(),
                   getSinks());
}
