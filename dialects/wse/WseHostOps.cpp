// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of WseProgramOps.td of what the host sees: entries, and what a
// program takes and gives. Labels (C1, C2, ...) are those of the descriptions
// there.

#include "dialects/StridedRange.h"
#include "dialects/wse/WseChecks.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

//===----------------------------------------------------------------------===//
// wse.entry
//===----------------------------------------------------------------------===//

StringRef EntryOp::getDefaultDialect() { return "wse"; }

void EntryOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  for (auto [argument, name] : llvm::zip(
           region.getArguments(), getNames().getAsValueRange<StringAttr>()))
    setName(argument, name);
}

/// (C3)
static LogicalResult verifyArguments(EntryOp entry) {
  if (entry.getNames().size() != entry.getBody().getNumArguments() ||
      entry.getFrom().size() != entry.getNames().size() ||
      entry.getTo().size() != entry.getNames().size())
    return entry.emitOpError("has other names or ranges than arguments");
  llvm::SmallDenseSet<Attribute> taken;
  for (auto [name, from, to] :
       llvm::zip(entry.getNames(), entry.getFrom(), entry.getTo()))
    if (!taken.insert(name).second || from > to || !llvm::isInt<32>(from) ||
        !llvm::isInt<32>(to))
      return entry.emitOpError("has an argument ")
             << name << " from " << from << " to " << to
             << ", expected a range of 32-bit numbers and no name twice";
  return success();
}

LogicalResult EntryOp::verify() {
  if (failed(verifyArguments(*this)))
    return failure();
  // (C2)
  auto program = cast<ProgramOp>(getOperation()->getParentOp());
  if (getSymName() == "main" && !program.bodyBlock().getOps<KernelOp>().empty())
    return emitOpError("is called main, as the kernels of the program itself "
                       "are");
  return success();
}

LogicalResult EntryOp::verifyRegions() {
  // (C1)
  Block &block = getBody().front();
  if (block.empty())
    return emitOpError("has no kernel");
  for (Operation &op : block)
    if (!isa<KernelOp>(op))
      return op.emitOpError("is no kernel, an entry holds nothing else");
  return success();
}

//===----------------------------------------------------------------------===//
// Ends of the model
//===----------------------------------------------------------------------===//

LogicalResult InputOp::verify() {
  // (C1)
  if (!cast<RankedTensorType>(getType()).hasStaticShape())
    return emitOpError("needs a static shape, found ") << getType();
  return success();
}

LogicalResult IntermediateOp::verify() {
  // (C1)
  auto type = cast<RankedTensorType>(getType());
  if (!type.hasStaticShape() || !isStoreElement(type.getElementType()))
    return emitOpError("needs a static shape of f32 or i32, found ") << type;
  // (C2)
  if (std::optional<uint64_t> experts = getExperts();
      experts && (int64_t(*experts) < 1 || !type.getElementType().isInteger()))
    return emitOpError("has choices of ")
           << int64_t(*experts) << " experts in " << type
           << ", expected i32, and one expert at least";
  return success();
}

LogicalResult GradientOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  // (C1)
  ParameterOp parameter = (*this)->getParentOfType<ProgramOp>().parameter(
      getParameterAttr().getAttr());
  if (!parameter || !parameter.getTrainable())
    return withNote(emitOpError("is of ")
                        << getParameterAttr()
                        << ", which is no trainable parameter",
                    parameter, "the parameter is declared here");
  if (!type.hasStaticShape() || !type.getElementType().isF32())
    return emitOpError("needs a static shape of f32, found ") << type;
  RankedTensorType of = parameter.getTensorType();
  const char *const note = "the parameter is declared here";
  if (!getRowsAttr() && !getStrides()) {
    // (C2)
    if (type.getNumElements() == of.getNumElements())
      return success();
    return withNote(emitOpError("adds ")
                        << type.getNumElements() << " elements to the "
                        << of.getNumElements() << " of " << getParameterAttr(),
                    parameter, note);
  }
  if (getRowsAttr()) {
    // (C3)
    FailureOr<RankedTensorType> rows = sourceType(*this, getRowsAttr());
    if (failed(rows))
      return failure();
    if (!getStrides() && of.getRank() == 2 &&
        rows->getElementType().isInteger() &&
        rows->getNumElements() * of.getDimSize(1) == type.getNumElements())
      return success();
    return withNote(emitOpError("adds ")
                        << type << " to rows " << *rows << " of " << of
                        << (getStrides() ? ", and has a view" : ""),
                    parameter, note);
  }
  // (C2)
  if (getStrides()->size() != size_t(type.getRank()))
    return emitOpError("has ") << getStrides()->size() << " strides for "
                               << type.getRank() << " dimensions";
  auto touched = touchedElements(type.getShape(), getOffset(), *getStrides());
  if (touched && touched->first >= 0 && touched->second < of.getNumElements())
    return success();
  return withNote(emitOpError("adds to elements outside of the ")
                      << of.getNumElements() << " of " << getParameterAttr(),
                  parameter, note);
}

LogicalResult AliasOp::verify() {
  // (C1)
  FailureOr<RankedTensorType> source = sourceType(*this, getSource());
  if (failed(source))
    return failure();
  // (C2)
  auto type = cast<RankedTensorType>(getType());
  if (source->getElementType() != type.getElementType() ||
      source->getNumElements() != type.getNumElements())
    return withDeclaration(
        emitOpError("output of type ")
            << type << " cannot stand for its source of type " << *source,
        *this, getSource());
  return success();
}
