// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of a model between canonicalize and select: with a loss it gets
// gradients.
#ifndef COMPILER_TRAININGPASSES_H
#define COMPILER_TRAININGPASSES_H

#include "compiler/Pipeline.h"
#include "compiler/machine/Machine.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace wsec {

/// What has one kernel for its gradients.
struct FusedGradients {
  bool attentions, norms;
};

/// Which gradients of a module are kernels of their own.
FusedGradients fusedIn(mlir::ModuleOp module);

/// Logits that the PEs of a machine have room for at a time.
int64_t mostLogits(const Machine &machine);

/// Adds the passes of a model that is trained, or of one that is not, which has
/// no loss. A loss has at most so many logits at a time, of 0 all.
void addTrainingPasses(mlir::OpPassManager &manager,
                       const TrainingOptions &training, FusedGradients fused,
                       int64_t mostLogits);

} // namespace wsec

#endif // COMPILER_TRAININGPASSES_H
