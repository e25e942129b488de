// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of what outlives a kernel, parameters and states, and of the
// kernels that fill, write and read it. Labels (C1, C2, ...) are those of the
// descriptions there.

#include "dialects/wse/WseChecks.h"

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
  return verifyHome(cast<PersistentOp>(getOperation()));
}

//===----------------------------------------------------------------------===//
// Kernels that fill, write and read them
//===----------------------------------------------------------------------===//

/// (C1) of wse.update and wse.recall: the state that `op` names is its own.
static LogicalResult verifyState(KernelOp op, FlatSymbolRefAttr name,
                                 RankedTensorType type) {
  auto state = SymbolTable::lookupNearestSymbolFrom<StateOp>(op, name);
  if (!state)
    return op.emitOpError("refers to ") << name << ", which is no state";
  if (state.getRegionAttr() == op.getRegionRef() && state.getHeldType() == type)
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

/// (C2) and (C3) of wse.update
static LogicalResult verifyPosition(UpdateOp op, StateOp state) {
  RegionOp region = regionOf(cast<KernelOp>(op.getOperation()));
  const char *const note = "the state is declared here";
  TokenTiling token = tilingOf(op.getValue());
  TokenTiling held = TokenTiling::of(state.getHeldType());
  // (C2)
  if (token.getTokens() != 1 || token.getBatch() != held.getBatch() ||
      !token.group(region ? region.rows() : 0) || !token.splitsRows() ||
      !held.splitsRows() || !token.sameColumns(held) ||
      featuresOf(op.getValue()) != featuresOf(state.getHeldType()) ||
      elementType(op.getValue()) != state.getHeldType().getElementType() ||
      state.getHome() != op.getRegionAttr())
    return withNote(op.emitOpError("writes a token of each batch element, with "
                                   "the rows and columns of the state, found ")
                        << op.getValue().getType() << " for "
                        << state.getHeldType(),
                    state, note);
  // (C3)
  auto argument = dyn_cast<BlockArgument>(op.getPosition());
  auto entry = dyn_cast<EntryOp>(op->getParentOp());
  if (!argument || !entry)
    return op.emitOpError("has a position that is no argument of an entry");
  auto [first, last] = entry.rangeOf(argument);
  if (first < 0 || last >= held.getTokens())
    return withNote(op.emitOpError("writes token ")
                        << first << " to " << last << " of a state of "
                        << held.getTokens(),
                    state, note);
  return success();
}

LogicalResult UpdateOp::verify() {
  auto state =
      SymbolTable::lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
  if (state && getPosition())
    return verifyPosition(*this, state);
  // (C1)
  return verifyState(cast<KernelOp>(getOperation()), getStateAttr(),
                     tensorOf(getValue()));
}

LogicalResult RecallOp::verify() {
  // (C1)
  return verifyState(cast<KernelOp>(getOperation()), getStateAttr(),
                     tensorOf(getResult()));
}
