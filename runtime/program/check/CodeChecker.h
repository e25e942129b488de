// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_CODECHECKER_H
#define RUNTIME_PROGRAM_CHECK_CODECHECKER_H

#include "runtime/program/check/EntryChecker.h"
#include "runtime/program/program_generated.h"

namespace wsec::runtime {

/// Checks what the PEs of a class hold and do: scalars, buffers against the
/// SRAM, queues, filters, and every statement of every routine and task. Its
/// rectangles must be valid. Arguments of routines are as launches carry them.
void checkCode(const program::PEClass &peClass, const program::Machine &machine,
               uint8_t launchColor, const CarriedRanges &carried,
               CheckerWork &work);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_CODECHECKER_H
