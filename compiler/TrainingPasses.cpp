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
  differentiate::DifferentiateOptions what = training;
  what.fuseAttention = fusesAttention;
  manager.addPass(differentiate::createDifferentiate(what));
  manager.addPass(differentiate::createLegalizeLosses());
  canonicalize::buildCleanUpPipeline(manager);
}
