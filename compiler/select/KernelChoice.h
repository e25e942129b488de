// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choices between kernels that their own cost model decides.

#ifndef WSEC_COMPILER_SELECT_KERNELCHOICE_H
#define WSEC_COMPILER_SELECT_KERNELCHOICE_H

#include "compiler/kernels/Kernel.h"
#include "dialects/wse/Wse.h"

namespace wsec::select {

/// Bytes of a tensor in the fullest PE of a region.
int64_t bytesPerPE(mlir::Value value, const Machine &region);

/// What a result that only leaves the wafer may take beside the input of its
/// kernel: half of the rest, which has to hold scratch and what else lives.
int64_t roomForOutput(mlir::Value input, const Machine &region);

/// The cheaper variant among those whose scratch fits beside the operands.
wse::MatmulVariant cheapestVariant(wse::MatmulOp matmul, const Machine &region);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_KERNELCHOICE_H
