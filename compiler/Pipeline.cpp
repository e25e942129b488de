// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of contents of the compiler.
#include "compiler/Pipeline.h"
#include "compiler/DiagnosticPrinter.h"
#include "compiler/InputText.h"
#include "compiler/ModuleReport.h"
#include "compiler/OutputPaths.h"
#include "compiler/OutputText.h"
#include "compiler/ParseText.h"
#include "compiler/Registration.h"
#include "compiler/Report.h"
#include "compiler/TrainingPasses.h"
#include "compiler/Variants.h"
#include "compiler/canonicalize/Passes.h"
#include "compiler/differentiate/Passes.h"
#include "compiler/emit/Emit.h"
#include "compiler/infer/Passes.h"
#include "compiler/lower/Passes.h"
#include "compiler/place/Passes.h"
#include "compiler/plan/KeptDiagnostics.h"
#include "compiler/plan/PlanSearch.h"
#include "compiler/raise/Passes.h"
#include "compiler/route/Passes.h"
#include "compiler/schedule/Passes.h"
#include "compiler/select/Passes.h"
#include "compiler/select/PlanningCache.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/pe/Pe.h"
#include "dialects/wse/Wse.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/program/NearestNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include <chrono>

using namespace mlir;
using namespace wsec;

namespace {
/// One run of the compiler.
class Compilation {
public:
  Compilation(const CompileOptions &options, MLIRContext &context)
      : options(options), context(context),
        search({!options.region.empty(), !options.placement.empty(),
                options.mode == Mode::Resident, options.mode != Mode::Stream}) {
  }

  LogicalResult run();
  /// Whether what failed is that no plan fits.
  bool lacksRoom() { return !search.shortages().empty(); }

private:
  LogicalResult checkOutputs();
  runtime::WeightFolders weightFolders() const;
  LogicalResult readInput();
  LogicalResult readText();
  LogicalResult checkOptions(Phase first);
  LogicalResult readPlacement(Phase first);
  LogicalResult explain();
  FailureOr<Phase> firstPhase();
  void addVerifiers(Phase first, OpPassManager &manager) const;
  void addPhase(Phase phase, OpPassManager &manager);
  Machine machine() const;
  LogicalResult freezeWhatDoesNotTrain();
  LogicalResult runPhases(Phase first, Phase last);
  bool expertsMayBeApart() const {
    const bool stream = options.mode == Mode::Stream;
    return !expertsAreTogether && (stream ? options.precision == "f32"
                                          : options.mode == Mode::Resident);
  }
  LogicalResult runExperts(Phase first, Phase last);
  plan::AskedPlan askedPlan() const {
    return wsec::askedPlan(options.trainingPlan, options.precision, machine());
  }
  LogicalResult runTraining(Phase last);
  LogicalResult runPlans(Phase last, bool compares);
  select::SelectKernelsPassOptions selection() const;
  LogicalResult runPhasesOnce(Phase first, Phase last);
  LogicalResult runPasses(Phase first, Phase last, bool verifies);
  LogicalResult writeIR();
  LogicalResult emit(Phase first);
  LogicalResult report();

  bool isModel() const {
    return llvm::sys::path::extension(options.input) != ".mlir";
  }
  InFlightDiagnostic error() { return emitError(UnknownLoc::get(&context)); }
  LogicalResult fail(llvm::Error what) {
    return error() << llvm::toString(std::move(what));
  }

  const CompileOptions &options;
  MLIRContext &context;
  OwningOpRef<ModuleOp> module;
  plan::PlanSearch search;
  std::optional<select::PlanningCache> planned{std::in_place}; ///< of all plans
  plan::TrainingPlan trainingPlan;     ///< by which a model trains
  int64_t layers = 0;                  ///< that are alike, at most; 0: all
  std::vector<plan::Considered> plans; ///< the first is `trainingPlan`
  bool expertsAreTogether = false;     ///< where else there was no room
  std::optional<Variants> variants;    ///< that may be faster
  std::vector<std::string> notes;      ///< for the report
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};
} // namespace

/// A compilation that cannot be kept should not begin.
LogicalResult Compilation::checkOutputs() {
  for (StringRef path :
       {StringRef(options.output), StringRef(options.report),
        options.viewer ? StringRef(options.viewer->path) : StringRef()})
    if (llvm::Error problem = checkOutputPath(path, options.input))
      return fail(std::move(problem));
  return success();
}

LogicalResult Compilation::readInput() {
  runtime::WeightFolders folders = weightFolders();
  context.getOrLoadDialect<onnx::OnnxDialect>()->weightFolders =
      folders.names();
  ImportOptions import = options.import;
  import.weightFolders = folders;
  context.getOrLoadDialect<pe::PeDialect>()->parameters.given =
      options.parameters;
  if (!isModel())
    return readText();
  module = importModel(options.input, import, &context);
  return success(bool(module));
}

LogicalResult Compilation::readText() {
  if (std::optional<std::string> wrong =
          askedOfModel(options.input, options.import))
    return error() << *wrong;
  auto text = readIR(options.input);
  if (!text)
    return fail(text.takeError());
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
  module = parseText(sources, context);
  if (!module)
    return failure();
  PassManager manager(&context);
  manager.addPass(raise::createRaiseLinalg());
  if (failed(manager.run(*module)))
    return failure();
  return success(
      llvm::all_of(module->getOps<pe::ProgramOp>(), [](auto program) {
        return succeeded(pe::expandProcedures(program));
      }));
}

runtime::WeightFolders Compilation::weightFolders() const {
  runtime::WeightFolders folders;
  folders.addFolderOf(options.input);
  for (const std::string &folder : options.weightFolders)
    folders.add(folder);
  return folders;
}

FailureOr<Phase> Compilation::firstPhase() {
  if (std::optional<Phase> first = firstPhaseOf(*module))
    return *first;
  return error() << "'" << options.input
                 << "' holds neither @main of a model nor a program";
}

/// What a person wrote or changed is held against the rules of its state, and
/// of those before it where they still apply.
void Compilation::addVerifiers(Phase first, OpPassManager &manager) const {
  if (first < Phase::Place || first > Phase::Lower)
    return;
  OpPassManager &program = manager.nest<wse::ProgramOp>();
  if (first == Phase::Place)
    program.addPass(select::createVerifySelectedPass());
  if (first > Phase::Place)
    program.addPass(place::createVerifyPlacedPass());
  if (first > Phase::Route)
    program.addPass(route::createVerifyRoutedPass());
  if (first > Phase::Schedule)
    program.addPass(schedule::createVerifyScheduledPass());
}

/// What `select` is to keep to.
select::SelectKernelsPassOptions Compilation::selection() const {
  select::SelectKernelsPassOptions target;
  target.reorderStates = options.import.reorderStates;
  target.kvPrecision = options.import.kvPrecision;
  target.machine = options.machine.empty() ? "wse2" : options.machine;
  target.mesh = options.mesh;
  target.keepOuts = llvm::join(options.keepOuts, ";");
  target.region = options.region;
  target.placement = options.placement;
  target.within = search.plan();
  target.samples = options.samples;
  target.explain = options.explain;
  target.precision = options.precision;
  target.precisionLevel = options.precisionLevel;
  return target;
}

/// The machine, or the part of it or the region that is asked for; one without
/// PEs where select will say what is wrong with that.
Machine Compilation::machine() const {
  std::string error;
  Machine machine =
      readMachine(options.machine.empty() ? "wse2" : options.machine, error)
          .value_or(Machine());
  if (auto mesh =
          parseMesh(options.region.empty() ? options.mesh : options.region))
    std::tie(machine.width, machine.height) = *mesh;
  return machine;
}

void Compilation::addPhase(Phase phase, OpPassManager &manager) {
  const Machine target = machine();
  switch (phase) {
  case Phase::Infer: {
    infer::InferPipelineOptions inference;
    inference.allowF64AsF32 = options.allowF64AsF32;
    inference.expandWeights = options.expandWeights;
    return infer::buildInferPipeline(manager, inference);
  }
  case Phase::Canonicalize:
    return canonicalize::buildCanonicalizePipeline(
        manager, target.height,
        expertsMayBeApart()
            ? canonicalize::ExpandExpertsOptions{target.width, target.height,
                                                 target.westCount(),
                                                 target.storeLatencyCycles,
                                                 options.mode == Mode::Resident}
            : canonicalize::ExpandExpertsOptions(),
        {options.import.initialStates});
  case Phase::Differentiate: // Classes share a mask where weights are sparse.
    return addTrainingPasses(manager, options.training, trainingPlan, layers,
                             options.sparse.sparsity ? nullptr : &target);
  case Phase::Select:
    return select::buildSelectPipeline(manager, selection(), options.sparse,
                                       &*planned);
  case Phase::Place:
    return place::buildPlacePipeline(manager, options.placement,
                                     &search.shortages());
  case Phase::Route:
    return route::buildRoutePipeline(manager, &search.shortages());
  case Phase::Schedule:
    return schedule::buildSchedulePipeline(manager, &search.shortages());
  case Phase::Lower:
    return manager.addPass(lower::createConvertWseToPePass());
  case Phase::Import:
  case Phase::Emit:
    break; // they read and write files, and are no passes
  }
}

/// Masks and angles are found where attentions are; what is made of them alone
/// is folded before. So a copy, of which nothing folds, tells.
LogicalResult Compilation::freezeWhatDoesNotTrain() {
  OwningOpRef<ModuleOp> copy = module->clone();
  PassManager manager(&context);
  addPhase(Phase::Infer, manager);
  addPhase(Phase::Canonicalize, manager);
  manager.addPass(differentiate::createFreeze());
  if (failed(manager.run(*copy)))
    return failure();
  differentiate::freezeAlike(*copy, *module);
  return success();
}

LogicalResult Compilation::runPhases(Phase first, Phase last) {
  if (first <= Phase::Infer && last >= Phase::Infer &&
      llvm::any_of(module->getOps<onnx::ParameterOp>(),
                   [](auto parameter) { return parameter.isTrainable(); }) &&
      failed(freezeWhatDoesNotTrain()))
    return failure();
  if (first > Phase::Select || last < Phase::Select)
    return runPhasesOnce(first, last);
  // What plans have in common.
  trainingPlan = askedPlan().plan;
  if (first <= Phase::Canonicalize && !options.training.loss.empty()) {
    if (failed(runPasses(first, Phase::Canonicalize, /*verifies=*/false)))
      return failure();
    return runTraining(last);
  }
  return first < Phase::Select ? runExperts(first, last)
                               : runPlans(last, /*compares=*/false);
}

/// Rows with experts of their own (canonicalize/ExpandExperts.cpp) need SRAM
/// that other kernels may have taken, which is known once all are scheduled.
/// Where the first plan does not fit, all rows meet all experts.
LogicalResult Compilation::runExperts(Phase first, Phase last) {
  const plan::PlanSearch beginning = search;
  OwningOpRef<ModuleOp> before(expertsMayBeApart() ? module->clone()
                                                   : ModuleOp());
  auto formExperts = [&] {
    return runPasses(first, Phase::Differentiate, /*verifies=*/false);
  };
  auto plans = [&] { return runPlans(last, /*compares=*/true); };
  if (failed(formExperts()))
    return failure();
  if (!canonicalize::haveExpertsOfTheirOwn(*module))
    return plans();
  plan::KeptDiagnostics said(context);
  if (succeeded(said.during(plans)) && search.notes().empty()) {
    said.emit();
    return success();
  }
  module = std::move(before);
  expertsAreTogether = true;
  search = beginning;
  planned.emplace();
  variants.reset();
  return success(succeeded(formExperts()) && succeeded(plans()));
}

/// By the fastest plan that fits, as trials have it, which are forgotten.
LogicalResult Compilation::runTraining(Phase last) {
  OwningOpRef<ModuleOp> before = std::move(module);
  PlanTrials trials(search);
  auto differentiate = [&](const plan::TrainingPlan &by, int64_t repeats) {
    module = before->clone();
    search = trials.searchOf(by);
    planned.emplace();
    trainingPlan = by;
    layers = repeats;
    return runPasses(Phase::Differentiate, Phase::Differentiate,
                     /*verifies=*/false);
  };
  auto schedules = [&] {
    return runPasses(Phase::Select, Phase::Schedule, /*verifies=*/false);
  };
  plan::TrainingPlanner planner(
      askedPlan(), logitsOfPE(machine()),
      [&](const plan::TrainingPlan &by, int64_t repeats) {
        return trials.run(
            by, module, context, search,
            [&] { return differentiate(by, repeats); },
            [&] { return search.run(module, schedules); });
      });
  planner.run();
  plans = planner.ranking();
  return runFirstThatFits(plans, context, search, [&](const auto &by) {
    return success(succeeded(differentiate(by, /*repeats=*/0)) &&
                   succeeded(runPlans(last, /*compares=*/true)));
  });
}

LogicalResult Compilation::runPlans(Phase last, bool compares) {
  if (last < Phase::Route)
    return runPhasesOnce(Phase::Select, last);
  // Plans of several stages are not compared with those of one region.
  if (compares && options.mode == Mode::Stream &&
      options.stopAfter == Phase::Emit)
    variants.emplace(*module, options.sparse.sparsity != 0);
  if (failed(search.run(
          module, [&] { return runPhasesOnce(Phase::Select, last); },
          options.progress)))
    return failure();
  if (variants)
    variants->predict(selection());
  return success();
}

/// Regions are known once placed; streams and SRAM until lowering ends wse.
LogicalResult Compilation::runPhasesOnce(Phase first, Phase last) {
  if (!options.viewer && plans.empty())
    return runPasses(first, last, /*verifies=*/true);
  const Phase viewedAfter = std::min(last, Phase::Schedule);
  if (failed(runPasses(first, viewedAfter, /*verifies=*/true)))
    return failure();
  if (options.viewer)
    for (auto program : module->getOps<wse::ProgramOp>())
      options.viewer->view(program);
  if (!plans.empty() && viewedAfter == Phase::Schedule)
    plans.front().its = readTrial(*module, /*isScheduled=*/true);
  return success(last == viewedAfter ||
                 succeeded(runPasses(Phase::Lower, last, /*verifies=*/false)));
}

/// Runs the passes of some phases as one pipeline, so that timing, IR dumps and
/// reproducers see them together.
LogicalResult Compilation::runPasses(Phase first, Phase last, bool verifies) {
  PassManager manager(&context);
  if (failed(applyPassManagerCLOptions(manager)))
    return failure();
  applyDefaultTimingPassManagerCLOptions(manager);
  if (!options.reproducer.empty())
    manager.enableCrashReproducerGeneration(options.reproducer);
  if (verifies)
    addVerifiers(first, manager);
  for (int index = int(first); index <= int(last); ++index)
    addPhase(static_cast<Phase>(index), manager);
  return manager.run(*module);
}

/// What the options ask for must lie between the first and the last phase.
LogicalResult Compilation::checkOptions(Phase first) {
  const ImportOptions &its = options.import;
  if (its.length &&
      (!its.entries.empty() || !its.states.empty() || its.statesByName ||
       its.kvCapacity || !its.train.empty() || !options.training.loss.empty()))
    return error() << "--dim " << its.length->dim << "=" << its.length->from
                   << ".." << its.length->to
                   << ": a model with states, entries or a loss has no range "
                      "of lengths; give the dimension an extent";
  if (int(options.stopAfter) + 1 < int(first))
    return error() << "'" << options.input << "' is already past "
                   << phaseName(options.stopAfter)
                   << "; the first phase left is " << phaseName(first);
  if (first > Phase::Select &&
      (!options.keepOuts.empty() ||
       !(options.machine + options.mesh + options.region).empty()))
    return error() << "'" << options.input
                   << "' has chosen its machine, mesh and region; --machine, "
                      "--mesh, --keep-out and --region come too late";
  if (first > Phase::Select && options.mode != Mode::Stream)
    return error() << "'" << options.input
                   << "' has its kernels on regions; --mode comes too late";
  if (options.mode == Mode::Stream && options.samples)
    return error() << "--samples says what a pipeline is planned for; give "
                      "--mode=resident or --mode=auto, too";
  if (options.mode != Mode::Stream && !options.region.empty())
    return error() << "--region puts all kernels on one region, and "
                      "--mode=resident or auto on several; leave one out";
  if (!options.explain.empty() &&
      (first > Phase::Select || options.stopAfter < Phase::Select))
    return error() << "no kernels are chosen between " << phaseName(first)
                   << " and " << phaseName(options.stopAfter)
                   << "; --explain has nothing to tell";
  if ((first > Phase::Differentiate ||
       options.stopAfter < Phase::Differentiate) &&
      !options.training.loss.empty())
    return error() << "no loss is added between " << phaseName(first) << " and "
                   << phaseName(options.stopAfter)
                   << "; --loss has nothing to be of";
  if (std::string problem = problemOf(askedPlan(), options); !problem.empty())
    return error() << problem;
  if (first > Phase::Select && options.sparse.sparsity != 0)
    return error() << "'" << options.input
                   << "' has chosen its kernels; --sparsity comes too late";
  if (first < Phase::Emit && !options.parameters.empty())
    return error() << "--param sets parameters of a pe.program; '"
                   << options.input << "' holds none";
  if (!options.placement.empty() &&
      (first > Phase::Place || options.stopAfter < Phase::Place))
    return error() << "there are no regions to be placed between "
                   << phaseName(first) << " and "
                   << phaseName(options.stopAfter);
  bool placed = first <= Phase::Lower && options.stopAfter >= Phase::Place;
  if (options.viewer && !placed)
    return error() << "there is no placement to dump between "
                   << phaseName(first) << " and "
                   << phaseName(options.stopAfter);
  return success();
}

/// A placement is selected for as its file says, and --mode agrees with it.
LogicalResult Compilation::readPlacement(Phase first) {
  if (options.placement.empty() || first > Phase::Select)
    return success();
  llvm::Expected<PlacementFile> file = readPlacementFile(options.placement);
  if (!file)
    return fail(file.takeError());
  if (options.mode == Mode::Stream && file->role() == wse::RegionRole::Stage)
    return error() << "placement '" << options.placement << "': the role of @"
                   << file->regions[0].name
                   << " is stage, of a pipeline; that takes --mode=resident or "
                      "auto, and with --mode=stream there is none";
  if (options.mode != Mode::Resident && file->selection &&
      file->selection->weightsStay)
    return error() << "placement '" << options.placement
                   << "': 'weights_stay' of its selection is true, and they "
                      "stream but with --mode=resident";
  if (file->selection)
    search.start(*file->selection);
  return success();
}

/// Prints what `select` had to say of a node.
LogicalResult Compilation::explain() {
  auto text = dyn_cast_or_null<StringAttr>(
      module->getOperation()->removeAttr(select::explanationAttrName));
  if (!text)
    return success();
  std::string all;
  llvm::raw_string_ostream os(all);
  // Names are those of a stranger's file.
  os << runtime::printable(text.getValue());
  plan::print(plans, os);
  if (llvm::Error problem = writeText("-", all))
    return fail(std::move(problem));
  return success();
}

LogicalResult Compilation::writeIR() {
  if (llvm::Error problem =
          writeModule(*module, options.output.empty() ? "-" : options.output,
                      options.printsConstants))
    return fail(std::move(problem));
  return success();
}

LogicalResult Compilation::emit(Phase first) {
  EmitOptions emission;
  emission.outputPath = options.output;
  emission.weightFolders = weightFolders();
  emission.bundle = options.bundle;
  emission.allowAbsentWeights = options.import.allowAbsentWeights;
  emission.isCompiled = first <= Phase::Lower;
  return emitProgram(*module, emission);
}

/// The report is read back from the file: it shows what the file says, not
/// what the compiler believed.
LogicalResult Compilation::report() {
  if (options.quiet && options.report.empty())
    return success();
  llvm::Expected<Report> report = readReport(options.output);
  if (!report)
    return fail(report.takeError());
  report->findWeights(options.output, weightFolders());
  report->notes = search.notes();
  llvm::append_range(report->notes, notes);
  std::string error;
  for (auto program : module->getOps<pe::ProgramOp>())
    if (auto machine = machineFromDescription(program.getMachine(), error);
        options.precision == "bf16" && machine && !machine->bf16)
      report->notes.push_back("bf16 is no format of " + report->machine +
                              ", which is taken to have it, as fast as f16");
  if (options.mode == Mode::Resident)
    noteResidency(*report, options.samples);
  addWhatPassesSay(*module, options.allowF64AsF32, *report);
  report->plans = plans;
  if (std::optional<double> cycles = cyclesOfBestShape(*module);
      cycles && variants)
    llvm::append_range(report->notes, variants->notes(*cycles));
  report->compileSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  std::string text, json;
  llvm::raw_string_ostream textStream(text), jsonStream(json);
  report->print(textStream);
  report->printJSON(jsonStream);
  if (!options.quiet)
    if (llvm::Error problem = writeText("-", text))
      return fail(std::move(problem));
  if (!options.report.empty())
    if (llvm::Error problem = writeText(options.report, json))
      return fail(std::move(problem));
  return success();
}

LogicalResult Compilation::run() {
  if (failed(checkOutputs()) || failed(readInput()))
    return failure();
  FailureOr<Phase> first = firstPhase();
  if (failed(first) || failed(checkOptions(*first)) ||
      failed(readPlacement(*first)))
    return failure();
  Phase last = std::min(options.stopAfter, Phase::Lower);
  if (*first <= last && failed(runPhases(*first, last)))
    return failure();
  if ((options.viewer && failed(options.viewer->write(*module))) ||
      failed(explain()))
    return failure();
  if (options.stopAfter != Phase::Emit)
    return options.printsIR ? writeIR() : success();
  if (failed(emit(*first)))
    return failure();
  if (succeeded(report()))
    return success();
  llvm::sys::fs::remove(options.output); // devices stay
  return failure();
}

LogicalResult wsec::compile(const CompileOptions &options) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  DiagnosticPrinter printer(context,
                            options.errors ? *options.errors : llvm::errs());
  Compilation compilation(options, context);
  LogicalResult result = compilation.run();
  if (failed(result) && options.lacksRoom)
    *options.lacksRoom = compilation.lacksRoom();
  // A pass that fails owes an explanation; say at least that it failed.
  if (failed(result) && printer.errors() == 0)
    emitError(UnknownLoc::get(&context))
        << "compilation failed without an explanation; please report this, "
           "with the file that --reproducer=FILE.mlir leaves";
  return result;
}
