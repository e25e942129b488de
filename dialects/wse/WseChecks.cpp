// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/wse/WseChecks.h"

using namespace mlir;
using namespace wsec;

LogicalResult wse::withNote(InFlightDiagnostic error, Operation *other,
                            const Twine &note) {
  if (other)
    error.attachNote(other->getLoc()) << note;
  return error;
}

LogicalResult wse::withMaker(InFlightDiagnostic error, Value operand) {
  return withNote(std::move(error), operand.getDefiningOp(),
                  "the operand is made here");
}

LogicalResult wse::withDeclaration(InFlightDiagnostic error, Operation *op,
                                   Attribute source) {
  auto name = dyn_cast<FlatSymbolRefAttr>(source);
  return withNote(std::move(error),
                  name ? SymbolTable::lookupNearestSymbolFrom(op, name)
                       : nullptr,
                  "the tensor is declared here");
}

FailureOr<RankedTensorType> wse::sourceType(Operation *op, Attribute source,
                                            SymbolTableCollection *symbols) {
  if (auto weight = dyn_cast<WeightAttr>(source))
    return weight.getType();
  auto name = cast<FlatSymbolRefAttr>(source);
  Operation *tensor = symbols ? symbols->lookupNearestSymbolFrom(op, name)
                              : SymbolTable::lookupNearestSymbolFrom(op, name);
  if (auto input = dyn_cast_or_null<InputOp>(tensor))
    return cast<RankedTensorType>(input.getType());
  if (auto passing = dyn_cast_or_null<IntermediateOp>(tensor))
    return cast<RankedTensorType>(passing.getType());
  return op->emitOpError("refers to ")
         << name << ", which is no input or intermediate";
}
