// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/emit/Translation.h"
#include "compiler/machine/Machine.h"
#include "dialects/onnx/Lengths.h"
#include "runtime/program/Call.h"
#include "runtime/program/Container.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace wsec::emit {

program::Rect translateRect(pe::RectAttr rect) {
  return program::Rect(rect.getX0(), rect.getX1(), rect.getXstep(),
                       rect.getY0(), rect.getY1(), rect.getYstep());
}

static program::ElementType translateInteger(IntegerType type) {
  using program::ElementType;
  const bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
  case 1:
    return ElementType::Bool;
  case 2:
    return isUnsigned ? ElementType::U2 : ElementType::I2;
  case 4:
    return isUnsigned ? ElementType::U4 : ElementType::I4;
  case 8:
    return isUnsigned ? ElementType::U8 : ElementType::I8;
  case 16:
    return isUnsigned ? ElementType::U16 : ElementType::I16;
  case 32:
    return isUnsigned ? ElementType::U32 : ElementType::I32;
  default:
    return isUnsigned ? ElementType::U64 : ElementType::I64;
  }
}

program::ElementType translateType(Type type) {
  using program::ElementType;
  if (auto integer = dyn_cast<IntegerType>(type))
    return translateInteger(integer);
  return llvm::TypeSwitch<Type, ElementType>(type)
      .Case([](Float16Type) { return ElementType::F16; })
      .Case([](BFloat16Type) { return ElementType::BF16; })
      .Case([](pe::CB16Type) { return ElementType::CB16; })
      .Case([](Float64Type) { return ElementType::F64; })
      .Case([](Float8E4M3FNType) { return ElementType::F8E4M3FN; })
      .Case([](Float8E4M3FNUZType) { return ElementType::F8E4M3FNUZ; })
      .Case([](Float8E5M2Type) { return ElementType::F8E5M2; })
      .Case([](Float8E5M2FNUZType) { return ElementType::F8E5M2FNUZ; })
      .Case([](Float8E8M0FNUType) { return ElementType::F8E8M0FNU; })
      .Case([](Float4E2M1FNType) { return ElementType::F4E2M1FN; })
      .Default([](Type) { return ElementType::F32; });
}

static void copyLimits(const Machine &machine, program::MachineT &result) {
  result.name = machine.name;
  result.fabric_width = machine.fabricWidth;
  result.fabric_height = machine.fabricHeight;
  result.width = machine.width;
  result.height = machine.height;
  result.clock_ghz = machine.clockGhz;
  result.sram_bytes = machine.sramBytes;
  result.runtime_bytes = machine.runtimeBytes;
  result.colors = machine.colors;
  result.reserved_colors = machine.reservedColors;
  result.microthreads = machine.microthreads;
  result.channels = machine.channels;
  result.router_buffer_words = machine.routerBufferWords;
  result.input_queue_words = machine.inputQueueWords;
  result.output_queue_words = machine.outputQueueWords;
  result.switch_positions = machine.switchPositions;
  result.control_commands = machine.controlCommands;
  result.local_tasks = machine.localTasks;
  result.control_tasks = machine.controlTasks;
  result.descriptors = machine.descriptors;
  result.reserved_input_queues = machine.reservedInputQueues;
  result.reserved_tasks = machine.reservedTasks;
  result.microthreads_queue = machine.microthreadsQueue != 0;
}

static void copyTimes(const Machine &machine, program::MachineT &result) {
  result.hop_cycles = machine.hopCycles;
  result.ramp_cycles = machine.rampCycles;
  result.store_latency_cycles = machine.storeLatencyCycles;
  result.turn_cycles = machine.turnCycles;
  result.copy_rate = machine.copyRate;
  result.add_rate = machine.addRate;
  result.fmac_rate = machine.fmacRate;
  result.copy_rate_16 = machine.copyRate16;
  result.add_rate_16 = machine.addRate16;
  result.fmac_rate_16 = machine.fmacRate16;
  result.fmac_rate_mixed = machine.fmacRateMixed;
  result.reduce_rate = machine.reduceRate;
  result.dot_rate = machine.dotRate;
  result.stride_elements = machine.strideElements;
  result.vector_setup = machine.vectorSetup;
  result.copy_setup = machine.copySetup;
  result.axpy_setup = machine.axpySetup;
  result.dot_setup = machine.dotSetup;
  result.result_latency = machine.resultLatency;
  result.map_overhead = machine.mapOverhead;
  result.loop_overhead = machine.loopOverhead;
  result.task_overhead = machine.taskOverhead;
  result.function_cycles = machine.functionCycles;
  result.divide_cycles = machine.divideCycles;
  result.scalar_cycles = machine.scalarCycles;
  result.load_cycles = machine.loadCycles;
  result.store_cycles = machine.storeCycles;
  result.branch_taken = machine.branchTaken;
  result.branch_not_taken = machine.branchNotTaken;
  result.async_issue = machine.asyncIssue;
  result.clock_cycles = machine.clockCycles;
}

static LogicalResult translateMachine(pe::ProgramOp op,
                                      program::MachineT &result) {
  std::string error;
  auto machine = machineFromDescription(op.getMachine().str(), error);
  if (!machine)
    return op.emitOpError("machine: ") << error;
  if (auto wrong = machine->setMesh(op.getWidth(), op.getHeight()))
    return op.emitOpError() << *wrong;
  copyLimits(*machine, result);
  copyTimes(*machine, result);
  return success();
}

static LogicalResult translateRoute(pe::RouteOp op,
                                    program::RouteRuleT &result) {
  Narrower narrow(op);
  result.color = narrow.to<uint8_t>(op.getColor(), "color");
  result.rect = std::make_unique<program::Rect>(translateRect(op.getRect()));
  result.receive = static_cast<program::Port>(op.getReceive());
  result.transmit = static_cast<uint8_t>(op.getTransmit());
  if (ArrayAttr positions = op.getPositionsAttr())
    for (auto position : positions.getAsRange<pe::PositionAttr>())
      result.positions.emplace_back(
          position.getReceive() ? static_cast<int8_t>(*position.getReceive())
                                : int8_t(-1),
          static_cast<uint8_t>(position.getTransmit()));
  result.initial = narrow.to<uint8_t>(op.getInitial(), "position");
  result.ring = op.getRing();
  result.pop = static_cast<program::PopMode>(op.getPop());
  return failure(narrow.hasFailed());
}

static void translateKernel(pe::KernelOp op, program::KernelT &result) {
  result.name = op.getSymName().str();
  result.kind = op.getKind().str();
  for (auto node : op.getNodes().getAsValueRange<StringAttr>())
    result.onnx_nodes.push_back(node.str());
  result.region =
      std::make_unique<program::Rect>(translateRect(op.getRegion()));
  result.lower_bound_cycles = op.getLowerBoundCycles().convertToDouble();
  result.predicted_cycles = op.getPredictedCycles().convertToDouble();
  result.bound = op.getBound().str();
}

// What reports say about the launches of a routine that name no kernel: the
// rectangle around all PEs that have the routine.
static std::unique_ptr<program::KernelT> kernelOfRoutine(pe::ProgramOp program,
                                                         StringRef routine) {
  auto kernel = std::make_unique<program::KernelT>();
  kernel->name = routine.str();
  kernel->kind = "routine";
  program::Rect around(INT32_MAX, 0, 1, INT32_MAX, 0, 1);
  for (auto peClass : program.getOps<pe::ClassOp>())
    if (llvm::any_of(peClass.getOps<pe::RoutineOp>(), [&](pe::RoutineOp op) {
          return op.getSymName() == routine;
        }))
      for (auto rect : peClass.getRects().getAsRange<pe::RectAttr>())
        around = program::Rect(std::min<int32_t>(around.x0(), rect.getX0()),
                               std::max<int32_t>(around.x1(), rect.getX1()), 1,
                               std::min<int32_t>(around.y0(), rect.getY0()),
                               std::max<int32_t>(around.y1(), rect.getY1()), 1);
  kernel->region = std::make_unique<program::Rect>(around);
  return kernel;
}

static int64_t kernelNumber(pe::LaunchOp op, const SymbolNumbers &numbers) {
  return op.getKernel() ? numbers.kernels.lookup(*op.getKernel())
                        : numbers.routineKernels.lookup(op.getRoutine());
}

static LogicalResult translateLaunch(pe::LaunchOp op,
                                     const SymbolNumbers &numbers,
                                     const ScalarTable &scalars,
                                     program::LaunchT &result) {
  Narrower narrow(op);
  result.routine = numbers.routines.lookup(op.getRoutine());
  result.kernel = kernelNumber(op, numbers);
  result.follows = op.getFollows();
  if (ArrayAttr streams = op.getStreamsAttr())
    for (auto stream : streams.getAsRange<FlatSymbolRefAttr>())
      result.streams.push_back(numbers.streams.lookup(stream.getValue()));
  if (ArrayAttr slots = op.getSlotsAttr())
    for (auto slot : slots.getAsRange<pe::SlotAttr>())
      result.slots.emplace_back(
          narrow.to<uint32_t>(slot.getOrder(), "number of a slot"),
          narrow.to<uint32_t>(slot.getAhead(), "words ahead"),
          uint64_t(slot.getBegin()), uint64_t(slot.getEnd()));
  for (Value value : op.getCarried())
    result.arguments.push_back(
        narrow.to<uint16_t>(scalars.number(value), "number of a scalar"));
  return failure(narrow.hasFailed());
}

// What is called: an entry, or the launches and copies of the program itself.
static LogicalResult translateCalls(Block &block, const SymbolNumbers &numbers,
                                    const ScalarTable &scalars,
                                    program::EntryT &result) {
  for (Operation &op : block) {
    if (auto launch = dyn_cast<pe::LaunchOp>(op))
      if (failed(translateLaunch(launch, numbers, scalars,
                                 append(result.launches))))
        return failure();
    if (auto copy = dyn_cast<pe::CopyOp>(op))
      if (failed(translateCopy(copy, numbers, result)))
        return failure();
    if (auto value = dyn_cast<pe::ValueOp>(op))
      if (failed(translateValue(value, result)))
        return failure();
  }
  return success();
}

Attribute lengthOf(pe::ProgramOp program, StringRef tensor) {
  auto all = program->getAttrOfType<DictionaryAttr>(onnx::lengthAxesAttrName);
  return all ? all.get(tensor) : Attribute();
}

static LogicalResult translateEntry(pe::EntryOp op,
                                    const SymbolNumbers &numbers,
                                    program::EntryT &result) {
  result.name = op.getSymName().str();
  for (auto [name, from, to] :
       llvm::zip(op.getNames().getAsValueRange<StringAttr>(), op.getFrom(),
                 op.getTo())) {
    program::ArgumentT &argument = append(result.arguments);
    argument.name = name.str();
    argument.from = static_cast<int32_t>(from);
    argument.to = static_cast<int32_t>(to);
    auto parts = dyn_cast_or_null<IntegerAttr>(
        lengthOf(op->getParentOfType<pe::ProgramOp>(), name));
    if (!parts)
      continue;
    argument.length_tensor = numbers.tensors.lookup(name);
    argument.length_parts = static_cast<int32_t>(parts.getInt());
  }
  ScalarTable scalars;
  Block &block = op.getBody().front();
  return failure(failed(scalars.build(block, result.scalars)) ||
                 failed(translateCalls(block, numbers, scalars, result)));
}

static LogicalResult translateEntries(pe::ProgramOp op,
                                      const SymbolNumbers &numbers,
                                      program::ProgramT &result) {
  for (auto entry : op.getOps<pe::EntryOp>())
    if (failed(translateEntry(entry, numbers, append(result.entries))))
      return failure();
  if (!result.entries.empty())
    return success();
  program::EntryT &main = append(result.entries);
  main.name = runtime::mainEntry;
  return translateCalls(op.getBody().front(), numbers, {}, main);
}

SymbolNumbers numberSymbols(pe::ProgramOp program) {
  SymbolNumbers numbers;
  auto add = [](llvm::StringMap<int64_t> &map, StringRef name) {
    map.try_emplace(name, map.size());
  };
  for (Operation &op : program.getBody().getOps()) {
    if (auto tensor = dyn_cast<pe::TensorOp>(op))
      add(numbers.tensors, tensor.getSymName());
    else if (auto stream = dyn_cast<pe::StreamOp>(op))
      add(numbers.streams, stream.getSymName());
    else if (auto kernel = dyn_cast<pe::KernelOp>(op))
      add(numbers.kernels, kernel.getSymName());
    else if (auto peClass = dyn_cast<pe::ClassOp>(op))
      for (auto routine : peClass.getOps<pe::RoutineOp>())
        add(numbers.routines, routine.getSymName());
  }
  program.walk([&](pe::LaunchOp launch) {
    if (!launch.getKernel())
      numbers.routineKernels.try_emplace(launch.getRoutine(),
                                         numbers.kernels.size() +
                                             numbers.routineKernels.size());
  });
  return numbers;
}

// Weights that several tensors read are counted once.
static void countWeights(pe::ProgramOp op, program::ProgramT &result) {
  llvm::DenseSet<std::pair<Attribute, Type>> seen;
  uint64_t elements = 0, bytes = 0;
  for (auto tensor : op.getOps<pe::TensorOp>()) {
    if (tensor.getRole() != pe::Role::Weight || tensor.getSparse() ||
        !seen.insert({tensor.getSourceAttr(), tensor.getType()}).second)
      continue;
    RankedTensorType type = tensor.getTensorType();
    elements += type.getNumElements();
    bytes += type.getNumElements() * pe::elementBytes(type.getElementType());
  }
  result.parameters = op.getParameters().value_or(elements);
  result.weight_bytes = op.getWeightBytes().value_or(bytes);
}

static LogicalResult translateOp(Operation &op, const SymbolNumbers &numbers,
                                 program::ProgramT &result) {
  if (auto route = dyn_cast<pe::RouteOp>(op))
    return translateRoute(route, append(result.routes));
  if (auto tensor = dyn_cast<pe::TensorOp>(op))
    return translateTensor(tensor, numbers, append(result.tensors));
  if (auto stream = dyn_cast<pe::StreamOp>(op))
    return translateStream(stream, numbers, append(result.streams));
  if (auto peClass = dyn_cast<pe::ClassOp>(op))
    return translateClass(peClass, numbers, append(result.classes));
  if (auto kernel = dyn_cast<pe::KernelOp>(op)) {
    translateKernel(kernel, append(result.kernels));
    return success();
  }
  if (isa<pe::EntryOp, pe::LaunchOp, pe::CopyOp, pe::ValueOp>(op))
    return success(); // see translateEntries
  return op.emitOpError("does not belong in a pe.program");
}

/// Stands where a program has no launch color.
static constexpr uint64_t kRemoteCalls = 255;

LogicalResult translateProgram(pe::ProgramOp op, program::ProgramT &result) {
  result.version = runtime::programVersion;
  result.compiler = "wsec " WSEC_VERSION;
  result.model = op.getModel().value_or(op.getSymName()).str();
  result.machine = std::make_unique<program::MachineT>();
  if (failed(translateMachine(op, *result.machine)))
    return failure();
  Narrower narrow(op);
  result.launch_color = narrow.to<uint8_t>(
      op.getLaunchColor().value_or(kRemoteCalls), "launch color");
  if (narrow.hasFailed())
    return failure();
  countWeights(op, result);
  SymbolNumbers numbers = numberSymbols(op);
  for (Operation &inner : op.getBody().getOps())
    if (failed(translateOp(inner, numbers, result)))
      return failure();
  if (failed(translateEntries(op, numbers, result)))
    return failure();
  op.walk([&](pe::LaunchOp launch) {
    if (size_t(kernelNumber(launch, numbers)) == result.kernels.size())
      result.kernels.push_back(kernelOfRoutine(op, launch.getRoutine()));
  });
  return placeBuffers(op, result);
}

} // namespace wsec::emit
