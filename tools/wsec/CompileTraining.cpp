// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline.h"
#include "compiler/kernels/PrecisionLevel.h"
#include "compiler/plan/TrainingPlan.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "runtime/memoryx/LossScale.h"
#include "tools/wsec/TrainingProgram.h"

#include "llvm/Support/raw_ostream.h"

#include <filesystem>
#include <optional>

using namespace wsec;

std::string tools::problemOfAdapters(const std::string &lora) {
  llvm::Expected<AdapterOptions> adapters = AdapterOptions::parse(lora);
  return adapters ? "" : llvm::toString(adapters.takeError());
}

std::string tools::problemOfPrecisionLevel(const TrainingProgram &training) {
  return wsec::problemOfPrecisionLevel(training.precisionLevel,
                                       training.precision);
}

std::string tools::problemOfPlan(const std::string &plan) {
  plan::AskedPlan asked;
  return plan::parse(plan, asked);
}

bool tools::compileTraining(const TrainingProgram &training,
                            const std::string &program,
                            const std::string &report, bool isQuiet,
                            bool *lacksRoom, std::string *errors) {
  // The compiler asks for what they say.
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  CompileOptions options;
  options.input = training.model;
  options.output = program;
  options.machine = training.machine;
  options.mesh = training.mesh;
  options.precision = training.precision;
  options.precisionLevel = training.precisionLevel;
  options.report = report;
  options.quiet = isQuiet;
  options.lacksRoom = lacksRoom;
  std::optional<llvm::raw_string_ostream> said;
  if (errors)
    options.errors = &said.emplace(*errors);
  for (const auto &[name, shape] : training.shapes)
    options.import.shapes.emplace_back(
        name, llvm::SmallVector<int64_t>(shape.begin(), shape.end()));
  options.import.train = training.train;
  options.import.freeze = training.freeze;
  options.import.allowAbsentWeights = training.allowsAbsentWeights;
  if (!training.lora.empty()) {
    options.import.train.emplace_back(adapterNames);
    llvm::Expected<AdapterOptions> adapters =
        AdapterOptions::parse(training.lora);
    if (!adapters)
      llvm::report_fatal_error(adapters.takeError()); // problemOfAdapters
    options.import.adapters = std::move(*adapters);
    options.import.adapters->seed = training.seed;
  }
  options.training.loss = training.loss;
  options.training.of = training.logits;
  options.training.targets = training.targets;
  options.training.reduction = training.reduction;
  if (runtime::LossScale::of(training.precision))
    options.training.lossScale = runtime::lossScaleName;
  options.training.labelSmoothing = training.labelSmoothing;
  options.trainingPlan = training.plan;
  options.sparse.sparsity = training.sparsity;
  options.sparse.method = "topk"; // the others are 0
  options.sparse.seed = int64_t(training.seed);
  llvm::append_range(options.sparse.filter, training.sparsityFilter);
  if (program.empty()) {
    options.stopAfter = Phase::Select;
    options.printsIR = false;
  }
  const std::string folder =
      std::filesystem::path(training.model).parent_path().string();
  options.weightFolders = {folder.empty() ? "." : folder};
  return llvm::succeeded(compile(options));
}
