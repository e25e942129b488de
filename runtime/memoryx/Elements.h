// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of tensors as they lie in files, and f32 words as they travel.
#ifndef RUNTIME_MEMORYX_ELEMENTS_H
#define RUNTIME_MEMORYX_ELEMENTS_H

#include "runtime/program/program_generated.h"

#include <cstddef>
#include <cstdint>

namespace wsec::runtime {

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float brainToFloat(uint16_t bits);
uint16_t floatToBrain(float value);

/// words[i] = element `first + i * stride` of the tensor at `data`, for i in
/// [0, count). Nothing needs to be aligned.
void readElements(program::ElementType type, const uint8_t *data, int64_t first,
                  int64_t stride, size_t count, float *words);

/// The inverse: narrower floats round to nearest even, integers round towards
/// zero and saturate (not a number gives 0), booleans are "not zero".
void writeElements(program::ElementType type, uint8_t *data, int64_t first,
                   int64_t stride, size_t count, const float *words);

/// Element `index` of a tensor of type I32 or I64.
int64_t readIndex(program::ElementType type, const uint8_t *data,
                  uint64_t index);

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_ELEMENTS_H
