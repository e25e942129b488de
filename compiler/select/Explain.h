// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why a node of the model runs as it does: which kernels, variants and shapes
// of the region there were, what each was predicted to take, and what decided.

#ifndef WSEC_COMPILER_SELECT_EXPLAIN_H
#define WSEC_COMPILER_SELECT_EXPLAIN_H

#include "compiler/select/KernelChoice.h"
#include "compiler/select/RegionChooser.h"
#include "compiler/select/SideBySide.h"

#include <string>

namespace wsec::select {

/// Listens to the choices for the kernels of one node. Without a node it does
/// nothing.
class Explanation {
public:
  explicit Explanation(llvm::StringRef node) : node(node.str()) {}

  /// All kernels are on the whole mesh; these shapes of one region for all have
  /// been compared.
  void compared(wse::ProgramOp program,
                llvm::ArrayRef<ShapeEstimate> estimates);
  /// Parts of the model get regions side by side.
  void spread(const SideBySide &parts) { sideBySide = parts.cycles; }
  /// It became a pipeline, or regions with the code of their own kernels.
  void staged(bool forCode) {
    isStaged = true;
    isForCode = forCode;
  }
  /// Kernels will hold the weights that they can.
  void keepWeights() { weightsStay = true; }
  /// Side by side has been tried and does not fit.
  void withoutParts() { noParts = true; }
  /// The regions were not chosen, but given.
  void given() { isGiven = true; }

  /// In words, once all is chosen; an error if no kernel computes the node.
  llvm::FailureOr<std::string> tell(wse::ProgramOp program,
                                    ScratchLimits limits);

private:
  std::string tellKernel(wse::KernelOp kernel, const Machine &region,
                         ScratchLimits limits) const;
  std::string tellShapes(RegionShape chosen, size_t regions) const;

  struct ComparedShape {
    ShapeEstimate all;
    double own = 0; ///< of the node's kernels
  };
  std::string node;
  std::vector<ComparedShape> shapes; // the best first
  double sideBySide = 0;             // cycles; 0: one region
  bool isStaged = false, isForCode = false, noParts = false, isGiven = false;
  bool weightsStay = false;
};

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_EXPLAIN_H
