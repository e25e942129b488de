// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SELECT_PASSES_H
#define WSEC_COMPILER_SELECT_PASSES_H

#include "compiler/plan/Plan.h"

#include "mlir/Pass/Pass.h"

#include <memory>

namespace wsec::select {

/// On the module: what `explain` asked for, as text.
inline constexpr llvm::StringLiteral explanationAttrName = "wse.explanation";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/select/Passes.h.inc"

class PlanningCache;

/// The pass that answers from what is in `shared`, and adds to it.
std::unique_ptr<mlir::Pass>
createSelectKernelsPass(const SelectKernelsPassOptions &options,
                        PlanningCache &shared);

/// Whether a `wse-select-kernels` is to be followed by `wse-keep-weights`.
bool keepsWeights(const mlir::Pass &selection);

/// onnx -> wse, selected: `wse-mark-sparse` unless all weights count,
/// `wse-select-kernels`, `wse-keep-weights` if asked, then
/// `wse-verify-selected`. With `shared` a run answers from what is in it, and
/// adds to it.
void buildSelectPipeline(mlir::OpPassManager &manager,
                         const SelectKernelsPassOptions &options,
                         const MarkSparsePassOptions &sparse,
                         PlanningCache *shared = nullptr);

/// The passes of this folder and the pipeline `wsec-select`, which has the
/// options of `wse-select-kernels`.
void registerSelectPipeline();

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_PASSES_H
