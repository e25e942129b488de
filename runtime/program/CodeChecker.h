// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CODECHECKER_H
#define RUNTIME_PROGRAM_CODECHECKER_H

#include "runtime/program/program_generated.h"

namespace wsec::runtime {

/// Checks what the PEs of a class hold and do: scalars, buffers against the
/// SRAM, and every statement of every routine. Its rectangles must be valid.
void checkCode(const program::PEClass &peClass,
               const program::Machine &machine);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CODECHECKER_H
