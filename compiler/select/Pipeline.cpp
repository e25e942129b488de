// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/Passes.h"
#include "dialects/wse/Wse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace wsec;

/// `wse-select-kernels`, and what follows it.
static void addSelection(mlir::OpPassManager &manager,
                         std::unique_ptr<mlir::Pass> selection) {
  const bool keeps = select::keepsWeights(*selection);
  manager.addPass(std::move(selection));
  if (keeps)
    manager.addNestedPass<wse::ProgramOp>(select::createKeepWeightsPass());
  manager.addNestedPass<wse::ProgramOp>(select::createVerifySelectedPass());
}

void select::buildSelectPipeline(mlir::OpPassManager &manager,
                                 const SelectKernelsPassOptions &options,
                                 const MarkSparsePassOptions &sparse,
                                 PlanningCache *shared) {
  if (sparse.sparsity != 0)
    manager.addPass(createMarkSparsePass(sparse));
  addSelection(manager, shared ? createSelectKernelsPass(options, *shared)
                               : createSelectKernelsPass(options));
}

void select::registerSelectPipeline() {
  registerSelectPasses();
  mlir::registerPassPipeline(
      "wsec-select", "Selects kernels and distributions: onnx -> selected.",
      [](mlir::OpPassManager &manager, llvm::StringRef options, auto error) {
        std::unique_ptr<mlir::Pass> pass = createSelectKernelsPass();
        const llvm::LogicalResult read =
            pass->initializeOptions(options, error);
        addSelection(manager, std::move(pass));
        return read;
      },
      [](auto) {});
}
