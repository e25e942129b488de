// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/HostTensor.h"
#include "runtime/pe/Arithmetic.h"

#include <bit>
#include <cstring>

namespace wsec::runtime {

std::vector<int64_t> shapeOf(const program::Tensor &tensor) {
  if (!tensor.shape())
    return {};
  return {tensor.shape()->begin(), tensor.shape()->end()};
}

DataType dataType(program::ElementType type) {
  switch (type) {
  case program::ElementType::F32:
    return DataType::Float32;
  case program::ElementType::F16:
    return DataType::Float16;
  case program::ElementType::BF16:
    return DataType::BFloat16;
  case program::ElementType::I32:
    return DataType::Int32;
  case program::ElementType::I16:
    return DataType::Int16;
  case program::ElementType::I64:
    return DataType::Int64;
  case program::ElementType::Bool:
    return DataType::Bool;
  case program::ElementType::I8:
    return DataType::Int8;
  case program::ElementType::U8:
    return DataType::UInt8;
  case program::ElementType::U16:
    return DataType::UInt16;
  case program::ElementType::U32:
    return DataType::UInt32;
  case program::ElementType::U64:
    return DataType::UInt64;
  case program::ElementType::F64:
    return DataType::Float64;
  default:
    return DataType::Bits8;
  }
}

uint32_t dataTypeBytes(DataType type) {
  switch (type) {
  case DataType::Bool:
  case DataType::Int8:
  case DataType::UInt8:
  case DataType::Bits8:
    return 1;
  case DataType::Float16:
  case DataType::BFloat16:
  case DataType::Int16:
  case DataType::UInt16:
    return 2;
  case DataType::Float32:
  case DataType::Int32:
  case DataType::UInt32:
    return 4;
  case DataType::Float64:
  case DataType::Int64:
  case DataType::UInt64:
    return 8;
  }
  return 8;
}

const char *dataTypeName(DataType type) {
  static const char *const names[] = {
      "float32", "float16", "bfloat16", "int32",  "int64",  "bool",   "float64",
      "int8",    "int16",   "uint8",    "uint16", "uint32", "uint64", "V1"};
  return names[size_t(type)];
}

template <typename Stored>
static Stored loadElement(const std::vector<uint8_t> &bytes, uint64_t index) {
  Stored stored;
  std::memcpy(&stored, bytes.data() + index * sizeof(Stored), sizeof(Stored));
  return stored;
}

uint64_t HostTensor::elements() const {
  return bytes.size() / dataTypeBytes(type);
}

double HostTensor::number(uint64_t index) const {
  switch (type) {
  case DataType::Float32:
    return double(loadElement<float>(bytes, index));
  case DataType::Float16:
    return double(floatFromHalf(loadElement<uint16_t>(bytes, index)));
  case DataType::BFloat16:
    return double(std::bit_cast<float>(
        uint32_t(loadElement<uint16_t>(bytes, index)) << 16));
  case DataType::Float64:
    return loadElement<double>(bytes, index);
  case DataType::Int8:
    return loadElement<int8_t>(bytes, index);
  case DataType::Int16:
    return loadElement<int16_t>(bytes, index);
  case DataType::Int32:
    return loadElement<int32_t>(bytes, index);
  case DataType::Int64:
    return double(loadElement<int64_t>(bytes, index));
  case DataType::Bool:
    return loadElement<uint8_t>(bytes, index) != 0;
  case DataType::UInt8:
  case DataType::Bits8:
    return loadElement<uint8_t>(bytes, index);
  case DataType::UInt16:
    return loadElement<uint16_t>(bytes, index);
  case DataType::UInt32:
    return loadElement<uint32_t>(bytes, index);
  case DataType::UInt64:
    return double(loadElement<uint64_t>(bytes, index));
  }
  return 0;
}

std::optional<uint64_t> countElements(const std::vector<int64_t> &shape,
                                      uint32_t bytes) {
  uint64_t count = 1, size = 0;
  for (int64_t dimension : shape)
    if (dimension < 0 ||
        __builtin_mul_overflow(count, uint64_t(dimension), &count) ||
        __builtin_mul_overflow(count, uint64_t(bytes), &size) ||
        size > uint64_t(INT64_MAX))
      return std::nullopt;
  return count;
}

std::string describe(DataType type, const std::vector<int64_t> &shape) {
  std::string text = dataTypeName(type);
  text += "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace wsec::runtime
