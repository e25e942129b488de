// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of a model between canonicalize and select: with a loss it gets
// gradients.
#ifndef COMPILER_TRAININGPASSES_H
#define COMPILER_TRAININGPASSES_H

#include "compiler/Pipeline.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace wsec {

/// What has one kernel for its gradients.
struct FusedGradients {
  bool attentions, norms;
};

/// Adds the passes of a model that is trained, or of one that is not, which has
/// no loss.
/// A loss has as many logits at a time as the mesh has room for; of a mesh
/// without PEs all, as where weights are sparse: classes share a mask.
void addTrainingPasses(mlir::OpPassManager &manager,
                       const TrainingOptions &training, FusedGradients fused,
                       std::pair<int, int> mesh);

} // namespace wsec

#endif // COMPILER_TRAININGPASSES_H
