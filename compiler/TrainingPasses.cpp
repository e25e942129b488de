// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/TrainingPasses.h"
#include "compiler/canonicalize/Passes.h"
#include "compiler/differentiate/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace wsec;

void wsec::addTrainingPasses(OpPassManager &manager,
                             const TrainingOptions &training,
                             bool fusesAttention) {
  if (training.loss.empty()) {
    manager.addPass(differentiate::createForgetParameters());
    manager.addPass(canonicalize::createCommonSubexpressions());
    return manager.addPass(differentiate::createLegalizeLosses());
  }
  differentiate::DifferentiateOptions what;
  what.loss = training.loss;
  what.of = training.of;
  what.targets = training.targets;
  what.reduction = training.reduction;
  what.ignoreIndex = training.ignoreIndex;
  what.labelSmoothing = training.labelSmoothing;
  llvm::append_range(what.inputs, training.inputs);
  what.lossScale = training.lossScale;
  what.recompute = training.recompute;
  what.fuseAttention = fusesAttention;
  what.gradientsAsResults = training.gradientsAsResults;
  manager.addPass(differentiate::createDifferentiate(what));
  manager.addPass(differentiate::createLegalizeLosses());
  canonicalize::buildCleanUpPipeline(manager);
}
