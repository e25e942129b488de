// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/ElementTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <iterator>

using namespace mlir;
using namespace wsec;

// Index = TensorProto.DataType.
static constexpr ElementType table[] = {
    {"undefined", 0},      {"float", 4},      {"uint8", 1},
    {"int8", 1},           {"uint16", 2},     {"int16", 2},
    {"int32", 4},          {"int64", 8},      {"string", 0},
    {"bool", 1},           {"float16", 2},    {"double", 8},
    {"uint32", 4},         {"uint64", 8},     {"complex64", 0},
    {"complex128", 0},     {"bfloat16", 2},   {"float8e4m3fn", 1},
    {"float8e4m3fnuz", 1}, {"float8e5m2", 1}, {"float8e5m2fnuz", 1},
    {"uint4", 1, 2},       {"int4", 1, 2},    {"float4e2m1", 1, 2},
    {"float8e8m0", 1},     {"uint2", 1, 4},   {"int2", 1, 4},
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

static Type convertSmallType(int64_t number, MLIRContext *context) {
  auto integer = [&](unsigned bits, IntegerType::SignednessSemantics kind) {
    return IntegerType::get(context, bits, kind);
  };
  switch (number) {
  case 17:
    return Float8E4M3FNType::get(context);
  case 18:
    return Float8E4M3FNUZType::get(context);
  case 19:
    return Float8E5M2Type::get(context);
  case 20:
    return Float8E5M2FNUZType::get(context);
  case 21:
    return integer(4, IntegerType::Unsigned);
  case 22:
    return integer(4, IntegerType::Signless);
  case 23:
    return Float4E2M1FNType::get(context);
  case 24:
    return Float8E8M0FNUType::get(context);
  case 25:
    return integer(2, IntegerType::Unsigned);
  case 26:
    return integer(2, IntegerType::Signless);
  }
  return Type();
}

Type wsec::convertElementType(int64_t number, MLIRContext *context) {
  switch (number) {
  case 1:
    return Float32Type::get(context);
  case 2:
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  case 3:
    return IntegerType::get(context, 8);
  case 4:
    return IntegerType::get(context, 16, IntegerType::Unsigned);
  case 5:
    return IntegerType::get(context, 16);
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
  case 12:
    return IntegerType::get(context, 32, IntegerType::Unsigned);
  case 13:
    return IntegerType::get(context, 64, IntegerType::Unsigned);
  case 16:
    return BFloat16Type::get(context);
  }
  return convertSmallType(number, context);
}
