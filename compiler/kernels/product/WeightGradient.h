// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of weights that are sums over what the wafer has, and leave it.

#ifndef WSEC_COMPILER_KERNELS_PRODUCT_WEIGHTGRADIENT_H
#define WSEC_COMPILER_KERNELS_PRODUCT_WEIGHTGRADIENT_H

namespace mlir {
class Operation;
} // namespace mlir

namespace wsec {

class Selection;

/// Whether `op` is a product of a transposed matrix and another, both on the
/// wafer, whose result only leaves it, and sooner than by way of the store.
bool isSummedAlongColumns(mlir::Operation *op, const Selection &selection);

} // namespace wsec

#endif // WSEC_COMPILER_KERNELS_PRODUCT_WEIGHTGRADIENT_H
