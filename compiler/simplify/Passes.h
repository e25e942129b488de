// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_SIMPLIFY_PASSES_H
#define COMPILER_SIMPLIFY_PASSES_H

#include "mlir/Pass/Pass.h"

namespace wsec::simplify {

#define GEN_PASS_DECL
#include "compiler/simplify/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/simplify/Passes.h.inc"

/// onnx as imported -> onnx of named operators.
void buildSimplifyPipeline(mlir::OpPassManager &pm);

/// Registers the passes of this phase and the pipeline `wsec-simplify`.
void registerSimplifyPipeline();

} // namespace wsec::simplify

#endif // COMPILER_SIMPLIFY_PASSES_H
