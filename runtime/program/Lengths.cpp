// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Lengths.h"

namespace wsec::runtime {

const program::Argument *lengthOf(const program::Entry &entry) {
  if (entry.arguments())
    for (const program::Argument *argument : *entry.arguments())
      if (argument->length_tensor() >= 0)
        return argument;
  return nullptr;
}

const program::Argument *lengthOf(const program::Program &program,
                                  const program::Tensor &tensor) {
  if (!tensor.length_axes() || tensor.length_axes()->size() == 0)
    return nullptr;
  for (const program::Entry *entry : *program.entries())
    if (const program::Argument *length = lengthOf(*entry))
      return length;
  return nullptr;
}

bool isLength(const program::Program &program, uint32_t tensor) {
  for (const program::Entry *entry : *program.entries())
    if (const program::Argument *length = lengthOf(*entry))
      if (uint32_t(length->length_tensor()) == tensor)
        return true;
  return false;
}

std::vector<int64_t> shapeAt(const program::Tensor &tensor, int64_t length) {
  std::vector<int64_t> shape(tensor.shape()->begin(), tensor.shape()->end());
  for (const uint8_t axis : *tensor.length_axes())
    shape[axis] = length;
  return shape;
}

std::optional<int64_t> lengthAt(const program::Program &program,
                                const program::Tensor &tensor,
                                const std::vector<int64_t> &shape) {
  const program::Argument *argument = lengthOf(program, tensor);
  if (!argument || shape.size() != tensor.shape()->size())
    return std::nullopt;
  const int64_t length = shape[tensor.length_axes()->Get(0)];
  if (length < argument->from() || length > argument->to() ||
      shape != shapeAt(tensor, length))
    return std::nullopt;
  return length;
}

} // namespace wsec::runtime
