// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame around the kernels: what each of them writes is put into one
// program. Kernels write code for all PEs of their region at once, so there is
// one class for each region; what differs between its PEs are scalars and
// guards.

#include "compiler/kernels/Kernel.h"
#include "compiler/kernels/code/RoutineSet.h"
#include "compiler/lower/Passes.h"
#include "compiler/machine/Machine.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/pe/Pe.h"
#include "dialects/wse/Wse.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace wsec;

namespace wsec::lower {
#define GEN_PASS_DEF_CONVERTWSETOPEPASS
#include "compiler/lower/Passes.h.inc"
} // namespace wsec::lower

//===----------------------------------------------------------------------===//
// Program and routes
//===----------------------------------------------------------------------===//

static FailureOr<int64_t> findLaunchColor(wse::ProgramOp source) {
  for (auto stream : source.getOps<wse::StreamOp>())
    if (stream.getPattern() == wse::StreamPattern::Launch)
      return stream.getColors().front();
  return source.emitOpError("has no launch stream to start kernels with");
}

/// Routes stand before the classes.
static void convertRoutes(wse::ProgramOp source, pe::ClassOp firstClass) {
  OpBuilder builder(firstClass);
  for (auto stream : source.getOps<wse::StreamOp>())
    for (auto rule : stream.getRules().getAsRange<wse::RuleAttr>())
      pe::RouteOp::create(
          builder, stream.getLoc(), rule.getColor(),
          pe::RectAttr::get(source.getContext(), rule.getRect()),
          rule.getReceive(), rule.getTransmit());
}

/// Every PE takes every launch wavelet in turn, also those for other regions:
/// so a region that is busy holds up the others as soon as its queues are full.
/// The deepest queue is theirs where there are others.
static void bindLaunchQueue(ClassSet &classes, int64_t launchColor) {
  const Machine &machine = classes.all().front()->machine;
  const auto first = machine.inputQueueWords.begin();
  const auto deepest = std::max_element(first, machine.inputQueueWords.end());
  if (classes.all().size() < 2 || machine.reservedInputQueues > 0)
    return;
  for (const std::unique_ptr<ClassBuilder> &each : classes.all()) {
    auto builder = OpBuilder::atBlockBegin(&each->peClass.getBody().front());
    pe::QueueOp::create(builder, each->peClass.getLoc(), pe::QueueKind::Input,
                        deepest - first, launchColor);
  }
}

static pe::RectAttr rectOf(MLIRContext *context, const Machine &region) {
  return pe::RectAttr::get(context, {region.x, region.x + region.width, 1,
                                     region.y, region.y + region.height, 1});
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// "wse.matmul" is a "matmul".
static StringRef kindOf(wse::KernelOp kernel) {
  return kernel->getName().stripDialect();
}

/// A name for each kernel, taken before weights and streams ask for any. The
/// first kernel of a node has the node's own name, even where another's second
/// would be numbered like that: a name leads to one node. What computes a node
/// comes before what brings its weights, which further entries do.
static SmallVector<SmallVector<std::string>>
nameKernels(ArrayRef<EntryKernels> entries, ProgramBuilder &shared) {
  SmallVector<SmallVector<std::string>> names(entries.size());
  auto each = [&](auto visit) {
    for (size_t i = entries.size(); i-- > 0;)
      for (auto [kernel, name] : llvm::zip_equal(entries[i], names[i]))
        visit(wse::KernelOp(kernel).getReportName(), name);
  };
  for (auto [its, kernels] : llvm::zip_equal(names, entries))
    its.resize(kernels.size());
  llvm::StringSet<> named;
  each([&](const std::string &want, std::string &name) {
    if (named.insert(want).second)
      name = shared.freshSymbol(want);
  });
  each([&](const std::string &want, std::string &name) {
    if (name.empty())
      name = shared.freshSymbol(want);
  });
  return names;
}

/// The smallest rectangle with all PEs that take part.
static pe::RectAttr rectOf(ArrayRef<std::unique_ptr<RoutineBuilder>> parts) {
  Machine all = parts.front()->machine();
  for (const std::unique_ptr<RoutineBuilder> &part : parts) {
    const Machine &other = part->machine();
    int right = std::max(all.x + all.width, other.x + other.width);
    int bottom = std::max(all.y + all.height, other.y + other.height);
    all.x = std::min(all.x, other.x);
    all.y = std::min(all.y, other.y);
    all.width = right - all.x;
    all.height = bottom - all.y;
  }
  return rectOf(parts.front()->operation()->getContext(), all);
}

/// For how long it runs: as its window says, or in a program without any as its
/// costs do.
static double predictedCycles(wse::KernelOp source, const KernelCost &cost,
                              double start) {
  if (auto window = source.getRunWindow(); window && window->size() == 2)
    return double((*window)[1] - (*window)[0]);
  return start + cost.total();
}

static void createKernel(wse::KernelOp source, StringRef name,
                         pe::RectAttr region, const KernelCost &cost,
                         double start, OpBuilder &builder) {
  llvm::SmallSetVector<Attribute, 8> nodes;
  for (ArrayAttr names :
       {source.getNodeNames(),
        source->getAttrOfType<ArrayAttr>(onnx::absorbedAttrName)})
    if (names)
      nodes.insert(names.begin(), names.end());
  pe::KernelOp::create(
      builder, source.getLoc(), builder.getStringAttr(name),
      builder.getStringAttr(kindOf(source)),
      builder.getArrayAttr(nodes.getArrayRef()), region,
      builder.getF64FloatAttr(predictedCycles(source, cost, start)),
      builder.getF64FloatAttr(cost.lowerBound),
      builder.getStringAttr(cost.bound()));
}

/// A host stream of a launch, and when it flows; null: nobody scheduled it.
struct StreamSlot {
  FlatSymbolRefAttr stream;
  pe::SlotAttr slot;
};

/// When words of the kernel flow on its stream of this pattern; null: it has no
/// flow for them.
static pe::SlotAttr slotOf(wse::KernelOp source, wse::StreamPattern pattern) {
  for (auto flow : source.getStreamFlows().getAsRange<wse::FlowAttr>()) {
    auto stream = SymbolTable::lookupNearestSymbolFrom<wse::StreamOp>(
        source, flow.getStream());
    if (stream && stream.getPattern() == pattern)
      return pe::SlotAttr::get(source->getContext(), flow.getSlot(),
                               flow.getBegin(), flow.getEnd(), flow.getAhead());
  }
  return {};
}

/// The streams that the code of `source` feeds on, by slot.
static FailureOr<SmallVector<StreamSlot>>
scheduledStreams(wse::KernelOp source,
                 ArrayRef<std::unique_ptr<RoutineBuilder>> code) {
  SmallVector<StreamSlot> all;
  for (const std::unique_ptr<RoutineBuilder> &part : code)
    for (const auto &[pattern, name] : part->streams()) {
      StreamSlot its{FlatSymbolRefAttr::get(source->getContext(), name), {}};
      if (source.getStreamFlows()) {
        its.slot = slotOf(source, pattern);
        if (!its.slot)
          return source.emitOpError("moves words of the host on a stream of "
                                    "pattern ")
                 << fabric::name(pattern) << " and has no flow for them";
      }
      all.push_back(its);
    }
  if (source.getStreamFlows())
    llvm::sort(all, [](const StreamSlot &a, const StreamSlot &b) {
      return a.slot.getOrder() < b.slot.getOrder();
    });
  return all;
}

static void createLaunch(wse::KernelOp source, StringAttr routine,
                         StringRef kernel, ArrayRef<StreamSlot> streams,
                         bool follows, OpBuilder &builder) {
  MLIRContext *context = builder.getContext();
  SmallVector<Attribute> symbols, slots;
  for (const StreamSlot &its : streams) {
    symbols.push_back(its.stream);
    if (its.slot)
      slots.push_back(its.slot);
  }
  // Entries have the arguments of those they come of.
  auto carried = llvm::map_to_vector(
      wse::argumentsOf(source), [&](BlockArgument argument) -> Value {
        return builder.getInsertionBlock()->getArgument(
            argument.getArgNumber());
      });
  pe::LaunchOp::create(
      builder, source.getLoc(), FlatSymbolRefAttr::get(routine), carried,
      follows ? builder.getUnitAttr() : UnitAttr(),
      FlatSymbolRefAttr::get(context, kernel),
      symbols.empty() ? ArrayAttr() : builder.getArrayAttr(symbols),
      slots.empty() ? ArrayAttr() : builder.getArrayAttr(slots));
}

/// Launches that carry numbers stand in an entry: the only one is `main`.
static void makeMainAnEntry(pe::ProgramOp program) {
  Block &body = program.getBody().front();
  auto builder = OpBuilder::atBlockEnd(&body);
  auto entry = pe::EntryOp::create(builder, program.getLoc(), "main",
                                   builder.getArrayAttr({}), {}, {});
  Block &calls = entry.getBody().emplaceBlock();
  for (Operation &op : llvm::make_early_inc_range(body))
    if (isa<pe::LaunchOp, pe::CopyOp, pe::ValueOp>(op))
      op.moveBefore(&calls, calls.end());
}

/// Has launches of routines that were merged start the one that is left.
static void carryNumbers(const RoutineCalls &calls, pe::ProgramOp program) {
  const bool carries = llvm::any_of(
      calls, [](const auto &call) { return !call.second.carried.empty(); });
  if (carries && program.getOps<pe::EntryOp>().empty())
    makeMainAnEntry(program);
  llvm::DenseMap<std::pair<Block *, int64_t>, Value> constants;
  program.walk([&](pe::LaunchOp launch) {
    const auto call = calls.find(launch.getRoutineAttr().getAttr());
    if (call == calls.end())
      return;
    launch.setRoutineAttr(FlatSymbolRefAttr::get(call->second.routine));
    for (int64_t number : call->second.carried) {
      Value &constant = constants[{launch->getBlock(), number}];
      if (!constant) {
        auto builder = OpBuilder::atBlockBegin(launch->getBlock());
        constant = pe::ConstantOp::create(
            builder, launch.getLoc(), pe::ScalarType::get(builder.getContext()),
            number);
      }
      launch.getCarriedMutable().append(constant);
    }
  });
}

/// Erases scalars that no code depends on.
static void eraseUnusedScalars(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<pe::ConstantOp, pe::ScalarOp>(op) && op.use_empty())
      op.erase();
}

namespace {

struct ConvertWseToPe final
    : lower::impl::ConvertWseToPePassBase<ConvertWseToPe> {
  void runOnOperation() override {
    auto programs = llvm::to_vector(getOperation().getOps<wse::ProgramOp>());
    for (wse::ProgramOp source : programs)
      if (failed(convert(source)))
        return signalPassFailure();
  }

  LogicalResult convert(wse::ProgramOp source) {
    if (source.getState() != wse::State::Scheduled)
      return source.emitOpError("only a scheduled program can be lowered, "
                                "this one is ")
             << wse::stringifyState(source.getState());
    FailureOr<int64_t> launchColor = findLaunchColor(source);
    auto entries = entriesInOrder(source);
    if (failed(launchColor) || failed(entries))
      return failure();

    OpBuilder before(source);
    ProgramBuilder shared(source, *launchColor, before);
    ClassSet classes(shared, source);
    convertRoutes(source, classes.all().front()->peClass);
    bindLaunchQueue(classes, *launchColor);
    if (failed(convertEntries(source, *entries, shared, classes)))
      return failure();
    for (const std::unique_ptr<ClassBuilder> &each : classes.all())
      eraseUnusedScalars(each->peClass.getBody().front());
    for (auto stream : shared.program.getOps<pe::StreamOp>())
      eraseUnusedScalars(stream.getBody().front());
    for (auto value : shared.program.getOps<pe::ValueOp>())
      eraseUnusedScalars(value.getBody().front());
    source.erase();
    return success();
  }

  LogicalResult convertEntries(wse::ProgramOp source,
                               ArrayRef<EntryKernels> entries,
                               ProgramBuilder &shared, ClassSet &classes) {
    RoutineSet routines;
    auto names = nameKernels(entries, shared);
    for (auto [kernels, itsNames] : llvm::zip_equal(entries, names))
      if (failed(convertKernels(
              kernels, itsNames,
              OpBuilder::atBlockEnd(callsOf(kernels.front(), shared)), routines,
              shared, classes)))
        return failure();
    carryNumbers(routines.merge(source, classes, carriedIn(source)),
                 shared.program);
    return success();
  }

  /// Where the launches of the entry of `kernel` go: those of a program without
  /// further ones stand in it.
  static Block *callsOf(wse::KernelOp kernel, ProgramBuilder &shared) {
    Block *body = &shared.program.getBody().front();
    auto program = kernel->getParentOfType<wse::ProgramOp>();
    if (program.getOps<wse::EntryOp>().empty())
      return body;
    auto builder = OpBuilder::atBlockEnd(body);
    auto source = dyn_cast<wse::EntryOp>(kernel->getParentOp());
    auto entry = pe::EntryOp::create(
        builder, source ? source.getLoc() : program.getLoc(),
        source ? source.getSymName() : StringRef("main"),
        source ? source.getNames() : builder.getArrayAttr({}),
        source ? source.getFrom() : ArrayRef<int64_t>(),
        source ? source.getTo() : ArrayRef<int64_t>());
    Block &calls = entry.getBody().emplaceBlock();
    for (size_t i = 0; i < entry.getNames().size(); ++i)
      calls.addArgument(pe::ScalarType::get(builder.getContext()),
                        entry.getLoc());
    return &calls;
  }

  LogicalResult convertKernels(ArrayRef<wse::KernelOp> kernels,
                               ArrayRef<std::string> names, OpBuilder launches,
                               RoutineSet &routines, ProgramBuilder &shared,
                               ClassSet &classes) {
    // A region that is busy holds up commands for others behind its own.
    const bool isOneCommand =
        !kernels.empty() && kernels.front()
                                    ->getParentOfType<wse::ProgramOp>()
                                    .kernelRegions()
                                    .size() > 1;
    for (size_t index = 0; index < kernels.size(); ++index) {
      wse::KernelOp op = kernels[index];
      auto parts = routineBuilders(op, classes, shared.freshSymbol(kindOf(op)));
      FailureOr<StringAttr> routine = routines.write(op, parts);
      if (failed(routine))
        return failure();
      FailureOr<SmallVector<StreamSlot>> streams = scheduledStreams(op, parts);
      if (failed(streams))
        return failure();
      RoutineBuilder &code = *parts.back(); // of its own region
      auto builder = OpBuilder::atBlockEnd(&shared.program.getBody().front());
      double start = index ? 0 : startCycles(code.machine(), !streams->empty());
      createKernel(op, names[index], rectOf(parts),
                   findKernel(op)->cost(op, code.machine()), start, builder);
      launches.setInsertionPointToEnd(launches.getInsertionBlock());
      createLaunch(op, *routine, names[index], *streams,
                   isOneCommand && index > 0, launches);
      if (failed(createValues(op, code, shared, launches)))
        return failure();
    }
    return success();
  }

  /// Where results of a kernel lie while nobody has written over them.
  LogicalResult createValues(wse::KernelOp op, RoutineBuilder &code,
                             ProgramBuilder &shared, OpBuilder &builder) {
    Attribute attribute = op->getAttr(onnx::valuesAttrName);
    if (!attribute)
      return success();
    auto isName = [](Attribute its) {
      auto pair = dyn_cast<ArrayAttr>(its);
      return pair && pair.size() == 2 && isa<StringAttr>(pair[0]) &&
             isa<DenseI64ArrayAttr>(pair[1]);
    };
    auto names = dyn_cast<ArrayAttr>(attribute);
    if (!names || names.size() != op->getNumResults() ||
        !llvm::all_of(names, [&](Attribute its) {
          auto list = dyn_cast<ArrayAttr>(its);
          return list && llvm::all_of(list, isName);
        }))
      return op.emitOpError()
             << "has as '" << onnx::valuesAttrName
             << "' no list for each result of pairs of a name and a shape";
    for (auto [result, its] :
         llvm::zip_equal(op->getResults(), names.getAsRange<ArrayAttr>()))
      if (!its.empty())
        createValues(op, result, its, code, shared, builder);
    return success();
  }
  void createValues(wse::KernelOp op, Value result, ArrayAttr names,
                    RoutineBuilder &code, ProgramBuilder &shared,
                    OpBuilder &builder) {
    Tile held = code.tile(result);
    for (auto name : names.getAsRange<ArrayAttr>()) {
      auto text = cast<StringAttr>(name[0]);
      auto shape = cast<DenseI64ArrayAttr>(name[1]).asArrayRef();
      // Outputs and inputs have their name.
      if (held.layout.replicatedRows || !shared.nameValue(text))
        continue;
      auto value = pe::ValueOp::create(
          builder, op.getLoc(), text,
          TypeAttr::get(RankedTensorType::get(
              shape,
              cast<RankedTensorType>(result.getType()).getElementType())),
          FlatSymbolRefAttr::get(builder.getContext(), held.buffer),
          rectOf(builder.getContext(), code.machine()));
      Block *body = builder.createBlock(&value.getBody());
      builder.setInsertionPointAfter(value);
      ScalarBuilder scalars(body, op.getLoc(), code.machine());
      Tile tile = RoutineBuilder::describe(scalars, held.layout);
      int64_t features = held.layout.features.total();
      pe::ValuePiece piece;
      piece.extents = {tile.channels, tile.features};
      piece.strides = {features * tile.tokenStep, 1};
      piece.offset = pe::Affine(tile.firstToken) * features +
                     pe::Affine(tile.firstFeature);
      piece.places = {1, tile.pitch};
      OpBuilder inside = OpBuilder::atBlockEnd(body);
      pe::PieceOp::create(inside, op.getLoc(), piece);
    }
  }
};

} // namespace
