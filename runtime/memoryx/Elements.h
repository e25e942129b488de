// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of tensors as they lie in files, and as they travel.
#ifndef RUNTIME_MEMORYX_ELEMENTS_H
#define RUNTIME_MEMORYX_ELEMENTS_H

#include "runtime/program/program_generated.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace wsec::runtime {

/// words[i] = element `first + i * stride` of the tensor at `data`, for i in
/// [0, count). Nothing needs to be aligned.
void readElements(program::ElementType type, const uint8_t *data, int64_t first,
                  int64_t stride, size_t count, float *words);

/// The inverse: narrower floats round to nearest even, integers round towards
/// zero and saturate (not a number gives 0), booleans are "not zero".
void writeElements(program::ElementType type, uint8_t *data, int64_t first,
                   int64_t stride, size_t count, const float *words);

/// elements[i] = element `first + i * stride` of the tensor, as elements of the
/// wire's type (`wireType`); of floats only for floats.
/// Returns how many were read: fewer than `count` where the next one is an
/// integer that the wire does not carry exactly.
size_t readWire(program::ElementType wire, program::ElementType type,
                const uint8_t *data, int64_t first, int64_t stride,
                size_t count, void *elements);

/// "from -2048 to 2048": those that are all carried exactly.
std::string wholeRange(program::ElementType wire);

/// The inverse. Returns how many elements were written: fewer than `count`
/// where the next is an integer that the tensor does not hold. I32 goes to U32
/// as its bits.
size_t writeWire(program::ElementType wire, const void *elements, size_t count,
                 program::ElementType type, uint8_t *data, int64_t first,
                 int64_t stride);

/// sums[i * stride] += elements[i], in f32. The wire's type is a float.
void addWire(program::ElementType wire, const void *elements, size_t count,
             float *sums, int64_t stride);

/// Element `index` of a tensor of integers; one of U64 beyond int64 is
/// negative.
int64_t readIndex(program::ElementType type, const uint8_t *data,
                  uint64_t index);
/// Element `index`, as messages name it.
std::string printedIndex(program::ElementType type, const uint8_t *data,
                         uint64_t index);

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_ELEMENTS_H
