// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/Options.h"
#include "compiler/Pipeline.h"
#include "compiler/kernels/PrecisionLevel.h"
#include "compiler/machine/Machine.h"
#include "compiler/plan/TrainingPlan.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "tools/flags/LlvmCommandLine.h"
#include "tools/map/MapFile.h"
#include "tools/wsec/Bindings.h"
#include "tools/wsec/Help.h"
#include "tools/wsec/Subcommands.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace wsec;
using llvm::StringRef;
namespace cl = llvm::cl;

namespace {
/// The flags, alive while the command line is read.
struct Flags {
  cl::OptionCategory category{"wsec"};
  cl::opt<std::string> input{cl::Positional, cl::desc("MODEL"),
                             cl::value_desc("model.onnx|program.mlir"),
                             cl::cat(category)};
  cl::opt<std::string> output{"o", cl::value_desc("FILE"), cl::cat(category),
                              cl::desc("Write the program (or IR) to FILE")};
  cl::list<std::string> shapes{
      "shape", cl::CommaSeparated,
      cl::desc("Bind the shape of an input: input_ids=1x128"),
      cl::value_desc("NAME=AxB"), cl::cat(category)};
  cl::list<std::string> dims{"dim", cl::CommaSeparated,
                             cl::desc("Bind a dimension: batch=1, or 1..128"),
                             cl::value_desc("NAME=N"), cl::cat(category)};
  cl::list<std::string> entries{
      "entry", cl::cat(category), cl::value_desc("NAME:DIM=N,..."),
      cl::desc("Make an entry of the model with these dimensions bound, over "
               "the same weights and states: decode:sequence=1; repeatable")};
  cl::list<std::string> states{
      "state", cl::CommaSeparated, cl::cat(category),
      cl::value_desc("PAST=PRESENT"),
      cl::desc("Keep what a call leaves as output PRESENT on the wafer, where "
               "the next one finds it as input PAST")};
  cl::opt<bool> statesByName{
      "states", cl::cat(category),
      cl::desc("The same of all inputs past.. with an output present..")};
  cl::opt<bool> initialStates{
      "initial-states", cl::cat(category),
      cl::desc("Add an entry, begin: what a recurrence starts from")};
  cl::opt<bool> reorderStates{
      "reorder-states", cl::cat(category),
      cl::desc("Add an entry, reorder: what each sequence goes on from")};
  cl::opt<int64_t> kvCapacity{
      "kv-capacity", cl::cat(category), cl::value_desc("N"), cl::init(0),
      cl::desc("Keep what a decoder takes as past and gives as present, longer "
               "by a call's tokens, on the wafer, up to N tokens (2 to 8192): "
               "entries decode, of one, and prefill, or those of --entry")};
  cl::list<std::string> bindings{
      "bind", cl::value_desc("NAME=[1,2]|FILE.npy"), cl::cat(category),
      cl::desc("Make an input a constant, such as a shape, axes or k: "
               "axes=[1,2], k=3 or k=k.npy, or what a node draws at random, by "
               "its name; may be repeated")};
  cl::opt<std::string> machine{
      "machine", cl::value_desc("NAME|FILE"), cl::cat(category),
      cl::desc("wse1, wse2 (default), wse3, wse3-silicon or a JSON file")};
  cl::opt<std::string> region{
      "region", cl::cat(category), cl::value_desc("WxH"),
      cl::desc("PEs that the kernels run on; the best of several shapes by "
               "predicted cycles if absent")};
  cl::opt<std::string> mode{
      "mode", cl::cat(category), cl::value_desc("stream|resident|auto"),
      cl::init("stream"),
      cl::desc("stream (default): a region runs one kernel after the other; "
               "resident: a pipeline of regions side by side that keep their "
               "weights, through which samples follow one another (wse-run "
               "--samples); auto: a pipeline where that is predicted faster")};
  cl::opt<int64_t> samples{
      "samples", cl::cat(category), cl::value_desc("N"), cl::init(0),
      cl::desc("Plan the pipeline for so many samples, the first with the "
               "loading of weights; many if absent")};
  cl::opt<std::string> mesh{
      "mesh", cl::value_desc("WxH"), cl::cat(category),
      cl::desc("Use a sub-rectangle of the machine: 8x8")};
  cl::list<std::string> keepOuts{
      "keep-out", cl::cat(category), cl::value_desc("x,y,WxH"),
      cl::desc("PEs that nothing may use, broken ones say: no region has them; "
               "may be repeated, and adds to those of the machine")};
  cl::opt<double> sparsity{
      "sparsity", cl::cat(category), cl::value_desc("0..1"),
      cl::desc("Let this share of the weights of attention and feed-forward "
               "blocks count as zero: they are not streamed")};
  cl::opt<std::string> sparsityMethod{
      "sparsity-method", cl::cat(category), cl::value_desc("random|topk"),
      cl::init("random"),
      cl::desc("Which weights are kept: random (default), or topk, those of "
               "the largest absolute value")};
  cl::opt<int64_t> sparsitySeed{"sparsity-seed", cl::cat(category),
                                cl::value_desc("N"), cl::init(0),
                                cl::desc("Seed of --sparsity-method=random")};
  cl::list<std::string> sparsityFilter{
      "sparsity-filter", cl::cat(category), cl::value_desc("GLOB"),
      cl::desc("Names of weights or nodes instead, as *.fc1.*; repeatable")};
  cl::list<std::string> train{
      "train", cl::cat(category), cl::value_desc("GLOB"),
      cl::desc("Names of initializers that training may change; repeatable")};
  cl::list<std::string> freeze{
      "freeze", cl::cat(category), cl::value_desc("GLOB"),
      cl::desc("Of those, which it may not; may be repeated")};
  cl::opt<std::string> lora{
      "lora", cl::cat(category), cl::value_desc("rank=N,alpha=X,targets=GLOB"),
      cl::desc("Add low-rank adapters beside weights of products with these "
               "names, which wse-run --parameters gives values")};
  cl::opt<std::string> loss{
      "loss", cl::cat(category),
      cl::value_desc("cross-entropy|mean-square|result"),
      cl::desc("Add this loss and the gradients of what trains; result: the "
               "model has its loss")};
  cl::opt<std::string> lossOf{
      "loss-of", cl::cat(category), cl::value_desc("NAME"),
      cl::desc("The result that it is of; the first one if absent")};
  cl::opt<std::string> targets{
      "targets", cl::cat(category), cl::value_desc("NAME"), cl::init("targets"),
      cl::desc("Name of the input with what is to come out")};
  cl::opt<std::string> lossReduction{
      "loss-reduction", cl::cat(category), cl::value_desc("mean|sum"),
      cl::init("mean"), cl::desc("Of the losses of tokens or elements")};
  cl::opt<int64_t> ignoreIndex{"ignore-index", cl::cat(category),
                               cl::value_desc("N"), cl::init(-100),
                               cl::desc("Label of tokens that do not count")};
  cl::opt<double> labelSmoothing{
      "label-smoothing", cl::cat(category), cl::value_desc("E"), cl::init(0),
      cl::desc("Share of the probability that is all labels' alike")};
  cl::list<std::string> gradientOf{
      "gradient-of", cl::CommaSeparated, cl::cat(category),
      cl::value_desc("NAME"), cl::desc("Inputs whose gradients are results")};
  cl::opt<std::string> trainingPlan{
      "training-plan", cl::cat(category), cl::value_desc("KEY=VALUE,.."),
      cl::desc("What of the plan that reports print is not to be chosen: auto "
               "(of the rest all is chosen, not kernels alone), inputs=store|"
               "wafer, recompute=none|pieces|segments, segment=N, kept=N, "
               "elements=again|kept, attention=kernel|products, norms=kernel|"
               "kernels, logits=N|all")};
  cl::opt<bool> gradientsAsResults{
      "gradients-as-results", cl::cat(category),
      cl::desc("Gradients of parameters are results NAME.grad, not streams")};
  cl::list<std::string> params{
      "param", cl::CommaSeparated,
      cl::desc("Set a parameter of a pe.program: width=16"),
      cl::value_desc("NAME=N"), cl::cat(category)};
  cl::opt<std::string> stopAfter{
      "stop-after", cl::value_desc("PHASE"), cl::cat(category),
      cl::desc("Stop after import, infer, canonicalize, differentiate, select, "
               "place, route, "
               "schedule or lower, and write the IR")};
  cl::opt<std::string> emit{"emit", cl::value_desc("KIND"), cl::cat(category),
                            cl::desc("What to write: wafer (default) or mlir")};
  cl::opt<bool> printConstants{
      "print-constants", cl::cat(category),
      cl::desc("Print large constants in IR, so that wsec can read it back")};
  cl::opt<std::string> placement{
      "placement", cl::value_desc("FILE.json"), cl::cat(category),
      cl::desc("Regions as in what --dump-placement=FILE.json wrote, or you "
               "made of it")};
  cl::opt<std::string> explain{
      "explain", cl::value_desc("NODE"), cl::cat(category),
      cl::desc("Say of a node of the model which kernels, variants and regions "
               "there were for it, their predicted costs, and why these won")};
  cl::opt<std::string> placementDump{
      "dump-placement", cl::value_desc("FILE"), cl::cat(category),
      cl::desc("Draw the placement; the ending says how: .txt, .json, .svg, "
               ".html")};
  cl::list<std::string> counters{
      "counters", cl::value_desc("FILE.json"), cl::cat(category),
      cl::desc("What wse-run wrote with --counters or --report, to be shown in "
               "--dump-placement=FILE.html; may be repeated")};
  cl::opt<bool> bundle{"bundle", cl::desc("Copy the weights into the program"),
                       cl::cat(category)};
  cl::list<std::string> weightFolders{
      "weights", cl::value_desc("DIR"), cl::cat(category),
      cl::desc("A folder with weight files of the model, besides its own; may "
               "be repeated")};
  cl::opt<bool> allowAbsentWeights{
      "allow-absent-weights", cl::cat(category),
      cl::desc("Compile though weight files are missing, to see the report")};
  cl::opt<std::string> precision{
      "precision", cl::value_desc("TYPE"), cl::init("f32"), cl::cat(category),
      cl::desc("Elements of activations and of streamed weights: f32, f16, "
               "bf16 or cb16")};
  cl::opt<std::string> kvPrecision{
      "kv-precision", cl::value_desc("TYPE"), cl::cat(category),
      cl::desc("Elements of the keys and values that stay on the wafer: f16, "
               "bf16, cb16 or int8; those of activations if absent")};
  cl::opt<int64_t> precisionLevel{
      "precision-opt-level", cl::value_desc("0|1|2"), cl::init(0),
      cl::cat(category),
      cl::desc("What of 16 bits is summed in as many: 0 nothing, 1 products "
               "with weights, 2 attention and softmax, too")};
  cl::opt<bool> allowF64AsF32{
      "allow-f64-as-f32", cl::cat(category),
      cl::desc("Compute what the model states in float64 in float32")};
  cl::opt<bool> expandWeights{
      "expand-weights", cl::cat(category),
      cl::desc("Let quantised weights travel as f32; else PEs make f32 of them "
               "where that is faster")};
  cl::opt<std::string> report{"report", cl::desc("Write the report as JSON"),
                              cl::value_desc("FILE.json"), cl::cat(category)};
  cl::opt<std::string> reproducer{
      "reproducer", cl::desc("Where a failing pass leaves its IR"),
      cl::value_desc("FILE.mlir"), cl::cat(category)};
  cl::opt<bool> quiet{"quiet", cl::desc("Print nothing but errors"),
                      cl::cat(category)};
};
} // namespace

static bool usageError(const llvm::Twine &what) {
  tools::usageError("wsec", what.str());
  return false;
}

/// "NAME=rest"; names may hold '=' themselves, the rest never does.
static bool splitBinding(StringRef text, StringRef &name, StringRef &rest) {
  std::tie(name, rest) = text.rsplit('=');
  return !name.empty() && name.size() != text.size();
}

static bool readShapes(const Flags &flags, ImportOptions &options) {
  llvm::StringSet<> seen;
  for (StringRef text : flags.shapes) {
    StringRef name, rest;
    if (!splitBinding(text, name, rest))
      return usageError("--shape " + text + ": expected NAME=1x128");
    if (!seen.insert(name).second)
      return usageError("--shape " + name + " is given twice");
    llvm::SmallVector<StringRef> extents;
    // An empty shape is that of a scalar.
    if (!rest.empty())
      rest.split(extents, 'x');
    auto &shape =
        options.shapes.emplace_back(name.str(), llvm::SmallVector<int64_t>());
    for (StringRef extent : extents)
      if (extent.getAsInteger(10, shape.second.emplace_back()) ||
          shape.second.back() < 0)
        return usageError("--shape " + text + ": '" + extent +
                          "' is not an extent");
  }
  return true;
}

static bool readDims(const Flags &flags, ImportOptions &options) {
  llvm::StringSet<> seen;
  for (StringRef text : flags.dims) {
    StringRef name, rest;
    int64_t extent;
    if (!splitBinding(text, name, rest))
      return usageError("--dim " + text + ": expected NAME=128 or NAME=1..128");
    if (!seen.insert(name).second)
      return usageError("--dim " + name + " is given twice");
    if (rest.contains("..")) {
      const auto range = tools::readRange(rest.str());
      if (!range || options.length)
        return usageError("--dim " + text +
                          ": expected one NAME=FROM..TO, "
                          "FROM from 1 on, below TO");
      options.length = {name.str(), range->first, range->second};
      continue;
    }
    if (rest.getAsInteger(10, extent) || extent < 0)
      return usageError("--dim " + text + ": '" + rest +
                        "' is not a number of elements");
    options.dims.emplace_back(name.str(), extent);
  }
  return true;
}

static bool readEntries(const Flags &flags, ImportOptions &options) {
  llvm::StringSet<> seen;
  for (StringRef text : flags.entries) {
    auto [name, dims] = text.split(':');
    EntryOptions &entry = options.entries.emplace_back();
    entry.name = name.str();
    if (name.empty() || name == "load")
      return usageError("--entry " + text +
                        ": expected NAME:DIM=N,.., and another name than load, "
                        "which brings weights");
    if (!seen.insert(name).second)
      return usageError("--entry " + name + " is given twice");
    llvm::SmallVector<StringRef> parts;
    dims.split(parts, ',', -1, /*KeepEmpty=*/false);
    for (StringRef part : parts) {
      StringRef dim, rest;
      int64_t extent;
      if (!splitBinding(part, dim, rest) || rest.getAsInteger(10, extent) ||
          extent < 1)
        return usageError("--entry " + text +
                          ": expected DIM=N, N from 1 on, found '" + part +
                          "'");
      entry.dims.emplace_back(dim.str(), extent);
    }
  }
  if (!options.entries.empty() && !(flags.train.empty() && flags.loss.empty()))
    return usageError("--entry: a model that trains has one entry, main; leave "
                      "out --entry, or --train and --loss");
  return true;
}

static bool readStates(const Flags &flags, ImportOptions &options) {
  options.statesByName = flags.statesByName;
  options.initialStates = flags.initialStates;
  options.reorderStates = flags.reorderStates;
  options.kvPrecision = flags.kvPrecision;
  if (flags.kvPrecision.getNumOccurrences() &&
      !llvm::is_contained({"f16", "bf16", "cb16", "int8"}, flags.kvPrecision))
    return usageError("--kv-precision=" + flags.kvPrecision +
                      ": not supported, f16, bf16, cb16 and int8 are; without "
                      "it keys and values are as activations");
  // What follows the length is looked for in masks of all tokens by all.
  constexpr int64_t mostTokens = 8192;
  if (flags.kvCapacity.getNumOccurrences()) {
    if (flags.kvCapacity < 2 || flags.kvCapacity > mostTokens)
      return usageError("--kv-capacity=" + llvm::Twine(flags.kvCapacity) +
                        ": expected the tokens of a conversation, 2 to " +
                        llvm::Twine(mostTokens));
    if (!(flags.train.empty() && flags.loss.empty()))
      return usageError("--kv-capacity: a model that trains has one entry, "
                        "main; leave out --kv-capacity, or --train and --loss");
    options.kvCapacity = flags.kvCapacity;
    options.statesByName |= flags.states.empty();
  }
  for (StringRef text : flags.states) {
    StringRef past, present;
    if (!splitBinding(text, past, present) || present.empty())
      return usageError("--state " + text + ": expected PAST=PRESENT");
    options.states.emplace_back(past.str(), present.str());
  }
  return true;
}

static bool readBindings(const Flags &flags, ImportOptions &options) {
  llvm::StringSet<> seen;
  for (StringRef text : flags.bindings) {
    StringRef name, rest;
    if (!splitBinding(text, name, rest))
      return usageError("--bind " + text + ": expected NAME=FILE.npy or [1,2]");
    if (!seen.insert(name).second)
      return usageError("--bind " + name + " is given twice");
    std::string problem;
    auto bound = tools::readBinding(name.str(), rest.str(), problem);
    if (!bound)
      return usageError("--bind " + text + ": " + problem);
    options.bindings.push_back(std::move(*bound));
  }
  return true;
}

static bool readParameters(const Flags &flags, CompileOptions &options) {
  for (StringRef text : flags.params) {
    StringRef name, rest;
    int64_t value;
    if (!splitBinding(text, name, rest))
      return usageError("--param " + text + ": expected NAME=16");
    if (rest.getAsInteger(10, value))
      return usageError("--param " + text + ": '" + rest + "' is not a number");
    if (!options.parameters.emplace(name.str(), value).second)
      return usageError("--param " + name + " is given twice");
  }
  return true;
}

/// A bad machine is found here, not in the middle of the compilation.
static bool readMachineFlags(const Flags &flags, CompileOptions &options) {
  std::string problem;
  std::string name = flags.machine.empty() ? "wse2" : flags.machine.getValue();
  std::optional<Machine> machine = readMachine(name, problem);
  if (!machine)
    return usageError("--machine=" + name + ": " + problem);
  if (!flags.mesh.empty()) {
    auto mesh = parseMesh(flags.mesh.getValue());
    if (!mesh)
      return usageError("--mesh=" + flags.mesh + ": expected WxH, as 8x8");
    if (auto what = machine->setMesh(mesh->first, mesh->second))
      return usageError("--mesh=" + flags.mesh + ": " + *what);
  }
  for (const std::string &text : flags.keepOuts) {
    auto keepOut = parseKeepOut(text);
    if (!keepOut)
      return usageError("--keep-out=" + text +
                        ": expected x,y,WxH, as 3,0,1x2");
    machine->keepOuts.push_back(*keepOut);
    if (auto what = machine->check())
      return usageError("--keep-out=" + text + ": " + *what);
    options.keepOuts.push_back(text);
  }
  options.machine = flags.machine;
  options.mesh = flags.mesh;
  if (!flags.region.empty()) {
    auto region = parseMesh(flags.region.getValue());
    if (!region)
      return usageError("--region=" + flags.region + ": expected WxH, as 8x8");
    if (region->first > machine->width || region->second > machine->height)
      return usageError("--region=" + flags.region +
                        " does not fit the mesh "
                        "of " +
                        std::to_string(machine->width) + "x" +
                        std::to_string(machine->height));
  }
  options.region = flags.region;
  options.placement = flags.placement;
  if (!flags.region.empty() && !flags.placement.empty())
    return usageError("--region and --placement both say which PEs to use");
  auto mode = llvm::StringSwitch<std::optional<Mode>>(flags.mode)
                  .Case("stream", Mode::Stream)
                  .Case("resident", Mode::Resident)
                  .Case("auto", Mode::Auto)
                  .Default(std::nullopt);
  if (!mode)
    return usageError("--mode=" + flags.mode +
                      ": expected stream, resident or auto");
  options.mode = *mode;
  if (flags.samples.getNumOccurrences() && flags.samples < 1)
    return usageError("--samples=" + std::to_string(flags.samples) +
                      ": expected a number from 1 on");
  options.samples = flags.samples;
  return true;
}

/// Which phase is the last, and where its result goes.
static bool readStages(const Flags &flags, CompileOptions &options) {
  options.output = flags.output;
  options.explain = flags.explain;
  if (!flags.placementDump.empty())
    options.viewer = std::make_shared<map::MapFile>(
        flags.placementDump,
        std::vector<std::string>(flags.counters.begin(), flags.counters.end()));
  if (!flags.counters.empty() &&
      !StringRef(flags.placementDump).ends_with(".html"))
    return usageError("--counters goes with --dump-placement=FILE.html");
  if (!flags.emit.empty() && flags.emit != "mlir" && flags.emit != "wafer")
    return usageError("--emit=" + flags.emit + ": expected wafer or mlir");
  bool wantsIR = flags.emit == "mlir";
  if (wantsIR)
    options.stopAfter = Phase::Lower;
  if (!flags.stopAfter.empty()) {
    std::optional<Phase> phase = findPhase(flags.stopAfter);
    if (!phase)
      return usageError("--stop-after=" + flags.stopAfter +
                        ": the phases are import, infer, canonicalize, "
                        "differentiate, select, place, "
                        "route, schedule, lower, emit");
    if (*phase == Phase::Emit && wantsIR)
      return usageError("--emit=mlir: there is no IR after emit");
    if (*phase != Phase::Emit && flags.emit == "wafer")
      return usageError("--emit=wafer: there is no program after " +
                        flags.stopAfter);
    options.stopAfter = *phase;
  }
  if (options.stopAfter == Phase::Emit && options.output.empty()) {
    if ((!options.viewer && options.explain.empty()) || !options.report.empty())
      return usageError("say where to write the program: -o FILE.wafer");
    options.stopAfter = options.viewer ? Phase::Lower : Phase::Schedule;
    options.printsIR = false;
  }
  if (options.stopAfter == Phase::Emit && options.output == "-")
    return usageError("a program cannot be written to standard output");
  if (options.stopAfter != Phase::Emit && !options.report.empty())
    return usageError("--report needs a whole program, not --stop-after");
  return true;
}

static bool readSparsity(const Flags &flags, CompileOptions &options) {
  const bool asked = flags.sparsity.getNumOccurrences() > 0;
  if (!asked &&
      (flags.sparsityMethod.getNumOccurrences() ||
       flags.sparsitySeed.getNumOccurrences() || !flags.sparsityFilter.empty()))
    return usageError("--sparsity-method, --sparsity-seed and "
                      "--sparsity-filter say how, --sparsity=0.75 how much");
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", double(flags.sparsity));
  if (asked && !(flags.sparsity >= 0 && flags.sparsity < 1))
    return usageError("--sparsity=" + text +
                      ": expected a share of the weights, from 0 to less than "
                      "1");
  if (flags.sparsityMethod != "random" && flags.sparsityMethod != "topk")
    return usageError("--sparsity-method=" + flags.sparsityMethod +
                      ": expected random or topk");
  if (asked && flags.precision != "f32")
    return usageError("--sparsity: records of weights hold f32; leave out "
                      "--precision=" +
                      flags.precision);
  options.sparse.sparsity = flags.sparsity;
  options.sparse.method = flags.sparsityMethod;
  options.sparse.seed = flags.sparsitySeed;
  options.sparse.filter.assign(flags.sparsityFilter.begin(),
                               flags.sparsityFilter.end());
  return true;
}

static void readTraining(const Flags &flags, TrainingOptions &training) {
  training.loss = flags.loss;
  training.of = flags.lossOf;
  training.targets = flags.targets;
  training.reduction = flags.lossReduction;
  training.ignoreIndex = flags.ignoreIndex;
  training.labelSmoothing = flags.labelSmoothing;
  llvm::append_range(training.inputs, flags.gradientOf);
  training.gradientsAsResults = flags.gradientsAsResults;
}

static bool readValues(const Flags &flags, CompileOptions &options) {
  if (flags.input.empty())
    return usageError("say what to compile: wsec model.onnx -o model.wafer");
  if (flags.precision != "f32" && flags.precision != "f16" &&
      flags.precision != "bf16" && flags.precision != "cb16")
    return usageError("--precision=" + flags.precision +
                      ": not supported, f32, f16, bf16 and cb16 are");
  options.precision = flags.precision;
  options.precisionLevel = flags.precisionLevel;
  if (std::string problem =
          problemOfPrecisionLevel(options.precisionLevel, options.precision);
      !problem.empty())
    return usageError("--" + problem);
  options.input = flags.input;
  options.bundle = flags.bundle;
  for (const std::string &folder : flags.weightFolders) {
    if (!llvm::sys::fs::is_directory(folder))
      return usageError("--weights=" + folder + " is not a folder");
    options.weightFolders.push_back(folder);
  }
  options.printsConstants = flags.printConstants;
  options.import.allowAbsentWeights = flags.allowAbsentWeights;
  llvm::append_range(options.import.train, flags.train);
  llvm::append_range(options.import.freeze, flags.freeze);
  if (!flags.lora.empty()) {
    llvm::Expected<AdapterOptions> adapters = AdapterOptions::parse(flags.lora);
    if (!adapters)
      return usageError("--lora " + llvm::toString(adapters.takeError()));
    options.import.adapters = std::move(*adapters);
    options.import.train.emplace_back(adapterNames);
  }
  readTraining(flags, options.training);
  plan::AskedPlan asked;
  if (const std::string problem = plan::parse(flags.trainingPlan, asked);
      !problem.empty())
    return usageError("--training-plan " + problem);
  if (!flags.trainingPlan.empty() && flags.loss.empty())
    return usageError("--training-plan is of a model that trains: give --loss, "
                      "too, or leave it out");
  options.trainingPlan = flags.trainingPlan;
  options.allowF64AsF32 = flags.allowF64AsF32;
  options.expandWeights = flags.expandWeights;
  options.report = flags.report;
  options.reproducer = flags.reproducer;
  options.quiet = flags.quiet;
  StringRef extension = llvm::sys::path::extension(options.input);
  if (extension != ".onnx" && extension != ".mlir")
    return usageError("'" + options.input +
                      "' is neither an .onnx nor an .mlir file");
  return readShapes(flags, options.import) && readDims(flags, options.import) &&
         readEntries(flags, options.import) &&
         readStates(flags, options.import) &&
         readBindings(flags, options.import) &&
         readParameters(flags, options) && readMachineFlags(flags, options) &&
         readSparsity(flags, options) && readStages(flags, options);
}

/// libLLVM brings the options of its code generators, among them a
/// `--stop-after` of its own. None of them means anything here.
static void forgetOptionsOfCodeGenerators() {
  llvm::SmallVector<cl::Option *> foreign;
  for (auto &entry : cl::getRegisteredOptions())
    if (llvm::is_contained(entry.second->Categories, &cl::getGeneralCategory()))
      foreign.push_back(entry.second);
  for (cl::Option *option : foreign)
    option->removeArgument();
}

std::optional<int> wsec::parseOptions(int argc, char **argv,
                                      CompileOptions &options) {
  forgetOptionsOfCodeGenerators();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  Flags flags;
  cl::HideUnrelatedOptions(flags.category);
  if (const auto code = tools::readFlags(describeTool(), argc, argv))
    return code;
  if (!readValues(flags, options))
    return 2;
  return std::nullopt;
}
