// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SELECT_PASSES_H
#define WSEC_COMPILER_SELECT_PASSES_H

#include "compiler/plan/Plan.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

#include <memory>
#include <string>

namespace wsec::select {

/// On the module: what `explain` asked for, as text.
inline constexpr llvm::StringLiteral explanationAttrName = "wse.explanation";

#define GEN_PASS_DECL
#include "compiler/select/Passes.h.inc"

class PlanningCache;

/// The pass that answers from what is in `shared`, and adds to it.
std::unique_ptr<mlir::Pass>
createSelectKernelsPass(const SelectKernelsPassOptions &options,
                        PlanningCache &shared);

struct SelectPipelineOptions
    : mlir::PassPipelineOptions<SelectPipelineOptions> {
  Option<std::string> mesh{
      *this, "mesh", llvm::cl::desc("Columns x rows of PEs to use, as in 8x8"),
      llvm::cl::init("")};
  Option<std::string> keepOuts{
      *this, "keep-outs",
      llvm::cl::desc("Rectangles that nothing may use: 3,0,1x2;0,5,4x1"),
      llvm::cl::init("")};
  Option<std::string> region{
      *this, "region",
      llvm::cl::desc("Columns x rows of the region that kernels run on; chosen "
                     "by cost if empty"),
      llvm::cl::init("")};
  Option<std::string> placement{
      *this, "placement",
      llvm::cl::desc("A placement's JSON: regions of these shapes and roles"),
      llvm::cl::init("")};
  Option<std::string> machine{
      *this, "machine",
      llvm::cl::desc("Preset wse1, wse2 or wse3, or the path of a JSON file"),
      llvm::cl::init("wse2")};
  Option<std::string> precision{
      *this, "precision",
      llvm::cl::desc("Elements of activations: f32, f16 or bf16"),
      llvm::cl::init("f32")};
  Option<int64_t> samples{
      *this, "samples",
      llvm::cl::desc("That follow one another through stages; 0: many"),
      llvm::cl::init(0)};
  Option<std::string> explain{
      *this, "explain",
      llvm::cl::desc("A node: which choices there were for it, and why"),
      llvm::cl::init("")};
  Option<plan::Constraints> within{
      *this, "within", llvm::cl::desc("What it keeps to, so that it fits")};
  Option<double> sparsity{
      *this, "sparsity",
      llvm::cl::desc("Share of the weights of products that count as zero"),
      llvm::cl::init(0)};
  Option<std::string> sparsityMethod{
      *this, "sparsity-method",
      llvm::cl::desc("Which are kept: random or topk"),
      llvm::cl::init("random")};
  Option<int64_t> sparsitySeed{*this, "sparsity-seed",
                               llvm::cl::desc("Of the random method"),
                               llvm::cl::init(0)};
  ListOption<std::string> sparsityFilter{
      *this, "sparsity-filter",
      llvm::cl::desc("Globs of names of weights or nodes")};
};

/// onnx -> wse, selected: `wse-select-kernels`, `wse-keep-weights` if asked,
/// then `wse-verify-selected`. With `shared` a run answers from what is in it,
/// and adds to it.
void buildSelectPipeline(mlir::OpPassManager &manager,
                         const SelectPipelineOptions &options,
                         PlanningCache *shared = nullptr);

/// The passes of this folder and the pipeline `wsec-select`.
void registerSelectPipeline();

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_PASSES_H
