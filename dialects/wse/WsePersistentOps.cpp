// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of WseProgramOps.td of what outlives a kernel: parameters and
// states. Labels (C1, C2, ...) are those of the descriptions there.

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
