// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/pe/PeSyntax.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace wsec::pe;

#define GET_ATTRDEF_CLASSES
#include "dialects/pe/PeAttrs.cpp.inc"

//===----------------------------------------------------------------------===//
// #pe.rect
//===----------------------------------------------------------------------===//

LogicalResult RectAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t x0, int64_t x1, int64_t xstep,
                               int64_t y0, int64_t y1, int64_t ystep) {
  if (x0 < 0 || y0 < 0 || x1 <= x0 || y1 <= y0) // C1
    return emitError() << "rectangle [" << x0 << ':' << x1 << ", " << y0 << ':'
                       << y1 << "] is empty or has negative coordinates";
  if (xstep <= 0 || ystep <= 0) // C2
    return emitError() << "rectangle has step " << std::min(xstep, ystep)
                       << ", expected a positive one";
  // C3: program files hold 32 bits.
  const int64_t limit = std::numeric_limits<int32_t>::max();
  if (int64_t bound = std::max(x1, y1); bound > limit)
    return emitError() << "rectangle reaches to " << bound
                       << ", the largest bound is " << limit;
  if (int64_t step = std::max(xstep, ystep); step > limit)
    return emitError() << "rectangle has step " << step << ", the largest is "
                       << limit
                       << "; one that reaches past the end names the first "
                          "PE alone";
  return success();
}

//===----------------------------------------------------------------------===//
// #pe.position
//===----------------------------------------------------------------------===//

LogicalResult PositionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   std::optional<Port> receive,
                                   Ports transmit) {
  if (receive.has_value() == (transmit != 0)) // C1
    return emitError() << "a switch position has either one receive port or "
                          "some transmit ports";
  return success();
}

//===----------------------------------------------------------------------===//
// #pe.channel
//===----------------------------------------------------------------------===//

LogicalResult ChannelAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t row, int64_t begin, int64_t end) {
  if (row < 0 || begin < 0 || end < begin) // C1
    return emitError() << "channel " << row << " -> " << begin << ':' << end
                       << " is empty or has negative coordinates";
  return success();
}

LogicalResult SlotAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t order, int64_t begin, int64_t end,
                               int64_t ahead) {
  if (order < 0 || begin < 0 || end < begin || ahead < 0) // C1
    return emitError() << "slot " << order << " from " << begin << " to " << end
                       << " ahead " << ahead
                       << " is negative or ends before it begins";
  return success();
}

//===----------------------------------------------------------------------===//
// #pe.affine
//===----------------------------------------------------------------------===//

LogicalResult SparseAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 FlatSymbolRefAttr, int64_t,
                                 ArrayRef<int64_t> strides, int64_t rows,
                                 int64_t columns, int64_t kept, int64_t group,
                                 int64_t rest, SparsityMethod, int64_t,
                                 int64_t step) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (strides.size() != 2) // C1
    return emitError() << "a sparse weight has two strides, not "
                       << strides.size();
  if (rows < 1 || rows > most || columns < 1 || columns > most) // C2
    return emitError() << "a sparse weight of " << rows << " x " << columns
                       << " elements";
  if (group < 1 || kept < 0 || kept > group || rest < 0 ||
      rest > columns % group) // C2
    return emitError() << "a sparse weight keeps " << kept << " of " << group
                       << " elements and " << rest << " of the last "
                       << (group < 1 ? 0 : columns % group);
  if (step < 0 || group > most || (group - 1) * step > largestIndex) // C2
    return emitError() << "indices of a sparse weight go to " << largestIndex
                       << ", not to " << (group - 1) << " times " << step;
  return success();
}

LogicalResult AffineAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t, ArrayRef<int64_t> values,
                                 ArrayRef<int64_t> scales) {
  if (values.size() != scales.size()) // C1
    return emitError() << "affine expression has " << values.size()
                       << " values and " << scales.size() << " scales";
  return success();
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

bool wsec::pe::isNarrowFloat(Type type) {
  return isa<Float16Type, BFloat16Type, CB16Type>(type);
}

bool wsec::pe::isWireType(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return type.isF32() || isNarrowFloat(type) ||
         (integer && !integer.isSigned() &&
          llvm::is_contained({16, 32}, int(integer.getWidth())));
}

bool wsec::pe::isElementType(Type type) {
  return isWireType(type) || type.isSignlessInteger(64) ||
         type.isSignlessInteger(1);
}

bool wsec::pe::isStoredType(Type type) {
  if (isa<Float8E4M3FNType, Float8E4M3FNUZType, Float8E5M2Type,
          Float8E5M2FNUZType, Float8E8M0FNUType, Float4E2M1FNType>(type))
    return true;
  if (isElementType(type) || type.isF64())
    return true;
  auto integer = dyn_cast<IntegerType>(type);
  return integer && !integer.isSigned() &&
         llvm::is_contained({2, 4, 8, 16, 32, 64}, int(integer.getWidth()));
}

unsigned wsec::pe::elementBytes(Type type) {
  return (type.getIntOrFloatBitWidth() + 7) / 8;
}

void PeDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/pe/PeAttrs.cpp.inc"
      >();
}
