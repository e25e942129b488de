// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_INFER_PASSES_H
#define COMPILER_INFER_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace wsec::infer {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/infer/Passes.h.inc"

struct InferPipelineOptions : mlir::PassPipelineOptions<InferPipelineOptions> {
  Option<bool> allowF64AsF32{
      *this, "allow-f64-as-f32",
      llvm::cl::desc("Compute what the model states in f64 in f32"),
      llvm::cl::init(false)};
  Option<bool> expandWeights{*this, "expand-weights",
                             llvm::cl::desc("Make f32 of quantised constants"),
                             llvm::cl::init(false)};
};

/// onnx as imported -> onnx of named operators.
void buildInferPipeline(mlir::OpPassManager &pm,
                        const InferPipelineOptions &options);

} // namespace wsec::infer

#endif // COMPILER_INFER_PASSES_H
