// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Advice where what was asked for does not pay off: the same model without it,
// planned as far as its cycles are known.
#ifndef COMPILER_VARIANTS_H
#define COMPILER_VARIANTS_H

#include "compiler/select/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>
#include <string>
#include <vector>

namespace wsec {

class Variants {
public:
  /// Variants of a module of which no kernels are chosen: with all weights if
  /// some are left out, with floats for what is quantised in each run.
  Variants(mlir::ModuleOp module, bool isSparse);

  /// Predicts their cycles, but of those that do not fit, and forgets them.
  void predict(select::SelectKernelsPassOptions target);

  /// One for each that takes fewer than these cycles.
  std::vector<std::string> notes(double cycles) const;

private:
  struct Variant {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    llvm::StringLiteral format; ///< of a note: our cycles, its cycles
    std::optional<double> cycles;
  };
  std::vector<Variant> all;
};

} // namespace wsec

#endif // COMPILER_VARIANTS_H
