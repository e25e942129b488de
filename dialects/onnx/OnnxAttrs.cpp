// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/onnx/Onnx.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

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

void OnnxDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/onnx/OnnxAttrs.cpp.inc"
      >();
}
