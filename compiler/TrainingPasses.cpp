// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/TrainingPasses.h"
#include "compiler/canonicalize/Passes.h"
#include "compiler/differentiate/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace wsec;

/// Logits of a PE at a time: a few tensors of as many are alive at once, beside
/// activations.
static constexpr int64_t logitsOfPE = 512;

void wsec::addTrainingPasses(OpPassManager &manager,
                             const TrainingOptions &training,
                             FusedGradients fused, std::pair<int, int> mesh) {
  const int64_t mostLogits = logitsOfPE * mesh.first * mesh.second;
  const differentiate::LegalizeLossesOptions losses{mostLogits};
  if (training.loss.empty()) {
    manager.addPass(differentiate::createForgetParameters());
    manager.addPass(canonicalize::createCommonSubexpressions());
    return manager.addPass(differentiate::createLegalizeLosses(losses));
  }
  differentiate::DifferentiateOptions what = training;
  what.fuseAttention = fused.attentions;
  what.fuseNorms = fused.norms;
  what.mostLogits = mostLogits;
  manager.addPass(differentiate::createDifferentiate(what));
  manager.addPass(differentiate::createLegalizeLosses(losses));
  canonicalize::buildCleanUpPipeline(manager);
}
