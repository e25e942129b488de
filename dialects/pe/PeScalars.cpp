// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars of classes, streams and entries.

#include "dialects/pe/PeMistakes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace wsec::pe;

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

LogicalResult ConstantOp::verify() {
  auto value = static_cast<int64_t>(getValue());
  if (!llvm::isInt<32>(value)) // C1
    return emitOpError("has value ") << value << ", more than 32 bits hold";
  return success();
}

void ConstantOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  auto value = static_cast<int64_t>(getValue());
  setName(getResult(), value < 0 ? "m" + std::to_string(-value)
                                 : "c" + std::to_string(value));
}

unsigned wsec::pe::inputCount(ScalarKind kind) {
  switch (kind) {
  case ScalarKind::Px:
  case ScalarKind::Py:
    return 0;
  case ScalarKind::Not:
    return 1;
  case ScalarKind::TileStart:
  case ScalarKind::TileSize:
  case ScalarKind::TileIndex:
    return 3;
  default:
    return 2;
  }
}

bool wsec::pe::isClassScalar(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<EntryOp, StreamOp>(argument.getOwner()->getParentOp());
  return isa_and_nonnull<ConstantOp, ScalarOp>(value.getDefiningOp());
}

SmallVector<OpFoldResult, 3> ScalarOp::getMixedInputs() {
  SmallVector<OpFoldResult, 3> mixed;
  if (!getLiterals()) {
    mixed.append(getInputs().begin(), getInputs().end());
    return mixed;
  }
  Builder builder(getContext());
  auto next = getInputs().begin();
  for (int64_t number : getLiteralsAttr().asArrayRef())
    if (!ShapedType::isDynamic(number))
      mixed.push_back(builder.getI64IntegerAttr(number));
    else if (next != getInputs().end())
      mixed.push_back(*next++);
  // Operands that have no place are one too many.
  mixed.append(next, getInputs().end());
  return mixed;
}

// What a scalar cannot depend on.
static StringRef describeRunTime(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return "value computed at run time";
  return isa<ForOp>(argument.getOwner()->getParentOp())
             ? "loop variable"
             : "number that a launch carries";
}

LogicalResult ScalarOp::verify() {
  unsigned expected = inputCount(getKind()), found = getMixedInputs().size();
  if (found != expected) // C1
    return emitOpError() << stringifyScalarKind(getKind()) << " takes "
                         << expected << " operands, found " << found;
  if (getLiterals() && getLiterals()->size() != found) // C1
    return emitOpError("has numbers in ")
           << getLiterals()->size() << " places of " << found;
  for (OpFoldResult input : getMixedInputs())
    if (auto number = dyn_cast<Attribute>(input))
      if (int64_t value = cast<IntegerAttr>(number).getInt();
          !llvm::isInt<32>(value)) // C3
        return emitOpError("has operand ")
               << value << ", more than 32 bits hold";
  for (Value input : getInputs())
    if (!isClassScalar(input)) // C2
      return emitOpError("depends on a ") << describeRunTime(input);
  return success();
}

void ScalarOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  StringRef name = stringifyScalarKind(getKind());
  name.consume_front("tile_");
  setName(getResult(), name);
}
