// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_CANONICALIZE_VERIFYSTATES_H
#define COMPILER_CANONICALIZE_VERIFYSTATES_H

#include "compiler/Refusals.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace wsec::canonicalize {

/// Refuses what is done with states and arguments of an entry besides writing
/// tokens to a state, once, attending to it, and handing it on.
void verifyStates(mlir::func::FuncOp function, Refusals &refusals);

/// Refuses states that functions of `module` hold in different shapes.
void verifySharedStates(mlir::ModuleOp module, Refusals &refusals);

} // namespace wsec::canonicalize

#endif // COMPILER_CANONICALIZE_VERIFYSTATES_H
