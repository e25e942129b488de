// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_SIMPLIFY_PASSES_H
#define COMPILER_SIMPLIFY_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace wsec::simplify {

#define GEN_PASS_DECL
#include "compiler/simplify/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/simplify/Passes.h.inc"

struct SimplifyPipelineOptions
    : mlir::PassPipelineOptions<SimplifyPipelineOptions> {
  Option<bool> allowF64AsF32{
      *this, "allow-f64-as-f32",
      llvm::cl::desc("Compute what the model states in f64 in f32"),
      llvm::cl::init(false)};
};

/// onnx as imported -> onnx of named operators.
void buildSimplifyPipeline(mlir::OpPassManager &pm,
                           const SimplifyPipelineOptions &options);

/// Registers the passes of this phase and the pipeline `wsec-simplify`.
void registerSimplifyPipeline();

} // namespace wsec::simplify

#endif // COMPILER_SIMPLIFY_PASSES_H
