// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/onnx/Onnx.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cstring>

using namespace wsec::onnx;

#include "dialects/onnx/OnnxEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/onnx/OnnxAttrs.cpp.inc"

mlir::LogicalResult
ExternalAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                     llvm::StringRef file, uint64_t offset, uint64_t bytes,
                     mlir::Type stored) {
  if (offset > INT64_MAX || bytes > INT64_MAX - offset) // C1
    return emitError() << "bytes " << offset << " to " << offset << " + "
                       << bytes << " are in no file";
  if (stored && (!mlir::isa<mlir::FloatType>(stored) || stored.isF32())) // C2
    return emitError() << "stored elements are " << stored
                       << ", expected floats other than f32";
  return mlir::success();
}

mlir::LogicalResult
TermAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                 TermKind kind, std::optional<int64_t> operand,
                 mlir::FloatAttr later, mlir::FloatAttr to) {
  const bool hasValue = operand || later;
  const bool takesValue = kind == TermKind::Add || kind == TermKind::Replace;
  if (hasValue != takesValue) // C1
    return emitError() << stringifyTermKind(kind)
                       << (takesValue ? " needs" : " does not take")
                       << " an operand or a number for later keys";
  if (bool(to) != (kind == TermKind::Raise)) // C2
    return emitError() << stringifyTermKind(kind)
                       << (to ? " does not take" : " needs")
                       << " a number to raise to";
  if ((later && !later.getType().isF32()) ||
      (to && !to.getType().isF32())) // C3
    return emitError() << "numbers of a term are f32";
  if (later && !(later.getValueAsDouble() < 0)) // C3
    return emitError() << "later keys get " << later.getValueAsDouble()
                       << ", expected a number below 0";
  return mlir::success();
}

//===----------------------------------------------------------------------===//
// #onnx.quantized
//===----------------------------------------------------------------------===//

mlir::LogicalResult
QuantizedAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                      mlir::DenseElementsAttr values,
                      mlir::DenseElementsAttr scales,
                      mlir::DenseElementsAttr zeros, int64_t block) {
  const mlir::Type integer = values.getElementType();
  if ((!integer.isInteger(4) && !integer.isInteger(8)) ||
      !scales.getElementType().isF32() ||
      (zeros && zeros.getElementType() != integer)) // C1
    return emitError() << "expected integers of 4 or 8 bits, scales of f32 and "
                          "zero points as the integers, found "
                       << values.getType() << " and " << scales.getType();
  const llvm::ArrayRef<int64_t> shape = values.getType().getShape();
  const llvm::ArrayRef<int64_t> blocks = scales.getType().getShape();
  bool fits = shape.size() == blocks.size() && block > 0;
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = blocks[d] == 1 || blocks[d] == shape[d] ||
           blocks[d] == (shape[d] - 1) / block + 1;
  if (!fits) // C2
    return emitError() << "scales of " << scales.getType() << " for "
                       << values.getType() << " in blocks of " << block;
  if (zeros && zeros.getType().getShape() != blocks) // C3
    return emitError() << "zero points of " << zeros.getType()
                       << " for scales of " << scales.getType();
  return mlir::success();
}

/// One of the integers, each of which takes a byte.
static int64_t integerAt(mlir::DenseElementsAttr values, int64_t element) {
  const llvm::ArrayRef<char> bytes = values.getRawData();
  const uint8_t byte = uint8_t(bytes[values.isSplat() ? 0 : element]);
  const unsigned bits = values.getElementType().getIntOrFloatBitWidth();
  const int64_t number = byte & ((1 << bits) - 1);
  const bool isNegative =
      !values.getElementType().isUnsignedInteger() && number >> (bits - 1) != 0;
  return isNegative ? number - (1 << bits) : number;
}

int64_t QuantizedAttr::valueOf(int64_t element) const {
  return integerAt(getValues(), element);
}

int64_t QuantizedAttr::zeroAt(int64_t place) const {
  return getZeros() ? integerAt(getZeros(), place) : 0;
}

float QuantizedAttr::scaleAt(int64_t place) const {
  float scale = 0;
  const char *bytes = getScales().getRawData().data();
  std::memcpy(&scale, bytes + (getScales().isSplat() ? 0 : 4 * place), 4);
  return scale;
}

int64_t QuantizedAttr::placeOf(int64_t element) const {
  const llvm::ArrayRef<int64_t> shape = getValues().getType().getShape();
  const llvm::ArrayRef<int64_t> blocks = getScales().getType().getShape();
  int64_t place = 0, step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    const int64_t index = element % shape[d];
    element /= shape[d];
    if (blocks[d] > 1)
      place += (blocks[d] == shape[d] ? index : index / getBlock()) * step;
    step *= blocks[d];
  }
  return place;
}

mlir::DenseElementsAttr QuantizedAttr::expanded() const {
  std::vector<float> elements(size_t(getValues().getNumElements()));
  for (auto [i, element] : llvm::enumerate(elements)) {
    const int64_t place = placeOf(int64_t(i));
    element = float(valueOf(int64_t(i)) - zeroAt(place)) * scaleAt(place);
  }
  auto type = getValues().getType().clone(mlir::Float32Type::get(getContext()));
  return mlir::DenseElementsAttr::get(mlir::cast<mlir::ShapedType>(type),
                                      llvm::ArrayRef(elements));
}

void OnnxDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/onnx/OnnxAttrs.cpp.inc"
      >();
}
