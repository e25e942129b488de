// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of contents of the compiler.
#include "compiler/Pipeline.h"
#include "compiler/DiagnosticPrinter.h"
#include "compiler/OutputPaths.h"
#include "compiler/Registration.h"
#include "compiler/Report.h"
#include "compiler/emit/Emit.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/pe/Pe.h"
#include "dialects/wse/Wse.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include <chrono>

using namespace mlir;
using namespace wsec;

static constexpr StringLiteral names[] = {"import", "simplify", "select",
                                          "place",  "route",    "schedule",
                                          "lower",  "emit"};

StringRef wsec::phaseName(Phase phase) { return names[size_t(phase)]; }

std::optional<Phase> wsec::findPhase(StringRef name) {
  const auto *place = llvm::find(names, name);
  if (place == std::end(names))
    return std::nullopt;
  return static_cast<Phase>(place - std::begin(names));
}

namespace {
/// One run of the compiler.
class Compilation {
public:
  Compilation(const CompileOptions &options, MLIRContext &context)
      : options(options), context(context) {}

  LogicalResult run();

private:
  LogicalResult checkOutputs();
  LogicalResult readInput();
  LogicalResult checkOptions(Phase first);
  FailureOr<Phase> firstPhase();
  std::string pipelineOf(Phase phase) const;
  LogicalResult runPhases(Phase first, Phase last);
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
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};
} // namespace

/// A compilation that cannot be kept should not begin.
LogicalResult Compilation::checkOutputs() {
  for (StringRef path : {options.output, options.report, options.placementDump})
    if (llvm::Error problem = checkOutputPath(path, options.input))
      return fail(std::move(problem));
  return success();
}

LogicalResult Compilation::readInput() {
  if (isModel())
    module = importModel(options.input, options.import, &context);
  else if (!options.import.shapes.empty() || !options.import.dims.empty())
    return error() << "--shape and --dim bind the inputs of an .onnx file; '"
                   << options.input << "' has its shapes";
  else
    module = parseSourceFile<ModuleOp>(options.input, &context);
  return success(bool(module));
}

/// The first phase that the input has not been through.
FailureOr<Phase> Compilation::firstPhase() {
  for (Operation &op : module->getBody()->getOperations()) {
    if (isa<func::FuncOp>(op))
      return Phase::Simplify;
    if (isa<pe::ProgramOp>(op))
      return Phase::Emit;
    if (auto program = dyn_cast<wse::ProgramOp>(op)) {
      switch (program.getState()) {
      case wse::State::Selected:
        return Phase::Place;
      case wse::State::Placed:
        return Phase::Route;
      case wse::State::Routed:
        return Phase::Schedule;
      case wse::State::Scheduled:
        return Phase::Lower;
      }
    }
  }
  return error() << "'" << options.input
                 << "' holds neither @main of a model nor a program";
}

/// Every phase between import and emit is a pipeline of its name.
std::string Compilation::pipelineOf(Phase phase) const {
  std::string text = ("wsec-" + phaseName(phase)).str();
  if (phase == Phase::Select && !(options.machine + options.mesh).empty()) {
    text += "{";
    if (!options.machine.empty())
      text += "machine='" + options.machine + "' ";
    if (!options.mesh.empty())
      text += "mesh=" + options.mesh;
    text += "}";
  }
  return text;
}

/// Runs the passes of some phases as one pipeline, so that timing, IR dumps and
/// reproducers see them together.
LogicalResult Compilation::runPhases(Phase first, Phase last) {
  PassManager manager(&context);
  if (failed(applyPassManagerCLOptions(manager)))
    return failure();
  applyDefaultTimingPassManagerCLOptions(manager);
  if (!options.reproducer.empty())
    manager.enableCrashReproducerGeneration(options.reproducer);

  auto add = [&](const Twine &pipeline) -> LogicalResult {
    std::string problem;
    llvm::raw_string_ostream os(problem);
    if (succeeded(parsePassPipeline(pipeline.str(), manager, os)))
      return success();
    return error() << "cannot run " << pipeline << ": " << problem;
  };
  auto addPlacementDump = [&] {
    return add("wse.program(wse-dump-placement{file='" + options.placementDump +
               "'})");
  };
  // What a person wrote or changed is held against the rules of its state.
  for (auto [phase, verifier] :
       {std::pair(Phase::Place, "placed"), std::pair(Phase::Route, "routed"),
        std::pair(Phase::Schedule, "scheduled")})
    if (first > phase && first <= Phase::Lower &&
        failed(add(Twine("wse.program(wse-verify-") + verifier + ")")))
      return failure();
  // Regions are known once placed; streams and SRAM until lowering ends wse.
  bool dumps = !options.placementDump.empty();
  if (dumps && first == Phase::Lower && failed(addPlacementDump()))
    return failure();
  Phase dumpAfter = std::min(last, Phase::Schedule);
  for (int index = int(first); index <= int(last); ++index) {
    Phase phase = static_cast<Phase>(index);
    if (failed(add(pipelineOf(phase))))
      return failure();
    if (dumps && phase == dumpAfter && failed(addPlacementDump()))
      return failure();
  }
  return manager.run(*module);
}

/// What the options ask for must lie between the first and the last phase.
LogicalResult Compilation::checkOptions(Phase first) {
  if (int(options.stopAfter) + 1 < int(first))
    return error() << "'" << options.input << "' is already past "
                   << phaseName(options.stopAfter)
                   << "; the first phase left is " << phaseName(first);
  if (first > Phase::Select && !(options.machine + options.mesh).empty())
    return error() << "'" << options.input
                   << "' has chosen its machine and mesh; --machine and --mesh "
                      "come too late";
  bool placed = first <= Phase::Lower && options.stopAfter >= Phase::Place;
  if (!options.placementDump.empty() && !placed)
    return error() << "there is no placement to dump between "
                   << phaseName(first) << " and "
                   << phaseName(options.stopAfter);
  return success();
}

LogicalResult Compilation::writeIR() {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  StringRef path = options.output.empty() ? "-" : StringRef(options.output);
  if (llvm::Error problem = writeText(path, text))
    return fail(std::move(problem));
  return success();
}

LogicalResult Compilation::emit(Phase first) {
  EmitOptions emission;
  emission.outputPath = options.output;
  emission.bundle = options.bundle;
  emission.allowAbsentWeights = options.import.allowAbsentWeights;
  emission.mustBeFree = first <= Phase::Lower;
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
  if (failed(first) || failed(checkOptions(*first)))
    return failure();
  Phase last = std::min(options.stopAfter, Phase::Lower);
  if (*first <= last && failed(runPhases(*first, last)))
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
  registerPasses();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  DiagnosticPrinter printer(context,
                            options.errors ? *options.errors : llvm::errs());
  LogicalResult result = Compilation(options, context).run();
  // A pass that fails owes an explanation; say at least that it failed.
  if (failed(result) && printer.errors() == 0)
    emitError(UnknownLoc::get(&context))
        << "compilation failed without an explanation; please report this, "
           "with the file that --reproducer=FILE.mlir leaves";
  return result;
}
