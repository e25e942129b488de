// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_CANONICALIZE_SKIPQUANTIZATION_H
#define COMPILER_CANONICALIZE_SKIPQUANTIZATION_H

#include "mlir/IR/BuiltinOps.h"

namespace wsec::canonicalize {

/// Values that the model quantises in each run, and takes for numbers again,
/// stay what they were: the same model with floats for activations, to find out
/// what it would cost. How many there were.
unsigned skipQuantization(mlir::ModuleOp module);

} // namespace wsec::canonicalize

#endif // COMPILER_CANONICALIZE_SKIPQUANTIZATION_H
