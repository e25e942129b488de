// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/wse/WseChecks.h"

#include "dialects/StridedRange.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

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

// (C7) of wse.matmul
LogicalResult wse::verifyEntry(MatmulOp op, EntryAttr entry) {
  FailureOr<RankedTensorType> ids = sourceType(op, entry.getIds());
  if (failed(ids))
    return failure();
  const auto tiling = TokenTiling::of(op.getResult().getType());
  const int64_t tokens = tiling.getBatch() * tiling.getTokens();
  if (!ids->getElementType().isInteger() ||
      ids->getNumElements() < entry.getAt() + tokens)
    return withDeclaration(op.emitOpError("takes an entry by number ")
                               << entry.getAt() + tokens - 1 << " of " << *ids
                               << ", expected an integer of it",
                           op, entry.getIds());
  const WeightAttr weight = op.getWeight();
  ParameterOp parameter = parameterOf(op, weight);
  if (!parameter || op.getPacked() || weight.getType().getRank() != 2)
    return op.emitOpError("takes entries of ")
           << weight.getName() << ", expected matrices of a constant, not "
           << "packed";
  if ((tokens > 1 || parameter.isResident()) &&
      (op.getVariant() != MatmulVariant::Stationary || op.getBias()))
    return op.emitOpError("takes an entry for each of ")
           << tokens << " tokens, expected variant stationary, no bias";
  const WeightAttr all = weight.entries(entry);
  auto touched = touchedElements(llvm::to_vector(all.getType().getShape()),
                                 all.getViewOffset(), all.viewStrides());
  const int64_t held = parameter.getTensorType().getNumElements();
  if (!touched || touched->first < 0 || touched->second >= held)
    return withNote(op.emitOpError("takes entries outside of ")
                        << weight.getName() << ", which has " << held
                        << " elements",
                    parameter, "the tensor is declared here");
  return success();
}
