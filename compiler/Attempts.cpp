// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Attempts.h"
#include "compiler/Shortage.h"
#include "dialects/wse/Wse.h"

using namespace mlir;
using namespace wsec;

/// Bytes of a PE that the stages of a pipeline leave to code and gaps, where
/// they turned out too few: at least, from try to try, and at most.
static constexpr int64_t leastCode = 10240, codeStep = 4096, mostCode = 32768;
/// Stages of a pipeline at most, each of which has an I/O channel at least;
/// rows of them; and stages where they are there for their code.
static constexpr int64_t mostStages = 64, mostStageRows = 16,
                         mostStagesOfCode = 6;
/// Kernels that are put on stages for their code, at most: which of them share
/// one is asked for all pairs of cuts.
static constexpr size_t mostKernelsOfCode = 2000;
/// Parts of a model that run side by side, each on a region of its own.
static constexpr int64_t mostParts = 4;

Attempts::Attempts(const CompileOptions &options, MLIRContext &context)
    : options(options), context(context) {
  if (options.mode != Mode::Stream) {
    now.stages = mostStages;
    now.stageRows = mostStageRows;
  }
  now.keepWeights = options.mode == Mode::Resident;
  now.abreast.assign(mostParts - 1, mostParts);
  now.region = options.region;
}

void Attempts::start(const PlacementFile::Selection &selection) {
  now.code = selection.code;
  now.fewColors = selection.fewColors;
  now.littleScratch = selection.littleScratch;
  now.keepWeights = selection.weightsStay;
}

/// Whether it is for its code that a program does not fit: a third of a PE.
static bool isMostlyCode(ModuleOp module, int64_t code) {
  return llvm::any_of(module.getOps<wse::ProgramOp>(), [&](auto program) {
    return 3 * code > program.targetMachine().usableBytes();
  });
}

static size_t kernelCount(ModuleOp module) {
  size_t count = 0;
  for (auto program : module.getOps<wse::ProgramOp>())
    count += program.kernels().size();
  return count;
}

static int64_t regionCount(ModuleOp module) {
  size_t most = 0;
  for (auto program : module.getOps<wse::ProgramOp>())
    most = std::max(most, program.kernelRegions().size());
  return int64_t(most);
}

/// The most regions with PEs in one row of the mesh.
static int64_t regionsInARow(ModuleOp module) {
  int64_t most = 0;
  for (auto program : module.getOps<wse::ProgramOp>()) {
    const auto regions = program.kernelRegions();
    for (wse::RegionOp first : regions)
      most = std::max<int64_t>(
          most, llvm::count_if(regions, [&](wse::RegionOp region) {
            const int64_t begin = region.getY().value_or(0);
            const int64_t row = first.getY().value_or(0);
            return begin <= row && row < begin + region.rows();
          }));
  }
  return most;
}

/// "32x8": the one region of the module with half its rows, or nothing.
static std::string halfAsHigh(ModuleOp module) {
  SmallVector<wse::RegionOp> regions;
  for (auto program : module.getOps<wse::ProgramOp>())
    llvm::append_range(regions, program.kernelRegions());
  if (regions.size() != 1)
    return "";
  const Machine machine = regions[0].machine();
  return machine.height < 2 ? ""
                            : std::to_string(machine.width) + "x" +
                                  std::to_string(machine.height / 2);
}

LogicalResult Attempts::run(OwningOpRef<ModuleOp> &module,
                            function_ref<LogicalResult()> phases) {
  for (;;) {
    OwningOpRef<ModuleOp> before = module->clone();
    Outcome outcome;
    LogicalResult result = failure();
    {
      ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
        if (const auto said = shortageOf(diagnostic)) {
          outcome.sram |= said->what == Shortage::Sram;
          outcome.colors |= said->what == Shortage::Colors;
          outcome.place |= said->what == Shortage::Place;
          outcome.paths |= said->what == Shortage::Paths;
          outcome.code = std::max(outcome.code, said->code);
          if (outcome.overflow.empty())
            outcome.overflow = diagnostic.str();
        }
        outcome.said.push_back(std::move(diagnostic));
        return success();
      });
      result = phases();
    }
    outcome.parts = regionCount(*module);
    if (succeeded(result) || !change(*module, outcome)) {
      const bool failedFirst = failed(result) && !first.empty();
      for (Diagnostic &diagnostic : failedFirst ? first : outcome.said)
        context.getDiagEngine().emit(std::move(diagnostic));
      return result;
    }
    module = std::move(before);
  }
}

/// What is tried next; false: nothing is left.
bool Attempts::change(ModuleOp module, Outcome &outcome) {
  // Stages that have no place or no routes, as beside keep-outs.
  if (!outcome.sram && !outcome.colors)
    return (outcome.place || outcome.paths) && outcome.parts > 1 &&
           intoOtherRows(module, outcome.overflow);
  if (now.spreadCode)
    return spread(module, outcome);
  if (changeRegions(module, outcome))
    return true;
  if (outcome.colors && !now.fewColors)
    return now.fewColors = true;
  if (outcome.colors && now.stages > 1 && outcome.parts > 1 &&
      options.placement.empty()) {
    now.stages = 1;
    notes.push_back("one region: " + outcome.overflow);
    return true;
  }
  if (std::string region = halfAsHigh(module);
      outcome.colors && options.region.empty() && options.placement.empty() &&
      !region.empty()) {
    now.region = region;
    if (first.empty()) {
      first = std::move(outcome.said);
      notes.push_back("the region has fewer rows: " + outcome.overflow);
    }
    return true;
  }
  if (outcome.sram && !now.littleScratch) {
    now.abreast.assign(mostParts - 1, 0); // but for a placement that is given
    return now.littleScratch = true;
  }
  return outcome.sram && spread(module, outcome);
}

/// Puts stages into rows without keep-outs, and if they are that into one row.
bool Attempts::intoOtherRows(ModuleOp module, const std::string &why) {
  if (now.stages < 2 || now.spreadCode || !options.placement.empty())
    return false;
  const bool hasKeepOuts =
      llvm::any_of(module.getOps<wse::ProgramOp>(), [](wse::ProgramOp program) {
        return !program.bodyBlock().getOps<wse::KeepOutOp>().empty();
      });
  if (hasKeepOuts && !now.clearRows) {
    notes.push_back("stages in rows without keep-outs: " + why);
    return now.clearRows = true;
  }
  if (now.stageRows < 2)
    return false;
  now.stageRows = 1;
  notes.push_back("stages in one row: " + why);
  return true;
}

bool Attempts::changeRegions(ModuleOp module, Outcome &outcome) {
  const bool isFree = options.placement.empty();
  const int64_t leastStages = options.mode == Mode::Resident ? 2 : 1;
  if (outcome.colors && outcome.parts > regionsInARow(module) &&
      intoOtherRows(module, outcome.overflow))
    return true;
  if (outcome.colors && now.stages > 1 && outcome.parts > leastStages &&
      isFree) {
    now.stages = outcome.parts - 1;
    notes.push_back("fewer than " + std::to_string(outcome.parts) +
                    " stages: " + outcome.overflow);
    return true;
  }
  if (outcome.code > now.code) {
    now.code = outcome.code;
    return true;
  }
  if (outcome.sram && now.keepWeights && outcome.parts > 1 &&
      now.code < mostCode && isFree) {
    now.code = std::max(now.code, leastCode) + codeStep; // for gaps
    return true;
  }
  if (outcome.sram && now.keepWeights) {
    now.keepWeights = false;
    notes.push_back("weights do not stay on the wafer: " + outcome.overflow);
    return true;
  }
  if (now.abreast[0] > 0 && outcome.parts > 1 &&
      options.mode != Mode::Resident && isFree) {
    // So many as these, with as many in a row, or with as little SRAM, are not
    // tried again.
    const int64_t most = outcome.sram ? 0 : regionsInARow(module) - 1;
    for (int64_t count = std::min(outcome.parts, mostParts); count <= mostParts;
         ++count)
      now.abreast[count - 2] =
          std::max<int64_t>(0, std::min(now.abreast[count - 2] - 1, most));
    now.stages = 1;
    return true;
  }
  return false;
}

/// Regions that have the code of their own kernels: two first, then with more
/// room for it, as they have unlike shares, then one more.
bool Attempts::spread(ModuleOp module, Outcome &outcome) {
  if (!now.spreadCode) {
    if (!isMostlyCode(module, outcome.code) || !options.region.empty() ||
        !options.placement.empty() || kernelCount(module) > mostKernelsOfCode)
      return false;
    now.spreadCode = true;
    now.abreast.assign(mostParts - 1, mostParts);
    now.code = codeOfOne = outcome.code;
    now.region.clear();
    now.stages = 2;
    now.stageRows = 1;
    if (first.empty())
      first = std::move(outcome.said);
    notes.push_back("kernels on several regions: " + outcome.overflow);
    return true;
  }
  if (outcome.sram && outcome.parts > 1 && now.code < 2 * codeOfOne) {
    now.code += codeOfOne / 4;
    return true;
  }
  if (now.stages == mostStagesOfCode)
    return false;
  ++now.stages;
  now.code = codeOfOne;
  now.fewColors |= outcome.colors;
  return true;
}
