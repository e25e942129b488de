// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/ElementTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <iterator>

using namespace mlir;
using namespace wsec;

// Index = TensorProto.DataType.
static constexpr ElementType table[] = {
    {"undefined", 0},      {"float", 4},      {"uint8", 1},
    {"int8", 1},           {"uint16", 0},     {"int16", 0},
    {"int32", 4},          {"int64", 8},      {"string", 0},
    {"bool", 1},           {"float16", 2},    {"double", 8},
    {"uint32", 0},         {"uint64", 0},     {"complex64", 0},
    {"complex128", 0},     {"bfloat16", 2},   {"float8e4m3fn", 0},
    {"float8e4m3fnuz", 0}, {"float8e5m2", 0}, {"float8e5m2fnuz", 0},
    {"uint4", 0},          {"int4", 0},       {"float4e2m1", 0},
    {"float8e8m0", 0},     {"uint2", 0},      {"int2", 0},
};

ElementType wsec::elementType(int64_t number) {
  if (number < 0 || number >= int64_t(std::size(table)))
    return {"", 0};
  return table[number];
}

std::string wsec::elementTypeName(int64_t number) {
  llvm::StringRef name = elementType(number).name;
  return name.empty() ? "number " + std::to_string(number) : name.str();
}

Type wsec::convertElementType(int64_t number, MLIRContext *context) {
  switch (number) {
  case 1:
    return Float32Type::get(context);
  case 2:
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  case 3:
    return IntegerType::get(context, 8);
  case 6:
    return IntegerType::get(context, 32);
  case 7:
    return IntegerType::get(context, 64);
  case 9:
    return IntegerType::get(context, 1);
  case 10:
    return Float16Type::get(context);
  case 11:
    return Float64Type::get(context);
  case 16:
    return BFloat16Type::get(context);
  }
  return Type();
}
