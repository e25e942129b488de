// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_KERNELS_MOVE_REORDER_H
#define COMPILER_KERNELS_MOVE_REORDER_H

#include "dialects/wse/Wse.h"

namespace wsec {

/// Batch elements of a state go on from others, where `builder` stands.
void createReorder(mlir::OpBuilder &builder, wse::StateOp state,
                   mlir::ValueRange sources, mlir::ValueRange positions);

} // namespace wsec

#endif // COMPILER_KERNELS_MOVE_REORDER_H
