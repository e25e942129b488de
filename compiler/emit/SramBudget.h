// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_EMIT_SRAMBUDGET_H
#define COMPILER_EMIT_SRAMBUDGET_H

#include "dialects/pe/Pe.h"
#include "runtime/program/program_generated.h"

namespace wsec::emit {

/// Code and buffers of every class fit in the SRAM of a PE, below each other:
///
///   0 ... host runtime | code | buffers ... sram_bytes
///
/// Says otherwise which buffers are the largest, and for which ONNX nodes.
llvm::LogicalResult checkSram(pe::ProgramOp op,
                              const program::ProgramT &program);

} // namespace wsec::emit

#endif // COMPILER_EMIT_SRAMBUDGET_H
