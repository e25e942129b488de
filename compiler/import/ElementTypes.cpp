// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/ElementTypes.h"
#include "compiler/import/ModelFile.h"
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
  auto integer = [&](unsigned bits) { return IntegerType::get(context, bits); };
  auto natural = [&](unsigned bits) {
    return IntegerType::get(context, bits, IntegerType::Unsigned);
  };
  switch (number) {
  case TensorProto::FLOAT:
    return Float32Type::get(context);
  case TensorProto::DOUBLE:
    return Float64Type::get(context);
  case TensorProto::FLOAT16:
    return Float16Type::get(context);
  case TensorProto::BFLOAT16:
    return BFloat16Type::get(context);
  case TensorProto::FLOAT8E4M3FN:
    return Float8E4M3FNType::get(context);
  case TensorProto::FLOAT8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case TensorProto::FLOAT8E5M2:
    return Float8E5M2Type::get(context);
  case TensorProto::FLOAT8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case TensorProto::FLOAT8E8M0:
    return Float8E8M0FNUType::get(context);
  case TensorProto::FLOAT4E2M1:
    return Float4E2M1FNType::get(context);
  case TensorProto::BOOL:
    return integer(1);
  case TensorProto::INT2:
    return integer(2);
  case TensorProto::INT4:
    return integer(4);
  case TensorProto::INT8:
    return integer(8);
  case TensorProto::INT16:
    return integer(16);
  case TensorProto::INT32:
    return integer(32);
  case TensorProto::INT64:
    return integer(64);
  case TensorProto::UINT2:
    return natural(2);
  case TensorProto::UINT4:
    return natural(4);
  case TensorProto::UINT8:
    return natural(8);
  case TensorProto::UINT16:
    return natural(16);
  case TensorProto::UINT32:
    return natural(32);
  case TensorProto::UINT64:
    return natural(64);
  default:
    return Type();
  }
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
