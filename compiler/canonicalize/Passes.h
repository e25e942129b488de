// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_CANONICALIZE_PASSES_H
#define COMPILER_CANONICALIZE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace wsec::values {} // namespace wsec::values

namespace wsec::canonicalize {
// What sources see that are `using namespace wsec::canonicalize`.
using namespace mlir;
using namespace wsec;
using namespace values;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/canonicalize/Passes.h.inc"

/// The whole phase.
/// `rows`: of the mesh, to which tokens are dealt where calls choose how many
/// there are. `experts`, `states`: what is asked of their passes.
void buildCanonicalizePipeline(mlir::OpPassManager &pm, int64_t rows = 0,
                               ExpandExpertsOptions experts = {},
                               HoldStatesOptions states = {});

/// Whether rows, several at a time, take experts of their own.
bool haveExpertsOfTheirOwn(mlir::Operation *module);

/// What of it brings operators that other phases add to the same form.
void buildCleanUpPipeline(mlir::OpPassManager &pm);

} // namespace wsec::canonicalize

#endif // COMPILER_CANONICALIZE_PASSES_H
