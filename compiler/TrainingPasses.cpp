// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/TrainingPasses.h"
#include "compiler/ModuleReport.h"
#include "compiler/canonicalize/Passes.h"
#include "compiler/differentiate/Passes.h"
#include "compiler/plan/KeptDiagnostics.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/wse/Wse.h"
#include "mlir/Pass/PassManager.h"
#include <algorithm>

using namespace mlir;
using namespace wsec;

/// A few tensors of as many f32 are alive at once, beside activations and code:
/// each may take a 24th of a PE's SRAM.
int64_t wsec::logitsOfPE(const Machine &machine) {
  constexpr int64_t share = 24, bytes = 4;
  return machine.sramBytes / (share * bytes);
}

void wsec::addTrainingPasses(OpPassManager &manager,
                             const TrainingOptions &training,
                             const plan::TrainingPlan &plan, int64_t layers,
                             const Machine *machine) {
  differentiate::LegalizeLossesOptions losses;
  const int64_t pes = machine ? int64_t(machine->width) * machine->height : 0;
  if (machine && plan.logits)
    losses.mostLogits = pes * plan.logits;
  manager.addPass(differentiate::createForgetParameters());
  manager.addPass(canonicalize::createCommonSubexpressions());
  if (training.loss.empty())
    return manager.addPass(differentiate::createLegalizeLosses(losses));
  differentiate::DifferentiateOptions what = training;
  what.recompute = plan.recompute;
  what.segment = plan.segment;
  what.inputsAt = plan.inputs;
  what.kept = plan.kept;
  what.repeats = layers;
  what.elementsAgain = plan.elements == "again";
  what.fuseAttention = plan.attention == "kernel";
  what.fuseNorms = plan.norms == "kernel";
  what.mostLogits = losses.mostLogits;
  if (machine)
    what.room = pes * machine->sramBytes / int64_t(sizeof(float));
  manager.addPass(differentiate::createDifferentiate(what));
  manager.addPass(differentiate::createLegalizeLosses(losses));
  canonicalize::buildCleanUpPipeline(manager);
}

plan::AskedPlan wsec::askedPlan(StringRef text, StringRef precision,
                                const Machine &machine) {
  plan::AskedPlan asked;
  asked.plan.logits = logitsOfPE(machine);
  (void)plan::parse(text, asked); // was looked at where it was given
  if (precision != "f32" && asked.keys.insert("attention").second)
    asked.plan.attention = "products";
  return asked;
}

std::string wsec::problemOf(const plan::AskedPlan &asked,
                            const CompileOptions &options) {
  const std::string flag = "--training-plan=";
  if (options.training.loss.empty())
    return "";
  if (options.precision != "f32" && asked.plan.attention == "kernel")
    return flag +
           "attention=kernel: that kernel is of f32, and --precision is " +
           options.precision +
           "; give attention=products, or leave out one of both";
  if (options.sparse.sparsity != 0 && asked.asks("logits") && asked.plan.logits)
    return flag + "logits=" + std::to_string(asked.plan.logits) +
           ": with --sparsity all logits are there at a time; give logits=all, "
           "or leave it out";
  return "";
}

plan::Trial wsec::readTrial(ModuleOp module, bool isScheduled) {
  plan::Trial trial;
  if (auto cut = module->getAttrOfType<DenseI64ArrayAttr>(
          differentiate::piecesAttrName)) {
    trial.pieces = cut[0];
    trial.layer = cut[1];
    trial.layers = cut[2];
  }
  module.walk([&](Operation *op) {
    trial.attentions |=
        isa<onnx::AttentionGradientOp, wse::AttentionGradientOp>(op);
    trial.norms |= isa<onnx::NormGradientOp, wse::NormGradientOp>(op);
  });
  trial.fits = isScheduled;
  trial.cycles = cyclesOfBestShape(module).value_or(0);
  for (auto program : module.getOps<wse::ProgramOp>()) {
    trial.sramLimit = program.targetMachine().sramBytes;
    trial.sramBytes = program.getSramPeak().value_or(0);
    for (wse::KernelOp kernel : program.kernels()) {
      if (auto window = kernel.getRunWindow(); isScheduled && window)
        trial.cycles = std::max(trial.cycles, double((*window)[1]));
    }
  }
  return trial;
}

plan::PlanSearch PlanTrials::searchOf(const plan::TrainingPlan &by) const {
  const auto found = ended.find(by.text());
  return found == ended.end() ? beginning : found->second;
}

plan::Trial PlanTrials::run(const plan::TrainingPlan &by,
                            const OwningOpRef<ModuleOp> &module,
                            MLIRContext &context, plan::PlanSearch &search,
                            llvm::function_ref<LogicalResult()> differentiate,
                            llvm::function_ref<LogicalResult()> phases) {
  plan::KeptDiagnostics said(context);
  const bool isMade = succeeded(said.during(differentiate));
  for (const Known &other : known)
    if (isMade && OperationEquivalence::isEquivalentTo(
                      other.module.get(), module.get(),
                      OperationEquivalence::IgnoreLocations)) {
      ended.insert_or_assign(by.text(), other.search);
      return other.trial;
    }
  OwningOpRef<ModuleOp> made = module.get().clone();
  search.keepCodeTogether(true);
  const bool fits = isMade && succeeded(said.during(phases));
  search.keepCodeTogether(false);
  plan::Trial trial = readTrial(*module, fits);
  trial.isBroken = !fits && search.shortages().empty();
  trial.carries = search.plan().carryNumbers;
  trial.why = fits ? "" : said.last();
  for (const plan::Shortage &its : search.shortages())
    trial.asked = std::max(trial.asked, its.code + its.launch);
  ended.insert_or_assign(by.text(), search);
  if (isMade)
    known.push_back({std::move(made), trial, search});
  return trial;
}

LogicalResult wsec::runFirstThatFits(
    std::vector<plan::Considered> &plans, MLIRContext &context,
    plan::PlanSearch &search,
    llvm::function_ref<LogicalResult(const plan::TrainingPlan &)> compiles) {
  for (;;) {
    plan::KeptDiagnostics said(context);
    const LogicalResult result =
        said.during([&] { return compiles(plans.front().plan); });
    if (succeeded(result) || search.shortages().empty() || plans.size() < 2 ||
        !plans[1].its.fits) {
      said.emit();
      return result;
    }
    plans.front().its.fits = false;
    plans.front().its.why = said.last();
    std::rotate(plans.begin(), plans.begin() + 1, plans.end());
  }
}
