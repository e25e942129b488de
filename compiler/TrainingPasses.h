// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of a model between canonicalize and select: with a loss it gets
// gradients.
#ifndef COMPILER_TRAININGPASSES_H
#define COMPILER_TRAININGPASSES_H

#include "compiler/Pipeline.h"
#include "compiler/machine/Machine.h"
#include "compiler/plan/PlanSearch.h"
#include "compiler/plan/TrainingPlanner.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace wsec {

/// Logits that each PE of a machine has room for at a time.
int64_t logitsOfPE(const Machine &machine);

/// Adds the passes of a model that is trained by `plan`, with so many of the
/// layers that are alike, 0: all; or of one that is not, which has no loss.
/// `machine` is null where neither a loss nor the gradient of a weight may be
/// made in parts.
void addTrainingPasses(mlir::OpPassManager &manager,
                       const TrainingOptions &training,
                       const plan::TrainingPlan &plan, int64_t layers,
                       const Machine *machine);

/// What of a plan `text` asks for; the kernel for gradients of attentions is of
/// f32.
plan::AskedPlan askedPlan(llvm::StringRef text, llvm::StringRef precision,
                          const Machine &machine);

/// Why other options leave no room for what of a plan is asked for; empty: they
/// do.
std::string problemOf(const plan::AskedPlan &asked,
                      const CompileOptions &options);

/// What a module takes that is scheduled, or was selected and did not fit.
plan::Trial readTrial(mlir::ModuleOp module, bool isScheduled);

/// What plans take, by compiling up to the schedule. Nothing is said.
class PlanTrials {
public:
  explicit PlanTrials(plan::PlanSearch beginning)
      : beginning(std::move(beginning)) {}

  /// Compiles by `differentiate`, which makes `module`, and then `phases`:
  /// where an earlier plan left the same module, it takes as much.
  plan::Trial run(const plan::TrainingPlan &by,
                  const mlir::OwningOpRef<mlir::ModuleOp> &module,
                  mlir::MLIRContext &context, plan::PlanSearch &search,
                  llvm::function_ref<llvm::LogicalResult()> differentiate,
                  llvm::function_ref<llvm::LogicalResult()> phases);

  /// Where a search begins that compiles by a plan: where that of its last
  /// trial ended. More layers lack what few do.
  plan::PlanSearch searchOf(const plan::TrainingPlan &by) const;

private:
  struct Known {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    plan::Trial trial;
    plan::PlanSearch search;
  };
  plan::PlanSearch beginning;
  std::vector<Known> known;
  std::map<std::string, plan::PlanSearch> ended; ///< by the text of a plan
};

/// Compiles by the first of `plans`, or, if that has too little room, by the
/// next one that was thought to fit: layers may take more than a few of them
/// told. It is the first then.
llvm::LogicalResult runFirstThatFits(
    std::vector<plan::Considered> &plans, mlir::MLIRContext &context,
    plan::PlanSearch &search,
    llvm::function_ref<llvm::LogicalResult(const plan::TrainingPlan &)>
        compiles);

} // namespace wsec

#endif // COMPILER_TRAININGPASSES_H
