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
int64_t bytesPerPE(mlir::Type tensor, const Machine &region);

/// What a result that only leaves the wafer may take beside the input of its
/// kernel: half of the rest, which has to hold scratch and what else lives.
int64_t roomForOutput(mlir::Value input, const Machine &region);

/// An offer as it is compared: the least scratch that does not fit, then the
/// fewest cycles win.
struct Choice {
  const Offer *offer;
  int64_t missing; ///< bytes of scratch that do not fit beside the operands
  double cycles;

  bool operator<(const Choice &other) const {
    return std::tie(missing, cycles) < std::tie(other.missing, other.cycles);
  }
};

/// The cheapest of a kernel's offers, of those that take its first operand as
/// it lies, or as `input`; with `littleScratch` of those that stream all their
/// weights.
Choice cheapestOffer(mlir::Operation *op, llvm::ArrayRef<Offer> offers,
                     const Machine &region, mlir::Type input = {},
                     bool littleScratch = false);

/// Gives every kernel its cheapest variant, now that all values have their
/// types. With `fewColors` the cheapest whose streams, in each region, ask for
/// no more colors than there are, counted as if no two streams could share one.
void chooseVariants(wse::ProgramOp program, bool littleScratch, bool fewColors);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_KERNELCHOICE_H
