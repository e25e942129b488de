// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/plan/PlanSearch.h"

#include "compiler/plan/KeptDiagnostics.h"

#include "dialects/wse/Wse.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::plan;

void PlanSearch::start(const PlacementFile::Selection &selection) {
  now.code = selection.code;
  now.fewColors = selection.fewColors;
  now.littleScratch = selection.littleScratch;
  now.keepWeights = selection.weightsStay;
  now.scratch = selection.scratch;
}

/// The most regions with PEs in one row of the mesh.
static int64_t regionsInARow(ArrayRef<wse::RegionOp> regions) {
  int64_t most = 0;
  for (wse::RegionOp first : regions)
    most = std::max<int64_t>(
        most, llvm::count_if(regions, [&](wse::RegionOp region) {
          const int64_t begin = region.getY().value_or(0);
          const int64_t row = first.getY().value_or(0);
          return begin <= row && row < begin + region.rows();
        }));
  return most;
}

/// Describes the program that phases left.
static void describe(ModuleOp module, Outcome &outcome) {
  for (auto program : module.getOps<wse::ProgramOp>()) {
    SmallVector<wse::RegionOp> regions = program.kernelRegions();
    outcome.regions = int64_t(regions.size());
    outcome.abreast = regionsInARow(regions);
    if (regions.size() == 1) {
      outcome.columns = regions[0].columns();
      outcome.rows = regions[0].rows();
    }
    outcome.kernels = int64_t(program.kernels().size());
    outcome.usableBytes = program.targetMachine().usableBytes();
    outcome.hasKeepOuts = !program.bodyBlock().getOps<wse::KeepOutOp>().empty();
    outcome.hasEntries =
        llvm::any_of(program.getOps<wse::EntryOp>(), [](wse::EntryOp its) {
          return its.getSymName() != "load";
        });
  }
}

/// "plan 3 of at most 40, up to 2 stages".
static std::string lineOf(int number, const Constraints &plan) {
  const std::string stages =
      plan.stages > 1 ? ", up to " + std::to_string(plan.stages) + " stages"
                      : "";
  return "plan " + std::to_string(number) + " of at most " +
         std::to_string(PlanSearch::mostPlans) + stages;
}

LogicalResult
PlanSearch::run(OwningOpRef<ModuleOp> &module,
                function_ref<LogicalResult()> phases,
                const std::function<void(const std::string &)> &tells) {
  MLIRContext &context = *module->getContext();
  KeptDiagnostics kept(context); // of a plan before others
  for (int number = 1;; ++number) {
    if (tells)
      tells(lineOf(number, now));
    OwningOpRef<ModuleOp> before = module->clone();
    outcome = {};
    KeptDiagnostics diagnostics(context);
    const LogicalResult result = diagnostics.during(phases);
    std::optional<Step> step;
    if (failed(result) && number < mostPlans) {
      describe(*module, outcome);
      step = nextPlan(now, outcome, asked);
    }
    if (!step) {
      if (tells)
        tells("");
      (failed(result) && !kept.empty() ? kept : diagnostics).emit();
      return result;
    }
    if (step->keepsError && kept.empty())
      kept.take(diagnostics);
    if (!step->note.empty())
      said.push_back(step->note);
    now = std::move(step->plan);
    module = std::move(before);
  }
}
