// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Experts have two forms (compiler/canonicalize/ExpandExperts.cpp). The one
// where each row takes its own of all weights needs SRAM that other kernels may
// have taken, which is known once all are scheduled.
#ifndef COMPILER_EXPERTSAPART_H
#define COMPILER_EXPERTSAPART_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>

namespace wsec {

struct ExpertsPhases {
  std::function<llvm::LogicalResult()> canonicalize;
  std::function<llvm::LogicalResult()> plans; ///< all phases behind
  /// Whether no plan but the first was needed.
  std::function<bool()> fitsAtOnce;
  /// From now on as if rows could not have experts of their own.
  std::function<void()> restart;
};

/// Runs the phases with experts apart if there are any, and without these where
/// they do not fit at once.
llvm::LogicalResult runExpertsApart(mlir::OwningOpRef<mlir::ModuleOp> &module,
                                    const ExpertsPhases &phases);

} // namespace wsec

#endif // COMPILER_EXPERTSAPART_H
