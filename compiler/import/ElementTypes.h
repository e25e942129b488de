// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element types of ONNX, by TensorProto.DataType.
#ifndef COMPILER_IMPORT_ELEMENTTYPES_H
#define COMPILER_IMPORT_ELEMENTTYPES_H

#include "mlir/IR/Types.h"
#include <string>

namespace wsec {

/// As onnx.proto calls it, in lower case; "number 99" if it does not.
std::string elementTypeName(int64_t number);

/// The MLIR type, null for types we refuse: bool is i1, unsigned integers are
/// ui2 to ui64, everything else is signless.
mlir::Type convertElementType(int64_t number, mlir::MLIRContext *context);

/// Elements that a byte of a file packs, lowest bits first: 1, 2 or 4.
unsigned elementsPerByte(mlir::Type element);
/// The bytes of one element, a whole byte at least; a bool is a byte.
unsigned elementBytes(mlir::Type element);
/// The bytes of `count` elements in a file.
uint64_t storedBytes(mlir::Type element, uint64_t count);

} // namespace wsec

#endif // COMPILER_IMPORT_ELEMENTTYPES_H
