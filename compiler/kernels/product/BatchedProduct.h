// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with many matrices, such as those of attention heads: of all tokens
// in order, equally many in turn have a matrix of their own. Results stay, as
// in a broadcast. All matrices stream past all rows, each of which keeps those
// of its own tokens: one, or a few where it has tokens of several.

#ifndef COMPILER_KERNELS_PRODUCT_BATCHEDPRODUCT_H
#define COMPILER_KERNELS_PRODUCT_BATCHEDPRODUCT_H

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/product/MatmulForm.h"

namespace wsec {

/// Whether the weight of a product is many matrices.
bool isBatched(const MatmulForm &op);

/// All but its lower bound.
KernelCost batchedCost(const MatmulForm &op, const Machine &machine);
llvm::SmallVector<HostFlow> batchedFlows(const MatmulForm &op,
                                         const Machine &machine);
/// Words of SRAM that it borrows.
int64_t batchedWords(const MatmulForm &op, const Machine &machine);
llvm::LogicalResult lowerBatched(const MatmulForm &op, RoutineBuilder &b);

} // namespace wsec

#endif // COMPILER_KERNELS_PRODUCT_BATCHEDPRODUCT_H
