// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_EMIT_CODESIZE_H
#define COMPILER_EMIT_CODESIZE_H

#include "runtime/program/program_generated.h"

namespace wsec::emit {

/// Bytes of code in each PE of a class. Words of 4 bytes:
///   a scalar 1, a routine 2, a loop 3, an await 1,
///   an instruction 2, and 2 for each operand in memory or on the fabric,
///   3 for one with a window.
uint32_t codeBytes(const program::PEClassT &peClass);

} // namespace wsec::emit

#endif // COMPILER_EMIT_CODESIZE_H
