// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element types of ONNX by number. Our own table: the newest models use
// numbers that packaged ONNX headers do not know.
#ifndef COMPILER_IMPORT_ELEMENTTYPES_H
#define COMPILER_IMPORT_ELEMENTTYPES_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"

namespace wsec {

struct ElementType {
  llvm::StringRef name; // as onnx.proto calls it, in lower case
  unsigned bytes;       // of one stored element; 0 for types we refuse
  unsigned perByte = 1; // elements that a byte packs, lowest bits first
  bool supported() const { return bytes != 0; }
  uint64_t storedBytes(uint64_t elements) const {
    return (elements * bytes + perByte - 1) / perByte;
  }
};

/// Never fails: an unknown number is called "number 99" and refused.
ElementType elementType(int64_t number);
std::string elementTypeName(int64_t number);

/// The MLIR type of a supported element type: bool is i1, unsigned integers
/// are ui8 to ui64, everything else is signless.
mlir::Type convertElementType(int64_t number, mlir::MLIRContext *context);

} // namespace wsec

#endif // COMPILER_IMPORT_ELEMENTTYPES_H
