// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/ReadFlows.h"
#include "compiler/kernels/Kernel.h"
#include "compiler/kernels/code/RoutineSet.h"
#include "compiler/machine/Machine.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace wsec;

/// The stream of this pattern that the kernel has; null: none.
static wse::StreamOp streamOf(wse::KernelOp kernel,
                              wse::StreamPattern pattern) {
  if (ArrayAttr names = kernel.getStreamRefs())
    for (auto name : names.getAsRange<FlatSymbolRefAttr>()) {
      auto stream =
          SymbolTable::lookupNearestSymbolFrom<wse::StreamOp>(kernel, name);
      if (stream && stream.getPattern() == pattern)
        return stream;
    }
  return {};
}

/// Words that wait in routers, on the ramp of the nearest PE that takes them,
/// and behind it. That PE is in the region's first column; its queue is a
/// smallest.
static int64_t queueOf(const Machine &machine) {
  int64_t ramp = machine.inputQueueWords.empty()
                     ? 0
                     : *llvm::min_element(machine.inputQueueWords);
  return int64_t(machine.x + 1) * machine.routerBufferWords +
         machine.rampCycles + ramp;
}

/// Numbers of the regions that take part in a kernel: its own, then those of
/// its operands.
static std::vector<size_t>
regionsOf(wse::KernelOp kernel, llvm::DenseMap<Operation *, size_t> &numbers) {
  std::vector<size_t> regions;
  auto add = [&](wse::KernelOp on) {
    size_t number =
        numbers.try_emplace(wse::regionOf(on), numbers.size()).first->second;
    if (!llvm::is_contained(regions, number))
      regions.push_back(number);
  };
  add(kernel);
  for (Value operand : kernel->getOperands())
    if (auto on = operand.getDefiningOp<wse::KernelOp>())
      add(on);
  return regions;
}

/// Of the kernels of one entry.
static FailureOr<FlowReading>
readFlows(wse::ProgramOp program, EntryKernels kernels,
          llvm::DenseMap<Attribute, Machine> &machines) {
  FlowReading reading;
  reading.kernels = std::move(kernels);
  FlowProblem &problem = reading.problem;
  problem.storeLatency = program.targetMachine().storeLatencyCycles;
  llvm::DenseMap<Operation *, size_t> numbers, regions; // looked up only
  llvm::DenseSet<size_t> started;
  llvm::DenseMap<StringAttr, std::vector<size_t>> storing;
  for (wse::KernelOp kernel : reading.kernels) {
    const Kernel *library = findKernel(kernel);
    const Machine &machine = machines[kernel.getRegionRef().getAttr()];
    SmallVector<HostFlow> flows = library->flows(kernel, machine);
    LaunchCost cost;
    cost.name = kernel.getReportName();
    cost.cycles = library->cost(kernel, machine).total();
    cost.regions = regionsOf(kernel, regions);
    // Each region waits for its first command.
    if (started.insert(cost.regions.front()).second)
      cost.lead = startCycles(machine, !flows.empty());
    const size_t first = problem.transfers.size();
    for (const HostFlow &flow : flows) {
      wse::StreamOp stream = streamOf(kernel, flow.pattern);
      if (!stream)
        return kernel.emitError("kernel moves words of the host and has no "
                                "stream of pattern ")
               << name(flow.pattern);
      HostTransfer transfer;
      transfer.launch = problem.launches.size();
      transfer.stream =
          numbers.try_emplace(stream, numbers.size()).first->second;
      transfer.in = flow.pattern.movement == fabric::Movement::In;
      transfer.words = flow.words;
      transfer.firstUse = flow.firstUse;
      transfer.lastUse = flow.lastUse;
      transfer.queue = transfer.in ? queueOf(machine) : 0;
      for (StringAttr name : wse::tensorsRead(kernel))
        llvm::append_range(transfer.after, storing.lookup(name));
      reading.streams.push_back(FlatSymbolRefAttr::get(stream));
      problem.transfers.push_back(std::move(transfer));
    }
    if (StringAttr stored = wse::tensorWritten(kernel))
      for (size_t i = first; i < problem.transfers.size(); ++i)
        if (!problem.transfers[i].in)
          storing[stored].push_back(i);
    problem.launches.push_back(std::move(cost));
  }
  return reading;
}

FailureOr<SmallVector<FlowReading>> wsec::readFlows(wse::ProgramOp program) {
  FailureOr<SmallVector<EntryKernels>> entries = entriesInOrder(program);
  if (failed(entries))
    return failure();
  llvm::DenseMap<Attribute, Machine> machines; // looked up only
  for (wse::RegionOp region : program.kernelRegions())
    machines[region.getSymNameAttr()] = region.machine();
  SmallVector<FlowReading> readings;
  for (EntryKernels &kernels : *entries) {
    FailureOr<FlowReading> reading =
        ::readFlows(program, std::move(kernels), machines);
    if (failed(reading))
      return failure();
    readings.push_back(std::move(*reading));
  }
  return readings;
}

void wsec::writeFlows(const FlowReading &reading,
                      const FlowSchedule &schedule) {
  ArrayRef<wse::KernelOp> kernels = reading.kernels;
  SmallVector<SmallVector<Attribute>> flows(kernels.size());
  for (auto [transfer, slot, stream] : llvm::zip_equal(
           reading.problem.transfers, schedule.transfers, reading.streams))
    flows[transfer.launch].push_back(
        wse::FlowAttr::get(stream.getContext(), stream, slot.slot,
                           slot.window.begin, slot.window.end, slot.ahead));
  for (auto [kernel, window, its] :
       llvm::zip_equal(kernels, schedule.launches, flows)) {
    wse::KernelOp op = kernel;
    op.setTimes({window.begin, window.end},
                its.empty() ? ArrayAttr()
                            : ArrayAttr::get(op->getContext(), its));
  }
}

/// Adds the flow of each transfer of `kernel`, which is number `launch`.
static LogicalResult readKernelFlows(wse::KernelOp kernel,
                                     const FlowReading &reading, size_t launch,
                                     FlowSchedule &schedule) {
  size_t count = 0;
  ArrayAttr flows = kernel.getStreamFlows();
  while (schedule.transfers.size() < reading.streams.size() &&
         reading.problem.transfers[schedule.transfers.size()].launch ==
             launch) {
    FlatSymbolRefAttr stream = reading.streams[schedule.transfers.size()];
    auto matches = [&](Attribute flow) {
      return cast<wse::FlowAttr>(flow).getStream() == stream;
    };
    if (!flows || llvm::count_if(flows, matches) != 1) {
      InFlightDiagnostic said =
          kernel.emitError("kernel of a scheduled program has no flow, or "
                           "several, for its words on ")
          << stream;
      said.attachNote(
          SymbolTable::lookupNearestSymbolFrom(kernel, stream)->getLoc())
          << "the stream is here";
      return said;
    }
    auto flow = cast<wse::FlowAttr>(*llvm::find_if(flows, matches));
    schedule.transfers.push_back(
        {flow.getSlot(), {flow.getBegin(), flow.getEnd()}, flow.getAhead()});
    ++count;
  }
  if (flows && flows.size() != count)
    return kernel.emitError("kernel of a scheduled program has flows for words "
                            "that it does not move");
  return success();
}

FailureOr<FlowSchedule> wsec::readFlowSchedule(const FlowReading &reading) {
  FlowSchedule schedule;
  for (auto [launch, op] : llvm::enumerate(reading.kernels)) {
    wse::KernelOp kernel = op;
    auto window = kernel.getRunWindow();
    if (!window || window->size() != 2)
      return kernel.emitError(
          "kernel of a scheduled program has no window of two cycles");
    schedule.launches.push_back({(*window)[0], (*window)[1]});
    if (failed(readKernelFlows(kernel, reading, launch, schedule)))
      return failure();
  }
  return schedule;
}
