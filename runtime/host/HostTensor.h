// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_HOSTTENSOR_H
#define RUNTIME_HOST_HOSTTENSOR_H

#include "runtime/program/program_generated.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wsec::runtime {

/// Element types of tensor files.
enum class DataType {
  Float32,
  Float16,
  BFloat16,
  Int32,
  Int64,
  Bool,
  Float64,
  Int8,
  Int16,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  /// A float of 8 bits or less, or an integer of less: numpy knows only the
  /// byte, V1, and a number is its bits.
  Bits8,
};

DataType dataType(program::ElementType type);
std::vector<int64_t> shapeOf(const program::Tensor &tensor);
uint32_t dataTypeBytes(DataType type);
/// As numpy says it, e.g. "float32".
const char *dataTypeName(DataType type);

/// A tensor in memory of the host: little endian, row major.
struct HostTensor {
  DataType type = DataType::Float32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  uint64_t elements() const;
  /// Element `index` as a number; integers beyond 2^53 lose their last digits.
  double number(uint64_t index) const;
};

/// Elements of a shape, if `bytes` bytes an element can be addressed at all.
std::optional<uint64_t> countElements(const std::vector<int64_t> &shape,
                                      uint32_t bytes);

/// E.g. "int64[1, 128]".
std::string describe(DataType type, const std::vector<int64_t> &shape);

} // namespace wsec::runtime

#endif // RUNTIME_HOST_HOSTTENSOR_H
