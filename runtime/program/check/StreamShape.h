// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_STREAMSHAPE_H
#define RUNTIME_PROGRAM_CHECK_STREAMSHAPE_H

#include "runtime/program/program_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wsec::runtime {

/// Bytes that are equal for streams that bring equally many words to each
/// column, with these arguments: all but names, colors, and which elements of
/// which tensors the words are. Layers of a model, and heads of a layer, differ
/// in those alone.
inline std::string streamShape(const program::HostStream &stream,
                               const std::vector<int64_t> &arguments) {
  std::string shape;
  auto add = [&](const auto &value) {
    shape.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  auto addList = [&](const auto *list, size_t bytesOfOne) {
    const uint32_t count = list ? list->size() : 0;
    add(count);
    if (count > 0)
      shape.append(reinterpret_cast<const char *>(list->Data()),
                   count * bytesOfOne);
  };
  auto addAffine = [&](const program::Affine &affine) {
    add(affine.constant());
    addList(affine.terms(), sizeof(program::Term));
  };
  add(stream.direction());
  add(stream.type());
  add(stream.packing());
  addList(stream.channels(), sizeof(program::Channel));
  addList(stream.scalars(), sizeof(program::ScalarNode));
  for (int64_t argument : arguments)
    add(argument);
  for (const program::Segment *segment : *stream.segments()) {
    add(segment->halves());
    addAffine(*segment->lines());
    add(segment->extents()->size());
    for (const program::Affine *extent : *segment->extents())
      addAffine(*extent);
  }
  return shape;
}

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_STREAMSHAPE_H
