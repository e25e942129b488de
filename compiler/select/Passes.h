// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SELECT_PASSES_H
#define WSEC_COMPILER_SELECT_PASSES_H

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
  Option<bool> littleScratch{
      *this, "little-scratch",
      llvm::cl::desc("No products that keep weights in SRAM"),
      llvm::cl::init(false)};
  Option<bool> fewColors{
      *this, "few-colors",
      llvm::cl::desc(
          "Variants that open no more streams than there are colors"),
      llvm::cl::init(false)};
  Option<std::string> explain{
      *this, "explain",
      llvm::cl::desc("A node: which choices there were for it, and why"),
      llvm::cl::init("")};
  ListOption<int64_t> abreast{
      *this, "abreast",
      llvm::cl::desc("Of two, three ... parts side by side: regions that share "
                     "rows of the mesh")};
  Option<int64_t> stages{
      *this, "stages",
      llvm::cl::desc("At most so many stages, each on a region of its own"),
      llvm::cl::init(1)};
  Option<int64_t> stageRows{
      *this, "stage-rows",
      llvm::cl::desc("Rows of stages at most, of which each has so many"),
      llvm::cl::init(1)};
  Option<bool> clearRows{*this, "clear-rows",
                         llvm::cl::desc("No keep-out lies in a row of stages"),
                         llvm::cl::init(false)};
  Option<bool> whereFaster{
      *this, "where-faster",
      llvm::cl::desc("Several stages only where samples follow faster"),
      llvm::cl::init(false)};
  Option<int64_t> codeBytes{
      *this, "code-bytes",
      llvm::cl::desc("Bytes of code of a PE; 0: not known"), llvm::cl::init(0)};
  Option<bool> spreadCode{
      *this, "spread-code",
      llvm::cl::desc("Stages share out the code of one region"),
      llvm::cl::init(false)};
  Option<bool> keepWeights{
      *this, "keep-weights",
      llvm::cl::desc("Weights that kernels can hold stay on the wafer"),
      llvm::cl::init(false)};
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
