// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors of a nest whose elements lie apart, or are of other types than the
// kernels take: a buffer of them at a time.
#ifndef RUNTIME_STRIPS_NESTELEMENTS_H
#define RUNTIME_STRIPS_NESTELEMENTS_H

#include "runtime/strips/Execute.h"

namespace wsec::runtime {

/// Rows along `d`, whose destination elements all differ, with strides: as many
/// at a time as buffers hold.
void applyAlong(program::Opcode op, const NestTypes &types,
                const PreparedNest::Dimension &rows,
                const PreparedNest::Dimension &d, float *dst, const float *a,
                const float *b);

/// One vector along `d` of any types. A destination of stride 0 has one
/// element. Throws NestError for numbers that are refused.
void applyNumbers(program::Opcode op, const NestTypes &types,
                  const PreparedNest::Dimension &d, float *dst, const float *a,
                  const float *b);

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_NESTELEMENTS_H
