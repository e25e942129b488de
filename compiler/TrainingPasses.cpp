// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/TrainingPasses.h"
#include "compiler/canonicalize/Passes.h"
#include "compiler/differentiate/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace wsec;

FusedGradients wsec::fusedIn(ModuleOp module) {
  FusedGradients found{false, false};
  module.walk([&](Operation *op) {
    found.attentions |= isa<onnx::AttentionGradientOp>(op);
    found.norms |= isa<onnx::NormGradientOp>(op);
  });
  return found;
}

/// A few tensors of as many f32 are alive at once, beside activations and code:
/// each may take a 24th of a PE's SRAM.
int64_t wsec::mostLogits(const Machine &machine) {
  constexpr int64_t share = 24, bytes = 4;
  return int64_t(machine.width) * machine.height *
         (machine.sramBytes / (share * bytes));
}

void wsec::addTrainingPasses(OpPassManager &manager,
                             const TrainingOptions &training,
                             FusedGradients fused, int64_t mostLogits) {
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
