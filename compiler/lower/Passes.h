// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_LOWER_PASSES_H
#define WSEC_COMPILER_LOWER_PASSES_H

#include "mlir/Pass/Pass.h"

namespace wsec::lower {

#define GEN_PASS_DECL
#include "compiler/lower/Passes.h.inc"

/// scheduled wse -> pe: `convert-wse-to-pe`.
void buildLowerPipeline(mlir::OpPassManager &manager);

/// The passes of this folder and the pipeline `wsec-lower`.
void registerLowerPipeline();

} // namespace wsec::lower

#endif // WSEC_COMPILER_LOWER_PASSES_H
