// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of F16 on vectors of float32 that hold values of it, and
// conversions of all floats of 16 bits (`isNarrowFloat`), which are rounded to
// nearest even; NaNs keep the bits that fit.
#ifndef RUNTIME_PE_HALFKERNELS_H
#define RUNTIME_PE_HALFKERNELS_H

#include "runtime/pe/VectorKernels.h"

#include <cstddef>
#include <cstdint>

namespace wsec::program {
enum class ElementType : uint8_t;
}

namespace wsec::runtime {

/// dst[i] = a[i] * b[i] + dst[i], rounded once to F16.
void fmacHalf(size_t n, float *dst, VectorSource a, VectorSource b);

/// values[i] as the format has it.
void roundToNarrow(program::ElementType format, size_t n, float *values);

void widen(program::ElementType format, size_t n, const uint16_t *halves,
           float *values);
void narrow(program::ElementType format, size_t n, const float *values,
            uint16_t *halves);

/// words[i] = the halves that a[i], the lower one, and b[i] are rounded to.
void narrowPairs(program::ElementType format, size_t n, const float *a,
                 const float *b, uint32_t *words);

/// Which halves of words: one of each, or both, as elements side by side, or
/// those of all lower halves apart from those of the upper ones.
enum class HalfOf : uint8_t { Lower, Upper, Both, Apart };

/// Rows of words and of the floats that are in their halves.
struct HalvesProblem {
  program::ElementType format;
  HalfOf part;
  size_t rows, columns; ///< of words
  ptrdiff_t wordRow, valueRow;
  bool scalar = false; ///< narrowWords: one value for all of a row
  ptrdiff_t apart = 0; ///< Apart: from values of lower halves to the others
};
/// values[r][i] = the half of words[r][i]; with both values[r][2 * i + h] =
/// half h of words[r][i], or values[r][h * apart + i].
void widenWords(const HalvesProblem &problem, const float *words,
                float *values);
/// The inverse, rounded; another half of a word stays as it is.
void narrowWords(const HalvesProblem &problem, const float *values,
                 float *words);

/// Elements of 16 bits that lie four bytes apart: the lower or the upper halves
/// of words.
void widenApart(program::ElementType format, size_t n, const void *halves,
                float *values);
void narrowApart(program::ElementType format, size_t n, const float *values,
                 void *halves);

} // namespace wsec::runtime

#endif // RUNTIME_PE_HALFKERNELS_H
