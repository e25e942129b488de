// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules as text, for people and to be read back.
#ifndef COMPILER_OUTPUTTEXT_H
#define COMPILER_OUTPUTTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace wsec {

/// Writes a module to a file, or to the output of the process ("-"). Large
/// constants are left out, and said to be, unless it `printsConstants`.
llvm::Error writeModule(mlir::ModuleOp module, llvm::StringRef path,
                        bool printsConstants);

} // namespace wsec

#endif // COMPILER_OUTPUTTEXT_H
