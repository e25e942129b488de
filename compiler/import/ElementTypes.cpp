// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/ElementTypes.h"
#include "compiler/import/ModelFile.h"
#include "compiler/values/Facts.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace wsec;

std::string wsec::elementTypeName(int64_t number) {
  const int type = int(number);
  return type == number && TensorProto::DataType_IsValid(type)
             ? StringRef(TensorProto::DataType_Name(type)).lower()
             : "number " + std::to_string(number);
}

Type wsec::convertElementType(int64_t number, MLIRContext *context) {
  std::optional<values::ElementType> type = values::elementTypeOfOnnx(number);
  return type ? values::toMlirType(context, *type) : Type();
}

unsigned wsec::elementsPerByte(Type element) {
  const unsigned bits = element.getIntOrFloatBitWidth();
  return bits == 2 || bits == 4 ? 8 / bits : 1;
}

unsigned wsec::elementBytes(Type element) {
  return std::max(1u, element.getIntOrFloatBitWidth() / 8);
}

uint64_t wsec::storedBytes(Type element, uint64_t count) {
  const unsigned perByte = elementsPerByte(element);
  return (count * elementBytes(element) + perByte - 1) / perByte;
}
