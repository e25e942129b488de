// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/pe/Pe.h"
#include "dialects/pe/PeMistakes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace wsec::pe;

#include "dialects/pe/PeDialect.cpp.inc"
#include "dialects/pe/PeEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/pe/PeTypes.cpp.inc"

/// Those of another float of 16 bits, which is what asks for them: how many.
const llvm::fltSemantics &CB16Type::getFloatSemantics() const {
  return APFloat::IEEEhalf();
}

void PeDialect::initialize() {
  registerAttributes();
  addTypes<ScalarType, CB16Type>();
  addOperations<
#define GET_OP_LIST
#include "dialects/pe/PeOps.cpp.inc"
      >();
}

std::optional<Dialect::ParseOpHook>
PeDialect::getParseOperationHook(StringRef) const {
  return refuseWord;
}

Operation *PeDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location loc) {
  auto integer = dyn_cast<IntegerAttr>(value);
  if (!integer || !isa<ScalarType>(type))
    return nullptr;
  return ConstantOp::create(builder, loc, type, integer);
}
