// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats of 8 bits or less, as the OCP formats (E4M3, E5M2, E8M0, E2M1) and
// their variants without infinities and negative zero (FNUZ) define them.
#ifndef RUNTIME_MEMORYX_SMALLFLOATS_H
#define RUNTIME_MEMORYX_SMALLFLOATS_H

#include "runtime/program/program_generated.h"

#include <cstdint>

namespace wsec::runtime {

/// The value of an element, exactly.
float floatFromSmall(program::ElementType type, uint8_t stored);

/// The nearest element, ties to even; E8M0 rounds up. What is too large becomes
/// infinite or NaN, or the largest number in a format that has neither.
uint8_t smallFromFloat(program::ElementType type, float value);

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_SMALLFLOATS_H
