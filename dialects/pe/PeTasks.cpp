// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers, tasks, filters, and scalar code.

#include "dialects/pe/PeMistakes.h"
#include "dialects/pe/PeSyntax.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace wsec::pe;

//===----------------------------------------------------------------------===//
// pe.buffer
//===----------------------------------------------------------------------===//

LogicalResult BufferOp::verify() {
  if (!isElementType(getType())) // C2
    return emitOpError("has elements of ")
           << getType() << ", expected " << kWireTypes << ", i64 or i1";
  unsigned size = elementBytes(getType());
  auto address = static_cast<int64_t>(getAddress().value_or(0));
  if (address % size || getBytes() % size) // C1
    return emitOpError("of ")
           << getBytes() << " bytes at " << address
           << " is not aligned to its elements of " << size << " bytes";
  if (!getInitialAttr())
    return success();
  if (getPersistent()) // C5
    return emitOpError("is persistent, and has values; a copy of the host "
                       "writes it once");
  if (isa<CB16Type>(getType())) // C4
    return emitOpError("has values of !pe.cb16, which attributes do not hold; "
                       "write them by code");
  if (!isa<DenseElementsAttr>(getInitialAttr())) // C4
    return emitOpError("has values that are not dense");
  constexpr int64_t most = 1 << 24; // more than any PE has
  if (static_cast<int64_t>(getBytes()) > most)
    return emitOpError("has values for ")
           << getBytes() << " bytes, a PE has fewer than " << most;
  const auto elements = static_cast<int64_t>(getBytes()) / size;
  if (getInitialAttr().getElementType() != getType() ||
      getInitialAttr().getNumElements() != elements) // C4
    return emitOpError("of ")
           << elements << " elements of " << getType() << " has "
           << getInitialAttr().getNumElements() << " values of "
           << getInitialAttr().getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// pe.task and pe.filter
//===----------------------------------------------------------------------===//

LogicalResult TaskOp::verify() {
  if (getKind() == TaskKind::Local && (getWordAttr() || getIndexAttr())) // C1
    return emitOpError("is local, so no wavelet starts it, but it stores one");
  return success();
}

LogicalResult FilterOp::verify() {
  if (getLimitAttr() ? getKind() != FilterKind::Counter
                     : getKind() == FilterKind::Counter) // C1
    return emitOpError(getLimitAttr() ? "has a limit, but is no counter"
                                      : "is a counter without a limit");
  for (AffineAttr affine : {getMin(), getMax(), getLimitAttr()})
    if (affine && failed(verifyAffine(*this, affine, getValues()))) // C2
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// pe.compute, pe.load and pe.store
//===----------------------------------------------------------------------===//

LogicalResult ComputeOp::verify() {
  if (getInputs().size() != inputCount(getKind())) // C1
    return emitOpError() << stringifyScalarKind(getKind()) << " takes "
                         << inputCount(getKind()) << " operands, found "
                         << getInputs().size();
  for (Attribute input : getInputs()) {
    auto affine = dyn_cast<AffineAttr>(input);
    if (!affine)
      return emitOpError("has an operand that is not affine");
    if (failed(verifyAffine(*this, affine, getValues()))) // C2
      return failure();
  }
  return success();
}

void ComputeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), stringifyScalarKind(getKind()));
}

void LoadOp::build(OpBuilder &builder, OperationState &state, StringRef buffer,
                   const Affine &offset) {
  AffineEncoder encoder(builder.getContext());
  auto &properties = state.getOrAddProperties<Properties>();
  properties.buffer = FlatSymbolRefAttr::get(builder.getContext(), buffer);
  properties.offset = encoder.encode(offset);
  state.addOperands(encoder.getValues());
  state.addTypes(ScalarType::get(builder.getContext()));
}

LogicalResult LoadOp::verify() {
  return verifyAffine(*this, getOffset(), getValues()); // C1
}

void LoadOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getBuffer());
}

LogicalResult StoreOp::verify() {
  return failure(failed(verifyAffine(*this, getOffset(), getValues())) ||
                 failed(verifyAffine(*this, getValue(), getValues()))); // C1
}

//===----------------------------------------------------------------------===//
// pe.if
//===----------------------------------------------------------------------===//

LogicalResult IfOp::verify() {
  return verifyAffine(*this, getCondition(), getValues()); // C1
}

LogicalResult BreakOp::verify() {
  return verifyAffine(*this, getCondition(), getValues()); // C1
}

//===----------------------------------------------------------------------===//
// pe.control, pe.clock and pe.set_route
//===----------------------------------------------------------------------===//

LogicalResult ControlOp::verify() {
  if (getCommands().empty()) // C1
    return emitOpError("has no command; `nop` does nothing");
  for (int32_t command : getCommands())
    if (!symbolizeSwitchCommand(static_cast<uint32_t>(command))) // C1
      return emitOpError("has unknown command ") << command;
  if (getData() && !getTask()) // C2
    return emitOpError("carries data, but starts no task");
  for (AffineAttr affine : {getColor(), getDataAttr()})
    if (affine && failed(verifyAffine(*this, affine, getValues()))) // C3
      return failure();
  if ((getActivateAttr() || getUnblockAttr()) && !getThread()) // C5
    return emitOpError("activates or unblocks a task, but is not asynchronous");
  return verifyThread(*this, getThread().value_or(0)); // C4
}

LogicalResult ClockOp::verify() {
  return verifyAffine(*this, getOffset(), getValues()); // C1
}

LogicalResult SetRouteOp::verify() {
  if (failed(verifyPorts(*this, getReceive(), getTransmit()))) // C1, C2
    return failure();
  return verifyAffine(*this, getColor(), getValues()); // C3
}
