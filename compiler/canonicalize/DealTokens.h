// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_CANONICALIZE_DEALTOKENS_H
#define COMPILER_CANONICALIZE_DEALTOKENS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace wsec::canonicalize {

/// The axes of a value that have the length.
using LengthAxes =
    llvm::function_ref<llvm::SmallVector<int64_t>(mlir::Value value)>;

/// To how many parts the tokens of a model with a length can be dealt, which as
/// many of `rows` hold: 1 where that changes nothing, or what the model
/// computes.
int64_t partsOfTokens(mlir::func::FuncOp function, LengthAxes axesOf,
                      int64_t rows);
/// Deals what constants hold, and places that are known. The caller does so
/// with inputs, and back with outputs.
void dealTokens(mlir::func::FuncOp function, LengthAxes axesOf, int64_t parts);

} // namespace wsec::canonicalize

#endif // COMPILER_CANONICALIZE_DEALTOKENS_H
