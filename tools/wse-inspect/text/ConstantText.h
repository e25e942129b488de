// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_INSPECT_TEXT_CONSTANTTEXT_H
#define TOOLS_WSE_INSPECT_TEXT_CONSTANTTEXT_H

#include "tools/wse-inspect/text/PeTextParts.h"

#include <cstdio>
#include <cstring>
#include <string>

namespace wsec::runtime {

/// The value of a constant in few numbers, "dense<[1.0, 2.0]>".
class ConstantText {
public:
  explicit ConstantText(const program::TensorT &tensor) : tensor(tensor) {
    for (int64_t extent : tensor.shape)
      count *= size_t(extent);
  }

  bool isShort() const { return count <= 8; }
  std::string run() const {
    return "dense<" + (count ? nested(0, 0, count) : "") + ">";
  }
  /// "[1.0, 2.0]", or "1.0" if all are equal.
  std::string elements() const {
    bool areEqual = count > 0;
    for (size_t i = 1; i < count; ++i)
      areEqual &= element(i) == element(0);
    return areEqual ? element(0) : nested(0, 0, count);
  }

private:
  // The elements from `first` on, in brackets for each dimension from `depth`.
  std::string nested(size_t depth, size_t first, size_t elements) const {
    if (depth == tensor.shape.size())
      return element(first);
    const auto extent = size_t(tensor.shape[depth]);
    std::string text = "[";
    for (size_t i = 0; i < extent; ++i)
      text +=
          (i ? ", " : "") +
          nested(depth + 1, first + i * (elements / extent), elements / extent);
    return text + "]";
  }

  template <typename Number>
  Number read(size_t index) const {
    Number number;
    std::memcpy(&number, tensor.data.data() + index * sizeof(Number),
                sizeof(Number));
    return number;
  }

  std::string element(size_t index) const {
    char bits[8];
    switch (tensor.type) {
    case program::ElementType::F32:
      return realText(read<float>(index));
    case program::ElementType::I64:
      return std::to_string(read<int64_t>(index));
    case program::ElementType::I32:
      return std::to_string(read<int32_t>(index));
    case program::ElementType::I16:
      return std::to_string(read<int16_t>(index));
    case program::ElementType::I8:
      return std::to_string(read<int8_t>(index));
    case program::ElementType::U8:
      return std::to_string(read<uint8_t>(index));
    case program::ElementType::U16:
      return std::to_string(read<uint16_t>(index));
    case program::ElementType::U32:
      return std::to_string(read<uint32_t>(index));
    case program::ElementType::U64:
      return std::to_string(read<uint64_t>(index));
    case program::ElementType::F64:
      return realText(read<double>(index));
    case program::ElementType::Bool:
      return read<uint8_t>(index) ? "true" : "false";
    case program::ElementType::I4:
      return std::to_string(int8_t(read<uint8_t>(index) << 4) >> 4);
    case program::ElementType::I2:
      return std::to_string(int8_t(read<uint8_t>(index) << 6) >> 6);
    case program::ElementType::U4:
      return std::to_string(read<uint8_t>(index) & 15);
    case program::ElementType::U2:
      return std::to_string(read<uint8_t>(index) & 3);
    case program::ElementType::F16:
    case program::ElementType::BF16:
    case program::ElementType::CB16:
      break;
    default:
      std::snprintf(bits, sizeof bits, "0x%02X",
                    unsigned(read<uint8_t>(index)));
      return bits;
    }
    std::snprintf(bits, sizeof bits, "0x%04X", unsigned(read<uint16_t>(index)));
    return bits;
  }

  const program::TensorT &tensor;
  size_t count = 1;
};

} // namespace wsec::runtime

#endif // TOOLS_WSE_INSPECT_TEXT_CONSTANTTEXT_H
