// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of which a column holds whole heads.

#ifndef COMPILER_KERNELS_HEADS_H
#define COMPILER_KERNELS_HEADS_H

#include "compiler/kernels/Selection.h"

namespace wsec {

/// `value`, of so many heads, on the wafer with whole heads in each column,
/// each `repeat` times in a row.
mlir::Value wholeHeads(mlir::Value value, int64_t heads, mlir::Operation *op,
                       Selection &selection, int64_t repeat = 1);

} // namespace wsec

#endif // COMPILER_KERNELS_HEADS_H
