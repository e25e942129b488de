// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Meaning of a vector instruction: a loop nest over strided float32 operands.
// Engines differ in where operands come from and when; all of them compute
// through here.
#ifndef RUNTIME_EMULATOR_EXECUTE_H
#define RUNTIME_EMULATOR_EXECUTE_H

#include "runtime/program/program_generated.h"

#include <cstddef>

namespace wsec::runtime {

/// Four extents of an instruction and the lanes of a strip, innermost.
inline constexpr int maxDimensions = 5;

/// data + sum(index[d] * stride[d]); no data: the operand is absent.
template <class Float>
struct Strided {
  Float *data = nullptr;
  ptrdiff_t stride[maxDimensions] = {};
};

struct Nest {
  program::Opcode op;
  int dimensions = 0;
  size_t extent[maxDimensions] = {};
  Strided<float> dst;
  Strided<const float> a, b;
  /// A source may overlap the destination other than element by element, so
  /// that the order of the elements matters across dimensions. The innermost
  /// dimension (lanes) is always free of that.
  bool ordered = false;
};

/// dst = op(a, b) for each index in lexicographic order, or in an order that
/// gives the same bits.
void execute(const Nest &nest);

} // namespace wsec::runtime

#endif // RUNTIME_EMULATOR_EXECUTE_H
