// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/Passes.h"
#include "dialects/wse/Wse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace wsec;

namespace wsec::select {
#define GEN_PASS_REGISTRATION
#include "compiler/select/Passes.h.inc"
} // namespace wsec::select

void select::buildSelectPipeline(mlir::OpPassManager &manager,
                                 const SelectPipelineOptions &options,
                                 PlanningCache *shared) {
  if (options.sparsity != 0) {
    MarkSparsePassOptions sparse;
    sparse.sparsity = options.sparsity;
    sparse.method = options.sparsityMethod;
    sparse.seed = options.sparsitySeed;
    sparse.filter.assign(options.sparsityFilter.begin(),
                         options.sparsityFilter.end());
    manager.addPass(createMarkSparsePass(sparse));
  }
  SelectKernelsPassOptions passOptions;
  passOptions.precision = options.precision;
  passOptions.mesh = options.mesh;
  passOptions.keepOuts = options.keepOuts;
  passOptions.region = options.region;
  passOptions.placement = options.placement;
  passOptions.machine = options.machine;
  passOptions.within = options.within.getValue();
  passOptions.samples = options.samples;
  passOptions.explain = options.explain;
  manager.addPass(shared ? createSelectKernelsPass(passOptions, *shared)
                         : createSelectKernelsPass(passOptions));
  if (options.within.getValue().keepWeights)
    manager.addNestedPass<wse::ProgramOp>(createKeepWeightsPass());
  manager.addNestedPass<wse::ProgramOp>(createVerifySelectedPass());
}

void select::registerSelectPipeline() {
  registerSelectPasses();
  mlir::PassPipelineRegistration<SelectPipelineOptions>(
      "wsec-select", "Selects kernels and distributions: onnx -> selected.",
      [](mlir::OpPassManager &manager, const SelectPipelineOptions &options) {
        buildSelectPipeline(manager, options);
      });
}
