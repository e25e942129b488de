// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/Passes.h"
#include "compiler/schedule/ReadFlows.h"
#include "compiler/schedule/ReadSchedule.h"

using namespace mlir;

namespace wsec::schedule {
#define GEN_PASS_DEF_VERIFYSCHEDULEDPASS
#include "compiler/schedule/Passes.h.inc"
} // namespace wsec::schedule

using namespace wsec;

/// The kernel says when it runs and where everything lies that it needs.
static LogicalResult readKernel(wse::KernelOp kernel,
                                const KernelMemory &memory,
                                Schedule &schedule) {
  if (!kernel.getTimeSlot())
    return kernel.emitError("kernel of a scheduled program has no slot");
  if (memory.resultBytes && !kernel.getResultAddress())
    return kernel.emitError("kernel of a scheduled program has no address "
                            "for its result");
  if (memory.scratchBytes &&
      (!kernel.getScratch() || kernel.getScratchSize() != memory.scratchBytes))
    return kernel.emitError("kernel needs ")
           << memory.scratchBytes << " bytes of scratch, has "
           << kernel.getScratchSize().value_or(0);
  schedule.slots.push_back(*kernel.getTimeSlot());
  schedule.resultAddresses.push_back(kernel.getResultAddress().value_or(0));
  schedule.scratchAddresses.push_back(kernel.getScratch().value_or(0));
  return success();
}

namespace {

struct VerifyScheduled final
    : schedule::impl::VerifyScheduledPassBase<VerifyScheduled> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verify(getOperation())))
      signalPassFailure();
  }

  static LogicalResult verify(wse::ProgramOp program) {
    if (program.getState() != wse::State::Scheduled)
      return program.emitError("expected a scheduled program, this one is ")
             << wse::stringifyState(program.getState());
    if (!program.getSramPeak())
      return program.emitError("a scheduled program has sram_peak");
    // How much of the SRAM is code is for the emitter to check.
    FailureOr<SchedulingProblem> problem = readSchedulingProblem(program);
    if (failed(problem))
      return failure();
    Schedule schedule;
    schedule.highWater = *program.getSramPeak();
    for (auto [i, held] : llvm::enumerate(program.persistents())) {
      if (!held.getHeldAddress())
        return held.emitError("stays on the wafer, and has no address in a "
                              "scheduled program");
      const PersistentMemory &memory = problem->persistents[i];
      schedule.persistentAddresses.push_back(*held.getHeldAddress());
      if (program.getSramOwner() == memory.name &&
          *held.getHeldAddress() + memory.bytes == schedule.highWater)
        schedule.highWaterKernel = problem->kernels.size() + i;
    }
    for (auto [i, kernel] : llvm::enumerate(program.kernels())) {
      const KernelMemory &memory = problem->kernels[i];
      if (failed(readKernel(kernel, memory, schedule)))
        return failure();
      if (program.getSramOwner() == memory.name &&
          endOf(memory, schedule, i) == schedule.highWater)
        schedule.highWaterKernel = i;
    }
    std::string error = problem->check();
    std::vector<size_t> about;
    if (error.empty())
      error = problem->verify(schedule, &about);
    if (error.empty())
      return verifyFlows(program);
    SmallVector<Operation *> owners;
    for (wse::KernelOp kernel : program.kernels())
      owners.push_back(kernel);
    for (wse::PersistentOp held : program.persistents())
      owners.push_back(held);
    InFlightDiagnostic said = program.emitError(error);
    for (size_t number : about)
      if (number < owners.size())
        said.attachNote(owners[number]->getLoc())
            << "'" << problem->ownerName(number) << "' is here";
    return said;
  }

  static LogicalResult verifyFlows(wse::ProgramOp program) {
    FailureOr<SmallVector<FlowReading>> entries = readFlows(program);
    if (failed(entries))
      return failure();
    for (const FlowReading &flows : *entries) {
      FailureOr<FlowSchedule> schedule = readFlowSchedule(flows);
      if (failed(schedule))
        return failure();
      std::vector<size_t> about;
      std::string error = flows.problem.verify(*schedule, &about);
      if (error.empty())
        continue;
      InFlightDiagnostic said = program.emitError(error);
      for (size_t launch : about)
        said.attachNote(flows.kernels[launch]->getLoc())
            << "'" << flows.problem.launches[launch].name << "' is here";
      return said;
    }
    return success();
  }

  /// Kernels may share a name; the owner is the one that reaches the mark.
  static int64_t endOf(const KernelMemory &memory, const Schedule &schedule,
                       size_t i) {
    int64_t result = schedule.resultAddresses[i] + memory.resultBytes;
    int64_t scratch = schedule.scratchAddresses[i] + memory.scratchBytes;
    return std::max(memory.resultBytes ? result : 0,
                    memory.scratchBytes ? scratch : 0);
  }
};

} // namespace
