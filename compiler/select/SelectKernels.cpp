// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// onnx -> wse, selected: the whole mesh first, then on the region that costs
// least.

#include "compiler/PlacementFile.h"
#include "compiler/kernels/PrecisionLevel.h"
#include "compiler/select/CallRegion.h"
#include "compiler/select/Explain.h"
#include "compiler/select/HeldWeights.h"
#include "compiler/select/KernelChoice.h"
#include "compiler/select/Passes.h"
#include "compiler/select/RegionChooser.h"
#include "compiler/select/ReorderStates.h"
#include "compiler/select/Selector.h"
#include "compiler/select/SideBySide.h"
#include "compiler/select/Stages.h"
#include "runtime/program/NearestNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"

#include <limits>
#include <set>

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

namespace wsec::select {
#define GEN_PASS_DEF_SELECTKERNELSPASS
#include "compiler/select/Passes.h.inc"
} // namespace wsec::select

namespace {
struct SelectKernelsPass
    : select::impl::SelectKernelsPassBase<SelectKernelsPass> {
  using SelectKernelsPassBase::SelectKernelsPassBase;
  SelectKernelsPass(const SelectKernelsPassOptions &options,
                    PlanningCache &shared)
      : SelectKernelsPassBase(options), shared(&shared) {}
  bool keepsWeights() const { return within.getValue().keepWeights; }

  FailureOr<Machine> readTarget(Operation *op) {
    std::string error;
    std::optional<Machine> read = readMachine(machine, error);
    if (!read)
      return op->emitError() << error;
    if (!mesh.empty()) {
      std::optional<std::pair<int, int>> extents = parseMesh(mesh);
      if (!extents)
        return op->emitError()
               << "mesh '" << mesh << "' is not columns x rows, such as 8x8";
      if (std::optional<std::string> problem =
              read->setMesh(extents->first, extents->second))
        return op->emitError() << *problem;
    }
    SmallVector<StringRef> texts;
    StringRef(keepOuts).split(texts, ';', -1, /*KeepEmpty=*/false);
    for (StringRef text : texts) {
      std::optional<PeRectangle> keepOut = parseKeepOut(text.str());
      if (!keepOut)
        return op->emitError() << "keep-out '" << text
                               << "' is not x,y,columns x rows, as 3,0,1x2";
      read->keepOuts.push_back(*keepOut);
    }
    if (std::optional<std::string> problem = read->check())
      return op->emitError() << *problem;
    if (!read->roomFor(1, 1))
      return op->emitError("nothing but keep-outs lies where a region may "
                           "begin, at the rows of I/O channels");
    return *read;
  }

  /// The regions that options ask for; none: to be chosen.
  FailureOr<PlacementFile> readGiven(Operation *op, const Machine &target) {
    PlacementFile given;
    if (!placement.empty()) {
      llvm::Expected<PlacementFile> file = readPlacementFile(placement);
      if (!file)
        return op->emitError() << llvm::toString(file.takeError());
      given = std::move(*file);
      placed = given.selection.value_or(PlacementFile::Selection());
      for (const std::string &problem :
           {given.meshProblem(target.width, target.height),
            given.roleProblem()})
        if (!problem.empty())
          return op->emitError() << problem;
    } else if (const std::string shape =
                   within.region.empty() ? region.getValue() : within.region;
               !shape.empty()) {
      std::optional<std::pair<int, int>> extents = parseMesh(shape);
      if (!extents)
        return op->emitError()
               << "region '" << shape << "' is not columns x rows, such as 8x8";
      given.regions.emplace_back().pes = {0, 0, extents->first,
                                          extents->second};
    }
    for (const PlacementFile::Region &its : given.regions)
      if (its.pes.columns < 1 || its.pes.rows < 1 ||
          its.pes.columns > target.width || its.pes.rows > target.height)
        return op->emitError() << "region " << its.pes.columns << "x"
                               << its.pes.rows << " does not fit the mesh of "
                               << target.width << "x" << target.height;
    return given;
  }

  /// Kernels of an entry that read the same value are one where they can be.
  static void joinKernels(wse::ProgramOp program, const Machine &region) {
    for (Block *block : program.entryBlocks()) {
      llvm::MapVector<std::pair<Value, const Kernel *>,
                      SmallVector<Operation *>>
          alike;
      for (auto kernel : block->getOps<wse::KernelOp>())
        if (const Kernel *its = findKernel(kernel);
            its && kernel->getNumOperands() > 0)
          alike[{kernel->getOperand(0), its}].push_back(kernel);
      for (const auto &[key, kernels] : alike)
        key.second->join(kernels, region);
    }
  }

  static Type elementOf(StringRef precision, OpBuilder &builder) {
    return llvm::StringSwitch<Type>(precision)
        .Case("f16", builder.getF16Type())
        .Case("bf16", builder.getBF16Type())
        .Case("cb16", pe::CB16Type::get(builder.getContext()))
        .Case("int8", builder.getI8Type())
        .Default(builder.getF32Type());
  }

  /// The program with all kernels of all entries on a region of that shape;
  /// null if some operator has no kernel.
  wse::ProgramOp select(ModuleOp module, const Machine &target,
                        RegionShape shape) {
    auto entries = module.getOps<func::FuncOp>();
    func::FuncOp main = *entries.begin();
    OpBuilder builder(main);
    auto program = wse::ProgramOp::create(
        builder, main.getLoc(), "main", wse::State::Selected,
        {target.width, target.height}, describeMachine(target),
        wse::SelectionAttr(), IntegerAttr(), StringAttr());
    if (precisionLevel > 0)
      program->setAttr(precisionLevelAttrName,
                       builder.getI64IntegerAttr(precisionLevel));
    auto body = OpBuilder::atBlockEnd(&program.getBody().emplaceBlock());
    const Type element = elementOf(precision, builder);
    IntegerAttr open;
    auto region = wse::RegionOp::create(body, main.getLoc(), regionName(module),
                                        {shape.columns, shape.rows}, open, open,
                                        open, open, open, wse::RegionRoleAttr(),
                                        open, /*spread_heads=*/false);
    for (const PeRectangle &its : target.keepOuts)
      wse::KeepOutOp::create(body, main.getLoc(),
                             ArrayRef<int64_t>{its.width, its.height}, its.x,
                             its.y);
    ProgramSymbols symbols(module, program);
    if (!kvPrecision.empty())
      symbols.keysAndValues = elementOf(kvPrecision, builder);
    for (func::FuncOp entry : entries) {
      if (succeeded(Selector(entry, program, region, element, limits(),
                             keepsWeights(), symbols)
                        .run()))
        continue;
      program.erase();
      return {};
    }
    const bool isRefused =
        !kvPrecision.empty() &&
        llvm::none_of(program.getOps<wse::StateOp>(),
                      [](wse::StateOp state) {
                        return wse::TokenTiling::of(state.getType()).isCyclic();
                      }) &&
        failed(program.emitError("--kv-precision=")
               << kvPrecision
               << ": no keys and values stay on the wafer, and states of "
                  "recurrences are as activations; give --kv-capacity or "
                  "--states, or leave it out");
    if (isRefused || (reorderStates && failed(addReorder(program, region)))) {
      program.erase();
      return {};
    }
    // Others have stages that know them one by one.
    if (!joins() || program.getOps<wse::EntryOp>().empty())
      return program;
    const Machine its = region.machine();
    joinKernels(program, its);
    return layAlongRows(program, its, roomForData(its, codeOfStage()));
  }

  /// Others stream their weights. Code and scratch of several are more than
  /// theirs, one after the other.
  bool joins() const { return within.keepWeights && !within.littleScratch; }

  /// The same, of an earlier attempt if there was one that selected so.
  wse::ProgramOp selectOnce(PlanningCache &cache, ModuleOp module,
                            const Machine &target, RegionShape shape) {
    OwningOpRef<wse::ProgramOp> &kept =
        cache.program(shape, codeOfStage(), joins(), within.littleScratch);
    if (!kept) {
      wse::ProgramOp program = select(module, target, shape);
      if (program && shared)
        kept = program.clone();
      return program;
    }
    wse::ProgramOp program = kept->clone();
    OpBuilder(*module.getOps<func::FuncOp>().begin()).insert(program);
    return program;
  }

  /// About as much as a PE has.
  int64_t codeOfStage() const {
    return within.spreadCode ? within.code / within.stages : within.code;
  }
  ScratchLimits limits() const {
    return {codeOfStage(), within.littleScratch, within.scratch};
  }

  KeepOptions keepOptions(bool spreads) const {
    return {within.keepWeights, within.code, codeOfStage(), spreads,
            within.clearRows,   samples};
  }

  /// Weights that are to stay are no more than the mesh has room for: no search
  /// among stages finds more.
  LogicalResult checkRoom(wse::ProgramOp program, const Machine &target) {
    const int64_t pes = int64_t(target.width) * target.height;
    const int64_t room = pes * target.usableBytes();
    const int64_t bytes =
        within.keepWeights ? leastHeldBytes(program, target) : 0;
    if (bytes <= room)
      return success();
    return program.emitError()
           << "weights of " << bytes << " bytes do not stay on " << pes
           << " PEs, which have " << room
           << " bytes for buffers; let them stream (--mode=stream), or compile "
              "for more PEs or in 16 bits";
  }

  /// Where entries are called; what refuses a shape that is only tried is said
  /// where no other is left. None: an error was said.
  std::optional<RegionChoice> regionOfCalls(wse::ProgramOp program,
                                            PlanningCache &cache,
                                            const Machine &target) {
    std::optional<Diagnostic> first;
    std::optional<RegionChoice> choice;
    {
      ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &its) {
        if (!first)
          first = std::move(its);
        return success();
      });
      choice = chooseCallRegion(
          &getContext(), target, cache, codeOfStage(),
          [&](RegionShape its) { return select(getOperation(), target, its); });
    }
    if (choice)
      return choice;
    InFlightDiagnostic error =
        program.emitError("no region beside the keep-outs of the mesh of ")
        << target.width << "x" << target.height
        << " computes the entries; keep out fewer PEs or take a larger mesh";
    if (first)
      error.attachNote(first->getLocation())
          << "the first region that was tried: " << first->str();
    return std::nullopt;
  }

  /// Tells an explanation the shapes, each with what is selected for it.
  void compareCalls(ModuleOp module, const Machine &target,
                    ArrayRef<ShapeEstimate> estimates,
                    Explanation &explanation) {
    if (explain.empty())
      return;
    for (const ShapeEstimate &estimate : estimates) {
      wse::ProgramOp program = select(module, target, estimate.shape);
      explanation.compared(program, estimate);
      program.erase();
    }
  }

  /// Puts the kernels on several regions, if that is asked for or pays.
  bool spread(wse::ProgramOp program, PlanningCache &cache, double cyclesOfOne,
              Explanation &explanation) {
    if (within.stages > 1 &&
        spreadOverStages(
            program, cache, size_t(within.stages), size_t(within.stageRows),
            within.whereFaster ? cyclesOfOne
                               : std::numeric_limits<double>::infinity(),
            keepOptions(within.spreadCode))) {
      explanation.staged(within.spreadCode);
      return true;
    }
    auto parts = chooseSideBySide(program, cache, cyclesOfOne, within.abreast);
    if (parts) {
      explanation.spread(*parts);
      spreadOverRegions(program, *parts);
    }
    return parts.has_value();
  }

  /// Puts the kernels on several regions that are given.
  LogicalResult spreadOn(wse::ProgramOp program, PlanningCache &cache,
                         const PlacementFile &given) {
    const wse::RegionRole role = given.role();
    if (role != wse::RegionRole::Part)
      return spreadOverStagesOn(program, cache, given,
                                keepOptions(role == wse::RegionRole::Code));
    FailureOr<SideBySide> parts = sideBySideOn(program, cache, given);
    if (failed(parts))
      return failure();
    spreadOverRegions(program, *parts);
    return success();
  }

  /// Entries, inputs and parameters are symbols, too, and keep their names.
  static std::string regionName(ModuleOp module) {
    std::string name = "r";
    auto isTaken = [&](func::FuncOp entry) {
      return entry.getSymName() == name ||
             llvm::any_of(entry.getArguments(), [&](BlockArgument input) {
               return inputName(input) == name;
             });
    };
    while (llvm::any_of(module.getOps<func::FuncOp>(), isTaken) ||
           module.lookupSymbol<onnx::ParameterOp>(name))
      name += "_";
    return name;
  }

  /// What limits the scratch of the program's kernels. Searches may carry
  /// limits of others; those that a placement has are a mistake.
  DictionaryAttr scratchOf(wse::ProgramOp program) {
    Builder builder(&getContext());
    SmallVector<NamedAttribute> limits;
    const std::vector<std::string> names = planNames(program);
    const std::set<std::string> known(names.begin(), names.end());
    for (const auto &[name, bytes] : within.scratch)
      if (known.count(name))
        limits.emplace_back(name, builder.getI64IntegerAttr(bytes));
      else if (placed.scratch.count(name))
        program.emitWarning("placement '")
            << placement << "': 'scratch' of its selection has "
            << runtime::inQuotes(name) << ", and no kernel is called so"
            << runtime::nearestNames(name, names);
    return limits.empty() ? nullptr : builder.getDictionaryAttr(limits);
  }

  /// All is chosen.
  void finish(ModuleOp module, wse::ProgramOp program,
              Explanation &explanation) {
    for (auto entry : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      entry.erase();
    for (auto parameter :
         llvm::make_early_inc_range(module.getOps<onnx::ParameterOp>()))
      parameter.erase();
    const ScratchLimits limits = this->limits();
    chooseVariants(program, limits, within.fewColors);
    program.setNumberArguments(within.carryNumbers);
    if (limits.code || within.fewColors || within.littleScratch ||
        within.keepWeights || !within.scratch.empty())
      program.setSelectionAttr(wse::SelectionAttr::get(
          program.getContext(), limits.code, within.fewColors,
          within.littleScratch, within.keepWeights, scratchOf(program)));
    if (explain.empty())
      return;
    FailureOr<std::string> text = explanation.tell(program, limits);
    if (failed(text))
      return signalPassFailure();
    module->setAttr(explanationAttrName,
                    StringAttr::get(module.getContext(), *text));
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module.getOps<func::FuncOp>().empty()) {
      module.emitError("has no function to select kernels for");
      return signalPassFailure();
    }
    FailureOr<Machine> target = readTarget(module);
    if (!llvm::is_contained({"f32", "f16", "bf16", "cb16"},
                            StringRef(precision))) {
      module.emitError("precision '")
          << precision << "' is none of f32, f16, bf16 and cb16";
      return signalPassFailure();
    }
    if (!llvm::is_contained({"", "f16", "bf16", "cb16", "int8"},
                            StringRef(kvPrecision))) {
      module.emitError("kv-precision '")
          << kvPrecision << "' is none of f16, bf16, cb16 and int8";
      return signalPassFailure();
    }
    if (std::string problem =
            problemOfPrecisionLevel(precisionLevel, precision);
        !problem.empty()) {
      module.emitError(problem);
      return signalPassFailure();
    }
    if (failed(target))
      return signalPassFailure();
    RegionShape whole{target->width, target->height};
    FailureOr<PlacementFile> given = readGiven(module, *target);
    if (failed(given))
      return signalPassFailure();
    const size_t count = given->regions.size();
    RegionShape shape = whole;
    if (count == 1)
      shape = {given->regions[0].pes.columns, given->regions[0].pes.rows};
    PlanningCache own;
    PlanningCache &cache = shared ? *shared : own;
    wse::ProgramOp program = selectOnce(cache, module, *target, shape);
    if (!program || failed(checkRoom(program, *target)))
      return signalPassFailure();
    Explanation explanation(explain);
    if (count > 0)
      explanation.given();
    if (within.keepWeights)
      explanation.keepWeights();
    if (llvm::is_contained(within.abreast, 0))
      explanation.withoutParts();
    // States lie as their heads share the columns of the whole region, and
    // entries have all kernels in one.
    const bool hasEntries = !program.getOps<wse::EntryOp>().empty();
    if (hasEntries && count > 1) {
      program.emitError("has entries, whose kernels run on one region; the "
                        "placement has ")
          << count;
      return signalPassFailure();
    }
    if (hasEntries && count == 0 && within.keepWeights) {
      const std::optional<RegionChoice> choice =
          regionOfCalls(program, cache, *target);
      if (!choice)
        return signalPassFailure();
      module->setAttr(wse::candidatesAttrName, choice->candidates);
      compareCalls(module, *target, choice->estimates, explanation);
      if (!(choice->shape == whole)) {
        program.erase();
        program = selectOnce(cache, module, *target, choice->shape);
        if (!program)
          return signalPassFailure();
      }
    }
    if (hasEntries)
      return finish(module, program, explanation);
    if (count > 1) {
      if (failed(spreadOn(program, cache, *given)))
        return signalPassFailure();
      return finish(module, program, explanation);
    }
    if (count == 0) {
      RegionChoice choice = chooseRegion(program, cache, codeOfStage());
      module->setAttr(wse::candidatesAttrName, choice.candidates);
      explanation.compared(program, choice.estimates);
      if (spread(program, cache, choice.cycles, explanation)) {
        return finish(module, program, explanation);
      }
      shape = choice.shape;
      if (shape.columns != whole.columns || shape.rows != whole.rows) {
        program.erase();
        program = selectOnce(cache, module, *target, shape);
        if (!program)
          return signalPassFailure();
      }
    } else if (given->regions[0].spreadHeads) {
      shape.spreadHeads = *given->regions[0].spreadHeads;
    } else {
      shape = chooseHeads(program, cache, shape);
    }
    (*program.getOps<wse::RegionOp>().begin())
        .setSpreadHeads(shape.spreadHeads);
    spreadHeads(program, shape);
    finish(module, program, explanation);
  }

  PlanningCache *shared = nullptr;
  PlacementFile::Selection placed; ///< with which the placement was selected
};
} // namespace

std::unique_ptr<Pass>
select::createSelectKernelsPass(const SelectKernelsPassOptions &options,
                                PlanningCache &shared) {
  return std::make_unique<SelectKernelsPass>(options, shared);
}

bool select::keepsWeights(const Pass &selection) {
  return static_cast<const SelectKernelsPass &>(selection).keepsWeights();
}
