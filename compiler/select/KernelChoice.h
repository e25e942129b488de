// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choices between kernels that their own cost model decides.

#ifndef WSEC_COMPILER_SELECT_KERNELCHOICE_H
#define WSEC_COMPILER_SELECT_KERNELCHOICE_H

#include "compiler/kernels/Kernel.h"
#include "dialects/wse/Wse.h"

#include <tuple>

namespace wsec::select {

/// Bytes of a tensor in the fullest PE of a region.
int64_t bytesPerPE(mlir::Value value, const Machine &region);

/// What a result that only leaves the wafer may take beside the input of its
/// kernel: half of the rest, which has to hold scratch and what else lives.
int64_t roomForOutput(mlir::Value input, const Machine &region);

/// A way to run a kernel: the least scratch that does not fit, then the
/// fewest cycles win.
struct VariantChoice {
  int variant;     ///< of Kernel::setVariant
  int64_t missing; ///< bytes of scratch that do not fit beside the operands
  double cycles;

  bool operator<(const VariantChoice &other) const {
    return std::tie(missing, cycles) < std::tie(other.missing, other.cycles);
  }
};

/// The cheapest variant of a kernel whose operands lie as they do; with
/// `littleScratch` of those that stream all their weights.
VariantChoice cheapestVariant(mlir::Operation *op, const Machine &region,
                              bool littleScratch = false);

/// Gives every kernel its cheapest variant, now that all values have their
/// types.
void chooseVariants(wse::ProgramOp program, bool littleScratch);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_KERNELCHOICE_H
