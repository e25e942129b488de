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
                                 const SelectKernelsPassOptions &options,
                                 const MarkSparsePassOptions &sparse,
                                 PlanningCache *shared) {
  if (sparse.sparsity != 0)
    manager.addPass(createMarkSparsePass(sparse));
  manager.addPass(shared ? createSelectKernelsPass(options, *shared)
                         : createSelectKernelsPass(options));
  if (options.within.keepWeights)
    manager.addNestedPass<wse::ProgramOp>(createKeepWeightsPass());
  manager.addNestedPass<wse::ProgramOp>(createVerifySelectedPass());
}

void select::registerSelectPipeline() {
  registerSelectPasses();
  mlir::registerPassPipeline(
      "wsec-select", "Selects kernels and distributions: onnx -> selected.",
      [](mlir::OpPassManager &manager, llvm::StringRef options, auto error) {
        std::unique_ptr<mlir::Pass> pass = createSelectKernelsPass();
        const llvm::LogicalResult read =
            pass->initializeOptions(options, error);
        manager.addPass(std::move(pass));
        manager.addNestedPass<wse::ProgramOp>(createVerifySelectedPass());
        return read;
      },
      [](auto) {});
}
