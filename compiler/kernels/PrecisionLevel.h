// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels sum up in 16 bits: precision.md has the levels.

#ifndef WSEC_COMPILER_KERNELS_PRECISIONLEVEL_H
#define WSEC_COMPILER_KERNELS_PRECISIONLEVEL_H

#include "dialects/wse/Wse.h"

namespace wsec {

/// The precision optimisation level of a program of 16 bits; without it 0.
inline constexpr llvm::StringLiteral precisionLevelAttrName =
    "wse.precision_opt_level";

/// What a level adds to those before it.
enum class PrecisionLevel {
  ExactSums,      ///< all sums are made in f32
  NarrowProducts, ///< products with weights: up to `narrowTerms` of a PE
  NarrowAttention ///< attention and softmax, in all that a PE sums up
};

/// So many terms at most are summed up in 16 bits before the sum is added to
/// one in f32, as that many lose few of 8 bits of a significand.
inline constexpr int64_t narrowTerms = 64;

bool hasPrecisionLevel(mlir::Operation *op, PrecisionLevel level);

/// What is wrong with a level of elements of this precision; empty: nothing.
std::string problemOfPrecisionLevel(int64_t level, llvm::StringRef precision);

} // namespace wsec

#endif // WSEC_COMPILER_KERNELS_PRECISIONLEVEL_H
